"""HTML and text from strangers, made safe to store in a database, to write into XML and to show."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from html import unescape
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

import lxml.etree  # type: ignore[import-untyped]
import lxml.html  # type: ignore[import-untyped]
import nh3

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_HTML_BYTES = 256 * 1024
CONTROL_BYTES = bytes(code for code in range(32) if code not in b"\t\n\r")

_TAGS = nh3.ALLOWED_TAGS | {"audio", "video", "source", "picture"}
_ATTRIBUTES = {
    **nh3.ALLOWED_ATTRIBUTES,
    "audio": {"src", "controls"},
    "video": {"src", "controls", "poster", "width", "height"},
    "source": {"src", "type"},
}
_SCHEMES = {"http", "https", "mailto"}

# A closing tag may reopen every element that was left open, so markup grows with the square of its tags:
# 13 kB become 12 MB. Up to this many tags that is bearable; more are put in order first.
_UNTANGLE_FROM = 250
# Their content is not markup as the rest is, so it could hide such tangles.
_OTHER_SYNTAX = ("script", "style", "svg", "math", "template", "noscript", "iframe", "xmp", "plaintext")
# A text of which so much is left out as unsafe that the rest is kept whole, such as one with pictures in it.
_MAX_RAW_BYTES = 8 * MAX_HTML_BYTES
_DATA_URL = re.compile(r"""\s[\w-]{1,20}+\s*+=\s*+(?:"data:[^"]*+"|'data:[^']*+')""")
# What a browser without scripts or frames shows, and formulas: without these tags a cleaner leaves what they hold.
_WRAPPERS = re.compile(
    r"</?(?:noscript|iframe|math|annotation-xml|semantics|maction|menclose|merror|mfenced|mfrac|mi|mmultiscripts|mn|mo|mover"
    r"|mpadded|mphantom|mprescripts|mroot|mrow|ms|mspace|msqrt|mstyle|msub|msubsup|msup|mtable|mtd|mtext|mtr|munder"
    r"|munderover)(?:[\s/][^<>]*+)?>",
    re.IGNORECASE,
)
# In a third of the time that it takes to look for each name in turn.
_WRAP_STARTS = "/?noscript|math|iframe|/?NOSCRIPT|MATH|IFRAME"
_MAY_WRAP = re.compile(f"<(?:{_WRAP_STARTS})")
# The same formula once more, for programs.
_ANNOTATION = re.compile(r"<annotation(?:\s[^<>]*+)?>[^<]*+</annotation\s*+>", re.IGNORECASE)
# Formulas and addresses of people who write no HTML.
_NO_TAG_STARTS = r"[a-zA-Z][a-zA-Z0-9:._-]*+[$,;(){}\\^+*&|!?%#@]|https?://"
_NO_TAG = re.compile(f"<(?={_NO_TAG_STARTS})")
_NO_CHARACTER = re.compile(r"&#(?:0+|[xX]0+);")
# What the library's own list of tags lacks, by how it begins.
_MEDIA_STARTS = "[aA][uU]|[vV][iI]|[sS][oO]|[pP][iI]"
# Whether any of these tags is there at all, in one pass.
_ODD_TAG = re.compile(f"<(?:{_NO_TAG_STARTS}|{_WRAP_STARTS}|{_MEDIA_STARTS})")
# Shorter texts cannot come out larger than `MAX_HTML_BYTES` by much, nor can they be slow to clean.
_SHORT = 4_096

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)([\s/][^<>]*)?>")
# What people leave open. Any other name in brackets that nothing closes is a word: "List<T>", "the <div> element".
_LEFT_OPEN = frozenset({
    "a", "abbr", "b", "big", "blockquote", "br", "center", "cite", "code", "dd", "del", "dt", "em", "font", "h1", "h2",
    "h3", "h4", "h5", "h6", "hr", "i", "img", "ins", "kbd", "li", "mark", "ol", "p", "q", "s", "small", "span",
    "strike", "strong", "sub", "sup", "td", "th", "tr", "tt", "u", "ul", "wbr",
})  # fmt: skip
_BREAKING = frozenset({"br", "p", "div", "li", "td", "h1", "h2", "h3"})
_BLANK_LINES = re.compile(r"\n(?:[ \t]*+\n)+")
# What XML 1.0 or PostgreSQL cannot hold.
_UNSTORABLE = re.compile(f"[{CONTROL_BYTES.decode()}\ufffe\uffff\ud800-\udfff]")


