"""From an answer of the provider to what is known of each tweet. Pure, and never surprised.

The provider answers in two envelopes and may pass on X's own v2 answers, where users, media and other tweets are
listed apart. Those are put back into their tweets first, so that there is one way to read a tweet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from catchment.domain.tweet import Media, ReferenceType, Tweet, TweetFields
from catchment.parse.dates import in_utc, parse_date
from catchment.parse.json_values import list_at, object_at, objects_at

MAX_CHARS: Final = 25_000
REQUIRED: Final = ("tweet_id", "text", "created_at", "author_username")
#: An empty text is a tweet of pictures alone.
_MAY_BE_EMPTY: Final = frozenset({"text"})
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Invalid:
    #: The required fields that are not there.
    missing: tuple[str, ...]


def validate(fields: TweetFields) -> Tweet | Invalid:
    missing = tuple(name for name in REQUIRED if _is_missing(name, fields.get(name)))
    if missing:
        return Invalid(missing=missing)
    cleaned: TweetFields = {**fields, "text": clean(fields["text"]), "created_at": in_utc(fields["created_at"])}
    if "referenced_tweet_text" in fields:
        cleaned["referenced_tweet_text"] = clean(fields["referenced_tweet_text"])
    return Tweet(**cleaned)


def clean(text: str) -> str:
    return _SPACE.sub(" ", text).strip()[:MAX_CHARS].rstrip()


def _is_missing(name: str, value: object) -> bool:
    return value is None or (not value and name not in _MAY_BE_EMPTY)


Json = Mapping[str, Any]
#: How the provider writes a date; X's own is ISO 8601.
_DATE: Final = "%a %b %d %H:%M:%S %z %Y"
#: A quoted text that is shorter than this and ends in an ellipsis was cut by the provider.
_CUT_BELOW: Final = 300
_ELLIPSES: Final = ("…", "...")
_MAX_NAME: Final = 255
_MAX_LANG: Final = 20
_MAX_SIDE: Final = 2**31 - 1
_MAX_COUNT: Final = 2**63
#: By our name for it: what the provider calls it, and what X does.
_COUNTS: Final[Mapping[str, tuple[str, str]]] = {
    "like_count": ("likeCount", "like_count"),
    "retweet_count": ("retweetCount", "retweet_count"),
    "reply_count": ("replyCount", "reply_count"),
    "quote_count": ("quoteCount", "quote_count"),
    "view_count": ("viewCount", "impression_count"),
    "bookmark_count": ("bookmarkCount", "bookmark_count"),
}
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
#: Lists of media, where they are sorted.
_KINDS: Final = ("photos", "videos", "all")
#: The first that is there counts.
_NESTED: Final = (("retweeted_tweet", ReferenceType.RETWEETED), ("quoted_tweet", ReferenceType.QUOTED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    tweets: tuple[TweetFields, ...]
    #: Entries that are no tweets at all.
    unusable: int = 0
    #: Ids of tweets that stand first whatever their age.
    pinned: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()


def parse_page(body: Json, *, author: str | None = None) -> Parsed:
    """What a page holds. `author` stands in where a tweet of that user's timeline does not say whose it is."""
    entries, pinned = _entries(body)
    tweets: list[TweetFields] = []
    warnings: list[str] = []
    unusable = 0
    for entry in entries:
        if not isinstance(entry, Mapping):
            warnings.append(f"an entry is not a tweet but {type(entry).__name__}")
            unusable += 1
            continue
        tweets.append(fields := _tweet(entry, author))
        warnings += _doubts(fields)
        pinned |= {_id(one) for one in list_at(object_at(entry, "author"), "pinnedTweetIds")}
    return Parsed(tweets=tuple(tweets), unusable=unusable, pinned=frozenset(pinned - {""}), warnings=tuple(warnings))


