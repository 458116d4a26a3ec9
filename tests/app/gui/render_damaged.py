#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A trace file whose pages were overwritten: `fourwalls --render timeline` draws what is sound, or ends with one line that
names the file and says what is wrong. It never crashes, and its processor time is limited to ten times what the sound file
takes, and a bit.

Usage: render_damaged.py FOURWALLS FOURWALLS-CLI
"""
import os
import random
import resource
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, CLI = (str(Path(path).resolve()) for path in sys.argv[1:3])
del sys.argv[1:3]
PAGE = 4096
FILES = 16


class Damaged(unittest.TestCase):
    def render(self, file, most_seconds):
        """Exit status, standard error, processor seconds; a limit on these ends it (-9 or -24 then)."""
        picture = file.with_suffix(".png")
        environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.run(
            [PROGRAM, "--render", "timeline", "-o", str(picture), str(file)], capture_output=True, text=True, check=False,
            env=environment, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (most_seconds, most_seconds)))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.assertEqual(picture.exists(), run.returncode == 0, run.stderr)
        return run.returncode, run.stderr.strip(), spent

    def test_overwritten_pages(self):
        with tempfile.TemporaryDirectory() as name:
            sound = Path(name) / "sound.fourwalls"
            subprocess.run([CLI, "bench", "generate", "--slices", "60000", "--ranks", "2", "-o", str(sound)], check=True,
                           capture_output=True)
            status, said, spent = self.render(sound, 120)
            self.assertEqual((status, said), (0, ""))
            most = 10 * int(spent + 1)
            whole = sound.read_bytes()
            refused = 0
            for seed in range(FILES):
                with self.subTest(seed):
                    chance = random.Random(seed)
                    data = bytearray(whole)
                    # One page of many, up to most of them; the first one makes the file a database.
                    for _ in range(1 << (seed % 8)):
                        at = chance.randrange(1, len(data) // PAGE) * PAGE
                        data[at : at + PAGE] = chance.randbytes(PAGE)
                    file = Path(name) / f"damaged_{seed}.fourwalls"
                    file.write_bytes(data)
                    status, said, _ = self.render(file, most)
                    self.assertIn(status, (0, 1), said)
                    if status == 1:
                        refused += 1
                        self.assertEqual(said.count("\n"), 0, said)
                        self.assertIn(file.name, said)
            self.assertGreater(refused, FILES // 4)


if __name__ == "__main__":
    unittest.main()
