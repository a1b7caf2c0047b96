"""Bytes to characters, whatever is said about them."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.errors import ParseError
from catchment.parse.encoding import as_utf8
from catchment.parse.feed import parse_feed

CHINESE = "新闻：今日头条，中文标题"

#: What is written most of the time: a common character in both halves of Pinyin, and what stands between them.
CHINESE_TEXTS = st.text(
    "的不了大国和个到地会可以发多都好年就来对" + "是我一有在人这中上他时要说生学下新" + "，。“”：A ", min_size=40
)
#: Letters beyond ASCII by ones and twos, as French, German, Spanish, Danish and Portuguese have them.
WESTERN_TEXTS = st.lists(
    st.from_regex(r"[«“‘¿¡]?[A-ZÀÉÖ]?[a-z]{1,4}[àâçéèêëîïôùûüÿæœäößñáíóúøåãõ]{0,2}[a-z]{0,4}[’–…”»]?", fullmatch=True),
    min_size=5,
).map(" ".join)


def document(title: str, declared: str | None) -> str:
    declaration = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    return f"{declaration}<rss version='2.0'><channel><item><title>{title}</title></item></channel></rss>"


@pytest.mark.parametrize(
    ("title", "declared", "actual", "content_type"),
    [
        (CHINESE, "gb2312", "gb2312", ""),
        ("镕基 龘", "gb2312", "gb18030", ""),  # what is called GB2312 is more
        (CHINESE, "GBK", "gbk", "text/xml"),
        ("新聞標題", "big5", "big5", ""),
        ("ニュース", "Shift_JIS", "cp932", ""),
        ("ニュース", "iso-2022-jp", "iso2022_jp", ""),
        ("ニュース", "euc-jp", "euc_jp", ""),
        ("새 소식", "euc-kr", "cp949", ""),
        ("Новости", "windows-1251", "cp1251", ""),
        ("Новости", "koi8-r", "koi8_r", ""),
        ("Café “€”", "iso-8859-1", "cp1252", ""),
        ("Café", None, "latin-1", ""),  # nothing said
        ("Café", "utf-8", "latin-1", ""),  # a lie
        ("Café", "iso-8859-1", "utf-8", ""),  # the opposite lie
        ("Café", "no-such-thing", "utf-8", ""),
        ("Новости", None, "cp1251", "text/xml; charset=windows-1251"),  # only the server says it
        ("Новости", "windows-1251", "cp1251", "text/xml; charset=ISO-8859-1"),  # the server guesses
        ("Новости", "utf-8", "cp1251", 'application/xml; charset="windows-1251"'),
        (CHINESE, "utf-16", "utf-16", ""),
        (CHINESE, "utf-16", "utf-16-le", ""),
        (CHINESE, None, "utf-16-be", ""),
        (CHINESE, "utf-16", "utf-8", ""),  # saved as UTF-8, still declared as before
        (CHINESE, "utf-32", "utf-32", ""),
        (CHINESE, "utf-8", "utf-8-sig", ""),
    ],
)
def test_titles_come_in_their_right_characters(title: str, declared: str | None, actual: str, content_type: str):
    body = document(title, declared).encode(actual)
    assert parse_feed(body, content_type=content_type).entries[0].title == title


@pytest.mark.proves("A-32")
def test_a_document_that_is_packed_though_nobody_says_so_is_unpacked():
    packed = gzip.compress(document(CHINESE, "utf-8").encode())
    assert parse_feed(packed, content_type="text/html").entries[0].title == CHINESE
    for broken in (packed[:-9], packed[:2] + packed, gzip.compress(b" " * 11_000_000)):
        with pytest.raises(ParseError):
            parse_feed(broken)


def test_one_bad_byte_does_not_spoil_a_document_in_utf8():
    body = document(CHINESE + "X" + CHINESE, "utf-8").encode().replace(b"X", b"\xff")
    assert parse_feed(body).entries[0].title.startswith(CHINESE)


@pytest.mark.proves("R-01", "R-07")
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "marked"])
@pytest.mark.parametrize("declared", [None, "utf-8", "iso-8859-1"])
@pytest.mark.parametrize(
    ("halves", "meant"),
    [
        (b"\xed\xa0\xbd\xed\xb8\x80" * 3, "\U0001f600" * 3),
        (b"\xed\xa0\xbd", "\ufffd"),
        (b"\xff\xed\xb8\x80", "ÿ\ufffd"),
    ],
    ids=["emoji", "half an emoji", "and a stray byte"],
)
def test_emoji_in_two_halves_spoil_no_other_character(declared: str | None, mark: bytes, halves: bytes, meant: str):
    body = mark + document("Café X", declared).encode().replace(b"X", halves)
    assert parse_feed(body).entries[0].title == f"Café {meant}"


@pytest.mark.parametrize("name", ["utf-7", "rot13", "idna", "unicode_escape", "zlib", "x" * 39])
def test_encodings_that_are_no_text_are_not_believed(name: str):
    assert parse_feed(document("caf+AOk- \\u00e9", name).encode()).entries[0].title == "caf+AOk- \\u00e9"


@pytest.mark.proves("A-31")
@pytest.mark.parametrize(
    "name", ["utf-7", "idna", "punycode", "unicode_escape", "raw-unicode-escape", "Unicode-Escape"]
)
def test_no_feed_chooses_an_encoding_that_can_be_abused(name: str):
    body = document("\\u003cb\\u003e \xe9", name).encode("latin-1")
    assert parse_feed(body).entries[0].title == "\\u003cb\\u003e \xe9"
    assert parse_feed(body, content_type=f"text/xml; charset={name}").entries[0].title == "\\u003cb\\u003e \xe9"


def test_json_may_come_in_utf16():
    assert parse_feed('{"version": "jsonfeed.org", "items": [{"id": "é"}]}'.encode("utf-16")).entries[0].id == "é"


@given(st.binary(), st.text(max_size=40))
def test_the_outcome_is_always_utf8(body: bytes, content_type: str):
    as_utf8(body, content_type).decode()


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])))
def test_what_is_utf8_already_stays_as_it_is(text: str):
    body = b"<rss>" + text.encode()
    assert as_utf8(body, "text/xml; charset=iso-8859-1") == body


@pytest.mark.proves("R-01", "R-07")
@pytest.mark.parametrize("junk", [b"\x0b", b"<", b"]]>", b"&nosuchthing;"])
def test_a_stray_byte_in_a_seven_bit_document_changes_no_other_entry(junk: bytes):
    text = document("ニュース</title></item><item><title>今日の話題", "iso-2022-jp").encode("iso2022_jp")
    place = text.index(b"$B") + 3
    broken = parse_feed(text[:place] + junk + text[place:])
    assert broken.is_damaged
    assert broken.entries[-1].title == "今日の話題"


@pytest.mark.proves("R-01", "R-07")
@pytest.mark.parametrize("junk", [b"\xff", b"\x0b", b"\x80"])
@pytest.mark.parametrize(
    ("title", "declared", "actual"),
    [
        ("朱镕基与囍", "gb2312", "gbk"),
        ("中文標題：測試", "big5", "big5"),
        ("日本語の表題", "EUC-JP", "euc_jp"),
        ("日本語の表題", "Shift_JIS", "cp932"),
        ("한국어 제목", "euc-kr", "cp949"),
    ],
)
def test_a_stray_byte_in_a_short_document_makes_no_other_characters_of_it(
    title: str, declared: str, actual: str, junk: bytes
):
    whole = document(f"A</title></item><item><title>{title}", declared).encode(actual)
    broken = parse_feed(whole.replace(b"<title>A", b"<title>A " + junk))
    assert broken.entries[-1].title == title
    cut = whole.replace(b"<title>A", b"<title>A " + title.encode(actual)[:3])
    assert parse_feed(cut).entries[-1].title == title, "texts are cut by bytes"


@pytest.mark.proves("R-01")
def test_bytes_that_cannot_be_read_are_damage_unless_the_feed_itself_says_so():
    text = document(CHINESE * 9, "gb2312").encode("gb2312")
    half = text.index(CHINESE[3:].encode("gb2312")) + 1
    assert parse_feed(text[:half] + b"\x0b" + text[half:]).is_damaged
    assert not parse_feed(document("\ufffd", "utf-8").encode()).is_damaged


@pytest.mark.proves("R-07")
@pytest.mark.parametrize(
    ("declared", "content_type"),
    [
        ("utf-8", ""),
        ("utf-8", "text/xml; charset=utf-8"),
        ("UTF-8", "text/xml; charset=ISO-8859-1"),
        (None, "text/xml; charset=utf-8"),
        (None, ""),
    ],
)
@pytest.mark.parametrize("title", [CHINESE, "朱镕基与“囍”的新闻——今日头条", "iPhone 17 评测：一年之后，还值得买吗？"])
def test_chinese_that_is_said_to_be_utf8_and_is_not_is_read(title: str, declared: str | None, content_type: str):
    feed = parse_feed(document(title, declared).encode("gb18030"), content_type=content_type)
    assert (feed.entries[0].title, feed.encoding, feed.is_damaged) == (title, "gb18030", False)


@pytest.mark.proves("R-07")
@given(CHINESE_TEXTS)
def test_common_chinese_is_read_whatever_it_says(text: str):
    body = document(CHINESE + text, "utf-8").encode("gb18030")
    assert as_utf8(body, "text/xml; charset=utf-8").decode() == document(CHINESE + text, "utf-8")


@pytest.mark.proves("R-07")
@given(WESTERN_TEXTS)
def test_western_text_is_never_taken_for_chinese(text: str):
    body = document("Café au lait " + text, "utf-8").encode("cp1252")
    assert as_utf8(body, "text/xml; charset=utf-8").decode() == document("Café au lait " + text, "utf-8")


@pytest.mark.proves("R-07")
@pytest.mark.parametrize(
    "title",
    [
        "créée",
        "»»»»»»»»",
        "ÉÉÉÉ! ÖÖ",
        "¿Éxito? ¡¡Ábrete!!",
        "ÀÀ ÉÉ ÖÖ ÜÜ",
        "“À propos” – l’été…",
        "Çà «École» ÄÖÜ äöüß",
        "déjà vu",
    ],
)
def test_marks_and_capitals_in_a_row_are_western_still(title: str):
    assert parse_feed(document(title, "utf-8").encode("cp1252")).entries[0].title == title


@pytest.mark.proves("R-07")
@pytest.mark.parametrize(
    ("title", "actual"),
    [
        ("대한민국 헌법은 모든 국민이 법 앞에 평등하다고 규정하고 있다", "cp949"),
        ("今日の日本語の表題は東京大学の話題です", "euc_jp"),
        ("今日の日本語の表題は東京大学の話題です", "cp932"),
        ("中文標題：今天的新聞報導", "big5"),
        ("Новости России и всего мира сегодня", "cp1251"),
        ("Новости России и всего мира сегодня", "koi8_r"),
    ],
)
def test_other_scripts_that_say_nothing_are_not_taken_for_chinese(title: str, actual: str):
    assert parse_feed(document(title, "utf-8").encode(actual)).encoding == "cp1252"


@pytest.mark.proves("R-07")
def test_stray_bytes_of_chinese_leave_a_document_in_utf8_as_it_is():
    whole = document("Liberté, égalité, fraternité: où? À Noël, ça va", "utf-8").encode()
    body = whole.replace(b"</rss>", "<!--新闻-->".encode("gbk") + b"</rss>")
    assert parse_feed(body).entries[0].title == "Liberté, égalité, fraternité: où? À Noël, ça va"