def _entries(body: Json) -> tuple[list[Any], set[str]]:
    """The tweets of whichever envelope it is, a pinned one last, and the ids of those that are pinned."""
    if listed := list_at(body, "data"):
        return _unfolded(listed, object_at(body, "includes")), set()
    envelope = {**body, **object_at(body, "data")}
    entries = list_at(envelope, "tweets")
    pinned = object_at(envelope, "pin_tweet")
    apart = [pinned] if pinned and pinned not in entries else []
    return [*entries, *apart], {_id(pinned.get("id"))}


def _tweet(raw: Json, author: str | None) -> TweetFields:
    fields: TweetFields = {}
    if tweet_id := _id(raw.get("id")):
        fields["tweet_id"] = tweet_id
    if (text := _longest_text(raw)) is not None:
        fields["text"] = text
    if created_at := _moment(raw):
        fields["created_at"] = created_at
    if username := _username(raw) or author:
        fields["author_username"] = username
    if name := _text(object_at(raw, "author").get("name")):
        fields["author_display_name"] = name[:_MAX_NAME]
    fields["media"] = _media_of(raw)
    fields["urls"] = tuple(_urls(raw))
    fields["hashtags"] = tuple(_hashtags(raw))
    fields["counts"] = dict(_counts(raw))
    if lang := _text(raw.get("lang")):
        fields["lang"] = lang[:_MAX_LANG]
    return {**fields, **_reference(raw)}


def _reference(raw: Json) -> TweetFields:
    """At most one: a retweet before a quote before a reply."""
    for name, kind in _NESTED:
        nested = object_at(raw, name)
        if tweet_id := _id(nested.get("id")):
            return {"referenced_tweet_id": tweet_id, "reference_type": kind, **_of_nested(nested)}
    replied_to = _id(raw.get("inReplyToId"))
    if raw.get("isReply") is True and replied_to:
        return {"referenced_tweet_id": replied_to, "reference_type": ReferenceType.REPLIED_TO}
    return {}


def _of_nested(nested: Json) -> TweetFields:
    fields: TweetFields = {"referenced_tweet_media": _media_of(nested)}
    if (text := _longest_text(nested)) is not None:
        fields["referenced_tweet_text"] = text
    if username := _username(nested):
        fields["referenced_tweet_author_username"] = username
    return fields


def _doubts(fields: TweetFields) -> Iterator[str]:
    quoted = fields.get("referenced_tweet_text", "")
    if len(quoted) < _CUT_BELOW and quoted.endswith(_ELLIPSES):
        yield f"tweet {fields.get('tweet_id')}: the text that it refers to came cut short"


def _longest_text(raw: Json) -> str | None:
    texts = (raw.get("text"), raw.get("full_text"), object_at(raw, "note_tweet").get("text"))
    found = [text for one in texts if (text := _text(one)) is not None]
    return max(found, key=len) if found else None


def _moment(raw: Json) -> datetime | None:
    text = _text(raw.get("createdAt") or raw.get("created_at")) or ""
    try:
        return datetime.strptime(text, _DATE)  # noqa: DTZ007 - the format holds the zone
    except ValueError:
        return parse_date(text)


def _username(raw: Json) -> str | None:
    author = object_at(raw, "author")
    name = _text(author.get("userName")) or ""
    return name.strip().removeprefix("@")[:_MAX_NAME] or None


def _urls(raw: Json) -> Iterator[str]:
    for one in objects_at(object_at(raw, "entities"), "urls"):
        if leads_to := _text(one.get("expanded_url")) or _text(one.get("url")):
            yield leads_to


def _hashtags(raw: Json) -> Iterator[str]:
    for one in objects_at(object_at(raw, "entities"), "hashtags"):
        if tag := _text(one.get("text")) or _text(one.get("tag")):
            yield tag


def _counts(raw: Json) -> Iterator[tuple[str, int]]:
    """The provider's own, or X's, which call some of them differently."""
    metrics = object_at(raw, "public_metrics")
    for name, (own, of_x) in _COUNTS.items():
        count = raw.get(own, metrics.get(of_x))
        if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < _MAX_COUNT:
            yield name, count