class HtmlCleaner:
    """Sanitises the texts of one feed and makes their links absolute."""

    def __init__(self, base: str = "") -> None:
        self._base = base

    def clean(self, text: str) -> str:
        """The text as harmless HTML of at most `MAX_HTML_BYTES`."""
        return storable(self._clean(text)).strip()

    def clean_all(self, texts: Sequence[str]) -> list[str]:
        """Each of them, looked at together for what is odd or cannot be stored: there is hardly ever any."""
        if max(map(len, texts), default=0) > _SHORT or _is_odd("\n".join(texts)):
            cleaned = [self._clean(text) for text in texts]
        else:
            cleaned = self._cleaned_as_usual(texts)
        if not _is_storable("".join(cleaned)):
            cleaned = [storable(text) for text in cleaned]
        return [text.strip() for text in cleaned]

    def _cleaned_as_usual(self, texts: Sequence[str]) -> list[str]:
        if not any("<" in text or "&" in text for text in texts):
            return [*texts]
        clean = self._without_media.clean
        try:
            return [clean(text) if "<" in text or "&" in text else text for text in texts]
        except UnicodeEncodeError:  # half a surrogate pair
            return [self._sanitise(text) for text in texts]

    def _clean(self, text: str) -> str:
        return self._clean_long(text) if len(text) > _SHORT else self._sanitise(_prepared(text))

    def _sanitise(self, text: str) -> str:
        if "<" not in text and "&" not in text:
            return text
        try:
            return self._whole.clean(text)
        except UnicodeEncodeError:  # as above
            return self._sanitise(_prepared(storable(text)))

    @cached_property
    def _whole(self) -> nh3.Cleaner:
        return self._built(tags=_TAGS, attributes=_ATTRIBUTES)

    @cached_property
    def _without_media(self) -> nh3.Cleaner:
        """The same for texts that have none of the tags in which it differs: it is built in a sixth of the time."""
        return self._built()

    def _built(self, **allowed: Any) -> nh3.Cleaner:
        """With the base from the start, as each text is cleaned once. Without one, a relative link would lead to
        whoever shows the text.
        """
        try:
            relative: Any = ("rewrite_with_base", self._base) if self._base else "deny"
            return nh3.Cleaner(url_schemes=_SCHEMES, url_relative=relative, **allowed)
        except ValueError:  # nh3 is stricter about addresses than feeds are
            return nh3.Cleaner(url_schemes=_SCHEMES, url_relative="deny", **allowed)

    def _clean_long(self, text: str) -> str:
        if "data:" in text:
            text = _DATA_URL.sub("", text)
        cleaned = self._clean_part(_cut_bytes(text, _MAX_RAW_BYTES))
        limit = MAX_HTML_BYTES
        while len(cleaned.encode()) > MAX_HTML_BYTES:
            # Closing what was cut open makes it longer again: take a bit less each time.
            cleaned = self._clean_part(_cut_bytes(cleaned, limit))
            limit = limit * 9 // 10
        return cleaned

    def _clean_part(self, part: str) -> str:
        part = _prepared(part)
        if part.count("<") > _UNTANGLE_FROM:
            part = _prepared(_untangled(part))
        return storable(self._sanitise(part))


