#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every C++ file is as clang-format 14 (Debian 12's) leaves it. Other versions format differently and are not asked.

Usage: check_format.py REPOSITORY   lists the files that are not; exit code 1 if there are any, 77 without clang-format 14
       check_format.py --self-test  proves that a badly formatted file is seen, and a good one is not
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tracked_files import tracked_files

VERSION = 14
SKIPPED_EXIT = 77
SKIPPED = ("tests/layering/bad_",)  # samples of what the other checks refuse
REPOSITORY = Path(__file__).resolve().parents[2]


def formatter():
    """clang-format of the version that is the rule, or None."""
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        said = path and subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
        if said and re.search(rf"version {VERSION}\.", said):
            return path
    return None


def badly_formatted(program, root, files):
    def check(part):
        done = subprocess.run(
            [program, "--dry-run", f"--style=file:{REPOSITORY / '.clang-format'}", *part],
            cwd=root, capture_output=True, text=True, check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return set(re.findall(r"^(.+?):\d+:\d+: warning: code should be clang-formatted", done.stderr, re.MULTILINE))

    parts = [files[at : at + 40] for at in range(0, len(files), 40)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return sorted(set().union(*pool.map(check, parts)))


def self_test(program):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "good.cpp").write_text("int main()\n{\n    return 0;\n}\n", encoding="utf-8")
        Path(folder, "bad.cpp").write_text("int main() {\n  return 0; }\n", encoding="utf-8")
        found = badly_formatted(program, folder, ["good.cpp", "bad.cpp"])
    if found == ["bad.cpp"]:
        print("self-test passed")
        return 0
    print(f"self-test failed: {found}")
    return 1


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    program = formatter()
    if not program:
        print(f"skipped: clang-format {VERSION} is not installed (Debian 12: apt-get install clang-format)")
        return SKIPPED_EXIT
    if sys.argv[1] == "--self-test":
        return self_test(program)
    root = Path(sys.argv[1]).resolve()
    files = [
        file for file in tracked_files(root)
        if re.search(r"\.(cpp|h|cu|cuh)$", file) and not file.startswith(SKIPPED)
    ]
    bad = badly_formatted(program, root, files)
    print("\n".join(f"clang-format -i {file}" for file in bad) or f"all {len(files)} files are formatted")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
