#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a PyTorch memory snapshot of any size, for measuring the import: opcodes as Python's pickler writes them.

Usage: generate_snapshot.py --entries 6000000 -o FILE    (about 165 bytes per entry)

The history is a ring buffer that has wrapped: it frees what it never saw allocated. Every entry has a list of 20 frames
of its own, whose frames are shared through the memo, as in real files.
"""
import argparse
import random
import struct


class Pickler:
    """Protocol 4, with the memo that the caller asks for."""

    def __init__(self, file):
        self.file = file
        self.memo = {}
        self.remembered = 0
        file.write(b"\x80\x04")

    def remember(self, name=None):
        if name is not None:
            self.memo[name] = self.remembered
        self.remembered += 1
        return b"\x94"

    def reference(self, name):
        index = self.memo[name]
        return b"h" + bytes([index]) if index < 256 else b"j" + struct.pack("<I", index)

    def text(self, value):
        if value in self.memo:
            return self.reference(value)
        raw = value.encode()
        return b"\x8c" + bytes([len(raw)]) + raw + self.remember(value)

    @staticmethod
    def number(value):
        if 0 <= value < 256:
            return b"K" + bytes([value])
        if 0 <= value < 65536:
            return b"M" + struct.pack("<H", value)
        if -(1 << 31) <= value < 1 << 31:
            return b"J" + struct.pack("<i", value)
        raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        return b"\x8a" + bytes([len(raw)]) + raw

    def record(self, fields):
        """A dict of texts, numbers and what functions pickle: called in their turn, because the memo counts."""
        parts = [b"}", self.remember(), b"("]
        for key, value in fields:
            parts.append(self.text(key))
            parts.append(value() if callable(value) else self.text(value) if isinstance(value, str) else self.number(value))
        parts.append(b"u")
        return b"".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, required=True)
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    chance = random.Random(1)
    with open(arguments.output, "wb", buffering=1 << 20) as file:
        out = Pickler(file)
        # The frames first, as members of a dict that nobody reads, so that all lists can refer to them.
        file.write(b"}" + out.remember() + b"(" + out.text("allocator_settings") + b"}" + out.remember() + b"(")
        frames = [f"frame {i}" for i in range(600)]
        for i, name in enumerate(frames):
            fields = [("name", f"forward_{i % 90}" if i % 3 == 0 else f"at::native::call_{i % 200}"),
                      ("filename", f"/home/user/model/layer_{i % 30}.py" if i % 3 == 0 else "??"), ("line", i if i % 3 == 0 else 0)]
            start = out.remembered
            file.write(out.text(f"key {i}") + out.record(fields))
            out.memo[name] = start + 1
        file.write(b"u")

        def stack():
            first = chance.randrange(len(frames) - 20)
            return b"]" + out.remember() + b"(" + b"".join(out.reference(frames[first + i]) for i in range(20)) + b"e"

        def write_list(items):
            file.write(b"]" + out.remember())
            batch = []
            for item in items:
                batch.append(item)
                if len(batch) == 1000:
                    file.write(b"(" + b"".join(batch) + b"e")
                    batch = []
            if batch:
                file.write(b"(" + b"".join(batch) + b"e")

        live = {}
        clock = 1_750_000_000_000_000
        addresses = [0x7F0000000000 + i * (2 << 20) for i in range(20000)]

        def entry(action, address, size):
            return out.record([("action", action), ("addr", address), ("size", size), ("stream", 0), ("time_us", clock),
                               ("compile_context", "N/A"), ("user_metadata", ""), ("frames", stack)])

        def history():
            nonlocal clock
            for _ in range(arguments.entries // 3):
                clock += chance.randrange(1, 20)
                address = chance.choice(addresses)
                size = chance.randrange(512, 2 << 20)
                if address in live:
                    size = live.pop(address)
                    yield entry("free_requested", address, size)
                    clock += 1
                    yield entry("free_completed", address, size)
                elif chance.random() < 0.0005:
                    yield entry("free_completed", address, size)
                else:
                    live[address] = size
                    yield entry("alloc", address, size)

        file.write(out.text("device_traces") + b"]" + out.remember() + b"(")
        write_list(history())
        file.write(b"e" + out.text("segments"))

        def empty():
            return b"]" + out.remember()

        def segments():
            total = 2 << 20
            for address, size in sorted(live.items()):
                used = (size + 511) // 512 * 512

                def blocks(address=address, size=size, used=used):
                    parts = [b"]", out.remember(), b"("]
                    parts.append(out.record([("address", address), ("size", used), ("requested_size", size), ("state", "active_allocated"), ("frames", stack)]))
                    if used < total:
                        parts.append(out.record([("address", address + used), ("size", total - used), ("requested_size", total - used),
                                                 ("state", "inactive"), ("frames", empty)]))
                    return b"".join(parts) + b"e"

                yield out.record([("device", 0), ("address", address), ("total_size", total), ("allocated_size", used), ("active_size", used),
                                  ("requested_size", size), ("stream", 0), ("segment_type", "large"), ("is_expandable", lambda: b"\x89"),
                                  ("blocks", blocks)])

        write_list(segments())
        file.write(b"u.")


main()
