"""XML that any text can go into."""

from __future__ import annotations

from datetime import UTC, datetime
from xml.etree import ElementTree as ET

from catchment.publish.feed import Enclosure, without_forbidden_characters

ATOM = "http://www.w3.org/2005/Atom"
DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"

ET.register_namespace("atom", ATOM)
ET.register_namespace("dc", DUBLIN_CORE)


def add(parent: ET.Element, tag: str, text: str = "", **attributes: str) -> ET.Element:
    """A child with this text and those attributes that are not empty."""
    given = {name: without_forbidden_characters(value) for name, value in attributes.items() if value}
    child = ET.SubElement(parent, tag, given)
    child.text = without_forbidden_characters(text) or None
    return child


def add_enclosure_link(parent: ET.Element, tag: str, enclosure: Enclosure) -> None:
    length = str(enclosure.length) if enclosure.length else ""
    add(parent, tag, rel="enclosure", href=enclosure.url, type=enclosure.type, length=length)


def atom_moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def written(root: ET.Element) -> bytes:
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document
