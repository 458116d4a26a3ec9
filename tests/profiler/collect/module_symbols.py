#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The module that is injected into other programs needs nothing but libc, no newer one than glibc 2.31, and exports
nothing but its entry points. Reads the module's dynamic section with readelf; says what was reached. Skipped (77) where
the module was not built.

Usage: module_symbols.py MODULE
"""
import os
import re
import shutil
import subprocess
import sys

NEWEST_GLIBC = (2, 31)
LIBRARIES = {"libc.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
EXPORTS = {
    "InitializeInjection", "InitializeInjectionNvtx2", "InitializeInjectionNvtxExtension", "ncclProfiler_v4",
    "ncclProfiler_v5", "ncclProfiler_v6", "fourwalls_collector_start", "fourwalls_collector_step", "fourwalls_collector_stop",
    "fourwalls_collector_path",
    "fourwalls_collector_pause",
}


def readelf(option, module):
    return subprocess.run(["readelf", "-W", option, module], check=True, capture_output=True, text=True).stdout


def main(module):
    for missing, why in ((not os.path.exists(module), "the collector's module was not built: CUPTI's headers are missing"),
                         (shutil.which("readelf") is None, "readelf is not installed")):
        if missing:
            print(f"skipped: {why}")
            return 77
    problems = []
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("-d", module)))
    problems += [f"needs {name}" for name in sorted(needed - LIBRARIES)]
    symbols = [line.split() for line in readelf("--dyn-syms", module).splitlines() if "GLOBAL" in line or "WEAK" in line]
    exported = {fields[7].split("@")[0] for fields in symbols if fields[6] != "UND"}
    if exported != EXPORTS:
        problems.append(f"exports {sorted(exported ^ EXPORTS)} more or less than it should")
    versions = {(int(a), int(b), name) for name, a, b in
                re.findall(r"(\S+)@GLIBC_(\d+)\.(\d+)", readelf("--dyn-syms", module))}
    problems += [f"{name} needs glibc {a}.{b}" for a, b, name in sorted(versions) if (a, b) > NEWEST_GLIBC]
    unversioned = [fields[7] for fields in symbols if fields[6] == "UND" and len(fields) > 7 and "@" not in fields[7]]
    known = {"__cxa_finalize", "__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"}
    problems += [f"{name} is not of libc" for name in unversioned if name and name not in known]
    for problem in problems:
        print(problem)
    newest = max((a, b) for a, b, _ in versions)
    print(f"newest symbol: glibc {newest[0]}.{newest[1]}; needs {', '.join(sorted(needed))}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
