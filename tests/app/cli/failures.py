#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs that really fail and go on: they end with the weights of one that nothing happened to, bit for bit, and one trace
tells all of it. With --random N SEED: so many jobs with faults drawn at chance, which takes long.

Usage: failures.py FOURWALLS-CLI [--random N SEED] [Jobs | RanksThatEnd | OtherRanks]
"""
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CLI = str(Path(sys.argv.pop(1)).resolve()) if len(sys.argv) > 1 else ""
RANDOM = None
if "--random" in sys.argv:
    at = sys.argv.index("--random")
    RANDOM = (int(sys.argv[at + 1]), int(sys.argv[at + 2]))
    del sys.argv[at : at + 3]

STEPS = 8
HAS_GLOO = "no Gloo" not in subprocess.run(
    [CLI, "record", "--no-trace", "--steps", "1", "--seq", "8", "--batch", "1", "--transport", "gloo"],
    capture_output=True, text=True, check=False).stderr if CLI else False
TRANSPORTS = ("local", "gloo") if HAS_GLOO else ("local",)


def children(parent):
    """The processes that this one started and that still run, the oldest first."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has ended
        if int(fields[1]) == parent and fields[0] != "Z":
            found.append(int(status.parent.name))
    return sorted(found)


class JobCase(unittest.TestCase):
    undisturbed = {}

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = Path(self._folder.name)
        self.trace = self.folder / "job.fourwalls"

    def tearDown(self):
        self._folder.cleanup()

    def cli(self, *arguments, code=0):
        run = subprocess.run([CLI, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(run.returncode, code, f"{arguments}\n{run.stderr}")
        return run

    def record(self, *arguments, plan="dp=2", steps=STEPS, code=0, trace=True):
        out = self.folder / "weights"
        shutil.rmtree(out, ignore_errors=True)
        where = ("-o", self.trace) if trace else ("--no-trace",)
        run = self.cli("record", *where, "--model", "gpt-tiny", "--batch", 8, "--seq", 16, "--seed", 3, "--steps", steps,
                       "--plan", plan, "--save-weights", out, "--json", *arguments, code=code)
        if code != 0:
            return run, None
        return json.loads(run.stdout), (out / "model.safetensors").read_bytes()

    def reference(self, plan="dp=2", *arguments, steps=STEPS):
        key = (plan, arguments, steps)
        if key not in JobCase.undisturbed:
            JobCase.undisturbed[key] = self.record(*arguments, plan=plan, steps=steps, trace=False)
        return JobCase.undisturbed[key]

    def faulty(self, *faults, plan="dp=2", transport="local", restarts=3, every=3, steps=STEPS, more=(), code=0):
        """A job with faults; its answer and its weights."""
        shutil.rmtree(self.folder / "states", ignore_errors=True)
        given = [word for fault in faults for word in ("--fault", fault)]
        return self.record("--transport", transport, "--restarts", restarts, "--checkpoint-every", every,
                           "--checkpoint-dir", self.folder / "states", *given, *more, plan=plan, steps=steps, code=code)

    def check_trace(self, failures, lost=None):
        """The trace of the job is whole, and its lost time has names."""
        self.assertEqual([each.name for each in self.folder.glob("*.fourwalls*")], [self.trace.name])
        checked = json.loads(self.cli("check", self.trace, "--json").stdout)
        self.assertTrue(checked["sound"], checked)
        info = json.loads(self.cli("info", self.trace, "--json").stdout)
        self.assertEqual(info["steps"], STEPS)
        if lost is not None:
            self.assertEqual(info["step_states"]["lost"], lost)
        goodput = json.loads(self.cli("goodput", self.trace, "--json").stdout)
        recorded = goodput["recorded"]
        self.assertEqual(recorded["failures"], failures)
        self.assertEqual(recorded["steps"], STEPS)
        named = sum(recorded["lost_seconds"].values())
        self.assertAlmostEqual(named, recorded["wasted_seconds"], delta=0.01 * recorded["wasted_seconds"] + 1e-6)
        if RANDOM:  # a measurement: of a job this short, milliseconds of a busy machine are a hundredth
            self.assertLessEqual(recorded["lost_seconds"]["other"], 0.01 * recorded["wasted_seconds"])
        return recorded

    def one(self, *faults, failures=1, **how):
        with self.subTest(faults=faults, **how):
            answer, weights = self.faulty(*faults, **how)
            plain, undisturbed = self.reference(how.get("plan", "dp=2"))
            self.assertEqual(weights, undisturbed, "other weights than without the faults")
            self.assertEqual(answer["loss"], plain["loss"])
            self.assertEqual(answer["restarts"], failures)
            return self.check_trace(failures)


class RanksThatEnd(JobCase):
    def test_killed_ranks(self):
        for transport in TRANSPORTS:
            self.one("kill:1:4", transport=transport)
            self.one("kill:0:0", transport=transport)
        self.one("kill:1:4", "kill:0:5", "kill:1:7", failures=3, transport=TRANSPORTS[-1])
        self.one("kill:3:5", plan="tp=2 pp=2 microbatches=2", more=("--checkpoint-async",))
        self.one("kill:1:5", plan="tp=2 pp=2 microbatches=2", transport=TRANSPORTS[-1],
                 more=("--checkpoint-async", "--checkpoint-sharded"))

    @unittest.skipUnless(HAS_GLOO, "without Gloo no rank is a process")
    def test_killed_from_outside(self):
        """Whatever a rank is doing: computing, copying its part of a checkpoint, writing it, giving the folder its name."""
        plain, undisturbed = self.reference("dp=2 zero=1")
        for how in ((), ("--checkpoint-sharded",), ("--checkpoint-sharded", "--checkpoint-async")):
            out = self.folder / "weights"
            for folder in (out, self.folder / "states"):
                shutil.rmtree(folder, ignore_errors=True)
            command = [CLI, "record", "-o", self.trace, "--model", "gpt-tiny", "--batch", "8", "--seq", "16", "--seed", "3",
                       "--steps", STEPS, "--plan", "dp=2 zero=1", "--save-weights", out, "--transport", "gloo",
                       "--restarts", "5", "--checkpoint-every", "1", "--checkpoint-dir", self.folder / "states", *how]
            killed = 0
            with subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as job:
                for line in job.stderr:
                    if killed < 2 and line.startswith(f"step {2 + 3 * killed} "):
                        os.kill(children(job.pid)[killed % 2], signal.SIGKILL)
                        killed += 1
            with self.subTest(how=how):
                self.assertEqual((job.returncode, killed), (0, 2))
                with sqlite3.connect(self.trace) as rows:
                    self.assertEqual([row[0] for row in rows.execute("SELECT loss FROM job_step ORDER BY step")], plain["loss"])
                self.assertEqual((out / "model.safetensors").read_bytes(), undisturbed)
                self.check_trace(2)

    def test_steps_that_were_lost(self):
        recorded = self.one("kill:1:5", transport="local")
        self.assertEqual(recorded["lost_steps"], 2)  # 3 and 4 of them, from the checkpoint after step 2
        self.assertGreater(recorded["lost_seconds"]["lost_work"], 0)
        with sqlite3.connect(self.trace) as db:
            steps = db.execute("SELECT step, warmup FROM step WHERE rank = 1 ORDER BY seq").fetchall()
            self.assertEqual([step for step, _ in steps], [0, 1, 2, 3, 4, 3, 4, 5, 6, 7])
            self.assertEqual([step for step, state in steps if state == 4], [3, 4])
            self.assertEqual([row[0] for row in db.execute("SELECT step FROM job_step ORDER BY step")], list(range(STEPS)))
            kinds = [row[0] for row in db.execute("SELECT kind FROM event")]
            self.assertIn(5, kinds)  # a rollback
            names = {row[0] for row in db.execute("SELECT name FROM op")}
            self.assertLessEqual({"detection", "restart", "load checkpoint", "save checkpoint"}, names)

    def test_hung_ranks(self):
        for transport in TRANSPORTS:
            recorded = self.one("hang:1:4", transport=transport, more=("--rank-timeout", 1))
            self.assertGreater(recorded["lost_seconds"]["detection"], 0.5)


class Jobs(JobCase):
    def test_memory_that_runs_out(self):
        for transport in TRANSPORTS:
            self.one("oom:1:4", transport=transport)

    def test_turned_bits(self):
        for transport, plan in zip(TRANSPORTS, ("dp=2", "tp=2")):
            self.one("flip:1:4", transport=transport, plan=plan)

    def test_slow_steps(self):
        self.one("slow:1:4", failures=0)

    def test_spikes(self):
        """The loss jumps, also when the batches are taken again; then they are left out."""
        for transport in TRANSPORTS:
            answer, weights = self.faulty("spike:0:4", transport=transport)
            self.assertEqual(answer["restarts"], 2)
            with sqlite3.connect(self.trace) as rows:
                said = [row[0] for row in rows.execute("SELECT text FROM event WHERE kind = 2 ORDER BY at")]
            self.assertRegex(said[0], r"the loss (jumps|is not).* in step 5, with batch 5; gradient norm .*, of it .*layer")
            plain, undisturbed = self.reference("dp=2", "--skip-data", "4,5")
            self.assertEqual(answer["loss"], plain["loss"])
            self.assertEqual(weights, undisturbed)
            self.check_trace(2)

    def test_at_chance(self):
        faulty, _ = self.faulty("slow:0:1", more=("--mtbf", 3), restarts=100)
        plain, _ = self.reference()
        self.assertEqual(faulty["loss"], plain["loss"])
        self.assertGreater(faulty["restarts"], 0)

    def test_refusals(self):
        # No restarts left: an error, and the trace has what happened.
        run, _ = self.faulty("kill:1:3", restarts=0, code=1)
        self.assertIn("was killed in step 3", run.stderr)
        self.assertTrue(self.trace.exists())
        run, _ = self.faulty("kill:1:3", "kill:1:4", restarts=1, code=1)
        self.assertIn("was killed in step 4", run.stderr)
        # Checkpoints of another run are not taken for the job's own.
        self.faulty()
        run, _ = self.record("--restarts", 1, "--checkpoint-every", 3, "--checkpoint-dir", self.folder / "states", code=1)
        self.assertIn("checkpoints of another run", run.stderr)
        # A mistake in the command is no failure.
        self.record("--restarts", 3, "--data", self.folder / "nothing", code=1)
        for wrong in ("kill:1", "kill:2:1", "kill:1:99", "drop:1:1", "kill:1:2.3", "kill:-1:2"):
            self.record("--fault", wrong, code=2)
        self.record("--fault", "hang:0:1", plan="", code=2)
        self.record("--restarts", "-1", code=2)
        self.record("--skip-data", "3-1", code=2)
        self.record("--restarts", 1, "--clock", "device", code=1)

    @unittest.skipUnless(RANDOM, "takes long; asked for with --random")
    def test_random(self):
        count, seed = RANDOM
        draw = random.Random(seed)
        kinds = ["kill"] * 20 + ["hang"] * 5 + ["spike"] * 5 + ["flip"] * 2
        for number in range(count):
            kind, plan = draw.choice(kinds), draw.choice(("dp=2", "tp=2", "pp=2 microbatches=2", "dp=2 zero=2"))
            transport, step = draw.choice(TRANSPORTS), draw.randrange(STEPS - (kind == "spike"))
            fault = f"{kind}:{draw.randrange(2)}:{step}"
            more = ["--checkpoint-async"] if draw.random() < 0.5 else []
            if kind == "hang":
                more += ["--rank-timeout", 1]
            with self.subTest(number=number, fault=fault, plan=plan, transport=transport):
                answer, weights = self.faulty(fault, plan=plan, transport=transport, every=draw.randrange(1, 5), more=more)
                skipped = ("--skip-data", f"{step},{step + 1}") if kind == "spike" and answer["restarts"] > 0 else ()
                plain, undisturbed = self.reference(plan, *skipped)
                self.assertEqual(weights, undisturbed)
                self.check_trace(answer["restarts"])
                print(f"{number + 1}/{count} {fault} {plan} {transport}: {answer['restarts']} restarts", file=sys.stderr)


class OtherRanks(JobCase):
    def test_fewer_ranks(self):
        """Without a spare the job goes on with a smaller dp, as if somebody had resumed it by hand."""
        plans = (("dp=4", "dp=2"), ("dp=2 tp=2 zero=1", "dp=1 tp=2"))
        for transport, (plan, smaller) in zip((TRANSPORTS[0], TRANSPORTS[-1]), plans):
            with self.subTest(transport=transport, plan=plan):
                answer, weights = self.faulty("kill:3:5", plan=plan, transport=transport, more=("--spares", 0))
                self.check_trace(1)
                with sqlite3.connect(self.trace) as db:
                    seen = [row[0] for row in db.execute(
                        "SELECT s.value FROM counter_sample s JOIN counter c ON c.id = s.counter WHERE c.name = 'ranks' "
                        "ORDER BY s.at")]
                    texts = [row[0] for row in db.execute("SELECT text FROM event")]
                    by_rank = dict(db.execute("SELECT rank, count(*) FROM step GROUP BY rank"))
                self.assertEqual(seen, [4, 2])
                self.assertTrue(any("with 2 ranks in place of 4" in text for text in texts), texts)
                self.assertEqual(by_rank[0] - by_rank[3], STEPS - 3)
                self.faulty("kill:3:5", plan=plan, transport=transport, restarts=0, code=1)
                by_hand, resumed = self.record("--resume", self.folder / "states", plan=smaller, trace=False)
                self.assertEqual(weights, resumed, "other weights than resumed by hand")
                self.assertEqual(answer["loss"][3:], by_hand["loss"])
        # A spare takes the place of the first that fails, and the job stays as it is.
        answer, weights = self.faulty("kill:1:4", more=("--spares", 1))
        self.assertEqual(weights, self.reference()[1])
        run, _ = self.faulty("kill:1:4", plan="tp=2", more=("--spares", 0), code=1)
        self.assertIn("has no smaller dp", run.stderr)
        run, _ = self.faulty("kill:1:4", "kill:0:6", plan="tp=2", more=("--spares", 1), code=1)
        self.assertIn("has no smaller dp", run.stderr)
        self.assertTrue(self.trace.exists())
        self.record("--spares", 1, code=2)

    @unittest.skipUnless(HAS_GLOO, "no Gloo")
    def test_under_a_launcher(self):
        """Whoever restarts the ranks counts how often; the last attempt makes one trace of all."""
        for fault in ("kill:1:4", "kill:0:5"):
            with self.subTest(fault=fault):
                shutil.rmtree(self.folder / "states", ignore_errors=True)
                shutil.rmtree(self.folder / "weights", ignore_errors=True)
                for attempt in range(2):
                    with socket.socket() as free:
                        free.bind(("127.0.0.1", 0))
                        port = free.getsockname()[1]
                    surroundings = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                                    "TORCHELASTIC_RESTART_COUNT": str(attempt), "TORCHELASTIC_MAX_RESTARTS": "2"}
                    ranks = [subprocess.Popen(
                        [CLI, "record", "-o", self.trace, "--model", "gpt-tiny", "--batch", "8", "--seq", "16", "--seed", "3",
                         "--steps", str(STEPS), "--plan", "dp=2", "--save-weights", self.folder / "weights", "--json",
                         "--transport", "gloo", "--restarts", "2", "--checkpoint-every", "3", "--checkpoint-dir",
                         self.folder / "states", "--fault", fault],
                        env={**surroundings, "RANK": str(rank)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                        for rank in range(2)]
                    try:
                        said = [rank.communicate(timeout=300) for rank in ranks]
                    finally:
                        for rank in ranks:
                            rank.kill()
                    if attempt == 0:
                        self.assertIn(-9, [rank.returncode for rank in ranks], said)
                        self.assertTrue(all(rank.returncode != 0 for rank in ranks), said)
                    else:
                        self.assertEqual([rank.returncode for rank in ranks], [0, 0], said)
                answer = json.loads(said[0][0])
                plain, undisturbed = self.reference()
                self.assertEqual((self.folder / "weights" / "model.safetensors").read_bytes(), undisturbed)
                self.assertEqual(answer["loss"], plain["loss"])
                self.check_trace(1)
                self.assertFalse((self.folder / "job.fourwalls.job").exists())


if __name__ == "__main__":
    unittest.main()
