"""Well-formed XML out of what should have been it, so that one fault in a feed costs nothing but itself.

Whatever is no proper XML where it stands becomes text: a bare `<`, a tag that is never closed, one that was never
opened. Feeds carry HTML as text, so that markup which nobody escaped stays markup, and what stands around it stays
in its place. A document that is well-formed already comes out meaning the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape, unescape
from html.entities import html5
from typing import Final, NamedTuple

from catchment.parse.html import storable

#: A tag longer than this is text.
_LONGEST_TAG: Final = 32_768

_MARKUP: Final = re.compile(
    r"<(?:(?P<slash>/?)(?P<name>[A-Za-z_][^\s<>/]*+)(?P<rest>[^<>]*+)>|(?P<section>!--|!\[CDATA\[)|[!?][^<>]*+>)"
)
_SECTION_ENDS: Final = {"!--": "-->", "![CDATA[": "]]>"}
_ROW: Final = re.compile("<+")
_BRACKET: Final = re.compile("[<>]")
_TAG_ATTRIBUTE: Final = re.compile(r"""(?<![^\s="'/])([^\s="'/]++)\s*+=\s*+(?:"([^"]*)"|'([^']*)')""")
# With its semicolon only: in a link, `&copy=1` is no sign of copyright.
_NAMED: Final = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


class Start(NamedTuple):
    #: As written, in lower case; a prefix is part of it.
    name: str
    rest: str

    @property
    def is_empty(self) -> bool:
        return self.rest.endswith("/")

    def attributes(self) -> dict[str, str]:
        return {name.lower(): resolved(one or other) for name, one, other in _TAG_ATTRIBUTE.findall(self.rest)}


class End(NamedTuple):
    name: str


#: Text is as written and may come in pieces.
Token = Start | End | str


class Scanner:
    def __init__(self) -> None:
        self._buffer = ""
        self._at = 0
        #: How the comment or CDATA section ends that is open; "" when none is.
        self._section_end = ""
        self._is_comment = False

    def feed(self, text: str) -> None:
        self._buffer = self._buffer[self._at :] + text
        self._at = 0

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What comes next, if it is just this: a short cut past all the tokens in it."""
        found = None if self._section_end else pattern.match(self._buffer, self._at)
        if found is not None:
            self._at = found.end()
        return found

    def next(self) -> Token | None:
        """The next token, or None when more is needed to tell."""
        if self._section_end:
            return self._in_section()
        bracket = self._buffer.find("<", self._at)
        if bracket == self._at:
            return self._markup(bracket)
        return self._up_to(bracket if bracket >= 0 else len(self._buffer))

    def _markup(self, bracket: int) -> Token | None:
        found = _MARKUP.match(self._buffer, bracket)
        if found is None or found.end() - bracket > _LONGEST_TAG:
            return self._up_to(_stray_end(self._buffer, bracket)) if self._is_stray(bracket) else None
        self._at = found.end()
        slash, name, rest, section = found.groups()
        if name:
            return End(name.lower()) if slash else Start(name.lower(), rest)
        if section:
            self._section_end = _SECTION_ENDS[section]
            self._is_comment = section == "!--"
        return ""

    def _is_stray(self, bracket: int) -> bool:
        """Whether it is settled that no tag starts here; else the rest of it may follow."""
        if len(self._buffer) - bracket > _LONGEST_TAG:
            return True
        return _BRACKET.search(self._buffer, bracket + 1) is not None

    def _in_section(self) -> Token | None:
        end = self._buffer.find(self._section_end, self._at)
        if end < 0:
            # The end itself may be cut in two.
            inner = self._up_to(max(self._at, len(self._buffer) - len(self._section_end) + 1))
        else:
            inner = self._buffer[self._at : end]
            self._at = end + len(self._section_end)
            self._section_end = ""
        return "" if inner and self._is_comment else inner

    def _up_to(self, position: int) -> str | None:
        text = self._buffer[self._at : position]
        self._at = position
        return text or None


def _stray_end(buffer: str, bracket: int) -> int:
    """Of brackets in a row only the last can start a tag."""
    row = _ROW.match(buffer, bracket)
    return max(bracket + 1, row.end() - 1) if row else bracket + 1


def resolved(text: str) -> str:
    """The text with its character references resolved; a stray ampersand is one."""
    return _NAMED.sub(_character, text) if "&" in text else text


def _character(reference: re.Match[str]) -> str:
    return unescape(reference[0])


# The namespaces of prefixes that feeds use without declaring them.
_NAMESPACES = {
    "atom": "http://www.w3.org/2005/Atom",
    "content": "http://purl.org/rss/1.0/modules/content/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "media": "http://search.yahoo.com/mrss/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rss": "http://purl.org/rss/1.0/",
    "xhtml": "http://www.w3.org/1999/xhtml",
}
_ROOT = re.compile(r"<(?:[A-Za-z_][A-Za-z0-9_.-]{0,39}+:)?(?:rss|feed|rdf|channel)(?=[\s>])", re.IGNORECASE | re.ASCII)
_LONE_ENTRY = re.compile(r"<(?:[A-Za-z_][A-Za-z0-9_.-]{0,39}+:)?entry(?=[\s>])", re.IGNORECASE | re.ASCII)

# Left open they are closed where they must end; everything else that is left open is text.
_CONTAINERS = frozenset({"rss", "feed", "rdf", "channel", "item", "entry", "items"})
_ENTRIES = frozenset({"item", "entry"})
# Where long texts stand, as CDATA.
_TEXTS = frozenset({"title", "description", "summary", "content", "encoded", "subtitle", "body"})
# Addresses and ids: what breaks one was never part of it.
_NAMING = frozenset({"link", "guid", "id", "href", "url", "about", "resource"})
# What HTML never closes.
_VOID = frozenset({"br", "img", "hr", "wbr", "input", "source", "col", "area", "embed", "track"})
_MAX_DEPTH = 100
# Each name may be looked for through the whole document.
_MAX_MARKS = 500
_MAX_ENTITY = 100

_NAME = r"[A-Za-z_][A-Za-z0-9_.-]*+(?::[A-Za-z_][A-Za-z0-9_.-]*+)?"
_STRICT_VALUE = r"""(?:"[^"<]*+"|'[^'<]*+')"""
# With what nobody escaped inside, or without quotes.
_LOOSE_VALUE = r"""(?:"[^">]*+"|'[^'>]*+'|[^\s"'<>=]++)"""
_START = r"<(?P<name>{name})(?P<attributes>(?:\s++{name}\s*+=\s*+{value})*)\s*+(?P<empty>/?)>"
_STRICT_START = re.compile(_START.format(name=_NAME, value=_STRICT_VALUE))
_LOOSE_START = re.compile(_START.format(name=_NAME, value=_LOOSE_VALUE))
_START_OF_TAG = re.compile(rf"<(?P<name>{_NAME})(?P<attributes>[^<>]*+)(?P<empty>)>?")
_ATTRIBUTE = re.compile(rf"({_NAME})\s*+=\s*+({_LOOSE_VALUE}|{_STRICT_VALUE})")
_END = re.compile(rf"</(?P<name>{_NAME})\s*+>")
_TAG = re.compile(rf"<!\[CDATA\[.*?\]\]>|<!--.*?-->|<(?P<slash>/?)(?P<name>{_NAME})[^<>]*?(?P<empty>/?)>", re.DOTALL)
_REFERENCE = re.compile(r"&(?:#(?P<number>[0-9]{1,7}|[xX][0-9a-fA-F]{1,6});|(?P<name>[A-Za-z][\w.-]{0,39};)|)")
_ENTITY = re.compile(
    rf"<!ENTITY\s++([A-Za-z][\w.-]*+)\s++(?:\"([^\"<>]{{0,{_MAX_ENTITY}}})\"|'([^'<>]{{0,{_MAX_ENTITY}}})')\s*+>"
)
# One that was broken in two.
_SPLIT = re.compile(r"(&#?[A-Za-z0-9]{0,8}+)(?:\]\]>|<|&(?:#[xX]?0|[A-Za-z][\w.-]{0,39});)(#?[A-Za-z0-9]{0,8};)")
_NUMBERED = re.compile("&#(?:[0-9]{2,7}|[xX][0-9a-fA-F]{2,6});")
_XML_NAMES = {"amp;", "lt;", "gt;", "quot;", "apos;"}
_CDATA, _CDATA_END = "<![CDATA[", "]]>"
_XMLNS = "xmlns:"


class Mended(NamedTuple):
    document: bytes
    #: Something could not be read as it was meant: texts may be less than, or other than, what was written.
    is_damaged: bool
    is_cut_off: bool = False


def well_formed(document: bytes) -> Mended:
    """The feed in a document, from its root on; empty where nothing looks like a feed."""
    text = storable(document.decode("utf-8", "replace"))
    whole = _SPLIT.sub(_joined, text)
    root = _ROOT.search(whole) or _LONE_ENTRY.search(whole)
    if root is None:
        return Mended(b"", is_damaged=True)
    mender = _Mender(whole, root.start(), _entities(whole[: root.start()]))
    mended = mender.mend().encode()
    return Mended(mended, mender.is_damaged or whole != text, mender.is_cut_off)


def _joined(split: re.Match[str]) -> str:
    """The reference that something was put into; what makes none is left as it is."""
    joined = split[1] + split[2]
    return joined if joined[1:] in html5 or _NUMBERED.fullmatch(joined) else split[0]


@dataclass(slots=True)
class _Open:
    """An element that is open: how it is called, how that is folded, and which piece of the outcome opens it."""

    name: str
    folded: str
    piece: int
    #: Where it starts.
    at: int
    #: There are elements in it, so that what stands beside them is no HTML as text.
    has_elements: bool = False


class _Mender:
    def __init__(self, text: str, start: int, entities: Mapping[str, str]) -> None:
        self.is_damaged = self.is_cut_off = False
        self._text = text
        self._position = start
        self._entities = entities
        self._pieces: list[str] = []
        self._stack: list[_Open] = []
        self._open_names: Counter[str] = Counter()
        self._prefixes: set[str] = set()
        self._declared: set[str] = {"xml", "xmlns"}
        self._next: dict[str, int] = {}
        #: Where each element ends, once somebody asked.
        self._ends: Mapping[int, int] | None = None

    def mend(self) -> str:
        self._take_root()
        while self._stack and (tag := self._text.find("<", self._position)) >= 0:
            self._write_text(tag)
            self._take_markup(tag)
        if self._stack:
            self._write_text(len(self._text))
            self._close_all()
        return "".join(self._pieces)

    def _take_root(self) -> None:
        """The tag that everything stands in, as far as it can be read."""
        start = self._start_at(self._position) or _START_OF_TAG.match(self._text, self._position)
        assert start is not None  # it is where it was found
        self._take_start(start)
        self._position = start.end()

    def _take_markup(self, tag: int) -> None:
        if self._text.startswith(_CDATA, tag):
            self._take_cdata(tag)
        elif self._text.startswith("<!--", tag):
            self._skip_to("-->", tag)
        elif self._text.startswith("<?", tag):
            self._skip_to("?>", tag)
        elif end := _END.match(self._text, tag):
            self._position = end.end()
            self._take_end(end)
        elif start := self._start_at(tag):
            self._position = start.end()
            self._take_start(start)
        else:
            self._position = tag + 1
            self._write_stray("<")

    def _start_at(self, tag: int) -> re.Match[str] | None:
        return _STRICT_START.match(self._text, tag) or _LOOSE_START.match(self._text, tag)

    def _write_text(self, end: int) -> None:
        text = self._text[self._position : end]
        self._position = end
        if text:
            self._pieces.append(self._escaped(self._spotless(text) if self._is_in_name() else text))

    def _write_stray(self, markup: str) -> None:
        """What is no markup here, as text; a lone bracket in an address is nothing at all."""
        self.is_damaged = True
        if markup != "<" or not self._is_in_name():
            self._pieces.append(escape(markup, quote=False))

    def _is_in_name(self) -> bool:
        return _local(self._stack[-1].folded) in _NAMING

    def _skip_to(self, mark: str, start: int) -> None:
        end = self._find(mark, start + len("<!--") if mark == "-->" else start)
        limit = self._end_of_text(start)
        if end is None or (limit is not None and end > limit):  # that is the end of another one
            self._position = start + 1
            self._write_stray("<")
        else:
            self._position = end + len(mark)

    def _take_cdata(self, tag: int) -> None:
        start = tag + len(_CDATA)
        end = self._end_of_cdata(start)
        self._pieces.append(escape(self._text[start:end], quote=False))
        self._position = end + len(_CDATA_END) if self._text.startswith(_CDATA_END, end) else end

    def _end_of_cdata(self, start: int) -> int:
        """Where it says that it ends, unless what encloses it shows that its end was lost, or is another one."""
        said = self._find(_CDATA_END, start)
        limit = self._end_of_text(start)
        if limit is None:
            end = len(self._text) if said is None else said
        elif said is None or (said > limit and self._text.find(_CDATA, limit, said) >= 0):
            end = limit
        elif self._text.find(_CDATA, said, limit) < 0:
            end = max(said, self._text.rfind(_CDATA_END, said, limit))
        else:
            end = said
        self.is_damaged |= end != said
        return end

    def _end_of_text(self, start: int) -> int | None:
        """Where the text ends that a comment or a piece of CDATA stands in."""
        holders = [_local(element.folded) for element in self._stack[-2:]]
        is_field = holders[0] in _CONTAINERS and holders[-1] not in _CONTAINERS
        mark = f"</{self._stack[-1].name}"
        is_new = mark not in self._next
        if not (is_field or holders[-1] in _TEXTS) or (is_new and len(self._next) >= _MAX_MARKS):
            return None
        return self._find(mark, start)

    def _take_start(self, start: re.Match[str]) -> None:
        folded = start["name"].lower()
        if len(self._stack) >= _MAX_DEPTH:
            self._close_void()
        if len(self._stack) >= _MAX_DEPTH:
            self._write_stray(start[0])
            return
        if _local(folded) in _ENTRIES and self._open_names[folded] and not self._is_enclosed(start.start()):
            self._close_to(folded)  # the one before was not closed
        self._pieces.append(self._tag(start))
        if start["empty"]:
            self._mark_parent()
        else:
            self._stack.append(_Open(start["name"], folded, len(self._pieces) - 1, start.start()))
            self._open_names[folded] += 1

    def _is_enclosed(self, entry: int) -> bool:
        """Whether what starts here like an entry stands in an element of another one, which is closed behind it."""
        holder = self._stack[-1]
        if self._ends is None:
            self._ends = _ends(self._text)
        never = len(self._text)
        end = self._ends.get(holder.at, never)
        if end == never:
            # Of a document that was cut off, what an extension holds is cut off with it.
            return self._lacks_its_end() and _local(holder.folded) not in _CONTAINERS | _TEXTS | _NAMING
        return self._ends.get(entry, never) < end

    def _lacks_its_end(self) -> bool:
        return self._text.rfind(f"</{self._stack[0].name}>") < 0

    def _take_end(self, end: re.Match[str]) -> None:
        folded = end["name"].lower()
        if not self._open_names[folded]:
            self._write_stray(end[0])
        elif folded != self._stack[0].folded or self._open_names[folded] > 1:
            self._close_to(folded)
        # The root ends with the document.

    def _close_to(self, folded: str) -> None:
        left: list[_Open] = []
        while self._stack[-1].folded != folded:
            left.append(self._pop())
        closed = self._pop()
        # A text in which nothing is closed is read as HTML, where these tags are in their place.
        is_tree = _local(folded) not in _TEXTS or any(element.has_elements for element in (closed, *left))
        for element in left:
            self._leave_open(element, is_tree=is_tree)
        self._pieces.append(f"</{closed.name}>")
        self._mark_parent()

    def _close_void(self) -> None:
        """Make room: what HTML never closes holds nothing."""
        while self._stack[-1].folded in _VOID:
            self._leave_open(self._pop(), is_tree=True)
            self._mark_parent()

    def _mark_parent(self) -> None:
        if self._stack:
            self._stack[-1].has_elements = True

    def _leave_open(self, element: _Open, *, is_tree: bool) -> None:
        """What was never closed: a container ends here, what HTML never closes is empty, and any other tag was none."""
        self.is_damaged = True
        if is_tree and element.folded in _VOID:
            self._pieces[element.piece] = self._pieces[element.piece][:-1] + "/>"
        elif _local(element.folded) in _CONTAINERS:
            self._pieces.append(f"</{element.name}>")
        else:
            self._pieces[element.piece] = escape(self._pieces[element.piece], quote=False)

    def _pop(self) -> _Open:
        element = self._stack.pop()
        self._open_names[element.folded] -= 1
        return element

    def _close_all(self) -> None:
        root = self._stack[0]
        self._drop_what_was_cut_off()
        if not self._pieces:  # it was an entry alone
            return
        while len(self._stack) > 1:
            self._leave_open(self._pop(), is_tree=True)
        self._pieces.append(f"</{root.name}>")
        self._pieces[root.piece] = self._with_namespaces(self._pieces[root.piece])

    def _drop_what_was_cut_off(self) -> None:
        """An entry in the midst of which the document ends: half of a link is another link, and half a text is none."""
        if not self._lacks_its_end():
            return
        self.is_damaged = self.is_cut_off = True
        place = next((n for n, element in enumerate(self._stack) if _local(element.folded) in _ENTRIES), None)
        if place is not None:
            del self._pieces[self._stack[place].piece :]
            del self._stack[place:]

    def _tag(self, start: re.Match[str]) -> str:
        name = start["name"]
        self._use(name)
        if not start["attributes"]:
            return f"<{name}{start['empty']}>"
        attributes: dict[str, str] = {}
        for attribute in _ATTRIBUTE.finditer(start["attributes"]):
            attributes.setdefault(attribute[1], _unquoted(attribute[2]))
        for used in attributes:
            if not used.startswith(_XMLNS):
                self._use(used)
            elif not self._stack:
                self._declared.add(used.removeprefix(_XMLNS))
        written = "".join(f' {key}="{self._value(key, value)}"' for key, value in attributes.items())
        return f"<{name}{written}{start['empty']}>"

    def _use(self, name: str) -> None:
        prefix, colon, _ = name.partition(":")
        if colon:
            self._prefixes.add(prefix)

    def _with_namespaces(self, root: str) -> str:
        """With those declared that are used and that it does not declare itself; others may do so as well."""
        missing = sorted(self._prefixes - self._declared)
        written = "".join(f' xmlns:{one}="{_NAMESPACES.get(one.lower(), f"urn:undeclared:{one}")}"' for one in missing)
        return root[:-1] + written + ">"

    def _escaped(self, text: str) -> str:
        """Text as it may stand between tags."""
        if "&" in text:
            text = _REFERENCE.sub(self._character, text)
        if _CDATA_END in text:
            self.is_damaged = True
            text = text.replace(_CDATA_END, "]]&gt;")
        return text

    def _value(self, key: str, value: str) -> str:
        if _local(key.lower()) in _NAMING:
            value = self._spotless(value)
        return self._escaped(value).replace("<", "&lt;").replace('"', "&quot;")

    def _spotless(self, name: str) -> str:
        """An address or id without what breaks documents. In a query `&this;` may be a parameter."""
        path, mark, query = name.partition("?")
        kept = _NAMED.sub(self._known_character, path) + mark + query
        kept = kept.replace(_CDATA_END, "").replace("<", "")
        self.is_damaged |= kept != name
        return kept

    def _known_character(self, reference: re.Match[str]) -> str:
        name = reference[0][1:]
        is_known = name.startswith("#") or name in _XML_NAMES or name in html5 or name[:-1] in self._entities
        return reference[0] if is_known else ""

    def _character(self, reference: re.Match[str]) -> str:
        """What a reference stands for, by XML, by HTML or by the document itself; one to nothing is text or goes."""
        name = reference["name"]
        if reference["number"]:
            return self._numbered(reference[0])
        if not name:
            return "&amp;"
        if name in _XML_NAMES:
            return reference[0]
        character = self._entities.get(name[:-1]) or html5.get(name)
        if character is None:
            self.is_damaged = True
            return f"&amp;{name}"
        return escape(character, quote=False)

    def _numbered(self, reference: str) -> str:
        character = storable(unescape(reference))
        if not character or character == "\ufffd":
            self.is_damaged = True
            return ""
        # As it is, the end of a line would be another one to whoever reads the outcome.
        return f"&#{ord(character)};" if character.isspace() else escape(character, quote=False)

    def _find(self, mark: str, start: int) -> int | None:
        """Where it comes next; each place is looked for once, however often it is asked for."""
        known = self._next.get(mark, -1)
        if known < start:
            found = self._text.find(mark, start)
            self._next[mark] = known = found if found >= 0 else len(self._text)
        return known if known < len(self._text) else None


def _ends(text: str) -> dict[int, int]:
    """By where each element starts, where it ends; only those are in it that are closed, others of their name aside."""
    open_at: dict[str, list[int]] = {}
    ends: dict[int, int] = {}
    for tag in _TAG.finditer(text):
        name = tag["name"]
        if name and tag["slash"]:
            if starts := open_at.get(name.lower()):
                ends[starts.pop()] = tag.start()
        elif name and tag["empty"]:
            ends[tag.start()] = tag.start()
        elif name:
            open_at.setdefault(name.lower(), []).append(tag.start())
    return ends


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _unquoted(value: str) -> str:
    return value[1:-1] if value[0] in "\"'" else value


def _entities(prolog: str) -> dict[str, str]:
    """What the document itself declares, as far as it is plain text: one made of others may be a bomb."""
    found = {one[1]: unescape(one[2] or one[3] or "") for one in _ENTITY.finditer(prolog)}
    return {name: text for name, text in found.items() if "&" not in text}
