#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command of docs/collector.md that makes the module on a machine with a compiler and CUPTI's headers alone: it is run as
it stands there, but for the headers' folders, the place of the result and the optimisation, which would take three times as
long. What it makes is held against what a module needs and exports (module_symbols.py). Skipped (77) without g++.

Usage: one_command_build.py SOURCES HEADERS…
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import module_symbols  # noqa: E402


def main(sources, headers):
    if shutil.which("g++") is None:
        print("skipped: g++ is not installed")
        return 77
    with open(os.path.join(sources, "docs", "collector.md"), encoding="utf-8") as file:
        commands = re.findall(r"^```\n(g\+\+ .*?)^```", file.read(), re.M | re.S)
    if len(commands) != 1:
        print(f"docs/collector.md has {len(commands)} commands of g++")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        module = os.path.join(folder, "libfourwalls_collector.so")
        command = commands[0]
        for words, own in (("-isystem /usr/local/cuda/include", " ".join(f"-isystem {each}" for each in headers)),
                           ("-o libfourwalls_collector.so", f"-o {module}"), ("-O2", "-O0")):
            if words not in command:
                print(f"the command has no {words}")
                return 1
            command = command.replace(words, own)
        built = subprocess.run(["bash", "-c", command], cwd=sources, capture_output=True, text=True, check=False)
        if built.returncode != 0:
            print(built.stderr[-4000:])
            return 1
        return module_symbols.main(module)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
