#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trainings that go on from a checkpoint end with the weights of one that was never interrupted, bit for bit on the same
plan; a torn checkpoint is never taken.

Usage: checkpoints.py FOURWALLS-CLI
"""
import json
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CLI = str(Path(sys.argv.pop(1)).resolve()) if len(sys.argv) > 1 else ""


def fnv(data):
    """FNV-1a of 64 bits, by its definition."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return value


class Checkpoints(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = Path(self._folder.name)
        self.states = self.folder / "states"

    def tearDown(self):
        self._folder.cleanup()

    def train(self, *arguments, plan="", code=0, steps=6, batch=8, seed=3):
        run = subprocess.run(
            [CLI, "record", "--no-trace", "--model", "gpt-tiny", "--batch", str(batch), "--seq", "16", "--seed", str(seed),
             "--steps", str(steps), "--plan", plan, *map(str, arguments)],
            capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, code, run.stderr)
        return run.stdout + run.stderr

    def weights(self, *arguments, plan=""):
        out = self.folder / "weights"
        self.train("--save-weights", out, *arguments, plan=plan)
        return (out / "model.safetensors").read_bytes()

    def far_apart(self, first, second):
        """The largest difference of two files of weights, of the largest weight."""
        def numbers(data):
            header = struct.unpack("<Q", data[:8])[0]
            return struct.unpack(f"<{(len(data) - 8 - header) // 4}f", data[8 + header :])
        a, b = numbers(first), numbers(second)
        self.assertEqual(len(a), len(b))
        return max(abs(x - y) for x, y in zip(a, b)) / max(map(abs, a))

    def take(self, plan="", *arguments):
        shutil.rmtree(self.states, ignore_errors=True)
        return self.weights("--checkpoint-every", 2, "--checkpoint-dir", self.states, *arguments, plan=plan)

    def interrupted(self, number=4):
        """Leaves what a run has that was killed after so many steps."""
        for each in self.states.iterdir():
            if int(each.name.split("-")[1]) > number:
                shutil.rmtree(each)

    def test_same_plan_same_bits(self):
        for plan, *more in (("",), ("dp=2 zero=3",), ("dp=2 tp=2 zero=1",), ("pp=2 microbatches=2",),
                            ("dp=2 offload=optimizer",), ("tp=2", "--optimizer", "sgd")):
            with self.subTest(plan=plan):
                undisturbed = self.weights(*more, plan=plan)
                self.assertEqual(self.take(plan, *more), undisturbed, "taking checkpoints changes the run")
                self.interrupted()
                self.assertEqual(self.weights("--resume", self.states, *more, plan=plan), undisturbed)

    def test_shards_same_plan_same_bits(self):
        for plan, *more in (("",), ("dp=2 zero=3",), ("dp=2 tp=2 zero=1", "--checkpoint-async"), ("pp=2 microbatches=2",),
                            ("dp=2 offload=optimizer",), ("tp=2", "--optimizer", "sgd", "--transport", "gloo")):
            with self.subTest(plan=plan):
                undisturbed = self.weights(*more[:2] if "--optimizer" in more else (), plan=plan)
                self.assertEqual(self.take(plan, "--checkpoint-sharded", *more), undisturbed)
                self.assertEqual(sorted(each.name for each in self.states.iterdir()), ["step-4", "step-6"])
                self.interrupted()
                resumed = self.weights("--resume", self.states, *(each for each in more if each != "--checkpoint-async"),
                                       plan=plan)
                self.assertEqual(resumed, undisturbed)

    def test_shards_hold_each_value_once(self):
        self.take("dp=2 tp=2 zero=1", "--checkpoint-sharded")
        whole = self.folder / "whole"
        self.train("--checkpoint-every", 6, "--checkpoint-dir", whole)
        def bytes_in(folder):
            size = 0
            for file in folder.glob("*.safetensors"):
                header = struct.unpack("<Q", file.read_bytes()[:8])[0]
                size += file.stat().st_size - 8 - header
            return size
        self.assertEqual(len(list((self.states / "step-6").glob("rank-*.safetensors"))), 4)
        self.assertEqual(bytes_in(self.states / "step-6"), bytes_in(whole / "step-6"))

    def test_shards_for_another_plan(self):
        """The losses of every step behind it are those of the run that nobody interrupted."""
        def losses(*arguments, plan):
            trace = self.folder / "losses.fourwalls"
            trace.unlink(missing_ok=True)
            subprocess.run([CLI, "record", "-o", trace, "--model", "gpt-tiny", "--batch", "8", "--seq", "16", "--seed", "3",
                            "--steps", "6", "--plan", plan, *map(str, arguments)], check=True, capture_output=True)
            with sqlite3.connect(trace) as rows:
                return dict(rows.execute("SELECT step, loss FROM job_step"))
        undisturbed = losses("--checkpoint-every", 2, "--checkpoint-dir", self.states, "--checkpoint-sharded",
                             plan="dp=4 tp=2")
        self.interrupted()
        for plan in ("dp=2 pp=2 microbatches=2", "dp=2 zero=3", "dp=4 tp=2", ""):
            resumed = losses("--resume", self.states, plan=plan)
            self.assertEqual(list(resumed), [4, 5])
            for step, loss in resumed.items():
                self.assertAlmostEqual(loss, undisturbed[step], delta=1e-6 * undisturbed[step], msg=plan)

    def test_torn_shards_are_left_alone(self):
        undisturbed = self.take("dp=2 zero=1", "--checkpoint-sharded")
        self.interrupted()
        whole = self.folder / "whole"
        shutil.copytree(self.states / "step-4", whole)
        for tear in (
            lambda path: (path / "rank-1.safetensors").write_bytes((path / "rank-1.safetensors").read_bytes()[:-4]),
            lambda path: (path / "rank-1.json").unlink(),
            lambda path: (path / "rank-0.json").write_text("{}"),
            lambda path: (path / "checkpoint.json").write_text(
                (path / "checkpoint.json").read_text().replace('"shards": 2', '"shards": 1')),
        ):
            shutil.rmtree(self.states / "step-5", ignore_errors=True)
            shutil.copytree(whole, self.states / "step-5")
            tear(self.states / "step-5")
            said = self.train("--resume", self.states, "--save-weights", self.folder / "weights", plan="dp=2 zero=1")
            self.assertIn("torn", said)
            self.assertEqual((self.folder / "weights" / "model.safetensors").read_bytes(), undisturbed)

    def test_places_that_nobody_wrote_are_refused(self):
        """Files whose sums fit, but whose places do not: what a stranger could send."""
        self.take("tp=2", "--checkpoint-sharded")
        self.interrupted()
        folder = self.states / "step-4"
        places, manifest = json.loads((folder / "rank-1.json").read_text()), folder / "checkpoint.json"
        name = next(each for each in places if "full" in places[each])
        for wrong in ({"first": 1 << 62}, {"full": [1, 1]}, {"columns": [[0, 1 << 40]]}, {"rows": [5, -1]}, {"of": "x"},
                      {"first": 1}):
            (folder / "rank-1.json").write_text(json.dumps({**places, name: {**places[name], **wrong}}))
            sums = json.loads(manifest.read_text())
            sums["files"]["rank-1.json"] = str(fnv((folder / "rank-1.json").read_bytes()))
            manifest.write_text(json.dumps(sums))
            said = self.train("--resume", self.states, plan="tp=2", code=1)
            self.assertRegex(said, "does not say where|another shape|are in none of its files", wrong)

    def test_beside_the_steps(self):
        for plan in ("", "dp=2 zero=2"):
            undisturbed = self.take(plan, "--checkpoint-async")
            self.interrupted()
            self.assertEqual(self.weights("--resume", self.states, "--checkpoint-async", "--checkpoint-every", 1, plan=plan),
                             undisturbed)
            self.assertEqual(sorted(each.name for each in self.states.iterdir()), ["step-5", "step-6"])

    def test_another_plan(self):
        undisturbed = self.take("dp=4 tp=2")
        self.interrupted()
        for plan in ("dp=2 pp=2 microbatches=2", "dp=2 zero=3", ""):
            resumed = self.weights("--resume", self.states, plan=plan)
            self.assertLess(self.far_apart(undisturbed, resumed), 1e-4, plan)

    def test_torn_checkpoints_are_left_alone(self):
        undisturbed = self.take("dp=2")
        self.interrupted()
        whole = self.folder / "whole"
        shutil.copytree(self.states, whole)
        self.assertEqual([each.name for each in whole.iterdir()], ["step-4"])
        for tear in (
            lambda path: (path / "exp_avg.safetensors").write_bytes((path / "exp_avg.safetensors").read_bytes()[:-4]),
            lambda path: (path / "checkpoint.json").unlink(),
            lambda path: (path / "model.safetensors").unlink(),
            lambda path: (path / "model.safetensors").write_bytes(
                (path / "model.safetensors").read_bytes()[:-1] + b"\x55"),
            lambda path: (path / "checkpoint.json").write_text("{}"),
        ):
            shutil.rmtree(self.states)
            shutil.copytree(whole, self.states)
            shutil.copytree(self.states / "step-4", self.states / "step-5")
            tear(self.states / "step-5")
            said = self.train("--resume", self.states, "--save-weights", self.folder / "weights", plan="dp=2")
            self.assertIn("torn", said)
            self.assertEqual((self.folder / "weights" / "model.safetensors").read_bytes(), undisturbed)
            tear(self.states / "step-4")
            self.assertIn("no checkpoint is whole", self.train("--resume", self.states, plan="dp=2", code=1))

    def test_refusals(self):
        self.assertIn("there is no checkpoint", self.train("--resume", self.folder / "nowhere", code=1))
        self.take()
        for other in ({"seed": 4}, {"batch": 4}):
            self.assertIn(f"of another training: its {list(other)[0]}",
                          self.train("--resume", self.states, code=1, **other))
        self.assertIn("of another training: its optimizer",
                      self.train("--resume", self.states, "--optimizer", "sgd", code=1))
        self.assertIn("too many to go on", self.train("--resume", self.states, steps=4, code=1))
        self.assertIn("parameter servers", self.train("--resume", self.states, plan="dp=2 ps=sync servers=1", code=1))
        self.train("--checkpoint-every", "0", code=2)
        self.train("--checkpoint-every", "2", code=2)

    def test_files_that_may_not_grow_end_the_checkpoint_only(self):
        def small():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        for how in ((), ("--checkpoint-async",), ("--checkpoint-sharded",)):
            run = subprocess.run(
                [CLI, "record", "--no-trace", "--model", "gpt-tiny", "--batch", "8", "--seq", "16", "--steps", "4", "--plan",
                 "dp=2", "--checkpoint-every", "2", "--checkpoint-dir", self.states, *how],
                preexec_fn=small, capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertRegex(run.stderr, "no checkpoint: .*: cannot be written")
            self.assertEqual([each for each in self.states.iterdir() if each.name.startswith("step-")], [])

    def test_a_full_disk_ends_the_checkpoint_only(self):
        self.states.write_text("no folder")
        said = self.train("--checkpoint-every", 2, "--checkpoint-dir", self.states, plan="dp=2")
        self.assertEqual(said.count("no checkpoint:"), 3)
        self.assertIn("step 5 (6/6)", said)

    def test_killed_at_any_moment(self):
        def command(*arguments):
            return [CLI, "record", "--no-trace", "--model", "gpt-tiny", "--batch", "8", "--seq", "16", "--seed", "3",
                    "--steps", "40", "--plan", "dp=2", *map(str, arguments)]
        out = self.folder / "weights"
        subprocess.run(command("--save-weights", out), check=True, capture_output=True)
        undisturbed = (out / "model.safetensors").read_bytes()
        resumed = 0
        for lines in (4, 9, 20):
            shutil.rmtree(self.states, ignore_errors=True)
            with subprocess.Popen(command("--checkpoint-every", 1, "--checkpoint-dir", self.states),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
                for _ in range(lines):
                    run.stderr.readline()
                run.send_signal(signal.SIGKILL)
            if not any(each.name.startswith("step-") for each in self.states.iterdir()):
                continue  # killed before the first one was whole
            subprocess.run(command("--resume", self.states, "--save-weights", out), check=True, capture_output=True)
            self.assertEqual((out / "model.safetensors").read_bytes(), undisturbed)
            resumed += 1
        self.assertGreater(resumed, 0)

    def test_the_trace_has_what_is_written_beside_the_steps(self):
        trace = self.folder / "run.fourwalls"
        subprocess.run(
            [CLI, "record", "-o", trace, "--model", "gpt-tiny", "--batch", "8", "--seq", "16", "--steps", "6", "--plan", "dp=2",
             "--checkpoint-every", "2", "--checkpoint-async", "--checkpoint-sharded"], check=True, capture_output=True)
        rows = sqlite3.connect(trace)
        written = rows.execute("SELECT track.rank, op.bytes FROM slice JOIN op ON op.id = slice.op JOIN track ON slice.run "
                               "BETWEEN first_run AND last_run WHERE op.name = 'write checkpoint' ORDER BY 1").fetchall()
        self.assertEqual([rank for rank, _ in written], [0, 0, 0, 1, 1, 1])
        size = sum(path.stat().st_size for path in (trace.with_name("run.fourwalls.checkpoints") / "step-6").glob("*.safetensors"))
        self.assertAlmostEqual(sum(count for _, count in written) / 3, size, delta=0.02 * size)

    def test_what_the_trace_says(self):
        self.take("dp=2")
        self.interrupted()
        trace = self.folder / "run.fourwalls"
        subprocess.run(
            [CLI, "record", "-o", trace, "--model", "gpt-tiny", "--batch", "8", "--seq", "16", "--seed", "3", "--steps", "8",
             "--plan", "dp=2", "--resume", self.states, "--checkpoint-every", "2"], check=True, capture_output=True)
        self.assertEqual(sorted(each.name for each in self.states.iterdir()), ["step-6", "step-8"])
        rows = sqlite3.connect(trace)
        named = dict(rows.execute("SELECT op.name, count(*) FROM slice JOIN op ON op.id = slice.op "
                                  "WHERE op.name LIKE '%checkpoint' GROUP BY op.name"))
        self.assertEqual(named, {"load checkpoint": 2, "save checkpoint": 4})
        bytes_of = [row[0] for row in rows.execute("SELECT DISTINCT bytes FROM op WHERE name = 'load checkpoint'")]
        size = sum(path.stat().st_size for path in (self.states / "step-8").glob("*.safetensors"))
        self.assertAlmostEqual(bytes_of[0], size, delta=0.01 * size)
        self.assertEqual([row[0] for row in rows.execute("SELECT step FROM job_step ORDER BY step")], [4, 5, 6, 7])
        texts = [row[0] for row in rows.execute("SELECT text FROM event ORDER BY at")]
        self.assertEqual([text for text in texts if "checkpoint" in text or "goes on" in text],
                         ["goes on from step 4", "checkpoint after step 5", "checkpoint after step 7"])


if __name__ == "__main__":
    unittest.main()
