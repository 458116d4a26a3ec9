# SPDX-License-Identifier: Apache-2.0
"""The verdicts of packaging/check_on_gpu against made logs of every outcome, and the whole of it without a GPU.

  check_on_gpu.py PACKAGING"""
import json
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import unittest.mock

PACKAGING = os.path.abspath(sys.argv.pop(1))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(PACKAGING, "check_on_gpu"))
import run as check  # noqa: E402
import stages  # noqa: E402
import verdicts  # noqa: E402

PASSED = "PASS   : Ops::products(GPU f32)\nTotals: 12 passed, 0 failed, 0 skipped, 0 blacklisted, 31ms\n"
AUDIT = {"audit": [{"name": "import_arrows", "count": 400, "detail": "launches"}, {"name": "phases_from_threads", "count": 1, "detail": "d"}]}


def with_audit(*more):
    return {"audit": AUDIT["audit"] + [{"name": name, "count": count, "detail": "why"} for name, count in more]}


class Verdicts(unittest.TestCase):
    def test_ends(self):
        self.assertEqual(verdicts.ended(0, False, "done"), [])
        self.assertEqual(verdicts.ended(7, False, "done", 7), [])
        self.assertEqual(verdicts.ended(1, False, "done"), ["exit status 1 instead of 0"])
        self.assertEqual(verdicts.ended(0, False, "done", 7), ["exit status 0 instead of 7"])
        self.assertEqual(verdicts.ended(-9, False, "done"), ["signal 9 ended it"])
        self.assertEqual(verdicts.ended(-9, True, "done"), ["it did not end in time"])
        self.assertEqual(verdicts.ended(0, False, " \n"), ["it printed nothing"])

    def test_json(self):
        self.assertEqual(verdicts.json_of('warning\n{"a": {"b": 1}}\nbye'), {"a": {"b": 1}})
        self.assertEqual(verdicts.json_of('{"a": 1}\n{"b": 2}\n'), {"b": 2})
        self.assertEqual(verdicts.json_of('{\n "a": [\n{"c": 3}\n]}\n')["a"], [{"c": 3}])
        self.assertIsNone(verdicts.json_of("killed"))
        self.assertIsNone(verdicts.json_of('{"cut": '))

    def test_programs(self):
        self.assertEqual(verdicts.test_program(PASSED), [])
        self.assertEqual(verdicts.test_program("SKIP   : Nccl::step(4 ranks) wants 4 GPUs, and there are 1\n" + PASSED), [])
        self.assertIn("1 rows skipped", verdicts.test_program("SKIP   : Ops::products(GPU f32) no driver\n" + PASSED)[0])
        failed = "FAIL!  : Ops::products(GPU bf16) 'close' returned FALSE\nTotals: 11 passed, 1 failed, 0 skipped, 0 blacklisted\n"
        self.assertEqual(verdicts.test_program(failed), ["1 failed: products(GPU bf16)"])
        self.assertEqual(verdicts.test_program("PASS : a\nSegmentation fault\n"), ["no totals: the program did not get to its end"])
        self.assertEqual(verdicts.test_program("Totals: 0 passed, 0 failed, 3 skipped, 0 blacklisted\n"), ["nothing was tested"])

    def test_audit(self):
        self.assertEqual(verdicts.audit(AUDIT, ("phases_from_threads",)), [])
        self.assertEqual(verdicts.audit(AUDIT, ("import_buffers",)), ["import_buffers is missing in the audit"])
        self.assertEqual(verdicts.audit(None), ["info printed no JSON"])
        self.assertEqual(verdicts.audit(with_audit(("cupti_dropped", 5))), ["cupti_dropped (5): why"])
        self.assertEqual(verdicts.audit(with_audit(("work_without_launch", 20))), [])
        self.assertEqual(len(verdicts.audit(with_audit(("work_without_launch", 21)))), 1)
        self.assertEqual(verdicts.audit(with_audit(("work_without_launch", 900)), launches=False), [])  # low: no launches are recorded

    def test_replayed(self):
        good = ("buffers 3 of CUPTI 26, read with CUPTI 26\nrecords 900\n"
                "unknown kinds 0, malformed buffers 0, texts missing 0, bytes behind a cut 0\n"
                "calls 400, correlation ids out of order 0\n")
        self.assertEqual(verdicts.replayed(good), [])
        self.assertEqual(verdicts.replayed(good.replace("order 0", "order 3")), ["3 correlation ids are out of order"])
        self.assertEqual(verdicts.replayed(good.replace("unknown kinds 0", "unknown kinds 7")), ["7 records of unknown kinds"])
        self.assertEqual(verdicts.replayed(good.replace("buffers 0", "buffers 1")), ["1 malformed buffers"])
        self.assertEqual(len(verdicts.replayed(good.replace("calls 400", "calls 0"))), 1)
        self.assertEqual(len(verdicts.replayed("records 900\nSegmentation fault\n")), 1)

    def test_waits(self):
        self.assertEqual(verdicts.waits(with_audit(("stream_wait_arrows", 199)), 200), [])
        self.assertEqual(verdicts.waits(with_audit(("stream_wait_arrows", 200), ("stream_waits_without_arrow", 2)), 200), [])
        self.assertEqual(verdicts.waits(with_audit(), 200), ["0 arrows of 200 waits"])
        self.assertEqual(len(verdicts.waits(with_audit(("stream_wait_arrows", 100), ("stream_waits_without_arrow", 100)), 200)), 2)
        self.assertEqual(verdicts.waits(with_audit(("stream_wait_arrows", 400)), 200), ["400 arrows of 200 waits"])
        self.assertEqual(verdicts.waits(None, 200), ["info printed no JSON"])

    def test_partial(self):
        self.assertEqual(verdicts.partial(with_audit(("recording_limited", 1))), [])
        self.assertEqual(verdicts.partial(with_audit(("recording_cut", 1))), [])
        self.assertEqual(len(verdicts.partial(with_audit())), 1)
        self.assertEqual(verdicts.partial(None), ["info printed no JSON"])

    def test_spools_are_given_one_by_one(self):
        folder = tempfile.mkdtemp()
        for name in ("b.fwspool", "a.fwspool", "a.memory.pickle"):
            open(os.path.join(folder, name), "w", encoding="utf-8").close()
        self.assertEqual([os.path.basename(path) for path in check.Run.spools(folder)], ["a.fwspool", "b.fwspool"])

    def test_groups(self):
        paired = with_audit(("nccl_kernels_paired", 30))
        self.assertEqual(verdicts.grouped(paired, {"collectives": 15}, 15), [])
        self.assertEqual(verdicts.grouped(paired, {"collectives": 25}, 15), ["25 collectives instead of 15"])
        guessed = with_audit(("nccl_kernels_paired", 20), ("nccl_kernels_divided", 10))
        self.assertEqual(verdicts.grouped(guessed, {"collectives": 15}, 15), ["nccl_kernels_divided: 10"])
        self.assertEqual(verdicts.grouped(with_audit(), {"collectives": 15}, 15), ["no kernel was paired by number"])
        self.assertEqual(len(verdicts.grouped(None, None, 15)), 1)
        self.assertEqual(verdicts.pairing({"nccl": [2, 28, 9]}), "nccl_kernels_paired")
        self.assertEqual(verdicts.pairing({"nccl": [2, 27, 5]}), "nccl_kernels_paired_by_time")
        self.assertEqual(verdicts.pairing(None), "nccl_kernels_paired")

    def test_surroundings(self):
        line = "fourwalls: the spool's disk is almost full (2 MiB left): recording stops here, the program goes on"
        self.assertEqual(verdicts.said(f"a\n{line}\nb", "disk is almost full"), [])
        self.assertEqual(verdicts.said("a\nb", "disk is almost full"), ["no line says 'disk is almost full'"])
        self.assertEqual(len(verdicts.said(f"{line}\n" * 500, "disk is almost full")), 1)  # one clear line, not hundreds
        self.assertEqual(verdicts.said(f"a\n{line}\nb", "cannot be written", "disk is almost full"), [])
        plain = {"loss": 1.5}
        self.assertEqual(verdicts.left_alone(plain, 0, f'{line}\n{{"loss": 1.5}}\n'), [])
        self.assertEqual(verdicts.left_alone(plain, 0, '{"loss": 1.25}'), ["loss: 1.25 recorded, 1.5 plain"])
        self.assertEqual(verdicts.left_alone(plain, -11, '{"loss": 1.5}'), ["the job ended with -11"])
        self.assertEqual(verdicts.left_alone(plain, 0, "Traceback"), ["a run printed no JSON"])
        self.assertEqual(verdicts.same_end(1, 1), [])
        self.assertEqual(verdicts.same_end(-6, 134), [])
        self.assertEqual(verdicts.same_end(-6, 1), ["exit status 1 instead of 134"])
        self.assertEqual(verdicts.same_end(0, 0), ["the job did not fail"])

    def test_recorded(self):
        self.assertEqual(verdicts.recorded({"steps": 4, "slices": 900}, 4, 500), [])
        self.assertEqual(verdicts.recorded({"steps": 3, "slices": 900}, 4, 500), ["3 steps instead of 4"])
        self.assertEqual(len(verdicts.recorded({"steps": 4, "slices": 0}, 4, 500)), 1)
        self.assertEqual(verdicts.recorded(None, 4, 500), ["record printed no JSON"])

    def test_figures(self):
        good = {"step_time_ms": 12.5, "waterfall": {"compute": 0.75, "idle": 0.25}, "mfu": 0.4}
        self.assertEqual(verdicts.figures(good), [])
        self.assertEqual(verdicts.figures({**good, "mfu": None}), [])
        for wrong in ({"step_time_ms": None}, {"waterfall": {}}, {"waterfall": {"compute": 0.75, "idle": 0.5}},
                      {"waterfall": {"compute": 1.5, "idle": -0.5}}, {"mfu": 1.2}, {"mfu": 0}):
            self.assertEqual(len(verdicts.figures({**good, **wrong})), 1, wrong)
        self.assertEqual(verdicts.figures(None), ["metrics printed no JSON"])

    def test_kernels(self):
        profile = {"traceEvents": [{"cat": "kernel", "dur": 10}, {"cat": "kernel", "dur": 2.5}, {"cat": "cpu_op", "dur": 99}, {}]}
        self.assertEqual(verdicts.profile_kernels(profile), (2, 12.5))
        theirs = [(1000, 500.0), (1000, 502.0), (1000, 498.0)]
        self.assertEqual(verdicts.same_kernels([(1000, 505.0), (1000, 499.0), (1000, 503.0)], theirs), [])
        self.assertEqual(len(verdicts.same_kernels([(1000, 510.0)] * 3, theirs)), 1)  # 2 % off
        self.assertEqual(len(verdicts.same_kernels([(980, 500.0)] * 3, theirs)), 1)
        # The GPU itself was slower at times: times cannot tell, but counts can.
        wavering = [(1000, 490.0), (1000, 530.0), (1000, 515.0)]
        self.assertIsNone(verdicts.same_kernels(wavering, theirs))
        self.assertEqual(len(verdicts.same_kernels([(980, us) for _, us in wavering], theirs)), 2)
        self.assertEqual(len(verdicts.same_kernels([(None, None)] * 3, theirs)), 2)
        self.assertEqual(len(verdicts.same_kernels([(0, 0.0)] * 3, [(0, 0.0)] * 3)), 2)  # nothing agrees with nothing: no success
        self.assertEqual(len(verdicts.same_kernels([], [])), 2)

    def test_kinds_of_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("a.fwspool", "x"), ("a.json", "")):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            self.assertEqual(verdicts.kinds_of(check.Run.files(folder), (".fwspool", ".json", ".fwcupti")), ["no .json", "no .fwcupti"])

    def test_endings(self):
        # 100 launches a millisecond for three seconds.
        text = "".join(f"{1_000_000 * ms} {100 * ms}\n" for ms in range(1, 3001))
        launches = verdicts.Launches(text)
        self.assertEqual((launches.all, launches.signal, launches.until(5_500_000)), (300000, None, 500))
        self.assertAlmostEqual(launches.after(290000), 100)
        cut = {"audit": [{"name": "recording_cut", "count": 1, "detail": "why"}]}
        # Where the end can be seen, nothing is lost and nothing cut.
        self.assertEqual(verdicts.ending("all", AUDIT, launches, 300001), [])
        self.assertEqual(verdicts.ending("all", AUDIT, launches, 299999), ["299999 kernels of 300000, at least 300000 were promised"])
        self.assertEqual(verdicts.ending("all", cut, launches, 300000), ["recording_cut (1): why"])
        self.assertEqual(verdicts.ending("all", AUDIT, launches, 600000), ["600000 kernels, and 300000 were launched"])
        self.assertEqual(verdicts.ending("all", with_audit(("cupti_dropped", 3)), launches, 300000), ["cupti_dropped (3): why"])
        # Without a word: two rounds of flushing (400 ms) and two buffers, and the trace says so.
        least = 300000 - 40000 - 2 * verdicts.BUFFER_KERNELS
        self.assertEqual(verdicts.ending("flushed", cut, launches, least), [])
        self.assertEqual(len(verdicts.ending("flushed", cut, launches, least - 1)), 1)
        self.assertEqual(verdicts.ending("flushed", AUDIT, launches, least), ["the trace does not say that it was cut"])
        self.assertEqual(verdicts.ending("flushed", AUDIT, launches, 300000), [])
        self.assertEqual(len(verdicts.ending("flushed", cut, launches, 0)), 1)
        # By a signal that can be caught: everything until it, but what the GPU had before itself.
        caught = verdicts.Launches(text.replace("2500000000 250000\n", "2500000000 250000\n2500000001 signal\n"))
        self.assertEqual(verdicts.ending("signal", with_audit(("times_lost", 90)), caught, 246000), [])
        self.assertEqual(len(verdicts.ending("signal", AUDIT, caught, 245000)), 1)
        self.assertEqual(len(verdicts.ending("signal", cut, caught, 300000)), 1)
        # A job that did nothing, or that no signal came to, is no success.
        self.assertEqual(verdicts.ending("all", AUDIT, verdicts.Launches(""), 0), ["the job did not get to its end"])
        self.assertEqual(verdicts.ending("signal", AUDIT, launches, 300000), ["the job did not get to its end"])
        self.assertIn("too few to tell", verdicts.ending("flushed", cut, verdicts.Launches("1000 9000\n"), 9000)[0])
        self.assertEqual(verdicts.ending("all", None, launches, 300000), ["info printed no JSON"])

    def test_graphs(self):
        kept = with_audit(("graph_nodes", 2000000))
        self.assertEqual(verdicts.graph_kept(kept, 2000000), [])
        self.assertEqual(verdicts.graph_kept(with_audit(("graph_nodes", 1990000)), 2000000), ["1990000 nodes of 2000000"])
        self.assertEqual(len(verdicts.graph_kept(with_audit(("graph_nodes", 2000000), ("times_lost", 5)), 2000000)), 1)
        line = "CUPTI loses the times of graph nodes: from here on a replay is recorded as a whole; without graph_nodes (FOURWALLS_WITHOUT)"

        def lost(nodes, times, said=line):
            audit = with_audit(("graph_nodes", nodes), ("times_lost", times), ("cupti_times_lost", times))
            return {"audit": audit["audit"] + ([{"name": "collector_message_25", "count": 1, "detail": said}] if said else [])}

        self.assertEqual(verdicts.graph_switched(lost(1100000, 200000), 9000, 20000, 100), [])
        self.assertIsNone(verdicts.graph_switched(kept, 0, 20000, 100))  # this CUPTI loses nothing
        self.assertIn("no line says so", verdicts.graph_switched(lost(2000000, 1100000, None), 0, 20000, 100)[0])
        self.assertIn("no line says so", verdicts.graph_switched(with_audit(("graph_nodes", 900000)), 0, 20000, 100)[0])
        self.assertEqual(verdicts.graph_switched(lost(2000000, 900000), 0, 20000, 100), ["no replay was recorded as a whole"])
        self.assertEqual(len(verdicts.graph_switched(lost(1100000, 200000), 3000, 20000, 100)), 1)  # 6000 replays are nowhere
        self.assertEqual(len(verdicts.graph_switched(lost(1950000, 1050000), 500, 20000, 100)), 1)  # too late
        damaged = lost(1100000, 200000)
        damaged["audit"].append({"name": "queue_full", "count": 7, "detail": "why"})
        self.assertEqual(verdicts.graph_switched(damaged, 9000, 20000, 100), ["queue_full (7): why"])
        # Beside other subscribers it cannot be switched: the line says what to do.
        locked = "CUPTI loses the times of graph nodes: without graph_nodes (FOURWALLS_WITHOUT) a replay is recorded as a whole"
        self.assertEqual(verdicts.graph_switched(lost(2000000, 1100000, locked), 0, 20000, 100), [])
        self.assertEqual(verdicts.graph_switched(None, 0, 20000, 100), ["info printed no JSON"])

    def test_rates_of_kernels(self):
        info, rows = {"memory_bytes_per_second": 2e12}, [["add", 1000, 500_000], ["gelu", 4000, 4_000_000], ["zero", 0, 5]]
        self.assertEqual(verdicts.memory_rates(info, {"rows": rows}),
                         [("gelu", 0.004, 1000.0, 50.0), ("add", 0.001, 500.0, 25.0)])
        self.assertEqual(verdicts.memory_rates({}, {"rows": rows}), [])
        self.assertEqual(verdicts.memory_rates(info, None), [])

    def test_calibration(self):
        rows = [{"context": f"microbenchmark_{context}", "fraction_of_peak": share, "clock_mhz": clock}
                for context, share, clock in (("burst", 0.9, 1980), ("sustained", 0.75, 1650))]
        good = {"sustained_over_burst": 1.2, "tables": {"products": rows}}
        predicted = {"step_time_ms": 20}
        self.assertEqual(verdicts.calibrated(json.dumps(good), predicted), [])
        for wrong in ({"sustained_over_burst": 0.8}, {"sustained_over_burst": 3}, {"tables": {"products": rows[:1]}},
                      {"tables": {"products": [rows[0], {**rows[1], "fraction_of_peak": 1.4}]}},
                      {"tables": {"products": [rows[0], {**rows[1], "clock_mhz": None}]}}):
            self.assertEqual(len(verdicts.calibrated(json.dumps({**good, **wrong}), predicted)), 1, wrong)
        self.assertEqual(verdicts.calibrated(json.dumps(good), None), ["no step time was predicted"])
        self.assertEqual(verdicts.calibrated("", predicted), ["there is no file of JSON"])
        own = {"engine_ms": 10.0, "recorded_ms": 10.1, "pytorch_ms": 9.0, "sound": True, "dropped": 0}
        self.assertEqual(verdicts.timed({"gpt": own}, "gpt"), [])
        self.assertEqual(verdicts.timed({"gpt": {**own, "pytorch_ms": None}}, "gpt"), ["no pytorch_ms"])
        self.assertEqual(verdicts.timed({"gpt": {**own, "sound": False}}, "gpt"), ["the engine's trace is not sound"])
        self.assertEqual(len(verdicts.timed(None, "gpt")), 4)

    def test_another_profiler(self):
        job = {"launched": 90000, "before": 10000, "late": 30000, "profiler": 2000}
        back = {"audit": [{"name": "collector_message_5", "count": 1, "detail": "another profiler had taken …; they were taken back"}]}
        self.assertEqual(verdicts.taken_back(back, job, 60000), [])
        self.assertIsNone(verdicts.taken_back(AUDIT, job, 90001))  # it took nothing
        self.assertEqual(verdicts.taken_back(AUDIT, job, 60000), ["no line says that they were taken back"])
        self.assertEqual(len(verdicts.taken_back(back, job, 11000)), 1)  # nothing since it came
        self.assertEqual(len(verdicts.taken_back(AUDIT, job, 11000)), 2)
        self.assertEqual(verdicts.taken_back(None, job, 0), ["a run printed no JSON"])

    def test_memory(self):
        metrics = {"peak_bytes": [{"rank": 0, "total": 9900}]}
        self.assertEqual(verdicts.peaks(metrics, {"rows": [[10050.0]]}), (9900, 10050.0))
        self.assertEqual(verdicts.peaks({"peak_bytes": []}, {"rows": [[None]]}), (None, None))
        self.assertEqual(verdicts.peaks(None, None), (None, None))
        self.assertEqual(verdicts.memory({"tensors": (9900, 10000), "allocated of CUDA": (10050.0, 10000)}), [])
        self.assertEqual(verdicts.memory({"tensors": (9800, 10000)}), ["tensors: 9800 recorded, and 10000 by PyTorch"])
        self.assertEqual(verdicts.memory({"tensors": (10200, 10000)}), ["tensors: 10200 recorded, and 10000 by PyTorch"])
        self.assertEqual(verdicts.memory({"tensors": (None, 10000)}), ["tensors: None recorded, and 10000 by PyTorch"])
        self.assertEqual(verdicts.memory({"tensors": (0, None)}), ["PyTorch tells no tensors"])

    def test_runs(self):
        self.assertEqual(verdicts.same_run({"loss": 1.5}, {"loss": 1.5}, ("loss",)), [])
        self.assertEqual(verdicts.same_run({"loss": 1.5}, {"loss": 1.25}, ("loss",)), ["loss: 1.25 recorded, 1.5 plain"])
        self.assertEqual(verdicts.same_run({"loss": 1.5}, {"loss": 1.5000001}, ("loss",)), [])  # sums in another order
        self.assertEqual(len(verdicts.same_run({"loss": 1.5}, {"loss": float("nan")}, ("loss",))), 1)
        self.assertEqual(len(verdicts.same_run({"graphs": 3}, {"graphs": 4}, ("graphs",))), 1)
        self.assertEqual(len(verdicts.same_run({}, {}, ("loss",))), 1)
        self.assertEqual(verdicts.same_run({"loss": 1.5}, None, ("loss",)), ["a run printed no JSON"])

    def test_overhead(self):
        rows = verdicts.overhead({"plain": [[9, 10, 11], [10, 10, 10]], "low": [[11, 11, 12], []], "full": []})
        self.assertEqual(rows, [("plain", 10, 10, 10, 0.0), ("low", 11, 11, 11, 100 * (11 / 10 - 1))])
        self.assertEqual(verdicts.overhead({"low": [[1]]}), [])


