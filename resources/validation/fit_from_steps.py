#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What only whole steps show, from the known rows, and how far it can be trusted on a source that was left out.

    fit_from_steps.py path/to/fourwalls-cli [--write]

Two things: how much of a burst's rate products keep when they run for a whole step (sustained_clock, by family of
devices), and how wide the band around a prediction is (band). Both go to resources/calibration/from_steps.json, which
derive_constants.py puts into the calibration. Every clock is fitted to all sources and to all but each: the errors that
are printed and that the band is made of are those of rows whose source was left out.

The band of a kind of run is what is left beside the terms that have a name (number of nodes, doubts of a row): the
width that holds nine in ten together with them, every source counting the same. What it holds of a source that it was
not fitted on is printed.

A family with one source takes half of what that source says: the other half may be the site's.
"""
import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = ROOT / "resources/validation"
PUBLISHED = ROOT / "resources/presets/calibration/published.json"
OUTPUT = ROOT / "resources/calibration/from_steps.json"
CLOCKS = [round(0.90 + 0.01 * i, 2) for i in range(11)]
FAMILIES = {"ampere": ("f16", "bf16"), "hopper": ("f16", "bf16"), "blackwell": ("f16", "bf16", "fp8")}
# Runs of DeepSpeed's ZeRO-3 of 2021 are short by host time that no term has (docs/accuracy.md, "What falls short"):
# neither the clock nor the band of all others makes up for it. Their errors are printed.
NOT_FITTED = ("zero3",)
# What somebody gathered who had no part in the model shows what the band must hold; the clock stays that of the others.
BAND_ALONE = "third-parties.csv"
# Gathered blind by a second reader, most of it from frameworks without a preset: nothing is fitted to it, so that it says
# what is to be expected of such pages.
HELD_OUT = ("blind-readers.csv", "blind-readers-2.csv")
KINDS = ("dense", "narrow", "experts")


def family_of(gpu):
    words = {"A100": "ampere", "H100": "hopper", "H200": "hopper", "B200": "blackwell", "B300": "blackwell"}
    return next((family for name, family in words.items() if name in gpu), "")


def is_narrow(row):
    return "8" in row["precision"].lower().replace("bf16", "").replace("fp16", "") or "fp4" in row["precision"].lower()


def kind_of(row):
    return "experts" if row["experts"] else "narrow" if is_narrow(row) else "dense"


def score(cli, clock):
    calibration = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    for family, precisions in FAMILIES.items():
        calibration["families"][family]["sustained_clock"] = {p: clock for p in precisions}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(calibration, file)
        file.flush()
        tables = sorted(str(path) for path in TABLES.glob("*.csv") if path.name not in HELD_OUT)
        done = subprocess.run([cli, "score", "--json", "--calibration", file.name, *tables], capture_output=True,
                              text=True, check=True)
    return json.loads(done.stdout)


def source_of(table, row):
    """Rows of one site and author."""
    if table == BAND_ALONE:
        return row["id"].split("-")[0]
    if any(word in row["id"] for word in NOT_FITTED):
        return "DeepSpeed's ZeRO-3 of 2021, not fitted"
    if table == "other-sources.csv":
        return row["id"].split("-")[0] if row["id"].startswith(("dgxc", "megascale", "llama")) else row["source"][:40]
    return table


def rows_of(cli):
    """Every row with its published seconds and the predicted ones by clock."""
    rows = {}
    widths = json.loads(PUBLISHED.read_text(encoding="utf-8"))["band"]
    for clock in CLOCKS:
        for table in score(cli, clock)["files"]:
            if table.get("not_scored"):
                continue
            with open(TABLES / table["file"], encoding="utf-8", newline="") as file:
                meta = {row["id"]: row for row in csv.DictReader(file)}
            for item in table["items"]:
                if item["error_pct"] is None:
                    continue
                row = meta[item["id"]]
                entry = rows.setdefault((table["file"], item["id"]), {
                    "source": source_of(table["file"], row), "family": family_of(row["gpu"]), "kind": kind_of(row),
                    "held": "500W" in row["gpu"], "published": item["published_s"],
                    "fitted": table["file"] == BAND_ALONE or not any(word in item["id"] for word in NOT_FITTED),
                    "clock": table["file"] != BAND_ALONE, "named": 0, "predicted": {},
                    "has_band": bool(item.get("high_s"))})
                entry["predicted"][clock] = item["predicted_s"]
                if entry["has_band"]:
                    width = math.log(item["high_s"] / item["predicted_s"])
                    entry["named"] = max(0, width ** 2 - widths[entry["kind"]] ** 2)
    return list(rows.values())


def fit(rows, family):
    """The clock with the smallest mean absolute error of a family's dense rows, every source of several rows counting the
    same."""
    some = [r for r in rows if r["family"] == family and r["kind"] != "experts" and not r["held"] and r["fitted"] and r["clock"] and
            (family == "blackwell" or r["kind"] != "narrow")]
    every = [r["source"] for r in some]
    sources = sorted({source for source in every if every.count(source) > 1})  # one row is no source
    if not sources:
        return 1.0
    def loss(clock):
        return statistics.mean(statistics.mean(abs(math.log(r["predicted"][clock] / r["published"])) for r in some
                                               if r["source"] == source) for source in sources)
    best = min(CLOCKS, key=loss)
    return best if len(sources) > 1 else round((1 + best) / 2, 3)


def nearest(clock):
    return min(CLOCKS, key=lambda c: abs(c - clock))


def weights_of(rows):
    """Every source counts the same, however long its sweep: the next one is a new source. One row is no source."""
    counts = {}
    for r in rows:
        counts[r["source"]] = counts.get(r["source"], 0) + 1
    return [1 / counts[r["source"]] if counts[r["source"]] > 1 else 0 for r in rows]


def quantile(values, weights, share):
    """Of weighted values."""
    pairs = sorted(zip(values, weights))
    total, so_far = sum(weights), 0
    for value, weight in pairs:
        so_far += weight
        if so_far >= share * total:
            return value
    return pairs[-1][0]


def width_of(rows):
    """The half-width that leaves one row in twenty outside on either side, together with each row's named terms."""
    weights = weights_of(rows)

    def side(sign):
        needed = [math.sqrt(max(0, r["residual"] ** 2 - r["named"])) if sign * r["residual"] > 0 else 0 for r in rows]
        return quantile(needed, weights, 0.95)
    return max(side(-1), side(1))


