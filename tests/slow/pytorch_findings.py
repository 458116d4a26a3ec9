#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a PyTorch job on the processor, found with the function's file and line, from its profile alone.

  pytorch_findings.py FOURWALLS-CLI FOLDER     the profiles kept in FOLDER
  pytorch_findings.py FOURWALLS-CLI            the jobs, run anew: FOURWALLS_PYTORCH as in pytorch_job.py, 77 without one
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
JOBS = os.path.join(HERE, "pytorch_jobs")
CLI = os.path.abspath(sys.argv[1])
KEPT = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
del sys.argv[1:]


def python_with_torch():
    python = os.environ.get("FOURWALLS_PYTORCH", "")
    if python == "install":
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        python = os.path.join(cache, "fourwalls", "pytorch", "bin", "python")  # that slow/pytorch_job has made
    python = python or sys.executable
    found = subprocess.run([python, "-c", "import torch"], capture_output=True, check=False)
    return python if found.returncode == 0 else None


def line_of(job, function):
    """Where the source of a job defines a function: that is the line which PyTorch's profiler writes down."""
    with open(os.path.join(JOBS, job + ".py"), encoding="utf-8") as source:
        return next(number for number, line in enumerate(source, 1) if line.lstrip().startswith("def " + function + "("))


class Findings(unittest.TestCase):
    def diagnosed(self, job):
        with tempfile.TemporaryDirectory() as folder:
            profile = os.path.join(KEPT or folder, job + ".pt.trace.json.gz")
            if not KEPT:
                done = subprocess.run([PYTHON, os.path.join(JOBS, job + ".py"), profile], capture_output=True, text=True,
                                      timeout=300, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""}, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
            trace = os.path.join(folder, job + ".fourwalls")
            subprocess.run([CLI, "import", profile, "-o", trace], capture_output=True, check=True)
            said = subprocess.run([CLI, "diagnose", trace, "--json"], capture_output=True, text=True, check=True)
            return json.loads(said.stdout)

    def found(self, job, cause, function):
        said = self.diagnosed(job)
        finding = next((each for each in said["findings"] if each["id"] == cause), None)
        self.assertIsNotNone(finding, said)
        source = finding["source"]
        self.assertEqual((os.path.basename(source["file"]), source["line"], source["function"]),
                         (job + ".py", line_of(job, function), function), finding)
        return {each["what"]: each["value"] for each in finding["evidence"]}, finding

    def test_leak(self):
        evidence, finding = self.found("leak", "memory_growth", "forward_and_keep")
        # What the graph keeps for the backward pass, in f32: the batch, the hidden layer after its ReLU, the outputs that
        # are squared; and the loss itself.
        self.assertEqual(evidence["grows per step by"], (2 * 256 * 512 + 256 + 1) * 4)
        self.assertIsNone(finding["gain_ms"])

    def test_items(self):
        evidence, _ = self.found("items", "sync_calls", "accuracy")
        self.assertEqual(evidence["occurrences per step"], 64)  # two for each of 32 samples
        self.assertEqual(evidence["mostly"], "aten::item")

    def test_loader(self):
        evidence, finding = self.found("loader", "data_loading", "__getitem__")
        self.assertGreater(evidence["time per step"], 16 * 2)
        self.assertEqual(finding["gain_from"], "replay")

    def test_sound(self):
        said = self.diagnosed("sound")
        self.assertEqual({each["id"] for each in said["findings"]} & {"memory_growth", "sync_calls", "data_loading"}, set(), said)
        read = next(each for each in said["abstained"] if each["id"] == "sync_calls")
        self.assertEqual((read["source"]["line"], read["source"]["function"]), (line_of("sound", "train"), "train"))


if __name__ == "__main__":
    PYTHON = None if KEPT else python_with_torch()
    if not KEPT and PYTHON is None:
        print("no PyTorch here: FOURWALLS_PYTORCH=install or FOURWALLS_PYTORCH=PYTHON")
        sys.exit(77)
    unittest.main(verbosity=2)
