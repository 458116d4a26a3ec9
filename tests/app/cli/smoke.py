#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line from end to end, without Qt: records a tiny run and asks every verb about it.

Usage: smoke.py FOURWALLS_CLI
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

DONE, COULD_NOT, WRONG_USAGE = 0, 1, 2
CLI = sys.argv[1]
FAILURES = []


def run(*arguments, expect=DONE):
    """Runs the program and returns (stdout, stderr); notes a failure when the exit code is another one."""
    done = subprocess.run([CLI, *map(str, arguments)], capture_output=True, text=True, timeout=100,
                          stdin=subprocess.DEVNULL)
    if done.returncode != expect:
        FAILURES.append(f"{' '.join(map(str, arguments))}: exit {done.returncode}, expected {expect}\n{done.stderr}")
    return done.stdout, done.stderr


def run_json(*arguments, expect=DONE):
    """The same with --json: standard output is one JSON object with a schema_version, and nothing else."""
    text, _ = run(*arguments, "--json", expect=expect)
    try:
        answer = json.loads(text)
    except json.JSONDecodeError as error:
        FAILURES.append(f"{' '.join(map(str, arguments))} --json: not JSON: {error}: {text[:200]!r}")
        return {}
    check("schema_version" in answer, f"{arguments[0]} --json has a schema_version")
    return answer


def check(holds, what):
    if not holds:
        FAILURES.append(f"does not hold: {what}")


def one_line(text):
    return len(text.strip().splitlines()) == 1


def main(folder):
    trace = folder / "run.fourwalls"
    run("--help")
    for verb in ["record", "info", "metrics", "summary", "check", "trim", "export", "import", "merge", "facts", "bench"]:
        run(verb, "--help")

    run("record", "-o", trace, "--model", "gpt-tiny", "--steps", 3, "--batch", 2, "--seq", 32)
    check(run_json("info", trace).get("source") == "recorded", "info names the source")
    check(run_json("check", trace).get("sound") is True, "a fresh recording is sound")
    check(run_json("check", trace).get("complete") is True, "a finished recording is complete")

    metrics = run_json("metrics", trace)
    check(len(metrics.get("loss", [])) == 3, "one loss for every step")
    check(metrics.get("step_time_ms", 0) > 0, "a step takes time")
    check(abs(sum(metrics.get("waterfall", {}).values()) - 1) < 1e-6, "the waterfall adds up to 1")
    peak = metrics.get("peak_bytes", [{}])[0]
    check(peak.get("total") == sum(peak.get("by_category", {}).values()), "the categories at the peak add up to it")

    run("export", trace, "--format", "chrome", "-o", folder / "chrome.json")
    check(len(json.loads((folder / "chrome.json").read_text())["traceEvents"]) > 0, "the Chrome export has events")
    # A recorded trace that goes out as Chrome JSON comes back as it was.
    run("import", folder / "chrome.json", "-o", folder / "back.fourwalls")
    check(run_json("metrics", folder / "back.fourwalls") == metrics, "the figures survive export and import")
    counts = run_json("info", trace).get("counts")
    check(counts and run_json("info", folder / "back.fourwalls").get("counts") == counts, "nothing is lost on that way")
    _, message = run("merge", trace, trace, "-o", folder / "twice.fourwalls", expect=COULD_NOT)
    check(one_line(message) and "rank 0" in message, f"one line says that a rank is there twice: {message!r}")
    run("merge", trace, "-o", folder / "merged.fourwalls")
    check(run_json("metrics", folder / "merged.fourwalls").get("loss") == metrics.get("loss"), "one part merges to itself")
    check(run_json("check", folder / "merged.fourwalls").get("sound") is True, "a merged trace is sound")
    run("trim", trace, "--steps", "1-2", "-o", folder / "trimmed.fourwalls")
    check(run_json("check", folder / "trimmed.fourwalls").get("sound") is True, "a trimmed trace is sound")
    run("bench", "generate", "--slices", 1000, "--ranks", 2, "-o", folder / "synthetic.fourwalls")
    check(run_json("check", folder / "synthetic.fourwalls").get("sound") is True, "a generated trace is sound")

    run("record", "-o", folder / "none.fourwalls", "--no-such-option", expect=WRONG_USAGE)
    run("no-such-verb", expect=WRONG_USAGE)
    run("record", "-o", folder / "none.fourwalls", "--model", "gpt-tiny", "--plan", "tp=1 tp=1", expect=WRONG_USAGE)
    _, message = run("info", folder / "missing.fourwalls", expect=COULD_NOT)
    check(one_line(message), f"one line says that a file is missing: {message!r}")
    (folder / "text.fourwalls").write_text("not a trace\n")
    _, message = run("metrics", folder / "text.fourwalls", expect=COULD_NOT)
    check(one_line(message), f"one line refuses a text file: {message!r}")
    check(not (folder / "none.fourwalls").exists(), "wrong usage leaves no file behind")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(Path(temporary))
    print("\n".join(FAILURES) or "every verb did what it should")
    sys.exit(1 if FAILURES else 0)
