#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sweeps and catalogues of runs from the command line, without Qt: grids, random draws, halvings; a sweep that is killed
goes on and repeats no finished run; torn results are made again.

Usage: sweep.py FOURWALLS_CLI
"""
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

CLI = sys.argv[1]
QUICK = ["--model", "gpt-tiny", "--batch", "2", "--seq", "8", "--width", "16"]
FAILURES = []


def check(holds, what):
    if not holds:
        FAILURES.append(what)


def run(*arguments, expect=0):
    done = subprocess.run([CLI, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL)
    check(done.returncode == expect,
          f"{' '.join(map(str, arguments))}: exit {done.returncode}, expected {expect}\n{done.stderr[-2000:]}")
    return done.stdout, done.stderr


def answer(*arguments, expect=0):
    text, _ = run(*arguments, "--json", expect=expect)
    return json.loads(text) if text else {}


def results(folder):
    return {path.name: path.stat() for path in folder.glob("*.result.json")}


def same(a, b):
    return (a.st_ino, a.st_mtime_ns, a.st_size) == (b.st_ino, b.st_mtime_ns, b.st_size)


def grid(folder):
    command = ["sweep", "-o", folder, "--steps", 6, *QUICK[:-2], "--grid", "lr=1e-3,1e-2 width=16,32", "--mup", 16]
    first = answer(*command)
    check((first["finished"], first["were_there"], first["failed"]) == (4, 0, 0), f"four runs are made: {first}")
    check(first["mup_base_width"] == 16, "the answer says the base width")
    losses = {run["name"]: run["loss"] for run in first["runs"]}
    best = min(losses, key=losses.get)
    check(first["best"] == best and first["runs"][0]["name"] == best, "the best has the smallest loss and stands first")
    check([curve["width"] for curve in first["curves"]] == [16, 32], "one curve of rates for each width")
    for curve in first["curves"]:
        ours = {point["lr"]: point["loss"] for point in curve["points"]}
        check(curve["best_lr"] == min(ours, key=ours.get), "the best rate is where the loss is smallest")
    again = answer(*command)
    check((again["finished"], again["were_there"]) == (0, 4), "the same sweep again makes nothing")
    check({run["name"]: run["loss"] for run in again["runs"]} == losses, "and says the same")
    text, _ = run(*command)
    check("best: lr=" in text and "loss by learning rate" in text, "text has the best and the table of rates")

    # What is torn is made again, and nothing else.
    before = results(folder)
    names = sorted(before)
    torn, foreign = folder / names[0], folder / names[1].replace(".result.json", ".fourwalls")
    torn.write_bytes(torn.read_bytes()[:-40])
    foreign.write_bytes(foreign.read_bytes()[:4096] + b"x" + foreign.read_bytes()[4097:])
    changed = json.loads((folder / names[2]).read_text())
    changed["loss"][0] = 1.0
    (folder / names[2]).write_text(json.dumps(changed))
    repaired = answer(*command)
    check((repaired["finished"], repaired["were_there"]) == (3, 1), f"three of four are made again: {repaired['finished']}")
    check({run["name"]: run["loss"] for run in repaired["runs"]} == losses, "with the same bits")
    after = results(folder)
    check(same(before[names[3]], after[names[3]]), "the whole one is left alone")
    for trace in folder.glob("*.fourwalls"):
        check(answer("check", trace)["sound"] is True, f"{trace.name} is sound")


def killed(folder):
    rates = ",".join(f"{0.001 * (1 + i / 10):.4g}" for i in range(16))
    command = [CLI, "sweep", "-o", str(folder), "--steps", "12", *QUICK, "--json", "--jobs", "2", "--grid",
               f"lr={rates} warmup=0,0.1 decay=0,0.1"]
    kills = 0
    for wanted in (5, 23, 41):
        sweep = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in sweep.stderr:
            if json.loads(line).get("done", 0) >= wanted:
                break
        sweep.send_signal(signal.SIGKILL)
        sweep.stderr.close()
        if sweep.wait() == -signal.SIGKILL:
            kills += 1
    check(kills > 0, "a sweep of 64 runs can be killed on its way")
    before = results(folder)
    check(len(before) >= 5, "finished runs are kept")
    last = answer(*command[1:-5], "--jobs", "2", *command[-2:])
    check(len(last["runs"]) == 64, "the sweep has 64 runs")
    check(last["were_there"] >= len(before) - 2 and last["finished"] + last["were_there"] == 64,
          f"finished runs are taken: {len(before)} there, {last['were_there']} taken")
    after = results(folder)
    repeated = [name for name in before if not same(before[name], after[name])]
    check(len(after) == 64 and len(repeated) == 0, f"no finished run is made again: {repeated}")
    check(not list(folder.glob(".*")) or len(after) == 64, "what was begun does not count")


def halving(folder, straight):
    command = ["sweep", "-o", folder, "--steps", 32, *QUICK, "--grid", "lr=1e-4..1e-1", "--halving", 8, "--seed", 5,
               "--noise-every", 4]
    halved = answer(*command)
    check(len(halved["runs"]) == 8, "eight runs are drawn")
    steps = sorted(run["steps"] for run in halved["runs"])
    check(steps == [4, 4, 4, 4, 8, 8, 16, 32], f"half of them go on each time: {steps}")
    check(not list(folder.glob("*.checkpoints")), "checkpoints go when they are not needed any more")
    best = next(run for run in halved["runs"] if run["name"] == halved["best"])
    check(best["steps"] == 32, "the best is trained to the end")
    # Continued from checkpoints three times, it is the run that was never interrupted.
    plain = answer("sweep", "-o", straight, "--steps", 32, *QUICK, "--seed", 5, "--grid", f"lr={best['lr']}",
                   "--noise-every", 4)["runs"][0]
    check(plain["loss"] == best["loss"], "and has the same bits as a run without a break")
    ours, straights = best["gradient_noise"], plain["gradient_noise"]
    check(ours["probes"] == straights["probes"] == 8 and math.isclose(ours["variance"], straights["variance"],
                                                                      rel_tol=1e-9),
          f"and its probes saw the same batches: {ours}, {straights}")
    again = answer(*command)
    check(again["were_there"] == 8 and again["best"] == halved["best"], "again it makes nothing")


def random_draws(folder):
    command = ["sweep", "-o", folder, "--steps", 3, *QUICK, "--grid", "lr=1e-4..1e-1 batch=2..8 clip=0,1",
               "--random", 6, "--seed", 3]
    drawn = answer(*command)
    check(len(drawn["runs"]) == 6, "six runs are drawn")
    for each in drawn["runs"]:
        check(1e-4 <= each["lr"] <= 1e-1 and each["batch"] in (2, 4, 8), f"within the ranges: {each['values']}")
    check(len({json.dumps(each["values"], sort_keys=True) for each in drawn["runs"]}) == 6, "they differ")
    check(answer(*command)["were_there"] == 6, "equal seeds draw the same")
    check(len(answer("sweep", "-o", folder, "--steps", 3, *QUICK, "--grid", "lr=1e-3,1e-2", "--random", 9)["runs"]) == 2,
          "of a list no more than there are")


def noise(folder):
    measured = answer("sweep", "-o", folder, "--steps", 4, *QUICK, "--grid", "lr=1e-3", "--noise-every", 2)
    found = measured["runs"][0]["gradient_noise"]
    check(found["probes"] == 2 and found["small_batch"] == 2 and found["large_batch"] == 8, f"two probes: {found}")
    check(answer("sweep", "-o", folder, "--steps", 4, *QUICK, "--grid", "lr=1e-3", "--noise-every", 4)["were_there"] == 0,
          "other probes are another run")
    check(found["variance"] > 0 and found["published_critical_batch_tokens"] > 0, "noise, and the published formula")


def refusals(folder):
    base = ["sweep", "-o", folder, "--steps", 3, *QUICK]
    for grid_text in ("", "lr=", "lr=0", "lr=x", "speed=3", "lr=1e-3 lr=1e-2", "batch=1.5", "precision=f64", "warmup=2",
                      "lr=1..2", "lr=0..1", "lr=2..1", "decay=-1"):
        _, why = run(*base, "--grid", grid_text, expect=2)
        check(why.count("\n") == 1, f"one line about '{grid_text}': {why}")
    run(*base, "--grid", "lr=1e-3", "--random", 2, "--halving", 2, expect=2)
    run(*base, "--grid", "lr=1e-3", "--jobs", 0, expect=2)
    run(*base, "--grid", "lr=1e-3", "--noise-every", 9, expect=2)
    run("sweep", "-o", folder, "--model", "gpt-tiny", "--grid", "width=100", expect=2)
    run("sweep", "-o", folder, "--model", "resnet50", "--grid", "lr=1e-3", "--mup", 64, expect=1)
    run("sweep", "--grid", "lr=1e-3", expect=2)
    check(not folder.exists(), "what is refused leaves no folder")


def catalogue(folder):
    run("sweep", "-o", folder, "--steps", 12, *QUICK, "--grid", "lr=1e-3,1e+5", "--warmup", 0, "--clip", 0)
    (folder / "deep").mkdir()
    (folder / "deep" / "train.log").write_text("".join(
        f" [2024-05-01 12:00:{i:02d}] iteration {i:8d}/ 100 | consumed samples: {8 * i} | elapsed time per iteration (ms): "
        f"500.0 | learning rate: 1.0E-04 | global batch size: 8 | lm loss: {3 - i / 20:.4f}E+00 | loss scale: 1024.0 | "
        f"grad norm: 1.5 |\n" for i in range(1, 31)))
    (folder / "notes.txt").write_text("nothing that was trained\n")
    (folder / "torn.fourwalls").write_bytes(b"SQLite format 3\0 and no more")
    all_runs = answer("runs", folder, "--series")
    by_name = {each["name"]: each for each in all_runs["runs"]}
    check(len(by_name) == 3 and "deep/train.log" in by_name, f"two traces and a log: {sorted(by_name)}")
    check({each["file"] for each in all_runs["left_out"]} == {"notes.txt", "torn.fourwalls"}, "the rest is named")
    log = by_name["deep/train.log"]
    check(log["steps"] == 30 and log["series"]["loss_scale"][-1] == 1024 and log["series"]["loss"][0] == 2.95,
          "the log's own figures")
    steady = next(each for each in all_runs["runs"] if each["lr"] == 1e-3)
    check(steady["model"] == "gpt-tiny-w16" and steady["width"] == 16 and steady["steps"] == 12, "what a trace says")
    check(len(steady["series"]["loss"]) == 12 and steady["final_loss"] is not None, "its curve")
    run("runs", folder, "--tag", f"{steady['file']}=good, keep", "--tag", "deep/train.log=old")
    tagged = answer("runs", folder, "--find", "KEEP gpt")
    check([each["tags"] for each in tagged["runs"]] == [["good", "keep"]], "tags are found")
    run("runs", folder, "--tag", f"{steady['file']}=")
    check([each["name"] for each in answer("runs", folder, "--find", "old")["runs"]] == ["deep/train.log"],
          "an empty list takes them away, and others stay")
    text, _ = run("runs", folder)
    check("#old" in text and "2 files left out" in text, "text has tags and what is left out")
    run("runs", folder, "--tag", f"{steady['file']}=lr=3e-4")
    tagged = answer("runs", folder)["runs"]
    check(next(each for each in tagged if each["file"] == steady["file"])["tags"] == ["lr=3e-4"], "a tag may hold '='")
    run("runs", folder, "--tag", f"{steady['file']}=")
    run("runs", folder, "--tag", "nobody.fourwalls=x", expect=1)
    run("runs", folder, "--tag", "x", expect=2)
    run("runs", folder / "nowhere", expect=1)


def main():
    os.environ.pop("FOURWALLS_PROGRESS", None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        grid(folder / "grid")
        killed(folder / "killed")
        halving(folder / "halving", folder / "straight")
        random_draws(folder / "random")
        noise(folder / "noise")
        refusals(folder / "refused")
        catalogue(folder / "catalogue")
    for failure in FAILURES:
        print("FAILED:", failure)
    print(f"{len(FAILURES)} failures")
    return 1 if FAILURES else 0


sys.exit(main())