def print_coverage(left):
    """Of rows whose source had no part in the width of their kind either. A kind with one source keeps its own."""
    held = {}
    for r in left:
        others = [x for x in left if x["fitted"] and x["kind"] == r["kind"] and x["source"] != r["source"]]
        key = (r["kind"], r["source"])
        if key not in held:
            held[key] = width_of(others or [x for x in left if x["fitted"] and x["kind"] == r["kind"]])
        r["half"] = math.sqrt(held[key] ** 2 + r["named"])
    banded = [r for r in left if r["has_band"]]
    for words, some in [(kind, [r for r in banded if r["kind"] == kind]) for kind in KINDS] + [("all", banded)]:
        inside = statistics.mean(abs(r["residual"]) <= r["half"] for r in some)
        half = statistics.mean(math.sinh(r["half"]) for r in some)
        print(f"{words:8} {len(some):4} rows outside of what their band was made of: {100 * inside:.1f} % inside, half "
              f"of the width {100 * half:.1f} %")


def main():
    rows = rows_of(sys.argv[1])
    clocks = {family: fit(rows, family) for family in FAMILIES}
    print("sustained clocks", clocks)
    left = []
    for source in sorted({r["source"] for r in rows}):
        others = [r for r in rows if r["source"] != source]
        without = {family: fit(others, family) for family in FAMILIES}
        mine = [r for r in rows if r["source"] == source]
        for r in mine:
            clock = without.get(r["family"], 1.0)
            r["residual"] = math.log(r["published"] / r["predicted"][nearest(clock)])
        left += mine
        errors = [100 * (math.exp(-r["residual"]) - 1) for r in mine]
        print(f"{source:42} {len(mine):4} rows, clocks without it {without}: mean error "
              f"{statistics.mean(map(abs, errors)):.1f} %, bias {statistics.mean(errors):+.1f} %")
    band = {}
    for kind in KINDS:
        some = [r for r in left if r["fitted"] and r["kind"] == kind]
        errors = [100 * (math.exp(-r["residual"]) - 1) for r in some]
        values, weights = [r["residual"] for r in some], weights_of(some)
        low, high = quantile(values, weights, 0.05), quantile(values, weights, 0.95)
        band[kind] = round(width_of(some), 3)
        print(f"{kind:8} {len(some):4} rows left out: mean error {statistics.mean(map(abs, errors)):.1f} %, bias "
              f"{statistics.mean(errors):+.1f} %, nine in ten between {math.exp(low):.3f} and {math.exp(high):.3f} of the "
              f"prediction, {band[kind]:.3f} beside the terms with a name")
    print_coverage(left)
    for words, some in (("all", left), ("fitted", [r for r in left if r["fitted"]])):
        errors = [100 * (math.exp(-r["residual"]) - 1) for r in some]
        print(f"{words:8} {len(some):4} rows left out: mean error {statistics.mean(map(abs, errors)):.1f} %, bias "
              f"{statistics.mean(errors):+.1f} %")
    if "--write" in sys.argv:
        result = {"source": "written by resources/validation/fit_from_steps.py from the known rows",
                  "sustained_clock": {family: {p: clocks[family] for p in precisions}
                                      for family, precisions in FAMILIES.items()},
                  "band": band}
        OUTPUT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
