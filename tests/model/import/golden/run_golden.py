#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Importing by example: every folder here is one case of input, question and expected answer.

Usage: run_golden.py FOURWALLS-CLI [CASE…]           runs the cases; exit code 1 if one differs
       run_golden.py --update FOURWALLS-CLI CASE…     writes what the program answers now as expected

README.md says what the files of a case are.
"""
import difflib
import json
import pickle
import shlex
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

from chakra_text import chakra
from perfetto_text import perfetto
from xspace_text import xspace

HERE = Path(__file__).resolve().parent


def make_inputs(case, folder):
    """Copies `input*` into the folder; SQL text becomes a database, JSON of another format its bytes. Returns their names."""
    names = []
    for path in sorted(case.glob("input*")):
        if path.suffix == ".sql":
            target = folder / (path.stem + ".sqlite")
            with sqlite3.connect(target) as database:
                database.executescript(path.read_text(encoding="utf-8"))
            database.close()
        elif path.name.endswith(".xspace.json"):
            target = folder / (path.name.removesuffix(".xspace.json") + ".xplane.pb")
            target.write_bytes(xspace(path.read_text(encoding="utf-8")))
        elif path.name.endswith(".et.json"):
            target = folder / path.name.removesuffix(".json")
            target.write_bytes(chakra(path.read_text(encoding="utf-8")))
        elif path.name.endswith(".pickle.json"):
            target = folder / path.name.removesuffix(".json")
            target.write_bytes(pickle.dumps(json.loads(path.read_text(encoding="utf-8")), protocol=4))
        elif path.name.endswith(".pftrace.json"):
            target = folder / path.name.removesuffix(".json")
            target.write_bytes(perfetto(path.read_text(encoding="utf-8")))
        else:
            target = folder / path.name
            target.write_bytes(path.read_bytes())
        names.append(target.name)
    return names


def lines_of(value, path=""):
    """JSON as one line per leaf, "a.b[0] = 1", so that a difference names its place."""
    if isinstance(value, dict):
        return [line for key in sorted(value) for line in lines_of(value[key], f"{path}.{key}" if path else key)]
    if isinstance(value, list):
        return [line for at, each in enumerate(value) for line in lines_of(each, f"{path}[{at}]")]
    return [f"{path} = {json.dumps(value, ensure_ascii=False)}"]


def ask(cli, question, folder):
    """The answer to one line of `question`: arguments for fourwalls-cli, then ` | ` and wanted prefixes of places."""
    command, _, wanted = question.partition(" | ")
    run = subprocess.run([cli, *shlex.split(command)], cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        said = run.stderr.strip().replace(str(folder) + "/", "")
        return [f"exit {run.returncode}: {said}"]
    try:
        lines = lines_of(json.loads(run.stdout))
    except ValueError:
        lines = run.stdout.replace(str(folder) + "/", "").splitlines()
    prefixes = tuple(wanted.split())
    return [line for line in lines if not prefixes or line.startswith(prefixes)]


def answers(cli, case):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inputs = make_inputs(case, folder)
        found = []
        for question in (case / "question").read_text(encoding="utf-8").splitlines():
            if not question.strip() or question.startswith("#"):
                continue
            found.append("> " + question)
            found += ask(cli, question.replace("INPUT", " ".join(map(shlex.quote, inputs))), folder)
    return found


def main(arguments):
    update = arguments[:1] == ["--update"]
    arguments = arguments[1:] if update else arguments
    if not arguments:
        print(__doc__)
        return 2
    cli = str(Path(arguments[0]).resolve())
    names = arguments[1:] or sorted(path.parent.name for path in HERE.glob("*/question"))
    wrong = 0
    for name in names:
        case = HERE / name
        found = answers(cli, case)
        expected = case / "expected.txt"
        if update:
            expected.write_text("\n".join(found) + "\n", encoding="utf-8")
            continue
        before = expected.read_text(encoding="utf-8").splitlines()
        if before == found:
            continue
        wrong += 1
        print(f"{name}:")
        print("\n".join(difflib.unified_diff(before, found, "expected", "found", lineterm="")))
    print(f"{len(names)} cases, {wrong} differ")
    return 1 if wrong or not names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
