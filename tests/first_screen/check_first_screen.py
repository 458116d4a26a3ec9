#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what the first screen says about traces against the raw files, sentence by sentence.

    check_first_screen.py --cli CLI --gui GUI [--markdown OUT.md] [--texts FOLDER] [--only WORD] FILE-OR-FOLDER...

A folder stands for the runs below it: files that belong together are opened together. Verdicts: true, false, misleading,
"not told though in the file", and "not checked" for a sentence that no rule knows. The exit code is 1 if anything is
false. It shares no code with the program and reads nothing but raw files, `info`, `metrics` and the rendered screen.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import raw_model
import raw_profile
import screen_claims
import screen_figures as fig
import screen_texts
import sentence_rules
from screen_facts import FALSE, MISLEADING, MISSING, NO_CLAIM, TRUE, UNCHECKED, Facts

TRACES = (".json", ".json.gz", ".gz", ".sqlite", ".pickle", ".db", ".pb")
TABLES = ("communication.json", "communication_matrix.json")
Row = collections.namedtuple("Row", "file card sentence raw verdict")


def runs_below(path):
    """Lists of files that are one run: workers of one folder, ranks in folders named by their numbers, Ascend's ranks."""
    path = pathlib.Path(path)
    if path.is_file():
        return [[path]]
    groups = collections.OrderedDict()
    for file in sorted(p for p in path.rglob("*") if p.is_file() and p.name.endswith(TRACES) and p.name not in TABLES):
        key = str(file)
        if re.match(r"worker\d+_step", file.name):
            key = str(file.parent) + "/worker*_step"
        elif file.parent.name.isdigit():
            key = str(file.parent.parent) + "/*"
        elif re.match(r"rank\d+_ascend_pt$", file.parent.parent.name):
            key = str(file.parent.parent.parent) + "/rank*_ascend_pt"
        groups.setdefault(key, []).append(file)
    return list(groups.values())


def call(*command):
    environment = dict(os.environ, QT_QPA_PLATFORM="offscreen")
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=environment, timeout=300)
    return done.returncode, done.stdout, done.stderr.strip()


def check_refusal(name, files, message):
    """A file that is not opened: right if there is nothing in it that a first screen could show."""
    for file in files:  # the page is the same wherever the files lie
        message = message.replace(str(file), os.path.basename(file))
    try:
        run = raw_profile.run_of([str(f) for f in files])
    except Exception as problem:  # noqa: BLE001: whatever a broken file does is an answer
        return [Row(name, "refused", message, f"not read here either: {problem}", UNCHECKED)]
    slices = sum({r.path: r.slices for r in run.ranks}.values())
    work = sum(len(r.work) for r in run.ranks) + slices
    if any(r.memory for r in run.ranks) or any(r.work for r in run.ranks) or slices > 20:
        helps = "try:" in message and run.ranks[0].kind == "ascend"
        return [Row(name, "refused", message, f"{work} slices, kernels and copies", MISSING if helps else FALSE)]
    return [Row(name, "refused", message, f"{work} slices in the file", TRUE if not work else UNCHECKED)]


def check_metrics(name, metrics, facts):
    rows = []

    def add(what, raw, right):
        rows.append(Row(name, "metrics", what, raw, TRUE if right else FALSE))

    waterfall = metrics.get("waterfall") or {}
    if waterfall:
        add(f"waterfall adds up to {sum(waterfall.values()):.6f}", "1", abs(sum(waterfall.values()) - 1) < 1e-6)
        least = min(waterfall, key=waterfall.get)
        add(f"least share: {least} {waterfall[least]:.4f}", "none is negative", waterfall[least] >= -1e-12)
    if metrics.get("mfu") is not None:
        add(f"mfu {metrics['mfu']:.5f}", "at most 1", 0 <= metrics["mfu"] <= 1)
    pairs = {"exposed_comm": metrics.get("exposed_comm_fraction"), "exposed_copy": metrics.get("exposed_copy_fraction"), "idle": metrics.get("idle_fraction")}
    for key, value in pairs.items():
        if value is not None and facts.share(key) is not None:
            add(f"{key} {value:.4f}", fig.percent(facts.share(key)), fig.near_share(value, facts.share(key)))
    kernels, requests = facts.communication()
    if kernels + requests and not metrics.get("collectives"):
        rows.append(Row(name, "metrics", "no collectives", f"{kernels} kernels, {requests} requests", MISSING))
    for each in metrics.get("collectives") or []:
        if each.get("payload_bytes") == 0:
            rows.append(Row(name, "metrics", f"{each['operation']}: payload 0 bytes", "unknown is absent", FALSE))
    return rows


