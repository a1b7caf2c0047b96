"""What becomes of an answer of X's provider: parser and validator."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from bench.simulated_x import TweetEnvelope, XProvider, timeline, tweet
from hypothesis import given
from hypothesis import strategies as st
from x_provider import KEY, START, working

from catchment.domain.tweet import ReferenceType, Tweet, TweetFields
from catchment.fetch.client import Response
from catchment.simulator.messages import Answer
from catchment.sources.x.client import XError, XTrouble, read_page, user_timeline
from catchment.sources.x.parser import MAX_CHARS, REQUIRED, Invalid, clean, parse_page, validate
from service_visits import capture

PLAIN: dict[str, Any] = tweet("Ada", 0, START)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = [
    *PLAIN, "media", "extendedEntities", "note_tweet", "full_text", "author_id", "created_at", "referenced_tweets",
    "attachments",
]  # fmt: skip
TWEETS = st.dictionaries(st.sampled_from(KEYS), JSON, max_size=12) | st.just(PLAIN) | JSON
PAGES = st.one_of(
    st.builds(lambda tweets: {"tweets": tweets}, st.lists(TWEETS, max_size=4)),
    st.builds(lambda tweets, pin: {"data": {"tweets": tweets, "pin_tweet": pin}}, st.lists(TWEETS, max_size=4), TWEETS),
    st.builds(
        lambda tweets, users: {"data": tweets, "includes": {"users": users, "media": users, "tweets": tweets}},
        st.lists(TWEETS, max_size=4),
        JSON,
    ),
    st.dictionaries(st.sampled_from(["data", "tweets", "includes", "pin_tweet"]), JSON),
)


def read(*tweets: Any, author: str | None = None) -> list[TweetFields]:
    return list(parse_page({"tweets": list(tweets)}, author=author).tweets)


def valid(fields: TweetFields) -> Tweet:
    found = validate(fields)
    assert isinstance(found, Tweet), found
    return found


# Captured and simulated answers


@pytest.mark.proves("D-01", "D-02")
async def test_a_captured_page_goes_through_client_and_parser():
    source = XProvider(key=KEY, users={})
    source.fail("devbuilder", Answer(body=capture("twitterapi_io", "last_tweets_data-envelope_thin.json")))
    async with working(source) as bench:
        [page] = await bench.pages(user_timeline("devbuilder"))
    parsed = parse_page(page.body, author="devbuilder")
    assert (page.count, page.next_cursor, parsed.warnings) == (3, None, ())
    tweets = [valid(fields) for fields in parsed.tweets]
    assert [one.tweet_id for one in tweets] == ["1840000000000000", "1840000000000001", "1840000000000002"]
    assert tweets[0].created_at == datetime(2026, 8, 20, 9, tzinfo=UTC)
    assert (tweets[0].author_username, tweets[0].author_display_name) == ("devbuilder", "Dev Builder")
    assert tweets[2].text == "Shipped a small thing: a Rust crate that verifies Merkle inclusion proofs in 40 lines."


@pytest.mark.parametrize(
    ("file", "status", "trouble", "words"),
    [
        ("http403_missing_key.json", 403, XTrouble.REFUSED, "API key required"),
        ("http429_free_tier_qps.json", 429, XTrouble.RATE_LIMITED, "one request every 5 seconds"),
    ],
)
@pytest.mark.proves("D-01")
async def test_captured_refusals_are_told_in_their_own_words(file, status, trouble, words):
    source = XProvider(key=KEY, users={})
    source.fail("ada", Answer(status=status, body=capture("twitterapi_io", file)))
    async with working(source, max_retries=0) as bench:
        with pytest.raises(XError, match=words) as refusal:
            await bench.pages(user_timeline("ada"))
    assert refusal.value.trouble is trouble


@pytest.mark.parametrize("page", ["get_user_last_tweets", "get_user_mention", "tweet_advanced_search"])
@pytest.mark.proves("D-02")
def test_the_shape_that_the_provider_documents_is_read(page):
    snippets = json.loads(capture("twitterapi_io", f"docs_{page}.json"))["code_snippets"]
    example = next(json.loads(one) for one in snippets if one.startswith("{"))
    [fields] = parse_page(example).tweets
    assert fields["tweet_id"] == fields["author_username"] == "<string>"
    assert fields["urls"] == ("<string>",)
    assert validate(fields) == Invalid(missing=("created_at",))


@pytest.mark.parametrize("envelope", TweetEnvelope)
@pytest.mark.proves("D-02")
async def test_every_form_of_tweet_is_read_from_both_envelopes(envelope):
    source = XProvider(key=KEY, users={"ada": timeline("ada", 10, at=START)}, envelope=envelope)
    async with working(source) as bench:
        [page] = await bench.pages(user_timeline("ada"))
    found = [valid(fields) for fields in parse_page(page.body, author="ada").tweets]
    by_number = dict(enumerate(reversed(found)))
    assert {one.author_username for one in found} == {"ada"}
    assert [one.created_at for one in found] == sorted((one.created_at for one in found), reverse=True)
    assert [one.reference_type for one in by_number.values() if one.reference_type] == [
        ReferenceType.RETWEETED,
        ReferenceType.REPLIED_TO,
        ReferenceType.QUOTED,
    ]
    assert by_number[1].urls == ("https://example.org/1",)
    assert by_number[8].text.startswith("The first words of note 8")
    assert [len(by_number[number].media) for number in (0, 3, 5, 7)] == [0, 1, 2, 1]
    assert by_number[7].media[0] == {
        "media_key": "media_0",
        "type": "animated_gif",
        "url": "https://img.example/7.gif",
        "width": 640,
        "height": 480,
    }


# The parser's rules


@pytest.mark.parametrize("data", [{}, None, []])
@pytest.mark.proves("D-01", "D-02")
def test_tweets_beside_an_empty_envelope_are_read_as_they_are_counted(data):
    body = {"data": data, "tweets": [PLAIN]}
    page = read_page(Response(url="https://x.example/", status=200, headers={}, body=json.dumps(body).encode()))
    assert len(parse_page(page.body).tweets) == page.count == 1


@pytest.mark.proves("D-02")
def test_a_retweet_comes_before_a_quote_before_a_reply():
    both = {"isReply": True, "inReplyToId": "9", "quoted_tweet": {"id": "8", "text": "q"}}
    [retweet, quote, reply, none] = read(
        {**PLAIN, **both, "retweeted_tweet": {"id": 7, "text": "r", "author": {"userName": "Origin"}}},
        {**PLAIN, **both},
        {**PLAIN, **both, "quoted_tweet": {"text": "without an id"}},
        {**PLAIN, "isReply": False, "inReplyToId": "9"},
    )
    assert (retweet["referenced_tweet_id"], retweet["reference_type"]) == ("7", ReferenceType.RETWEETED)
    assert (retweet["referenced_tweet_text"], retweet["referenced_tweet_author_username"]) == ("r", "Origin")
    assert (quote["referenced_tweet_id"], quote["reference_type"]) == ("8", ReferenceType.QUOTED)
    assert (reply["referenced_tweet_id"], reply["reference_type"]) == ("9", ReferenceType.REPLIED_TO)
    assert "referenced_tweet_text" not in reply
    assert "reference_type" not in none


@pytest.mark.proves("D-02")
def test_the_longest_of_note_full_and_text_stands():
    [one, two, three] = read(
        {**PLAIN, "text": "ab", "full_text": "abc", "note_tweet": {"text": "a"}},
        {**PLAIN, "text": "ab", "note_tweet": {"text": "abcd"}},
        {**PLAIN, "text": "ab", "full_text": None, "note_tweet": "odd"},
    )
    assert (one["text"], two["text"], three["text"]) == ("abc", "abcd", "ab")


@pytest.mark.proves("D-02")
def test_media_come_as_a_list_by_kind_or_among_the_extended_entities():
    photo, other = {"id_str": "1", "url": "u"}, {"media_key": "2", "type": "video", "media_url_https": "v"}
    [listed, by_kind, extended, first] = read(
        {**PLAIN, "media": [photo, other]},
        {**PLAIN, "media": {"photos": [photo], "videos": [other], "all": [photo, other]}},
        {**PLAIN, "media": [], "extendedEntities": {"media": [photo, other]}},
        {**PLAIN, "media": [photo], "extendedEntities": {"media": [other]}},
    )
    both = ({"media_key": "1", "type": "photo", "url": "u"}, {"media_key": "2", "type": "video", "url": "v"})
    assert listed["media"] == by_kind["media"] == extended["media"] == both
    assert first["media"] == both[:1]


@pytest.mark.proves("D-02")
def test_what_a_picture_shows_is_told_in_the_words_of_x_or_of_the_provider():
    photo = {"id_str": "1", "media_url_https": "u"}
    described = [{**photo, "alt_text": "a map"}, {**photo, "ext_alt_text": "a map"}, {**photo, "ext_alt_text": None}]
    found = read(*({**PLAIN, "extendedEntities": {"media": [one]}} for one in described))
    assert [fields["media"][0].get("alt_text") for fields in found] == ["a map", "a map", None]


@pytest.mark.proves("D-02")
def test_only_a_tweet_that_lacks_its_author_takes_the_one_asked_for():
    [own, other] = read({**PLAIN, "author": None}, {**PLAIN, "author": {"userName": "Other"}}, author="ada")
    assert (own["author_username"], other["author_username"]) == ("ada", "Other")
    assert "author_username" not in read({**PLAIN, "author": {}})[0]


@pytest.mark.proves("D-02")
def test_xs_own_answers_are_read_with_what_they_include():
    body = {
        "data": [
            {
                "id": "1",
                "text": "short",
                "note_tweet": {"text": "much longer"},
                "author_id": "10",
                "created_at": "2026-03-01T12:00:00.000Z",
                "attachments": {"media_keys": ["3_1"]},
                "referenced_tweets": [{"type": "replied_to", "id": "3"}, {"type": "quoted", "id": "2"}],
            },
            {"id": "4", "text": "t", "author_id": "10", "created_at": "2026-03-01T12:00:00Z",
             "referenced_tweets": [{"type": "retweeted", "id": "99"}]},
            {"id": "5", "text": "t", "author_id": "unknown", "created_at": "2026-03-01T12:00:00Z",
             "referenced_tweets": [{"type": "hinted_at", "id": "99"}]},
        ],
        "includes": {
            "users": [{"id": "10", "username": "Ada", "name": "Ada L."}, {"id": "11", "username": "bob"}],
            "media": [{"media_key": "3_1", "type": "photo", "url": "u", "width": 1, "height": 2, "alt_text": "a"}],
            "tweets": [{"id": "2", "text": "quoted", "author_id": "11", "attachments": {"media_keys": ["3_1"]}}],
        },
    }  # fmt: skip
    [first, second, third] = parse_page(body).tweets
    media = {"media_key": "3_1", "type": "photo", "url": "u", "width": 1, "height": 2, "alt_text": "a"}
    assert valid(first) == Tweet(
        tweet_id="1",
        text="much longer",
        created_at=START,
        author_username="Ada",
        author_display_name="Ada L.",
        referenced_tweet_id="2",
        reference_type=ReferenceType.QUOTED,
        media=(media,),
        referenced_tweet_text="quoted",
        referenced_tweet_media=(media,),
        referenced_tweet_author_username="bob",
    )
    assert (second["referenced_tweet_id"], second["reference_type"]) == ("99", ReferenceType.RETWEETED)
    assert "reference_type" not in third
    assert validate(third) == Invalid(missing=("author_username",))


@pytest.mark.proves("D-02")
def test_a_pinned_tweet_is_read_and_known_as_pinned():
    pinned = {**PLAIN, "id": "5"}
    parsed = parse_page({"data": {"pin_tweet": pinned, "tweets": [PLAIN]}})
    assert [fields["tweet_id"] for fields in parsed.tweets] == [PLAIN["id"], "5"]
    assert parsed.pinned == {"5"}
    among = {**PLAIN, "author": {"userName": "ada", "pinnedTweetIds": ["5", 6]}}
    assert parse_page({"tweets": [among]}).pinned == {"5", "6"}


@pytest.mark.proves("D-02")
def test_a_text_that_came_cut_short_is_warned_of():
    cut = {**PLAIN, "quoted_tweet": {"id": "1", "text": "A thought that was cut of…"}}
    assert "cut short" in parse_page({"tweets": [cut]}).warnings[0]
    whole = {**PLAIN, "quoted_tweet": {"id": "1", "text": "long " * 100 + "…"}}
    assert parse_page({"tweets": [whole]}).warnings == ()


@pytest.mark.proves("D-02")
def test_one_bad_tweet_is_passed_over_and_the_others_stay():
    parsed = parse_page({"tweets": [PLAIN, "no tweet", None, {**PLAIN, "createdAt": "yesterday"}]})
    assert len(parsed.warnings) == 2
    assert [type(validate(fields)) for fields in parsed.tweets] == [Tweet, Invalid]


@given(PAGES, st.none() | st.just("ada"))
@pytest.mark.proves("D-02", "D-03")
def test_nothing_that_can_be_said_in_json_breaks_the_reading(body, author):
    parsed = parse_page(body, author=author)
    for fields in parsed.tweets:
        found = validate(fields)
        if isinstance(found, Tweet):
            assert all(getattr(found, name) is not None for name in REQUIRED)
            assert found.created_at.tzinfo is UTC
            json.dumps(found._replace(created_at=None)).encode()
            found.text.encode()
            assert "\0" not in found.text


# The validator's rules


@pytest.mark.proves("D-03")
@pytest.mark.parametrize("missing", REQUIRED)
def test_what_is_missing_is_told_as_a_value(missing):
    [fields] = read(PLAIN)
    assert validate({name: value for name, value in fields.items() if name != missing}) == Invalid(missing=(missing,))
    assert validate({}) == Invalid(missing=REQUIRED)


@pytest.mark.proves("D-03")
def test_an_empty_text_is_a_tweet_and_none_is_not():
    assert valid(read({**PLAIN, "text": ""})[0]).text == ""
    assert validate(read({**PLAIN, "text": None})[0]) == Invalid(missing=("text",))


@pytest.mark.proves("D-03", "D-20")
def test_texts_keep_everything_but_needless_whitespace():
    text = "  a <b>&amp; \r\n\n 你好\t\u00a0<script>x</script>  "
    [fields] = read({**PLAIN, "text": text, "quoted_tweet": {"id": "1", "text": text}})
    found = valid(fields)
    assert found.text == found.referenced_tweet_text == "a <b>&amp; 你好 <script>x</script>"


@pytest.mark.proves("D-03")
@pytest.mark.parametrize(
    ("moment", "kept"),
    [
        (datetime(2026, 3, 1, 12), datetime(2026, 3, 1, 12, tzinfo=UTC)),  # noqa: DTZ001 - naive on purpose
        (datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=8))), datetime(2026, 3, 1, 4, tzinfo=UTC)),
    ],
)
def test_moments_are_kept_in_utc(moment, kept):
    [fields] = read(PLAIN)
    assert valid({**fields, "created_at": moment}).created_at == kept


@given(st.text(max_size=300) | st.just("word " * 6000))
@pytest.mark.proves("D-03", "D-20")
def test_cleaning_changes_whitespace_and_length_alone(text):
    cleaned = clean(text)
    assert len(cleaned) <= MAX_CHARS
    assert clean(cleaned) == cleaned
    assert "".join(cleaned.split()) == "".join(text.split())[: len("".join(cleaned.split()))]
    assert len(text) > MAX_CHARS or cleaned.split() == text.split()


# What a tweet says besides its text


COUNTS = {
    "like_count": 12,
    "retweet_count": 2,
    "reply_count": 1,
    "quote_count": 0,
    "bookmark_count": 3,
    "view_count": 900,
}


@pytest.mark.proves("R-31")
def test_a_captured_tweet_keeps_its_counts_and_language():
    body = capture("twitterapi_io/last_tweets_data-envelope_thin.json")
    first = valid(parse_page(json.loads(body)).tweets[0])
    assert (dict(first.counts), first.lang) == (COUNTS, "en")


@pytest.mark.proves("R-31")
def test_hashtags_and_links_are_kept_as_the_provider_writes_them():
    url = {"url": "https://t.co/x", "expanded_url": "https://example.org/1"}
    entities = {
        "hashtags": [{"text": "zk", "indices": [0, 3]}, {"text": "区块链"}],
        "urls": [url, {"url": "https://a.b"}],
    }
    [fields] = read({**PLAIN, "entities": entities})
    assert valid(fields).hashtags == ("zk", "区块链")
    assert valid(fields).urls == ("https://example.org/1", "https://a.b")


@pytest.mark.proves("R-31")
def test_xs_own_shape_has_the_same_under_other_names():
    metrics = {"like_count": 12, "retweet_count": 2, "reply_count": 1, "quote_count": 0, "bookmark_count": 3}
    tweet_ = {
        "id": "1",
        "text": "see #zk",
        "created_at": "2026-03-01T12:00:00Z",
        "author_id": "7",
        "lang": "ja",
        "public_metrics": {**metrics, "impression_count": 900},
        "entities": {"hashtags": [{"tag": "zk"}], "urls": [{"expanded_url": "https://example.org"}]},
        "attachments": {"media_keys": ["13_1"]},
    }
    video = {
        "media_key": "13_1",
        "type": "video",
        "preview_image_url": "https://img.example/still.jpg",
        "variants": [
            {"content_type": "application/x-mpegURL", "url": "https://video.example/a.m3u8"},
            {"content_type": "video/mp4", "bit_rate": 256_000, "url": "https://video.example/small.mp4"},
            {"content_type": "video/mp4", "bit_rate": 2_176_000, "url": "https://video.example/large.mp4"},
        ],
    }
    body = {"data": [tweet_], "includes": {"users": [{"id": "7", "username": "ada", "name": "Ada"}], "media": [video]}}
    found = valid(parse_page(body).tweets[0])
    assert (dict(found.counts), found.lang, found.hashtags) == (COUNTS, "ja", ("zk",))
    [media] = found.media
    assert media["url"] == "https://video.example/large.mp4"
    assert media["preview_image_url"] == "https://img.example/still.jpg"


@pytest.mark.proves("R-31")
def test_of_a_video_the_best_file_is_kept_and_its_still_as_the_preview():
    variants = [
        {"bitrate": 832_000, "content_type": "video/mp4", "url": "https://video.example/360.mp4"},
        {"content_type": "application/x-mpegURL", "url": "https://video.example/pl.m3u8"},
        {"bitrate": 2_176_000, "content_type": "video/mp4", "url": "https://video.example/720.mp4"},
    ]
    media = {"type": "video", "media_url_https": "https://img.example/still.jpg", "video_info": {"variants": variants}}
    [fields] = read({**PLAIN, "extendedEntities": {"media": [media]}})
    [kept] = valid(fields).media
    assert (kept["url"], kept["preview_image_url"]) == (
        "https://video.example/720.mp4",
        "https://img.example/still.jpg",
    )
    only_stream = {**media, "video_info": {"variants": variants[1:2]}}
    [fields] = read({**PLAIN, "extendedEntities": {"media": [only_stream]}})
    assert valid(fields).media[0]["url"] == "https://video.example/pl.m3u8"


@pytest.mark.proves("R-31")
@pytest.mark.parametrize("bad", [-1, 2**63, "12", None, True, 1.5, [1]])
def test_a_count_that_is_none_is_left_out(bad):
    [fields] = read({**PLAIN, "likeCount": bad})
    assert "like_count" not in valid(fields).counts
