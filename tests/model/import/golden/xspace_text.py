# SPDX-License-Identifier: Apache-2.0
"""XSpace profiles written as JSON, so that a case can be read: {"planes": [{"name", "stats": {…}, "lines": [{"id", "name",
"start_ns", "events": [{"name", "at_ps", "for_ps", "stats": {…}}]}], "categories": {event: hlo_category}}]}.

Field numbers are those of xplane.proto (openxla/xla); nothing of the importer is used."""
import json


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


class Names:
    """Numbers for names, in the order of their first use."""

    def __init__(self):
        self.ids = {}

    def id(self, name):
        return self.ids.setdefault(name, len(self.ids) + 1)


def stats_of(field, stats, names):
    out = b""
    for name, value in stats.items():
        body = number(1, names.id(name))
        body += message(5, value) if isinstance(value, str) else number(4, value)
        out += message(field, body)
    return out


def plane(value):
    events, stats = Names(), Names()
    lines = b""
    for line in value.get("lines", []):
        body = number(1, line.get("id", 0)) + message(2, line["name"]) + number(3, line.get("start_ns", 0))
        for event in line["events"]:
            own = number(1, events.id(event["name"])) + number(2, event["at_ps"]) + number(3, event["for_ps"])
            body += message(4, own + stats_of(4, event.get("stats", {}), stats))
        lines += message(3, body)
    out = message(2, value["name"]) + lines
    categories = value.get("categories", {})
    for name, at in events.ids.items():
        category = {"hlo_category": categories[name]} if name in categories else {}
        out += message(4, number(1, at) + message(2, number(1, at) + message(2, name) + stats_of(5, category, stats)))
    own = stats_of(6, value.get("stats", {}), stats)
    for name, at in stats.ids.items():
        out += message(5, number(1, at) + message(2, number(1, at) + message(2, name)))
    return out + own


def xspace(text):
    """The bytes of a profile."""
    return b"".join(message(1, plane(each)) for each in json.loads(text)["planes"])
