#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows of the engine's tests that want a GPU are skipped where its module is missing, and fail with FOURWALLS_REQUIRE_GPU=1:
who runs them on a GPU must not read a success of tests that never reached it. The verdict of packaging/check_on_gpu on the
same output says so, too.

Usage: require_gpu.py PROGRAM PACKAGING
"""
import os
import subprocess
import sys
import unittest

PROGRAM, PACKAGING = sys.argv[1:3]
del sys.argv[1:3]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(PACKAGING, "check_on_gpu"))
import verdicts  # noqa: E402


def run(*more, **environment):
    """The tests' program with the GPU's module missing, also where it lies beside it."""
    plain = {name: value for name, value in os.environ.items() if name != "FOURWALLS_REQUIRE_GPU"}
    return subprocess.run([PROGRAM, *more], capture_output=True, text=True, check=False, timeout=200,
                          env={**plain, "FOURWALLS_CUDA_MODULE": "/nowhere/libfourwalls_cuda.so", "QT_QPA_PLATFORM": "offscreen", **environment})


class RequireGpu(unittest.TestCase):
    def test_skipped_or_failed(self):
        for test in (("gpu_operators", "softmax"), ("gpu_module",), ("gpu_nccl", "oneRank")):
            skipped = run(*test)
            self.assertEqual(skipped.returncode, 0, skipped.stdout)
            self.assertIn("SKIP", skipped.stdout)
            self.assertTrue(verdicts.test_program(skipped.stdout))  # no success there either
            failed = run(*test, FOURWALLS_REQUIRE_GPU="1")
            self.assertNotEqual(failed.returncode, 0)
            self.assertIn("FOURWALLS_REQUIRE_GPU=1, and ", failed.stdout)
            self.assertNotIn("SKIP", failed.stdout)
            self.assertTrue(verdicts.test_program(failed.stdout))


if __name__ == "__main__":
    unittest.main()
