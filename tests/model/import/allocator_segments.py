#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Segments, holes and waiting buffers of imported memory snapshots against an allocator that is simulated here.

Usage: allocator_segments.py FOURWALLS_CLI [SNAPSHOT.pickle ...]

The simulated allocator follows the rules of PyTorch's (c10/cuda/CUDACachingAllocator.cpp) with blocks that are split and
merged one by one. It writes its history and its final state as a snapshot, and remembers what was true after every entry.
The trace file is read with sqlite3, not by our code. Of real snapshots the final state is compared.
"""
import bisect
import json
import pathlib
import pickle
import random
import sqlite3
import subprocess
import sys
import tempfile
import unittest

KIB, MIB = 1 << 10, 1 << 20
CLI = ""
SNAPSHOTS = []


class Block:
    def __init__(self, address, size, segment):
        self.address, self.size, self.segment = address, size, segment
        self.requested, self.used, self.awaited = 0, False, False

    def end(self):
        return self.address + self.size


class Segment:
    def __init__(self, address, size, stream, small, expandable):
        self.address, self.size, self.stream, self.small, self.expandable = address, size, stream, small, expandable
        self.blocks = [Block(address, size, self)]


class Allocator:
    """expandable: each stream and pool has one range of addresses, mapped from its begin on."""

    def __init__(self, capacity, expandable):
        self.capacity, self.expandable = capacity, expandable
        self.segments, self.history, self.truths = [], [], []
        self.time, self.next_address = 1_000_000, 1 << 40
        self.ranges = {}

    def reserved(self):
        return sum(s.size for s in self.segments)

    def note(self, action, address, size, stream, **more):
        self.time += 3
        self.history.append({"action": action, "addr": address, "size": size, "stream": stream, "time_us": self.time, **more})
        self.truths.append(None)

    def remember(self):
        """What is true after the last entry. Between the entries of one operation nothing is compared."""
        if self.truths:
            self.truths[-1] = self.truth()

    def truth(self):
        blocks = [b for s in self.segments for b in s.blocks]
        holes = [b.size for b in blocks if not b.used]
        return {
            "segments": sorted((s.address, s.size) for s in self.segments),
            "blocks": sorted((b.address, b.size, b.requested, b.awaited) for b in blocks if b.used),
            "free": sum(holes),
            "largest": max(holes, default=0),
        }

    def alloc(self, size, stream):
        rounded = max(512, (size + 511) // 512 * 512)
        small = rounded <= MIB
        block = self.find(rounded, stream, small) or self.take_segment(rounded, stream, small)
        if not block:
            self.release_cached()
            block = self.take_segment(rounded, stream, small)
        if not block:
            self.note("oom", 0, rounded, stream, device_free=self.capacity - self.reserved())
            del self.history[-1]["addr"]
            self.remember()
            return None
        remaining = block.size - rounded
        if remaining >= 512 if small or self.expandable else remaining > MIB:
            rest = Block(block.address + rounded, remaining, block.segment)
            block.size = rounded
            at = block.segment.blocks.index(block)
            block.segment.blocks.insert(at + 1, rest)
        block.used, block.requested = True, size
        self.note("alloc", block.address, size, stream)
        self.remember()
        return block

    def find(self, rounded, stream, small):
        free = [
            b
            for s in self.segments
            if s.stream == stream and s.small == small
            for b in s.blocks
            if not b.used and b.size >= rounded
        ]
        return min(free, key=lambda b: (b.size, b.address), default=None)

    def take_segment(self, rounded, stream, small):
        if self.expandable:
            return self.extend(rounded, stream, small)
        size = 2 * MIB if small else 20 * MIB if rounded < 10 * MIB else (rounded + 2 * MIB - 1) // (2 * MIB) * (2 * MIB)
        if self.reserved() + size > self.capacity:
            return None
        segment = Segment(self.next_address, size, stream, small, False)
        self.next_address += size  # neighbours, which must not be taken for one segment
        self.segments.append(segment)
        self.note("segment_alloc", segment.address, size, stream)
        return segment.blocks[0]

    def extend(self, rounded, stream, small):
        unit = 2 * MIB if small else 20 * MIB
        begin, end = self.ranges.setdefault((stream, small), [len(self.ranges) + 1 << 44] * 2)
        last = next((s for s in self.segments if s.address + s.size == end and s.stream == stream and s.small == small), None)
        spare = last.blocks[-1].size if last and not last.blocks[-1].used else 0
        size = (rounded - spare + unit - 1) // unit * unit
        if self.reserved() + size > self.capacity:
            return None
        self.ranges[(stream, small)] = [begin, end + size]
        self.note("segment_map", end, size, stream)
        if not last:
            last = Segment(end, size, stream, small, True)
            self.segments.append(last)
            return last.blocks[0]
        last.size += size
        if spare:
            last.blocks[-1].size += size
        else:
            last.blocks.append(Block(end, size, last))
        return last.blocks[-1]

    def release_cached(self):
        for segment in list(self.segments):
            if segment.expandable:
                self.unmap(segment)
            elif not any(b.used for b in segment.blocks):
                self.segments.remove(segment)
                self.note("segment_free", segment.address, segment.size, segment.stream)
        self.remember()

    def unmap(self, segment):
        """Whole units of free blocks go; what is on either side becomes a range of its own."""
        unit = 2 * MIB if segment.small else 20 * MIB
        base = self.ranges[(segment.stream, segment.small)][0]
        for block in segment.blocks:
            first = base + (block.address - base + unit - 1) // unit * unit
            last = base + (block.end() - base) // unit * unit
            if block.used or last <= first:
                continue
            self.segments.remove(segment)
            for keep, begin, end in ((lambda b: b.address < first, segment.address, first),
                                     (lambda b: b.end() > last, last, segment.address + segment.size)):
                if end <= begin:
                    continue
                part = Segment(begin, end - begin, segment.stream, segment.small, True)
                part.blocks = []
                for each in segment.blocks:
                    if not keep(each):
                        continue
                    low, high = max(each.address, begin), min(each.end(), end)
                    if high <= low:
                        continue
                    each = each if each.used else Block(low, high - low, part)
                    each.segment = part
                    part.blocks.append(each)
                self.segments.append(part)
            self.note("segment_unmap", first, last - first, segment.stream)
            return

    def let_go(self, block):
        self.note("free_requested", block.address, block.requested, block.segment.stream)
        block.awaited = True

    def complete(self, block):
        last = self.history[-1]
        if last["action"] == "free_requested" and last["addr"] == block.address:
            self.truths[-1] = None  # free as soon as it was let go: nobody waited
        self.note("free_completed", block.address, block.requested, block.segment.stream)
        block.used = block.awaited = False
        blocks = block.segment.blocks
        at = blocks.index(block)
        if at + 1 < len(blocks) and not blocks[at + 1].used:
            block.size += blocks.pop(at + 1).size
        if at > 0 and not blocks[at - 1].used:
            blocks[at - 1].size += blocks.pop(at).size
        self.remember()

    def snapshot(self, entries):
        state = lambda b: "inactive" if not b.used else "active_pending_free" if b.awaited else "active_allocated"
        return {
            "segments": [
                {
                    "device": 0,
                    "address": s.address,
                    "total_size": s.size,
                    "stream": s.stream,
                    "segment_type": "small" if s.small else "large",
                    "segment_pool_id": (0, 0),
                    "is_expandable": s.expandable,
                    "blocks": [
                        {"address": b.address, "size": b.size, "requested_size": b.requested, "state": state(b), "frames": []}
                        for b in s.blocks
                    ],
                }
                for s in sorted(self.segments, key=lambda s: s.address)
            ],
            "device_traces": [self.history[-entries:]],
        }


def run(seed, expandable, capacity=600 * MIB, operations=700):
    chance = random.Random(seed)
    allocator, alive, waiting = Allocator(capacity, expandable), [], []
    for _ in range(operations):
        what = chance.random()
        if what < 0.52 or not alive:
            size = int(chance.choice([chance.uniform(1, 4000), chance.uniform(1 * KIB, MIB), chance.uniform(MIB, 40 * MIB)]))
            block = allocator.alloc(size, chance.choice([0, 0, 7]))
            if block:
                alive.append(block)
        elif what < 0.95:
            block = alive.pop(chance.randrange(len(alive)))
            allocator.let_go(block)
            if chance.random() < 0.2:
                allocator.remember()
                waiting.append(block)
            else:
                allocator.complete(block)
        elif what < 0.97:
            allocator.release_cached()
        while waiting and chance.random() < 0.3:
            allocator.complete(waiting.pop(0))
    return allocator


class Trace:
    """What the trace file says, read without our code."""

    def __init__(self, path):
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            meta = dict(database.execute("SELECT key, value FROM meta"))
            self.segments = json.loads(meta.get("segments", "[]"))
            self.blocks = {row[1]: row for row in json.loads(meta.get("blocks", "[]"))}
            self.buffers = list(
                database.execute("SELECT buffer, address, bytes, start, start + dur FROM allocation ORDER BY address")
            )
            self.audit = dict(database.execute("SELECT name, sum(count) FROM audit GROUP BY name"))
            rows = database.execute(
                "SELECT at, value FROM counter_sample JOIN counter ON counter.id = counter WHERE name = "
                "'largest_inactive_block_bytes' ORDER BY at, seq"
            )
            self.largest = [(at, int(value)) for at, value in rows]

    def segments_at(self, at):
        """Parts of one expandable range are joined."""
        joined = []
        for _, address, size, start, end, stream, flags in sorted(self.segments, key=lambda s: s[1]):
            if start > at or (end is not None and end <= at):
                continue
            if joined and flags & 4 and joined[-1][2] == (stream, flags) and sum(joined[-1][:2]) == address:
                joined[-1][1] += size
            else:
                joined.append([address, size, (stream, flags)])
        return [(address, size) for address, size, _ in joined]

    def blocks_at(self, at):
        found = []
        for buffer, address, requested, start, end in self.buffers:
            if start > at or (end is not None and end <= at):
                continue
            _, _, size, let_go = self.blocks.get(buffer, (0, 0, 0, None))
            size = size or max(512, (requested + 511) // 512 * 512)
            found.append((address, size, requested, let_go is not None and let_go <= at))
        return found

    def largest_at(self, at):
        return self.largest[bisect.bisect_right(self.largest, (at, 1 << 62)) - 1][1]


class AllocatorSegments(unittest.TestCase):
    def imported(self, folder, snapshot):
        source, out = pathlib.Path(folder) / "s.pickle", pathlib.Path(folder) / "s.fourwalls"
        source.write_bytes(pickle.dumps(snapshot))
        subprocess.run([CLI, "import", source, "-o", out], check=True, capture_output=True)
        subprocess.run([CLI, "check", out], check=True, capture_output=True)
        metrics = subprocess.run([CLI, "metrics", out, "--json"], check=True, capture_output=True).stdout
        return Trace(out), json.loads(metrics)["allocator"]

    def whole_history(self, seed, expandable):
        allocator = run(seed, expandable)
        with tempfile.TemporaryDirectory() as folder:
            trace, moments = self.imported(folder, allocator.snapshot(len(allocator.history)))
        self.assertNotIn("segments_unmatched", trace.audit)
        self.assertNotIn("blocks_cut_otherwise", trace.audit)
        first = allocator.history[0]["time_us"]
        compared, by_time = 0, {}
        for entry, truth in zip(allocator.history, allocator.truths):
            if not truth:
                continue
            at = (entry["time_us"] - first) * 1000
            by_time[at] = truth
            self.assertEqual(trace.segments_at(at), truth["segments"])
            self.assertEqual(trace.blocks_at(at), truth["blocks"])
            self.assertEqual(trace.largest_at(at), truth["largest"])
            compared += 1
        self.assertGreater(compared, 300)
        self.compare_moments(allocator, moments, by_time)
        return allocator, moments

    def compare_moments(self, allocator, moments, by_time):
        refused = [e for e in allocator.history if e["action"] == "oom"]
        self.assertEqual([m["moment"] for m in moments], ["peak"] + ["out_of_memory"] * min(3, len(refused)) + ["end"])
        for moment in moments:
            truth = by_time[moment["at_ns"]]
            self.assertEqual(moment["segments"], len(truth["segments"]))
            self.assertEqual(moment["reserved_bytes"], sum(size for _, size in truth["segments"]))
            self.assertEqual(moment["cut_bytes"], sum(b[1] for b in truth["blocks"]))
            self.assertEqual(moment["requested_bytes"], sum(b[2] for b in truth["blocks"]))
            self.assertEqual(moment["awaited_bytes"], sum(b[1] for b in truth["blocks"] if b[3]))
            self.assertEqual(moment["free_bytes"], truth["free"])
            self.assertEqual(moment["largest_free_bytes"], truth["largest"])
            self.assertEqual(moment["outside_bytes"], 0)
        for moment, entry in zip((m for m in moments if m["moment"] == "out_of_memory"), refused):
            self.assertEqual(moment["asked_bytes"], entry["size"])
            if moment["largest_free_bytes"] < entry["size"]:
                enough = moment["free_bytes"] + entry["device_free"] >= entry["size"]
                self.assertEqual(moment["refused_because"], "fragmented" if enough else "full")

    def test_segments(self):
        reasons = set()
        for seed in range(4):
            _, moments = self.whole_history(seed, False)
            reasons |= {m.get("refused_because") for m in moments}
        self.assertIn("fragmented", reasons)

    def test_expandable_segments(self):
        actions = set()
        for seed in range(4):
            allocator, _ = self.whole_history(seed, True)
            actions |= {e["action"] for e in allocator.history}
        self.assertLessEqual({"segment_map", "segment_unmap"}, actions)

    def test_a_history_that_begins_somewhere(self):
        """What was cut out for buffers from before it is known only as far as the hole behind them tells."""
        for seed, expandable in ((11, False), (12, True)):
            allocator = run(seed, expandable)
            entries = len(allocator.history) // 3
            with tempfile.TemporaryDirectory() as folder:
                trace, _ = self.imported(folder, allocator.snapshot(entries))
            self.assertNotIn("segments_unmatched", trace.audit)
            first = allocator.history[-entries]["time_us"]
            pairs = list(zip(allocator.history, allocator.truths))[-entries:]
            for entry, truth in pairs:
                if not truth:
                    continue
                at = (entry["time_us"] - first) * 1000
                self.assertEqual(trace.segments_at(at), truth["segments"])
                self.assertEqual([(b[0], b[2]) for b in trace.blocks_at(at)], [(b[0], b[2]) for b in truth["blocks"]])
                self.assertLessEqual(abs(trace.largest_at(at) - truth["largest"]), MIB)
            self.assertEqual(trace.blocks_at(at), truth["blocks"])
            self.assertEqual(trace.largest_at(at), truth["largest"])

    def test_final_states_of_real_snapshots(self):
        for path in SNAPSHOTS:
            with self.subTest(path):
                with open(path, "rb") as file:
                    snapshot = pickle.load(file)
                with tempfile.TemporaryDirectory() as folder:
                    trace, moments = self.imported(folder, snapshot)
                blocks = [b for s in snapshot["segments"] for b in s["blocks"]]
                used = [b for b in blocks if b["state"] != "inactive"]
                holes = [b["size"] for b in blocks if b["state"] == "inactive"]
                self.assertNotIn("blocks_cut_otherwise", trace.audit)
                end = moments[-1]
                self.assertEqual(end["reserved_bytes"], sum(s["total_size"] for s in snapshot["segments"]))
                self.assertEqual(end["segments"], len(snapshot["segments"]))
                self.assertEqual(end["free_bytes"], sum(holes))
                self.assertEqual(end["largest_free_bytes"], max(holes, default=0))
                self.assertEqual(end["cut_bytes"], sum(b["size"] for b in used))
                self.assertEqual(
                    trace.blocks_at(end["at_ns"]),
                    sorted((b["address"], b["size"], b["requested_size"], b["state"] != "active_allocated") for b in used),
                )


if __name__ == "__main__":
    CLI, SNAPSHOTS = sys.argv[1], sys.argv[2:]
    unittest.main(argv=sys.argv[:1])
