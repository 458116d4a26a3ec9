#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes an XSpace profile of any size: a real one again and again, one repetition behind the other in time, so that the
share of events, descriptions and HLO modules stays that of the real file. Launches keep their work: each repetition has
correlation ids of its own. With --events-only nothing but events is repeated: many short events, the worst case.

Usage: generate_xspace.py REAL.xplane.pb --megabytes N [--events-only] -o FILE.xplane.pb
"""
import argparse

PLANE, NAME, LINES, EVENT_NAMES, STAT_NAMES = 1, 2, 3, 4, 5  # fields of XSpace and XPlane
EVENTS = 4  # of XLine
OFFSET, DURATION, STATS = 2, 3, 4  # of XEvent


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(data):
    """(number, wire type, value) of a message; of what has a length the bytes."""
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = read_varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if size is None:
                size, at = read_varint(data, at)
            value = data[at:at + size]
            at += size
        yield tag >> 3, kind, value


def field(number, kind, value):
    tag = varint(number << 3 | kind)
    if kind == 0:
        return tag + varint(value)
    return tag + (varint(len(value)) if kind == 2 else b"") + value


def name_of(entry):
    """(number, name) of an entry of event_metadata or stat_metadata."""
    parts = {number: value for number, _, value in fields(entry)}
    return parts.get(1, 0), next((value for number, _, value in fields(parts.get(2, b"")) if number == 2), b"")


class Event:
    """Its bytes around what differs between repetitions: the offset and the correlation id."""

    def __init__(self, data, correlation):
        self.offset = self.end = 0
        self.head, self.tail, self.id, self.stat = b"", b"", None, None
        for number, kind, value in fields(data):
            if number == OFFSET:
                self.offset = value
            elif number == STATS and any(n == 1 and v == correlation for n, _, v in fields(value)):
                parts = {n: v for n, _, v in fields(value)}
                which = 3 if 3 in parts else 4
                self.id = parts[which]
                self.stat = field(1, 0, parts[1]) + varint(which << 3)
            elif number < OFFSET:
                self.head += field(number, kind, value)
            else:
                self.tail += field(number, kind, value)
                self.end = value if number == DURATION else self.end
        self.end += self.offset

    def at(self, shift, shift_of_id):
        body = self.head + b"\x10" + varint(self.offset + shift) + self.tail
        if self.id is not None:
            stat = self.stat + varint(self.id + shift_of_id)
            body += b"\x22" + varint(len(stat)) + stat
        return b"\x22" + varint(len(body)) + body


def repeated_line(data, correlation, copies, span, ids):
    head, events = b"", []
    for number, kind, value in fields(data):
        if number == EVENTS:
            events.append(Event(value, correlation))
        else:
            head += field(number, kind, value)
    out = bytearray(head)
    for copy in range(copies):
        out += b"".join([event.at(copy * span, copy * ids) for event in events])
    return bytes(out)


def correlation_of(plane):
    entries = [name_of(value) for number, _, value in fields(plane) if number == STAT_NAMES]
    return next((number for number, name in entries if name == b"correlation_id"), None)


def extent(planes):
    """The time that one repetition takes [ps], and the number of its correlation ids."""
    last = ids = 0
    for plane in planes:
        correlation = correlation_of(plane)
        for number, _, line in fields(plane):
            if number != LINES:
                continue
            begin = next((value for n, _, value in fields(line) if n == 3), 0)
            for n, _, value in fields(line):
                if n == EVENTS:
                    event = Event(value, correlation)
                    last = max(last, begin % 10**9 * 1000 + event.end)
                    ids = max(ids, event.id or 0)
    return last + 10**9, ids + 1


def repeated_plane(plane, copies, span, ids, events_only):
    """Descriptions are repeated only where a plane has nothing else: the modules of /host:metadata."""
    correlation = correlation_of(plane)
    modules = not events_only and not any(number == LINES for number, _, _ in fields(plane))
    out = []
    for number, kind, value in fields(plane):
        if number == LINES:
            out.append(field(number, kind, repeated_line(value, correlation, copies, span, ids)))
        elif number == EVENT_NAMES and modules:
            parts = list(fields(value))
            for copy in range(copies):
                entry = b"".join(field(n, k, (v + (copy << 32)) % 2**64 if n == 1 else v) for n, k, v in parts)
                out.append(field(number, kind, entry))
        else:
            out.append(field(number, kind, value))
    return b"".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("profile")
    parser.add_argument("--megabytes", type=float, required=True)
    parser.add_argument("--events-only", action="store_true")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    with open(arguments.profile, "rb") as file:
        parts = list(fields(file.read()))
    planes = [value for number, _, value in parts if number == PLANE]
    span, ids = extent(planes)
    # What one more repetition adds.
    sizes = [sum(len(repeated_plane(plane, n, span, ids, arguments.events_only)) for plane in planes) for n in (1, 2)]
    copies = max(1, round(arguments.megabytes * 1e6 / (sizes[1] - sizes[0])))
    with open(arguments.output, "wb") as out:
        for number, kind, value in parts:
            if number == PLANE:
                value = repeated_plane(value, copies, span, ids, arguments.events_only)
            out.write(field(number, kind, value))


main()