def bundle(folder):
    """A bundle whose program prints its arguments."""
    import zipfile

    with zipfile.ZipFile(os.path.join(folder, "fourwalls-0-py3-none-any.whl"), "w") as wheel:
        wheel.writestr("fourwalls/bin/fourwalls-cli", '#!/bin/sh\necho "$@"\n')
    return folder


class Runs(unittest.TestCase):
    def made(self, list_of_stages, first="facts", seconds=60, gpu=True):
        """Runs made stages; the exit status, the report and the folder of what came of it."""
        out = tempfile.mkdtemp()
        real, stages.STAGES = stages.STAGES, list_of_stages
        try:
            run = check.Run(bundle(tempfile.mkdtemp()), out, seconds)
            run.gpu_problems = lambda: [] if gpu else ["no driver"]
            status = run.finish(run.stages(first), first)
        finally:
            stages.STAGES = real
        with open(os.path.join(out, "report.md"), encoding="utf-8") as file:
            return status, file.read(), out

    def test_passes(self):
        status, report, out = self.made([("facts", lambda run: run.judge("it says so", run.cli("said", 5, ["hello"])), 30)])
        self.assertEqual(status, 0, report)
        self.assertIn("- PASS it says so", report)
        self.assertIn("| facts | PASS |", report)
        with tarfile.open(os.path.join(out, "evidence.tar")) as tar:
            self.assertEqual(lzma.decompress(tar.extractfile("said.log.xz").read()), b"hello\n")

    def test_fails_with_the_end_of_its_log(self):
        def stage(run):
            run.judge("a command", run.command("bad", 5, ["sh", "-c", "echo the reason; exit 4"]))
        status, report, _ = self.made([("facts", stage, 30), ("more", lambda run: run.check("more", []), 5)])
        self.assertEqual(status, 1)
        self.assertIn("- **FAIL** a command: exit status 4 instead of 0\n```\nthe reason\n```", report)
        self.assertIn("| more | PASS |", report)  # the others still run

    def test_times_out(self):
        status, report, _ = self.made([("facts", lambda run: run.judge("a command", run.command("slow", 2, ["sleep", "100"])), 30)])
        self.assertEqual(status, 1)
        self.assertIn("- **TIMEOUT** a command", report)
        self.assertIn("| facts | TIMEOUT |", report)

    def test_a_killed_or_missing_program(self):
        def stage(run):
            run.judge("killed", run.command("killed", 5, ["sh", "-c", "kill -9 $$"]))
            run.judge("missing", run.command("missing", 5, ["/nowhere/program"]))
        status, report, _ = self.made([("facts", stage, 30)])
        self.assertEqual(status, 1)
        self.assertIn("signal 9 ended it", report)
        self.assertIn("exit status 127", report)

    def test_nothing_checked_is_no_success(self):
        self.assertEqual(self.made([("facts", lambda run: None, 30)])[0], 1)

    def test_what_cannot_be_tried_is_said(self):
        def part(run):
            run.check("fine", [])
            run.absent("a part of a GPU", "MIG is off")
        status, report, _ = self.made([("facts", part, 30), ("mig", lambda run: run.absent("all of it", "MIG is off"), 30)])
        self.assertEqual(status, 0)
        self.assertIn("- NOT HERE a part of a GPU: MIG is off", report)
        self.assertIn("| facts | PASS |", report)
        self.assertIn("| mig | NOT HERE |", report)
        self.assertIn("Not tried on this machine, wholly or in part: facts, mig", report)

    def test_a_small_disk_can_be_made(self):
        run = check.Run(bundle(tempfile.mkdtemp()), tempfile.mkdtemp(), 60)
        run.stage_end = run.began + 60
        if not shutil.which("mount") or not run.may_unshare("--mount"):
            self.skipTest("no mount namespace may be made here")
        folder = run.folder("disk")
        ran = run.command("small", 10, [*run.unshare("--mount"), "sh", "-c",
                                        'mount -t tmpfs -o size=1m none "$0" && ! head -c 9000000 /dev/zero >"$0/file"', folder])
        self.assertEqual(ran.status, 0, ran.text)
        self.assertEqual(os.listdir(folder), [])  # nobody else saw it

    def test_cupti_of_pythons_packages(self):
        run, packages = check.Run(bundle(tempfile.mkdtemp()), tempfile.mkdtemp(), 60), tempfile.mkdtemp()
        with unittest.mock.patch.object(sys, "path", [packages]):
            self.assertEqual(run.cupti(), [])
            for name in ("cuda_cupti/lib/libcupti.so.12", "cu13/lib/libcupti.so.13", "cu13/lib/libcublas.so.13"):
                os.makedirs(os.path.join(packages, "nvidia", os.path.dirname(name)), exist_ok=True)
                open(os.path.join(packages, "nvidia", name), "w", encoding="utf-8").close()
            self.assertEqual(run.cupti(), [os.path.join(packages, "nvidia", "cu13/lib/libcupti.so.13")])

    def test_a_stage_that_breaks(self):
        status, report, _ = self.made([("facts", lambda run: {}["key"], 30)])
        self.assertEqual(status, 1)
        self.assertIn("KeyError", report)

    def test_time_is_over(self):
        passes = lambda run: run.check("fine", [])
        status, report, _ = self.made([("facts", passes, 1), ("long", passes, 400)], seconds=check.RESERVED + 10)
        self.assertEqual(status, 3)
        self.assertIn("NEXT: run --from long", report)
        self.assertIn("| long | not run |", report)

    def test_what_the_end_of_the_time_cuts_is_no_failure(self):
        """The run's own time ends in the middle of a stage: it says nothing of the product, and is begun again there."""
        def stage(run):
            run.check("fine", [])
            run.judge("a command", run.command("slow", 90, ["sleep", "100"]))
            run.check("what would follow from it", ["nothing"])
        passes = lambda run: run.check("fine", [])
        status, report, _ = self.made([("facts", passes, 1), ("cut", stage, 4), ("more", passes, 1)], seconds=check.RESERVED + 3)
        self.assertEqual(status, 3, report)
        self.assertIn("- **CUT** a command", report)
        self.assertIn("| cut | CUT |", report)
        self.assertIn("NEXT: run --from cut", report)
        broken = lambda run: (run.check("broken", ["really"]), stage(run))
        self.assertEqual(self.made([("facts", broken, 90)], seconds=check.RESERVED + 3)[0], 1)

    def test_no_gpu(self):
        status, report, _ = self.made([("facts", lambda run: run.check("fine", []), 30)], gpu=False)
        self.assertEqual(status, 1)
        self.assertIn("no driver", report)

    def test_evidence_is_bounded_and_whole(self):
        """What does not fit is named; what is there is whole."""
        texts = {"a": os.urandom(6000), "b": os.urandom(6000), "c": b"small", "d": bytes(20000)}

        def stage(run):
            for name, text in texts.items():
                with open(run.file(name), "wb") as file:
                    file.write(text)
                run.take(run.file(name))
            run.check("fine", [])
        with unittest.mock.patch.object(check, "MOST", 10000), unittest.mock.patch.object(check, "LARGEST", 16000):
            _, report, out = self.made([("facts", stage, 30)])
        self.assertIn("left out: b (5 KiB, no room), d (19 KiB, more than is packed of one file)\n", report)
        with tarfile.open(os.path.join(out, "evidence.tar")) as tar:
            self.assertEqual({member.name: lzma.decompress(tar.extractfile(member).read()) for member in tar},
                             {"a.xz": texts["a"], "c.xz": texts["c"]})

    def test_a_second_run_keeps_what_the_first_has_brought(self):
        run = check.Run(bundle(tempfile.mkdtemp()), tempfile.mkdtemp(), 60)
        for text in ("one", "two", "three"):
            with open(run.file("a"), "w", encoding="utf-8") as file:
                file.write(text)
            run.pack("evidence.tar", [run.file("a")])
        found = {}
        for name in ("evidence.tar", "evidence_2.tar", "evidence_3.tar"):
            with tarfile.open(os.path.join(run.out, name)) as tar:
                found[name] = lzma.decompress(tar.extractfile("a.xz").read())
        self.assertEqual(list(found.values()), [b"one", b"two", b"three"])

    def test_the_spools_of_a_recorded_job_are_kept(self):
        """`record` removes the spools when it ends: the job's own shell copies them before."""
        program = ('#!/bin/sh\nshift 3\nwhile [ "$1" != -- ]; do shift; done; shift\n'
                   'mkdir -p "$0.spool"; FOURWALLS_SPOOL_DIR="$0.spool" "$@"; status=$?; rm -r "$0.spool"; echo "{}"; exit $status\n')
        run = check.Run(bundle(tempfile.mkdtemp()), tempfile.mkdtemp(), 60)
        run.stage, run.stage_end, run.results["facts"], run.interpreter = "facts", run.began + 60, [], "sh"
        self.assertEqual(run.unpack(), [])
        with open(run.program, "w", encoding="utf-8") as file:
            file.write(program)
        job, kept = run.file("job.sh"), run.folder("kept")
        with open(job, "w", encoding="utf-8") as file:
            file.write('echo of the job >"$FOURWALLS_SPOOL_DIR/1.fwspool"; exit 5\n')
        run.recorded("kept", 10, [job], [], kept, expected=5)
        self.assertEqual(run.results["facts"], ["PASS"], run.log("kept"))
        self.assertEqual(run.text(os.path.join(kept, "1.fwspool")), "of the job\n")

    def test_the_command_without_a_gpu(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("there is a driver")
        out = tempfile.mkdtemp()
        ran = subprocess.run([os.path.join(PACKAGING, "check_on_gpu.sh"), "run", "-o", out], capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
        with open(os.path.join(out, "report.md"), encoding="utf-8") as file:
            report = file.read()
        self.assertIn("no driver", report)
        self.assertIn("\nFAILED", report)
        self.assertNotIn("PASS", report)

    def test_a_product_that_does_nothing_passes_no_stage(self):
        """Programs that print a line and end well: each stage goes to its end, and none of those about the product passes."""
        run = check.Run(bundle(tempfile.mkdtemp()), tempfile.mkdtemp(), 600)
        run.gpu_problems = lambda: []
        run.interpreter = os.path.join(run.work, "python")
        programs = [run.interpreter] + [run.tests(name) for name in ("tests_profiler_engine_gpu", "cupti_replay", "plain_program")]
        for path in programs:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\necho '{}'\n")
            os.chmod(path, 0o755)
        self.assertIsNone(run.stages("facts"))
        with open(os.path.join(run.out, "report.md"), encoding="utf-8") as file:
            report = file.read()
        self.assertNotIn("the stage itself", report)
        self.assertEqual([name for name, results in run.results.items() if check.worst(results) in ("PASS", "CUT")], ["facts"], report)

    def test_jobs_can_be_read(self):
        folder = os.path.join(PACKAGING, "check_on_gpu")
        for name in sorted(os.listdir(folder)):
            if name.endswith(".py"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    compile(file.read(), name, "exec")
        asked = subprocess.run([sys.executable, os.path.join(folder, "train.py"), "--help"], capture_output=True, text=True, check=False)
        for size in (stages.TINY, stages.SMALL, stages.LARGE, stages.BOUND, ["--warm", "--graph", "--workers", "--profile", "--compile"]):
            for option in size:
                if option.startswith("--"):
                    self.assertIn(option, asked.stdout)

    def test_every_stage_is_listed_once(self):
        names = [name for name, _, _ in stages.STAGES]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(names[0], "facts")


if __name__ == "__main__":
    unittest.main()
