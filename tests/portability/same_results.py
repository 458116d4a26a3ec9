#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds of Fourwalls on different systems and processors give the same results.

same_results.py make CLI FOLDER [--without NAME]
                                       records short trainings and imports a profile of each kind into FOLDER
same_results.py compare CLI A B...     holds each folder against A: losses equal to 1e-6 relative (sums are rounded in
                                       another order by another library or processor), rows of imports identical, and
                                       every trace, wherever it was written, is found sound by CLI

The end of each line says what was compared; the exit code is 1 if anything differs.
"""
import pathlib
import sqlite3
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parents[2]
DATA = TREE / "tests/data/import"
PROFILES = {
    "kineto": ["Megatron-LM/tp2/result/0", "Megatron-LM/tp2/result/1"],
    "chrome": ["catapult/simple_trace.json"],
    "snapshot": ["MAGMA27__assignment2-systems/memory_snapshot.pickle"],
    "nsight": ["nsys-ai/healthy_1pct.sqlite"],
}
RECORDINGS = {
    "gpt-tiny": ["--model", "gpt-tiny", "--batch", "1"],
    "gpt-tiny-dp2": ["--model", "gpt-tiny", "--batch", "2", "--plan", "dp=2"],
    "resnet50": ["--model", "resnet50", "--batch", "2"],
}
STEPS = 2
TOLERANCE = 1e-6


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def make(cli, folder, without):
    recordings = {name: words for name, words in RECORDINGS.items() if name != without}
    if without and len(recordings) == len(RECORDINGS):
        sys.exit(f"--without {without}: there is no such recording")
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.fourwalls"):
        old.unlink()
    for name, words in recordings.items():
        run(cli, "record", "-o", folder / f"recorded-{name}.fourwalls", "--steps", STEPS, *words)
    for name, inputs in PROFILES.items():
        files = []
        for where in inputs:
            path = DATA / where
            files += sorted(path.iterdir()) if path.is_dir() else [path]
        run(cli, "import", *files, "-o", folder / f"imported-{name}.fourwalls")
    print(f"{folder}: {len(recordings)} recordings, {len(PROFILES)} imports")


def rows(path, query):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as trace:
        return trace.execute(query).fetchall()


def losses(path):
    return [loss for (loss,) in rows(path, "SELECT loss FROM job_step ORDER BY step")]


def compare_recording(first, second):
    a, b = losses(first), losses(second)
    if len(a) != STEPS or len(b) != STEPS or None in a + b:
        return f"{len(a)} and {len(b)} losses, expected {STEPS}", False
    worst = max(abs(x - y) / abs(x) for x, y in zip(a, b))
    return f"{STEPS} losses, relative difference {worst:.1e} at most", worst <= TOLERANCE


def compare_import(first, second):
    tables = [name for (name,) in rows(first, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    count = 0
    for table in tables:
        a, b = (rows(path, f'SELECT * FROM "{table}"') for path in (first, second))
        if a != b:
            where = next((i for i, pair in enumerate(zip(a, b)) if pair[0] != pair[1]), min(len(a), len(b)))
            return f"{table}: row {where} differs: {a[where:where + 1]} and {b[where:where + 1]}", False
        count += len(a)
    return f"{len(tables)} tables, {count} rows identical", count > 0


def compare(cli, reference, folder):
    good = True
    if not any(folder.glob("recorded-*.fourwalls")) or not any(folder.glob("imported-*.fourwalls")):
        sys.exit(f"{folder}: nothing to compare; run 'make' there first")
    names = sorted(path.name for path in reference.glob("*.fourwalls"))
    if len(names) != len(RECORDINGS) + len(PROFILES):
        sys.exit(f"{reference}: {len(names)} traces; run 'make' first")
    for name in names:
        first, second = reference / name, folder / name
        if not second.exists():
            print(f"not made there: {second}")
            continue
        text, equal = (compare_recording if name.startswith("recorded") else compare_import)(first, second)
        sound = subprocess.run([str(cli), "check", str(second)], capture_output=True, text=True)
        if sound.returncode != 0:
            text, equal = f"{text}; check: {(sound.stdout + sound.stderr).strip()}", False
        print(f"same  {second}: {text}; sound" if equal else f"DIFFERENT  {second}: {text}")
        good = good and equal
    return good


def main(words):
    if words[:1] == ["make"] and (len(words) == 3 or (len(words) == 5 and words[3] == "--without")):
        make(pathlib.Path(words[1]), pathlib.Path(words[2]), words[4] if len(words) == 5 else None)
        return 0
    if len(words) >= 4 and words[0] == "compare":
        results = [compare(pathlib.Path(words[1]), pathlib.Path(words[2]), pathlib.Path(other)) for other in words[3:]]
        return 0 if all(results) else 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
