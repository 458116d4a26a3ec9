#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program asks for no newer C library than the one that the server package is named by. Reads its dynamic symbols with
readelf and names what asks for more. Skipped (77) where it was not built with the C library of Debian 12, which is what
the server package is made of, and where readelf is missing.

Usage: c_library.py PROGRAM PACKAGING
"""
import os
import re
import shutil
import subprocess
import sys

BUILT_WITH = (2, 36)  # Debian 12's


def main(program, packaging):
    here = tuple(int(part) for part in os.confstr("CS_GNU_LIBC_VERSION").split()[1].split(".")[:2])
    for missing, why in ((here != BUILT_WITH, "this system's C library is not Debian 12's"),
                         (shutil.which("readelf") is None, "readelf is not installed")):
        if missing:
            print(f"skipped: {why}")
            return 77
    text = open(os.path.join(packaging, "wheel", "fourwalls", "__init__.py"), encoding="utf-8").read()
    promised = tuple(int(part) for part in re.search(r"^C_LIBRARY = \((\d+), (\d+)\)$", text, re.MULTILINE).groups())
    symbols = subprocess.run(["readelf", "-W", "--dyn-syms", program], check=True, capture_output=True, text=True).stdout
    asked = {((int(a), int(b)), name) for name, a, b in re.findall(r"(\S+)@GLIBC_(\d+)\.(\d+)", symbols)}
    if not asked:
        print("the program has no versioned symbols of the C library")
        return 1
    newer = sorted((version, name) for version, name in asked if version > promised)
    for version, name in newer:
        print("%s asks for C library %d.%d, and the server package promises %d.%d" % (name, *version, *promised))
    return 1 if newer else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
