#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source file names its licence in its first lines, and the right one for its folder.

Usage: check_spdx.py REPOSITORY   lists files without or with the wrong SPDX line; exit code 1 if there are any.
       check_spdx.py --self-test  proves that both kinds are seen.
"""
import re
import sys
import tempfile
from pathlib import Path

from tracked_files import tracked_files

# QCustomPlot is GPL, so what is linked with it is; everything else is Apache-2.0.
GPL_FOLDERS = ("views/", "app/gui/", "tests/views/", "tests/app/gui/")
EITHER_FOLDERS = ("tests/bench/", "tests/slow/")
# Formats that cannot carry a comment, files that tools rewrite, and data.
EXEMPT_SUFFIXES = {".json", ".png", ".ts", ".fourwalls", ".txt", ".csv", ".bin", ".sqlite", ".gz", ".z", ".pickle", ".tar", ".zip", ".zst", ".pb", ".pftrace", ".et", ".tfevents",
                   ".log"}
EXEMPT_PREFIXES = ("_dump_",)  # of flight recorders
EXEMPT_NAMES = {"LICENSE", "LICENSE.GPL-3.0"}
SPDX = re.compile(r"SPDX-License-Identifier: (\S+)")


def check(root):
    problems = []
    for file in tracked_files(root):
        name = file.rsplit("/", 1)[-1]
        has_none = Path(file).suffix in EXEMPT_SUFFIXES and name != "CMakeLists.txt"
        if has_none or name in EXEMPT_NAMES or name.startswith(EXEMPT_PREFIXES):
            continue
        head = (root / file).read_bytes()[:400].decode("utf-8", "replace")
        found = SPDX.search(head)
        licence = "GPL-3.0-or-later" if file.startswith(GPL_FOLDERS) else "Apache-2.0"
        if not found:
            problems.append(f"{file}: no SPDX-License-Identifier in its first lines")
        elif found.group(1) != licence and not file.startswith(EITHER_FOLDERS):
            problems.append(f"{file}: {found.group(1)}, should be {licence}")
    return problems


def self_test():
    samples = {
        "model/base/good.h": "// SPDX-" "License-Identifier: Apache-2.0\n",
        "model/base/none.h": "#pragma once\n",
        "views/good.cpp": "// SPDX-" "License-Identifier: GPL-3.0-or-later\n",
        "views/wrong.cpp": "// SPDX-" "License-Identifier: Apache-2.0\n",
        "resources/presets/a.json": "{}\n",
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, text in samples.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        found = [problem.split(":")[0] for problem in check(Path(folder))]
    if found == ["model/base/none.h", "views/wrong.cpp"]:
        print("self-test passed")
        return 0
    print(f"self-test failed: {found}")
    return 1


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    problems = check(Path(sys.argv[1]).resolve())
    print("\n".join(problems) or "every file names its licence")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
