#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of PyTorch and NCCL's tools that are no profiles: what is in the trace is held against a reading of the files that
shares no code with the importer.

Usage: other_tools.py DATA-FOLDER FOURWALLS-CLI
"""
import gzip
import json
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

DATA, CLI = (Path(sys.argv.pop(1)).resolve(), str(Path(sys.argv.pop(1)).resolve())) if len(sys.argv) > 2 else (Path(), "")
# The trace's numbers of the categories that torch.profiler lists, in its order.
CATEGORIES = [0, 2, 7, 4, 3, 1, 4, 7]

NCCL_TESTS = """\
# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1
#
# Using devices
#  Rank  0 Group  0 Pid  28775 on  host device  0 [0x07] NVIDIA A100-SXM4-40GB
#  Rank  7 Group  0 Pid  28775 on  host device  7 [0xbd] NVIDIA A100-SXM4-40GB
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    22.15    0.00    0.00      0    22.18    0.00    0.00      0
    33554432       8388608     float     sum      -1    298.2  112.53  196.93      0    297.4  112.83  197.45    N/A
   134217728      33554432     float     sum      -1   1025.1  130.93  229.13      0   1023.9  131.09  229.40      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 142.15
"""


def inspected(rank, sequence, operation="AllReduce", size=1 << 20, length=400, begin=None, written=1752867229276385,
              communicator="0xab", ranks=2, kind="coll"):
    perf = {kind: operation, f"{kind}_sn": sequence, f"{kind}_msg_size_bytes": size, f"{kind}_exec_time_us": length}
    if begin:
        perf["event_trace_ts"] = {
            f"{kind}_start_ts": begin - 40,
            "kernel_events": [{"channel_id": i, "kernel_start_ts": begin + i} for i in (1, 0)],
        }
    return json.dumps({
        "header": {"id": communicator, "rank": rank, "n_ranks": ranks, "nnodes": 1},
        "metadata": {"inspector_output_format_version": "v4.0", "dump_timestamp_us": written, "pid": 7},
        f"{kind}_perf": perf,
    }) + "\n"


def messages(data):
    """The messages of a .et file, each behind its length."""
    at = 0
    while at < len(data):
        size, at = varint(data, at)
        yield data[at : at + size]
        at += size


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            value, at = data[at : at + value], at + value
        yield tag >> 3, value


def node_of(message):
    node = {"type": 0, "deps": [], "start": 0, "length": 0}
    for field, value in fields(message):
        if field in (1, 3, 6, 7):
            node[{1: "id", 3: "type", 6: "start", 7: "length"}[field]] = value
        elif field == 2:
            node["name"] = value.decode()
        elif field == 5:
            at = 0
            while at < len(value):
                each, at = varint(value, at)
                node["deps"].append(each)
        elif field == 10:
            parts = dict((1 if number == 1 else 0, part) for number, part in fields(value))
            content = parts[0]
            node[parts[1].decode()] = content.decode() if isinstance(content, bytes) else content
    return node


def simulated(ranks):
    """When the last node ends, if each begins once what it waits for has ended: [us]. Collectives begin together, a
    receive ends no sooner than its send."""
    ends, turns, met, sent = {}, Counter(), {}, {}
    waiting = {(rank, node["id"]): node for rank, nodes in ranks.items() for node in nodes}
    members = Counter()
    for (rank, _), node in waiting.items():
        if node["type"] == 7:
            key = node["pg_name"], turns[rank, node["pg_name"]]
            turns[rank, node["pg_name"]] += 1
            node["meets"] = key
            members[key] += 1
    while waiting:
        done, arrived = [], 0
        for place, node in waiting.items():
            rank = place[0]
            if any((rank, dep) in waiting and (rank, dep) not in ends for dep in node["deps"]):
                continue
            ready = max((ends.get((rank, dep), 0) for dep in node["deps"]), default=0)
            if node["type"] == 7:
                arrived += rank not in met.setdefault(node["meets"], {})
                met[node["meets"]][rank] = ready
                if len(met[node["meets"]]) < members[node["meets"]]:
                    continue
                ready = max(met[node["meets"]].values())
            pair = node.get("comm_src"), node.get("comm_dst"), node.get("comm_tag")
            if node["type"] == 6:
                if pair not in sent:
                    continue
                ready = max(ready, sent[pair])
            ends[place] = ready + node["length"]
            if node["type"] == 5:
                sent[pair] = ends[place]
            done.append(place)
        if not done and not arrived:
            raise AssertionError(f"{len(waiting)} nodes wait for ever")
        for place in done:
            del waiting[place]
    return max(ends.values())


class OtherTools(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = Path(self._folder.name)

    def tearDown(self):
        self._folder.cleanup()

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def imported(self, *paths):
        out = self.folder / "out.fourwalls"
        run = subprocess.run([CLI, "import", *map(str, paths), "-o", str(out)], capture_output=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        database = sqlite3.connect(out)
        self.addCleanup(database.close)
        return database

    def refused(self, *paths):
        run = subprocess.run(
            [CLI, "import", *map(str, paths), "-o", str(self.folder / "none.fourwalls")], capture_output=True, check=False
        )
        self.assertEqual(run.returncode, 1)
        self.assertFalse((self.folder / "none.fourwalls").exists())
        return run.stderr.decode()

    def held(self, database, at):
        """Bytes by category that are alive at an instant."""
        rows = database.execute(
            "SELECT category, sum(bytes) FROM allocation WHERE start <= ? AND (dur IS NULL OR dur < 0 OR start + dur > ?) "
            "GROUP BY category", (at, at))
        return {category: size for category, size in rows if size}

    def test_memory_timeline(self):
        times, sizes = json.loads(gzip.decompress((DATA / "memory_timeline.json.gz").read_bytes()))
        trace = self.imported(DATA / "memory_timeline.json.gz")
        first = min(time for time in times if time > 0)
        for time, row in zip(times[1:], sizes[1:]):
            expected = Counter()
            for category, size in zip(CATEGORIES, row[1:]):
                expected[category] += size
            self.assertEqual(self.held(trace, (time - first) * 1000), {c: s for c, s in expected.items() if s}, time)

    def test_raw_memory_timeline(self):
        changes = json.loads(gzip.decompress((DATA / "memory_timeline.raw.json.gz").read_bytes()))
        trace = self.imported(DATA / "memory_timeline.raw.json.gz")
        first = min(change[0] for change in changes if change[0] > 0)
        expected = Counter()
        for i, (time, _, size, category) in enumerate(changes):
            expected[CATEGORIES[category]] += size
            if time < 0 or (i + 1 < len(changes) and changes[i + 1][0] == time):
                continue
            self.assertEqual(self.held(trace, time - first), {c: s for c, s in expected.items() if s}, time)

    def test_cut_memory_timeline(self):
        text = gzip.decompress((DATA / "memory_timeline.json.gz").read_bytes()).decode()
        self.assertIn("cut or damaged", self.refused(self.write("cut.json", text[: len(text) // 2])))

    def test_torch_trace(self):
        path = DATA / "dedicated_log_torch_trace_rank_3_x.log.gz"
        log = gzip.decompress(path.read_bytes()).decode()
        trace = self.imported(path)
        # Payloads of chromium events, paired by name as a stack.
        stack, ranges = [], Counter()
        for payload in re.findall(r'"chromium_event".*\n((?:\t.*\n)+)', log):
            event = json.loads(payload.replace("\n\t", "\n"))
            if event["ph"] == "B":
                stack.append((event["name"], event["ts"]))
            elif event["ph"] == "E":
                name, begin = stack.pop()
                self.assertEqual(name, event["name"])
                ranges[name, round((event["ts"] - begin) * 100)] += 1  # in tens of nanoseconds
        found = Counter()
        for name, length in trace.execute("SELECT op.name, dur FROM slice JOIN op ON op.id = slice.op"):
            if name not in ("", "step", "whole trace"):
                found[name, round(length / 10)] += 1
        self.assertEqual(sum(ranges.values()), sum(found.values()))
        for (name, length), count in ranges.items():
            near = sum(found[name, length + off] for off in range(-30, 31))  # a double has steps of 0.25 us there
            self.assertGreaterEqual(near, count, (name, length))
        marks = [text for (text,) in trace.execute("SELECT text FROM event ORDER BY at")]
        self.assertEqual(sum("graph break in f" in mark for mark in marks), log.count('"dynamo_graph_break_reason"'))
        self.assertEqual(sum("recompiled" in mark for mark in marks), log.count('"recompile_reasons"'))
        self.assertIn("comp.py:6", marks[0])
        self.assertIn("print", marks[0])
        self.assertEqual(trace.execute("SELECT DISTINCT rank FROM event").fetchall(), [(3,)])

    def collectives(self, trace):
        return trace.execute(
            "SELECT rank, start, end, operation, sequence, payload_bytes, wire_bytes FROM collective ORDER BY rank, start"
        ).fetchall()

    def test_inspector_with_begins(self):
        begin = 1752867229235181
        files = [
            self.write(f"host-pid{rank}.log", "".join(
                inspected(rank, n, begin=begin + 1000 * n + 30 * rank, length=400 - 30 * rank, size=1 << (20 + n))
                for n in range(3)))
            for rank in (1, 0)
        ]
        expected = [
            (rank, 1000 * (1000 * n + 30 * rank), 1000 * (1000 * n + 400), 0, n, 1 << (20 + n), 1 << (20 + n))
            for rank in (0, 1) for n in range(3)
        ]
        trace = self.imported(*files)
        self.assertEqual(self.collectives(trace), expected)
        waits = [end - arrival for arrival, end in trace.execute("SELECT last_arrival, end FROM collective")]
        self.assertEqual(waits, [370_000] * 6)  # from the arrival of the later one

    def test_inspector_without_begins(self):
        text = inspected(0, 1, length=400) + inspected(0, 2, length=300) + "{\"half\": \n"
        trace = self.imported(self.write("host-pid1.log", text))
        self.assertEqual([row[1:3] for row in self.collectives(trace)], [(0, 400_000), (400_000, 700_000)])
        audit = dict(trace.execute("SELECT name, count FROM audit"))
        self.assertEqual((audit["times_of_writing_down"], audit["unreadable_rows"]), (2, 1))

    def test_inspector_sends(self):
        trace = self.imported(self.write("host-pid1.log", inspected(1, 5, "Send", 4096, 10, 1752867229235181, kind="p2p")))
        self.assertEqual(self.collectives(trace), [(1, 0, 10_000, 5, 0, 4096, 4096)])

    def test_nccl_tests(self):
        for text in (NCCL_TESTS, re.sub("^", "[1,0]<stdout>:", NCCL_TESTS, flags=re.M)):
            rows = self.collectives(self.imported(self.write("out.txt", text)))
            sizes = [8, 8, 33554432, 33554432, 134217728, 134217728]
            self.assertEqual([row[5] for row in rows], sizes)
            self.assertEqual([row[3] for row in rows], [0] * 6)  # told from the ratio of the bandwidths
            for row, bus in zip(rows[2:], (196.93, 197.45, 229.13, 229.40)):
                self.assertAlmostEqual(row[6] / (row[2] - row[1]), bus, delta=0.01 * bus)
            self.assertEqual([row[2] - row[1] for row in rows],
                             [22150, 22180, 298200, 297400, 1025100, 1023900])

    def test_nccl_tests_of_two_devices(self):
        # With two devices an all-reduce and a broadcast have the same ratio: the name of the file may say it.
        text = NCCL_TESTS.replace("nGpus 8", "nGpus 2").replace("Rank  7", "Rank  1")
        self.assertEqual(self.collectives(self.imported(self.write("out.txt", text)))[0][3], 11)
        self.assertEqual(self.collectives(self.imported(self.write("broadcast_perf.txt", text)))[0][3], 3)

    def run_cli(self, *arguments):
        run = subprocess.run([CLI, *map(str, arguments)], capture_output=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout.decode()

    def attributes(self, metadata):
        pairs = [dict(fields(value)) for field, value in fields(metadata) if field == 2]
        return {each[1].decode(): each[29].decode() for each in pairs}

    def labels(self, trace):
        info = json.loads(self.run_cli("info", trace, "--json"))
        return info["clock"], info["compute"], info["communication"]

    def test_chakra_export(self):
        for plan in ("dp=2 pp=2 microbatches=4", "tp=2 dp=2 zero=1"):
            run = self.folder / "run.fourwalls"
            self.run_cli("record", "-o", run, "--clock", "device", "--model", "gpt-tiny", "--steps", "4", "--batch", "8",
                         "--seq", "32", "--plan", plan)
            step = json.loads(self.run_cli("replay", run, "--json"))["steps"][-1]
            folder = self.folder / "et"
            self.run_cli("export", run, "--format", "chakra", "--step", step["step"], "-o", folder)
            ranks = {}
            for rank in range(4):
                metadata, *nodes = messages((folder / f"step.{rank}.et").read_bytes())
                self.assertEqual(dict(fields(metadata))[1], b"0.0.4")
                self.assertEqual(self.attributes(metadata)["fourwalls_clock"], "device")
                ranks[rank] = [node_of(each) for each in nodes]
            # A simulator that knows nothing of the trace comes to the step that was recorded, but for whole microseconds.
            longest = max(len(nodes) for nodes in ranks.values())
            self.assertAlmostEqual(simulated(ranks), step["recorded_ms"] * 1000, delta=longest)
            # What is read back lies where it was.
            back = self.imported(folder)
            self.assertEqual(self.labels(self.folder / "out.fourwalls"), self.labels(run))
            rows = [(rank, 1000 * node["start"], 1000 * node["length"]) for rank, nodes in ranks.items() for node in nodes]
            first = min(start for _, start, _ in rows)
            self.assertEqual(
                Counter((rank, start - first, length) for rank, start, length in rows),
                Counter(back.execute("SELECT track.rank, slice.start, slice.dur FROM slice JOIN track "
                                     "ON slice.run BETWEEN first_run AND last_run")))
            sizes = Counter((rank, node["comm_size"]) for rank, nodes in ranks.items() for node in nodes if node["type"] > 4)
            self.assertEqual(sizes, Counter(back.execute("SELECT rank, payload_bytes FROM collective")))
            for path in sorted(folder.iterdir()):
                path.unlink()

    def test_chakra_export_of_predictions(self):
        """A predicted rank stands for equal ones: each has its file, its own groups and its own peers."""
        for plan, framework, size in (("dp=2 tp=2 pp=2 microbatches=4", "megatron-core", 8),
                                      ("dp=4 zero=1 microbatches=1", "megatron-core", 4),
                                      ("pp=2 microbatches=4", "megatron-core", 2),
                                      ("pp=2 microbatches=4 schedule=zb", "fourwalls", 2),
                                      ("tp=2 pp=2 vpp=2 microbatches=4", "megatron-core", 4)):
            run, folder = self.folder / "step.fourwalls", self.folder / "et"
            self.run_cli("predict", "--model", "gpt-tiny", "--plan", plan, "--batch", "16", "--cluster", "dgx-a100",
                         "--framework", framework, "-o", run)
            self.run_cli("export", run, "--format", "chakra", "-o", folder)
            ranks = {rank: [node_of(each) for each in list(messages((folder / f"step.{rank}.et").read_bytes()))[1:]]
                     for rank in range(size)}
            self.assertEqual(len(list(folder.glob("*.et"))), size)
            groups = json.loads((folder / "groups.json").read_text())
            calls, ends = Counter(), Counter()
            for rank, nodes in ranks.items():
                for node in nodes:
                    self.assertLess(node["length"], 1 << 40)
                    if node["type"] == 7:
                        self.assertIn(rank, groups[node["pg_name"]])
                        calls[node["pg_name"], rank] += 1
                    elif node["type"] in (5, 6):
                        self.assertEqual(rank, node["comm_src" if node["type"] == 5 else "comm_dst"])
                        self.assertEqual(abs(node["comm_src"] - node["comm_dst"]), size // 2)
                        ends[node["comm_src"], node["comm_dst"], node["comm_tag"]] += 1
            # All members of a group take part in as many operations; a message has two ends.
            for name in {name for name, _ in calls}:
                self.assertEqual(len({calls[name, rank] for rank in groups[name]}), 1)
            self.assertEqual(set(ends.values()) - {2}, set())
            # A simulator that knows nothing of the trace comes to the step that was predicted, but for whole microseconds.
            # It stays a prediction.
            self.imported(folder)
            self.assertEqual(self.labels(self.folder / "out.fourwalls"), self.labels(run))
            self.assertEqual(self.labels(run)[:2], ("predicted", "modelled"))
            predicted = json.loads(self.run_cli("metrics", run, "--json"))["step_time_ms"]
            longest = max(len(nodes) for nodes in ranks.values())
            self.assertAlmostEqual(simulated(ranks), predicted * 1000, delta=longest)
            for path in folder.iterdir():
                path.unlink()

    def test_chakra_program(self):
        """Nodes without begins lie where their dependencies let them."""
        def number(value):
            return bytes([value & 0x7F | 0x80, value >> 7]) if value > 127 else bytes([value])

        def node(identity, kind, length, deps):
            body = b"\x08" + number(identity) + b"\x12\x01n" + b"\x18" + number(kind)
            body += b"".join(b"\x28" + number(dep) for dep in deps) + b"\x38" + number(length)
            return number(len(body)) + body
        metadata = b"\x07\x0a\x050.0.4"
        path = self.folder / "work.3.et"
        # Compute 1 and 2 follow each other on a device; 3 communicates behind 1, beside 2; 4 waits for both.
        path.write_bytes(metadata + node(4, 4, 10, [2, 3]) + node(1, 4, 100, []) + node(2, 4, 50, []) + node(3, 7, 300, [1]))
        trace = self.imported(path)
        rows = sorted(trace.execute("SELECT slice.start, slice.dur FROM slice"))
        self.assertEqual(rows, [(0, 100_000), (100_000, 50_000), (100_000, 300_000), (400_000, 10_000)])
        self.assertEqual(trace.execute("SELECT rank FROM collective").fetchall(), [(3,)])
        self.assertEqual(self.labels(self.folder / "out.fourwalls")[1], "as the program says")
        path.write_bytes(metadata + node(1, 4, 1, [2]) + node(2, 4, 1, [1]))
        self.assertIn("goes in a circle", self.refused(path))


if __name__ == "__main__":
    unittest.main()