def _prepared(text: str) -> str:
    """Without what would make a cleaner take markup for text, or text for nothing or for markup."""
    if not _is_odd(text):
        return text
    text = _NO_TAG.sub("&lt;", text)
    if _MAY_WRAP.search(text):
        text = _WRAPPERS.sub("", _ANNOTATION.sub("", text))
    return _NO_CHARACTER.sub("", text)


def _is_odd(text: str) -> bool:
    # Apart: what always begins with the same character is found in a quarter of the time.
    return _ODD_TAG.search(text) is not None or ("&#" in text and _NO_CHARACTER.search(text) is not None)


def markdown_as_html(text: str) -> str:
    """Markdown as harmless HTML; markup within it counts as text."""
    # Loaded when there is something to render: hardly any process ever does.
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.add_render_rule("softbreak", _soft_break)
    return HtmlCleaner().clean(reader.render(text))


def _soft_break(_renderer: object, tokens: Sequence[Token], at: int, *_: object) -> str:
    """Where a line ends, a browser shows a blank, which Chinese has none of between its characters."""
    before = next((token.content for token in reversed(tokens[:at]) if token.content), " ")
    after = next((token.content for token in tokens[at + 1 :] if token.content), " ")
    return "" if {east_asian_width(before[-1]), east_asian_width(after[0])} <= {"F", "W"} else "\n"


#: What a browser loads from elsewhere while somebody reads.
_PICTURE, _RECORDINGS = "img", ("audio", "video", "source")
_READING = nh3.Cleaner(
    tags=_TAGS - {"picture", *_RECORDINGS},
    attributes={**nh3.ALLOWED_ATTRIBUTES, _PICTURE: {"src", "alt", "width", "height", "loading"}},
    url_schemes=_SCHEMES,
    link_rel="noopener noreferrer",
)
#: Whoever is shown so small a picture is counted by it.
_COUNTING_SIZES = frozenset({"0", "1", "2"})


def for_reading(text: str, *, picture: str, recording: str, picture_at: Callable[[str], str] | None = None) -> str:
    """HTML to be read on a page of ours: the browser of whoever reads asks no stranger for anything. Pictures come
    from where `picture_at` says, and lead to where they are; without it they are links, as recordings are, which these
    words name. Headings stand below the one of the page.
    """
    cleaned = HtmlCleaner().clean(text)
    if "<" not in cleaned:
        return cleaned
    tree = lxml.html.fragment_fromstring(cleaned, create_parent="div")
    for element in list(tree.iter(_PICTURE)):
        if picture_at is None:
            _leave_link(element, picture)
            element.drop_tree()
        else:
            _show_picture(element, picture_at, picture)
    for element in list(tree.iter(*_RECORDINGS)):
        _leave_link(element, recording)
        # Within a recording stands what is shown where it cannot be played.
        element.drop_tag()
    for heading in tree.iter("h1"):
        heading.tag = "h2"
    return _READING.clean(lxml.html.tostring(tree, encoding="unicode"))


def _show_picture(element: lxml.html.HtmlElement, picture_at: Callable[[str], str], words: str) -> None:
    address = element.get("src", "")
    if not address or {element.get("width"), element.get("height")} & _COUNTING_SIZES:
        element.drop_tree()
        return
    element.set("src", picture_at(address))
    # Shown in its place when it cannot be had.
    element.set("alt", (element.get("alt") or element.get("title") or "").strip() or words)
    element.set("loading", "lazy")
    if next(element.iterancestors("a"), None) is None:
        link = lxml.html.Element("a", href=address)
        element.addprevious(link)
        link.tail, element.tail = element.tail, None
        link.append(element)


def _leave_link(element: lxml.html.HtmlElement, words: str) -> None:
    address, alt = element.get("src", ""), (element.get("alt") or element.get("title") or "").strip()
    if not address:
        return
    link = lxml.html.Element("a", href=address)
    link.text = f"[{words}: {alt}]" if alt else f"[{words}]"
    outer = next(element.iterancestors("a"), None)
    # No link may be within another.
    element.addprevious(link) if outer is None else outer.addnext(link)