def _media_of(raw: Json) -> tuple[Media, ...]:
    """From `media`, a list or lists by kind; only where that holds nothing, from `extendedEntities`."""
    by_kind = object_at(raw, "media")
    listed = objects_at(raw, "media") or [one for kind in _KINDS for one in objects_at(by_kind, kind)]
    found = listed or objects_at(object_at(raw, "extendedEntities"), "media")
    media = [_media(one, number) for number, one in enumerate(found)]
    # The same may stand in more than one of the lists.
    return tuple({one["media_key"]: one for one in media}.values())


def _media(raw: Json, number: int) -> Media:
    keys = (_id(raw.get(name)) for name in ("media_key", "id_str", "id"))
    media: Media = {"media_key": next(filter(None, keys), f"media_{number}"), "type": _text(raw.get("type")) or "photo"}
    picture = _text(raw.get("media_url_https")) or _text(raw.get("url"))
    video = _video(raw)
    if url := video or picture:
        media["url"] = url
    if preview := _text(raw.get("preview_image_url")) or (picture if video else None):
        media["preview_image_url"] = preview
    if alt_text := _text(raw.get("alt_text")) or _text(raw.get("ext_alt_text")):
        media["alt_text"] = alt_text
    large = object_at(object_at(raw, "sizes"), "large")
    if width := _side(raw.get("width")) or _side(large.get("w")):
        media["width"] = width
    if height := _side(raw.get("height")) or _side(large.get("h")):
        media["height"] = height
    return media


def _video(raw: Json) -> str | None:
    """The file with the most to see; a stream only where there is no file."""
    listed = objects_at(object_at(raw, "video_info"), "variants") or objects_at(raw, "variants")
    found = [one for one in listed if _text(one.get("url"))]
    return _text(max(found, key=_worth)["url"]) if found else None


def _worth(variant: Json) -> tuple[bool, int]:
    bits = _side(variant.get("bitrate")) or _side(variant.get("bit_rate")) or 0
    return variant.get("content_type") == "video/mp4", bits


def _unfolded(listed: list[Any], includes: Json) -> list[Any]:
    """Tweets of X's v2 answer, with what is listed apart put back into them."""
    users = {_id(one.get("id")): one for one in objects_at(includes, "users")}
    media = {_id(one.get("media_key")): one for one in objects_at(includes, "media")}
    tweets = {_id(one.get("id")): _joined(one, users, media) for one in objects_at(includes, "tweets")}
    return [
        {**_joined(one, users, media), **_referring(one, tweets)} if isinstance(one, Mapping) else one for one in listed
    ]


def _joined(raw: Json, users: Mapping[str, Json], media: Mapping[str, Json]) -> Json:
    user = users.get(_id(raw.get("author_id")), {})
    keys = map(_id, list_at(object_at(raw, "attachments"), "media_keys"))
    return {
        **raw,
        "author": {"userName": user.get("username"), "name": user.get("name")},
        "media": [media[key] for key in keys if key in media],
    }


def _referring(raw: Json, tweets: Mapping[str, Json]) -> Json:
    """What a tweet refers to, in the provider's words; one that is not included keeps its id and kind."""
    found: dict[str, Any] = {}
    for reference in objects_at(raw, "referenced_tweets"):
        tweet_id = _id(reference.get("id"))
        nested = tweets.get(tweet_id, {"id": tweet_id})
        match reference.get("type"):
            case "retweeted":
                found["retweeted_tweet"] = nested
            case "quoted":
                found["quoted_tweet"] = nested
            case "replied_to":
                found |= {"isReply": True, "inReplyToId": tweet_id}
    return found


def _text(value: object) -> str | None:
    """Without what no store can hold."""
    return _UNSTORABLE.sub("", value) if isinstance(value, str) else None


def _id(value: object) -> str:
    """Ids come as text, or as numbers from careless senders."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 2**64 else ""
    return (_text(value) or "").strip()[:_MAX_NAME]


def _side(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MAX_SIDE else None
