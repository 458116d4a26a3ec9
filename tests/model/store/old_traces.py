#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of earlier versions open unchanged: the recorded demos are the oldest that we have, and each has its figures here.

Usage: old_traces.py FOURWALLS-CLI DEMOS            runs them all; exit code 1 if a figure differs
       old_traces.py --update FOURWALLS-CLI DEMOS   writes what the program answers now

DEMOS is the folder with the packed traces (*.fourwalls.z: four bytes of length, then zlib). What `metrics --json` says of
each is in old_traces.json, one line per figure. Numbers may differ in their last digits: compilers order sums otherwise.
A figure that is new may be missing there: old files need not have known it.
A demo that is recorded again in a newer format leaves its file of the old format in tests/data, so that the old format
stays tested: the test fails when no trace of a version in old_traces.json is left.
"""
import json
import sqlite3
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

EXPECTED = Path(__file__).resolve().parent / "old_traces.json"
OLDEST_VERSION = 2
CLOSE = 1e-9


def lines_of(value, path=""):
    """JSON as {place: value} of its leaves; an empty list or object is a leaf."""
    if isinstance(value, dict) and value:
        return {line: leaf for key, each in value.items() for line, leaf in lines_of(each, f"{path}.{key}".lstrip(".")).items()}
    if isinstance(value, list) and value:
        return {line: leaf for at, each in enumerate(value) for line, leaf in lines_of(each, f"{path}[{at}]").items()}
    return {path: value}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def same(a, b):
    if is_number(a) and is_number(b):
        return abs(a - b) <= CLOSE * max(abs(a), abs(b))
    return a == b


def difference(name, expected, found):
    """What differs, one line a figure."""
    lines = []
    for place in sorted(expected):
        if place not in found:
            lines.append(f"{name}: {place} is gone; it was {expected[place]!r}")
        elif not same(expected[place], found[place]):
            lines.append(f"{name}: {place} was {expected[place]!r} and is {found[place]!r}")
    return lines


def answer(cli, packed, folder):
    """The version of the file's format and the figures that the program has of it."""
    trace = folder / packed.name.removesuffix(".z")
    trace.write_bytes(zlib.decompress(packed.read_bytes()[4:]))
    before = trace.read_bytes()
    database = sqlite3.connect(f"file:{trace}?mode=ro", uri=True)
    version = database.execute("PRAGMA user_version").fetchone()[0]
    database.close()
    run = subprocess.run([cli, "metrics", "--json", trace], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        return {"version": version, "figures": {"error": run.stderr.strip().replace(str(folder) + "/", "")}}
    if trace.read_bytes() != before:
        return {"version": version, "figures": {"error": "reading changed the file"}}
    return {"version": version, "figures": lines_of(json.loads(run.stdout))}


def main(arguments):
    update = arguments[:1] == ["--update"]
    arguments = arguments[1:] if update else arguments
    if len(arguments) != 2:
        print(__doc__)
        return 2
    cli = str(Path(arguments[0]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        found = {path.name.removesuffix(".fourwalls.z"): answer(cli, path, Path(folder))
                 for path in sorted(Path(arguments[1]).glob("*.fourwalls.z"))}
    if update:
        EXPECTED.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n", encoding="utf-8")
        return 0
    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
    problems = [f"{name}: no such trace" for name in sorted(expected.keys() - found.keys())]
    problems += [f"{name}: has no figures in {EXPECTED.name}" for name in sorted(found.keys() - expected.keys())]
    for name in sorted(expected.keys() & found.keys()):
        problems += difference(name, expected[name]["figures"], found[name]["figures"])
    for version in sorted({OLDEST_VERSION} | {each["version"] for each in expected.values()}):
        count = sum(each["version"] == version for each in found.values())
        print(f"format {version}: {count} traces")
        if count == 0:
            problems.append(f"no trace of format {version} is left")
    print("\n".join(problems) or f"all {len(found)} traces have their figures")
    return 1 if problems or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