def claimed_steps(cli, trace, run):
    """Where the program found steps without marks: their places and states only, to hold against the raw file."""
    code, answer, _ = call(cli, "steps", "--json", trace)
    spans = [rank.span for rank in run.ranks if rank.span]
    if code or not spans:
        return []
    found = json.loads(answer)
    by = (found.get("step_states") or {}).get("by") or ""
    if not by.startswith(("period", "range", "kernel")):
        return []
    code, answer, _ = call(cli, "info", "--json", trace)
    shift = min(a for a, _ in spans) - json.loads(answer)["range_ns"][0]
    return [raw_model.Step(by, (), s["begin_ns"] + shift, s["end_ns"] + shift, s["state"]) for s in found.get("steps") or []]


def check_run(files, cli, gui, folder, texts_folder):
    name = "/".join(files[0].parts[-3:]) + (f" (+{len(files) - 1})" if len(files) > 1 else "")
    trace, picture = folder / "run.fourwalls", folder / "overview.svg"
    for old in (trace, picture):
        old.unlink(missing_ok=True)
    code, _, message = call(cli, "import", *files, "-o", trace)
    if code:
        return check_refusal(name, files, message)
    code, answer, message = call(cli, "metrics", "--json", trace)
    metrics = json.loads(answer) if not code else {}
    code, _, message = call(gui, "--render", "overview", trace, "-o", picture, "--size", "1600x900")
    if code:
        return [Row(name, "render", message, "", FALSE)]
    try:
        run = raw_profile.run_of([str(f) for f in files])
    except ValueError as problem:
        return [Row(name, "raw file", str(problem), "", UNCHECKED)]
    step = metrics.get("step_time_ms")
    facts = Facts(run, step * 1e6 if step else None, claimed_steps(cli, trace, run))
    texts = screen_texts.texts(picture)
    if texts_folder:
        out = texts_folder / (re.sub(r"[^\w.+-]", "_", name) + ".txt")
        out.write_text("\n".join(f"{t.x:.0f} {t.y:.0f} {t.size:g} {t.words}" for t in texts))
    rows = check_metrics(name, metrics, facts)
    for claim in screen_claims.claims_of(texts):
        verdict, raw = sentence_rules.judge(claim, facts)
        if verdict != NO_CLAIM:
            sentence = f"{claim.row}: {claim.words}" if claim.row and claim.row not in ("heading", "title") else claim.words
            rows.append(Row(name, claim.card, sentence, raw, verdict))
    everything = " ".join(t.words for t in texts)
    rows += [Row(name, "(nowhere)", what, raw, MISSING) for what, raw in facts.untold(everything)]
    return rows


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def write_markdown(path, rows, counts):
    said = " · ".join(f"{verdict}: {count}" for verdict, count in counts.most_common())
    lines = ["| file | card | sentence | raw figure | verdict |", "| --- | --- | --- | --- | --- |"]
    lines += ["| " + " | ".join(cell(v) for v in row) + " |" for row in rows]
    path.write_text(f"{said}\n\n" + "\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cli", required=True)
    parser.add_argument("--gui", required=True)
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--texts", type=pathlib.Path)
    parser.add_argument("--only", help="runs whose path contains this")
    parser.add_argument("files", nargs="+")
    given = parser.parse_args()
    if given.texts:
        given.texts.mkdir(parents=True, exist_ok=True)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for path in given.files:
            for files in runs_below(path):
                if given.only and given.only not in str(files[0]):
                    continue
                try:
                    rows += check_run(files, given.cli, given.gui, pathlib.Path(folder), given.texts)
                except subprocess.TimeoutExpired:
                    rows.append(Row(str(files[0]), "program", "no answer in five minutes", "", FALSE))
    counts = collections.Counter(row.verdict for row in rows)
    for verdict in (FALSE, MISLEADING, MISSING, UNCHECKED):
        for row in (r for r in rows if r.verdict == verdict):
            print(f"{verdict} | {row.file} | {row.card} | {row.sentence} | {row.raw}")
    print(" · ".join(f"{verdict}: {count}" for verdict, count in counts.most_common()))
    if given.markdown:
        write_markdown(given.markdown, rows, counts)
    return 1 if counts[FALSE] else 0


if __name__ == "__main__":
    sys.exit(main())
