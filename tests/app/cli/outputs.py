#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What stands where a verb shall write: a trace takes only the place of a trace, nothing else takes the place of one,
an empty name is wrong usage, and what killed programs left is removed by the next.

Usage: outputs.py FOURWALLS-CLI [FAILING-MEMORY.so]
"""
import gzip
import json
import os
import pickle
import random
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import unittest
from collections import Counter
from pathlib import Path

CLI = str(Path(sys.argv.pop(1)).resolve()) if len(sys.argv) > 1 else ""
FAILING_MEMORY = sys.argv.pop(1) if len(sys.argv) > 1 else ""  # support/failing_memory.cpp


def profile(events):
    rows = [
        {"ph": "X", "cat": "cpu_op", "name": f"op{i}", "pid": 1, "tid": 1, "ts": 1700000000000000 + 10 * i, "dur": 5}
        for i in range(events)
    ]
    return json.dumps({"traceEvents": rows}).encode()


def snapshot(history=True):
    block = {"size": 512, "requested_size": 500, "state": "active_allocated", "frames": []}
    segments = [
        {"device": 0, "address": 4096 * (i + 1), "total_size": 512, "allocated_size": 512, "active_size": 512,
         "requested_size": 500, "stream": stream, "segment_type": "small", "blocks": [block]}
        for i, stream in enumerate((0, 0, 11))
    ]
    trace = [{"action": "alloc", "addr": 4096, "size": 500, "stream": 0, "time_us": 1700000000000000, "frames": []}]
    return pickle.dumps({"segments": segments, "device_traces": [trace if history else []]}, protocol=4)


class Outputs(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = Path(self._folder.name)
        self.source = self.folder / "trace.json"
        self.source.write_bytes(profile(100))
        self.trace = self.folder / "run.fourwalls"
        self.cli("import", self.source, "-o", self.trace)

    def tearDown(self):
        self._folder.cleanup()

    def cli(self, *arguments, code=0, **options):
        run = subprocess.run([CLI, *map(str, arguments)], capture_output=True, text=True, check=False, **options)
        self.assertEqual(run.returncode, code, run.stderr)
        return run.stdout if code == 0 else run.stderr

    def test_a_trace_takes_only_the_place_of_a_trace(self):
        notes = self.folder / "notes.txt"
        notes.write_text("notes")
        predict = ("predict", "--model", "gpt-tiny", "--cluster", "dgx-a100", "--plan", "dp=1")
        for verb in (("import", self.source), ("merge", self.trace), ("trim", self.trace, "--range", "0:1ms"), predict):
            self.assertIn("not a trace", self.cli(*verb, "-o", notes, code=1))
            self.assertEqual(notes.read_text(), "notes")
        self.cli("import", self.source, "-o", self.trace)
        notes.write_text("")
        self.cli("import", self.source, "-o", notes)

    def test_nothing_else_takes_the_place_of_a_trace(self):
        other = self.folder / "other.fourwalls"
        self.cli("import", self.source, "-o", other)
        before = other.read_bytes()
        for verb in (("export", self.trace, "--format", "chrome"), ("report", self.trace)):
            self.assertIn("a trace already has this name", self.cli(*verb, "-o", other, code=1))
        self.assertEqual(other.read_bytes(), before)
        page = self.folder / "page.html"
        for _ in range(2):
            self.cli("report", self.trace, "-o", page)

    def test_an_empty_name(self):
        for verb in (("import", self.source), ("export", self.trace, "--format", "csv"), ("report", self.trace),
                     ("predict", "--model", "gpt-tiny", "--cluster", "dgx-a100"), ("merge", self.trace)):
            self.assertIn("the name is empty", self.cli(*verb, "-o", "", code=2))

    def test_what_a_killed_program_left(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        mark, running = f"{socket.gethostname()}-{gone.pid}", f"{socket.gethostname()}-{os.getpid()}"
        elsewhere = f"another-machine-{gone.pid}"
        name = self.trace.name
        left = [f".{name}.partial-{mark}", f".{name}.partial-{mark}-wal", f".{name}.partial-{mark}.starting-{mark}",
                f".other.partial-{mark}", f".other.partial-{mark}-journal"]
        kept = [f".{name}.partial-{running}", f".{name}.partial-{elsewhere}", f".other.partial-{running}",
                f".other.previous-{mark}"]
        for each in left + kept:
            (self.folder / each).write_bytes(b"half")
        self.cli("import", self.source, "-o", self.trace)
        self.assertEqual([each for each in left if (self.folder / each).exists()], [])
        self.assertEqual([each for each in kept if not (self.folder / each).exists()], [])

    def test_a_kill_and_the_next_import(self):
        self.source.write_bytes(profile(400_000))
        out = self.folder / "killed.fourwalls"
        with subprocess.Popen([CLI, "import", str(self.source), "-o", str(out)], stdout=subprocess.DEVNULL) as run:
            while run.poll() is None and not list(self.folder.glob(".killed*")):
                pass
            run.send_signal(signal.SIGKILL)
        self.source.write_bytes(profile(100))
        self.cli("import", self.source, "-o", out)
        self.assertEqual([path.name for path in self.folder.glob(".killed*")], [])

    def test_checksums_of_packed_files(self):
        export = self.folder / "export.json"
        self.cli("export", self.trace, "--format", "chrome", "-o", export)
        for name, data in (("a.json.gz", profile(100)), ("b.pickle.gz", snapshot()), ("c.json.gz", export.read_bytes())):
            packed = bytearray(gzip.compress(data))
            packed[-8] ^= 1
            (self.folder / name).write_bytes(packed)
            audit = json.loads(self.cli("import", self.folder / name, "-o", self.trace, "--json"))["audit"]
            self.assertIn("packed_stream_damaged", [each["name"] for each in audit], name)

    def test_streams_of_a_snapshot(self):
        for history in (True, False):
            path = self.folder / "snapshot.pickle"
            path.write_bytes(snapshot(history))
            self.assertEqual(json.loads(self.cli("facts", path, "--json"))["streams"], 2)

    def test_waits_for_all_streams(self):
        for lane in (4294967295, -1):
            rows = [
                {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": tid, "ts": 1700000000000000, "dur": 5,
                 "args": {"device": 0, "stream": tid}}
                for cat, name, tid in (("kernel", "gemm", 7), ("cuda_sync", "Context Sync", lane))
            ]
            self.source.write_bytes(json.dumps({"traceEvents": rows}).encode())
            self.cli("import", self.source, "-o", self.trace)
            with sqlite3.connect(self.trace) as database:
                tracks = sorted(name for (name,) in database.execute("SELECT name FROM track"))
            self.assertEqual(tracks, ["all streams waits", "stream 7"])

    def test_too_little_memory_is_an_error(self):
        self.source.write_bytes(profile(30_000))
        codes = []
        for megabytes in (*range(60, 240, 12), 4000):
            limit = megabytes << 20

            def limited(*arguments):
                return subprocess.run(
                    [CLI, *arguments], capture_output=True, check=False,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))

            if limited("--version").returncode != 0:
                continue  # the loader, or what libraries do before the program begins, had no room
            run = limited("import", str(self.source), "-o", str(self.folder / "small.fourwalls"))
            codes.append((megabytes, run.returncode, run.stderr[-200:]))
        self.assertEqual([each for each in codes if each[1] not in (0, 1)], [])
        self.assertEqual(codes[-1][1], 0)

    @unittest.skipUnless(FAILING_MEMORY, "built with a sanitizer, which has its own allocator")
    def test_allocations_that_fail_are_an_error(self):
        """Wherever memory runs out, and whether it comes back, the program ends by itself and says so."""
        places = random.Random(7)
        archive = self.folder / "trace.tar.gz"
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(self.source, "trace.json")
        codes = Counter()
        for _ in range(120):
            least = places.choice((0, 0, 0, 1000, 30_000))
            plan = {"FAIL_FROM": int(2 ** places.uniform(*((1, 15) if least == 0 else (0, 9)))),
                    "FAIL_FOR": places.choice((1, 1, 5, 100, 1 << 40)), "FAIL_LEAST": least}
            command = places.choice((
                ["import", self.source, "-o", self.folder / "out.fourwalls"],
                ["import", archive, "-o", self.folder / "out.fourwalls"],
                ["metrics", self.trace, "--json"],
                ["diagnose", self.trace],
            ))
            run = subprocess.run([CLI, *map(str, command)], capture_output=True, check=False,
                                 env={**os.environ, "LD_PRELOAD": FAILING_MEMORY,
                                      **{name: str(value) for name, value in plan.items()}})
            self.assertIn(run.returncode, (0, 1), (command, plan, run.stderr))
            if run.returncode == 1:
                self.assertIn(b"memory", run.stderr, (command, plan))
            codes[run.returncode] += 1
        self.assertGreater(min(codes[0], codes[1]), 10)


if __name__ == "__main__":
    unittest.main()
