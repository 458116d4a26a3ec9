# SPDX-License-Identifier: Apache-2.0
"""The stage of packaging/check_on_gpu about how jobs end, with the program, the recorder and its Python hook as they are, and
stand-ins for PyTorch, CUPTI and the driver: what is right passes, and a recorder whose hook is missing does not.
Exit code 77: the recorder was not built.

  check_on_gpu_endings.py PACKAGING FOURWALLS-CLI BUILD"""
import contextlib
import io
import os
import sys
import tempfile
import time
import unittest
import unittest.mock

PACKAGING, CLI, BUILD = (os.path.abspath(path) for path in sys.argv[1:4])
del sys.argv[1:4]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(PACKAGING, "check_on_gpu"))
import run as check  # noqa: E402
import stages  # noqa: E402
import verdicts  # noqa: E402

STAND_IN = os.path.join(BUILD, "lib", "fake")
ENVIRONMENT = {"STAND_IN": STAND_IN, "FOURWALLS_CUPTI": os.path.join(STAND_IN, "libcupti.so.13"),
               "PYTHONPATH": os.path.join(os.path.dirname(os.path.abspath(__file__)), "stand_in")}


def begun(out):
    run = check.Run(tempfile.mkdtemp(), out, 600)
    run.program = CLI
    os.makedirs(os.path.join(run.package, "fourwalls"))
    os.symlink(os.path.join(BUILD, "lib"), os.path.join(run.package, "fourwalls", "lib"))
    run.stage, run.stage_end, run.results["endings"] = "endings", time.monotonic() + 500, []
    return run


@unittest.mock.patch.dict(os.environ, ENVIRONMENT)
class Endings(unittest.TestCase):
    def test_what_is_right_passes(self):
        said = io.StringIO()
        ways = [each for each in stages.ENDINGS if each[0] in ("fork", "TERM", "_exit") or each[0] == "KILL" and not each[3]]
        with tempfile.TemporaryDirectory() as out, contextlib.redirect_stdout(said), unittest.mock.patch.object(stages, "ENDINGS", ways):
            run = begun(out)
            stages.endings(run)
        self.assertEqual(run.results["endings"], ["PASS"] * 8, said.getvalue())

    def test_workers_without_the_hook_do_not(self):
        """Without `record` nothing ends the recording of a forked worker, which leaves by os._exit."""
        with tempfile.TemporaryDirectory() as out:
            run = begun(out)
            folder, counted, path = run.folder("spools"), run.file("counted"), run.file("fork.fourwalls")
            ran = run.job("fork", 60, ["endings.py", "fork", counted], run.injected(folder))
            self.assertEqual(ran.status, 0, ran.text)
            run.cli("import", 60, ["import", *run.spools(folder), "-o", path])
            launches, kernels = verdicts.Launches(run.text(counted)), run.facts("facts", path).get("gpu_kernel_events")
            info = verdicts.json_of(run.cli("info", 30, ["info", path, "--json"]).text)
        self.assertGreater(kernels, 0)
        self.assertIn("recording_cut", " ".join(verdicts.ending("all", info, launches, kernels)))


if not os.path.exists(os.path.join(BUILD, "lib", "libfourwalls_collector.so")) or not os.path.isdir(STAND_IN):
    print("built without the collector")
    sys.exit(77)
unittest.main(verbosity=2)
