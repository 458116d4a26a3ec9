# SPDX-License-Identifier: Apache-2.0
"""Perfetto traces written as JSON, so that a case can be read: {"packets": [{"at", "clock", "writer", "cleared", "track",
"event", "interned", "clocks", "ftrace"}]}. Field numbers are those of google/perfetto; nothing of the importer is used."""
import json
import struct

from xspace_text import message, number

TYPES = {"begin": 1, "end": 2, "instant": 3, "counter": 4}


def track(value):
    out = number(1, value["uuid"])
    if "name" in value:
        out += message(2, value["name"])
    if "thread" in value:
        pid, tid, name = value["thread"]
        out += message(4, number(1, pid) + number(2, tid) + message(5, name))
    if value.get("counter"):
        out += message(8, b"")
    return out


def event(value):
    out = number(9, TYPES[value["type"]])
    for field, name in ((11, "track"), (10, "name_iid"), (3, "category_iid")):
        if name in value:
            out += number(field, value[name])
    for field, name in ((22, "category"), (23, "name")):
        if name in value:
            out += message(field, value[name])
    if "value" in value:
        out += b"\xe1\x02" + struct.pack("<d", value["value"])
    return out


def interned(value):
    out = b""
    for field, entries in ((1, value.get("categories", {})), (2, value.get("names", {}))):
        for iid, name in entries.items():
            out += message(field, number(1, int(iid)) + message(2, name))
    return out


def clocks(value):
    """Each clock as [number, time] or [number, time, whether incremental, multiplier]."""
    return b"".join(message(1, b"".join(number(field + 1, part) for field, part in enumerate(clock))) for clock in value)


def packet(value):
    out = number(8, value["at"]) if "at" in value else b""
    out += number(10, value.get("writer", 1))
    for field, name in ((58, "clock"), (13, "flags")):
        if name in value:
            out += number(field, value[name])
    for field, name, encode in ((60, "track", track), (11, "event", event), (12, "interned", interned), (6, "clocks", clocks)):
        if name in value:
            out += message(field, encode(value[name]))
    if value.get("ftrace"):
        out += message(1, b"")
    return out


def perfetto(text):
    """The bytes of a trace."""
    return b"".join(message(1, packet(each)) for each in json.loads(text)["packets"])