def plain_texts(texts: Sequence[str], limit: int) -> list[str]:
    if _is_plain("".join(texts)) and max(map(len, texts), default=0) <= limit:
        return [text.strip() for text in texts]
    return [plain_text(text, limit) for text in texts]


def plain_text(text: str, limit: int) -> str:
    """One line of text: tags removed, entities decoded, white space folded, cut at a word."""
    if len(text) <= limit and _is_plain(text):
        return text.strip()
    if "<" in text:
        text = _without_tags(text)
    if "&" in text:
        text = unescaped(text)
        if "<" in text:  # escaped once too often, as titles are so regularly that this is a tag
            text = _without_tags(text)
    return one_line(text, limit)


def one_line(text: str, limit: int) -> str:
    """The same of a text in which nothing is markup."""
    text = " ".join(text.split())
    if len(text) > limit:
        text = _cut_words(text, limit)
    return text if text.isprintable() else storable(text)


def with_line_breaks(text: str) -> str:
    """Text of several lines, in which markup is escaped: as paragraphs where lines are blank, else with its breaks."""
    text = text.strip().replace("\r\n", "\n").replace("\r", "\n")
    paragraphs = [part.rstrip().replace("\n", "<br>\n") for part in _BLANK_LINES.split(text)]
    return paragraphs[0] if len(paragraphs) == 1 else "\n".join(f"<p>{part}</p>" for part in paragraphs)


def storable(text: str) -> str:
    """The text without what a database or an XML document could not hold."""
    return text if _is_storable(text) else _UNSTORABLE.sub("", text)


def _is_storable(text: str) -> bool:
    if "\ufffe" in text or "\uffff" in text:
        return False
    try:
        encoded = text.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return False
    # To look for each of them in turn takes twice as long.
    return len(encoded.translate(None, CONTROL_BYTES)) == len(encoded)


def _is_plain(text: str) -> bool:
    return text.isprintable() and not ("<" in text or "&" in text or "  " in text)


def _without_tags(text: str) -> str:
    # No further than the last end of a comment: to look for one from every start takes forever where there is none.
    head, end, rest = text.rpartition("-->")
    if end:
        text = _COMMENT.sub("", head + end) + rest
    closed = {name.lower() for slash, name, _ in _TAG.findall(text) if slash}
    return _TAG.sub(lambda tag: tag[0] if _is_word(tag, closed) else _gap(tag[2]), text)


def unescaped(text: str) -> str:
    """The text with its references to characters decoded, once."""
    try:
        return unescape(_NO_CHARACTER.sub("", text))
    except ValueError:  # the number of a character, with thousands of digits
        return text


def _is_word(tag: re.Match[str], closed: Collection[str]) -> bool:
    slash, name, rest = tag.groups()
    folded = name.lower()
    if slash or rest or folded in _LEFT_OPEN or folded in closed:
        return False
    return tag.start() > 0 or folded not in _TAGS  # what begins with a part of a page was cut off


def _gap(name: str) -> str:
    return " " if name.lower() in _BREAKING else ""


def _cut_words(text: str, limit: int) -> str:
    kept = text[: limit - 1]
    head, _, _ = kept.rpartition(" ")
    return (head if len(head) > limit // 2 else kept) + "…"


def _cut_bytes(text: str, limit: int) -> str:
    if len(text) * 4 <= limit:
        return text
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= limit else raw[:limit].decode("utf-8", "ignore")


def _untangled(text: str) -> str:
    """The same markup with every tag closed in its place and nothing nested absurdly deep."""
    parser = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    document = b"<body>" + storable(text).encode()
    tree = lxml.html.document_fromstring(document, parser=parser)
    lxml.etree.strip_elements(tree, *_OTHER_SYNTAX, with_tail=False)
    untangled: str = lxml.html.tostring(tree, encoding="unicode")
    return untangled
