# SPDX-License-Identifier: Apache-2.0
"""Starts fourwalls-cli, which lies in this package, in the place of this process."""
import os
import platform
import sys

# The oldest C library that the program and the libraries beside it run with; packaging/wheel.sh names the wheel by it.
C_LIBRARY = (2, 34)
HERE = os.path.dirname(os.path.abspath(__file__))
COLLECTOR = os.path.join(HERE, "lib", "libfourwalls_collector.so")


def c_library():
    """The version of this system's glibc, or None where it has another C library."""
    try:
        name, version = os.confstr("CS_GNU_LIBC_VERSION").split()
        return tuple(int(part) for part in version.split(".")[:2]) if name == "glibc" else None
    except (AttributeError, OSError, ValueError):
        return None


def why_not():
    """One sentence on why the program cannot run here, or None. pip asks by the wheel's name; a copied folder is asked here."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "it was built for Linux on x86-64, and this is %s on %s" % (sys.platform, platform.machine())
    have, need = c_library(), "%d.%d" % C_LIBRARY
    if have is None:
        return "it needs the GNU C library %s or newer, and this system has another one" % need
    if have < C_LIBRARY:
        return ("it needs the GNU C library %s or newer, and this system has %d.%d; the collector alone (%s) records here, too"
                % ((need,) + have + (COLLECTOR,)))
    return None


def main():
    reason = why_not()
    if reason:
        sys.exit("fourwalls-cli cannot run: " + reason)
    program = os.path.join(HERE, "bin", "fourwalls-cli")
    try:
        os.execv(program, ["fourwalls-cli"] + sys.argv[1:])
    except OSError as failure:
        sys.exit("fourwalls-cli cannot run: %s: %s" % (program, failure.strerror))
