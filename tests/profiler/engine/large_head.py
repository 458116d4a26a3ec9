#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A residual network whose output layer fills a bucket of gradients: they are complete after the last loss, before the first
backward pass of a block may have begun. Every plan has the losses and norms of one rank with as many micro-batches.

Usage: large_head.py FOURWALLS-CLI
"""
import json
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CLI = str(Path(sys.argv.pop(1)).resolve()) if len(sys.argv) > 1 else ""
MODEL = {"name": "large head", "kind": "resnet", "depth": 50, "image_size": 32, "classes": 600}


class LargeHead(unittest.TestCase):
    def steps(self, folder, plan):
        trace = folder / "run.fourwalls"
        trace.unlink(missing_ok=True)
        # A small rate: normalisation over few samples lets rounding grow from step to step.
        subprocess.run(
            [CLI, "record", "-o", str(trace), "--model", str(folder / "model.json"), "--batch", "8", "--seed", "2", "--steps",
             "2", "--optimizer", "sgd", "--lr", "1e-5", "--plan", plan],
            check=True, capture_output=True)
        return sqlite3.connect(trace).execute(
            "SELECT loss, gradient_norm FROM step WHERE rank = 0 ORDER BY step").fetchall()

    def test_plans(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "model.json").write_text(json.dumps(MODEL))
            for one, plans in (
                ("microbatches=2", ("dp=2", "dp=2 zero=1")),
                ("microbatches=4", ("dp=2 microbatches=2", "dp=2 zero=2 microbatches=2", "dp=2 overlap=0 microbatches=2",
                                    "dp=2 pp=2 microbatches=2 schedule=gpipe", "dp=2 pp=2 microbatches=2 schedule=zb")),
            ):
                expected = self.steps(folder, one)
                for plan in plans:
                    for step, (found, wanted) in enumerate(zip(self.steps(folder, plan), expected)):
                        self.assertAlmostEqual(found[0] / wanted[0], 1, delta=1e-5, msg=(plan, step))
                        # The head's part of the norm is small; rounding is smaller yet.
                        near = 2e-8 if step == 0 else 1e-6
                        self.assertAlmostEqual(found[1] / wanted[1], 1, delta=near, msg=(plan, step))


if __name__ == "__main__":
    unittest.main()
