#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Specification inference against the engine: random plans are recorded, the specification is removed from the file, and
what `info` infers is compared with what ran.  inferred_plans.py FOURWALLS-CLI [PLANS [SEED]]"""
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

MODELS = Path(__file__).resolve().parents[2] / "resources" / "presets" / "models"
LEAST_STATED, LEAST_RIGHT = 0.80, 0.99


def variant(rng, name, folder):
    """A network of a preset's kind with sizes of its own, as a file."""
    model = json.loads((MODELS / f"{name}.json").read_text())
    width = rng.choice([8, 16, 32])
    model["heads"] = rng.choice([4, 8])
    model["hidden"] = model["heads"] * width
    model["layers"] = rng.choice([2, 4, 8])
    model["kv_heads"] = rng.choice([model["heads"], 4]) if name != "llama-tiny" else rng.choice([2, 4])
    model["ffn_hidden"] = model["hidden"] * rng.choice([2, 3, 4])
    model["vocabulary"] = 256
    model["sequence"] = rng.choice([32, 64, 96])
    if "mixture" in model:
        model["mixture"]["expert_hidden"] = model["hidden"] * rng.choice([1, 2])
    model["name"] = f"{name}-variant"
    path = folder / "model.json"
    path.write_text(json.dumps(model))
    return path


def plan(rng, name):
    degrees = {"dp": rng.choice([1, 1, 2, 4]), "tp": rng.choice([1, 1, 2]), "pp": rng.choice([1, 1, 2]), "cp": rng.choice([1, 1, 1, 2])}
    keys = dict(degrees, microbatches=rng.choice([1, 2, 3, 4]))
    if name == "moe-tiny" and degrees["dp"] * degrees["cp"] > 1:
        keys["ep"] = rng.choice([1, 2])
    if degrees["dp"] * degrees["cp"] > 1:
        keys["zero"] = rng.choice([0, 1, 2, 3])
    if degrees["tp"] > 1:
        keys["sp"] = rng.choice([0, 1])
    keys["attention"] = rng.choice(["fused", "unfused"])
    keys["recompute"] = rng.choice(["none", "none", "selective", "full"])
    keys["overlap"] = rng.choice([0, 1])
    keys["fuse"] = rng.choice([0, 1])
    if degrees["pp"] > 1:
        keys["schedule"] = rng.choice(["1f1b", "gpipe", "zb"])
    return keys


def truth(spec):
    model, plan_text, training = spec["model"], spec["plan"], spec["training"]
    keys = dict(item.split("=") for item in plan_text.split()) if isinstance(plan_text, str) else plan_text
    degree = lambda key: int(keys.get(key, 1))
    fields = {key: model[key] for key in ("hidden", "heads", "kv_heads", "layers", "vocabulary")}
    if "mixture" in model:
        fields["expert_hidden"] = model["mixture"]["expert_hidden"]
    else:
        fields["ffn_hidden"] = model["ffn_hidden"]
    fields["sequence"] = training["sequence"]
    for key in ("tp", "pp", "dp", "cp", "ep", "microbatches"):
        fields[key] = degree(key)
    fields["microbatch_size"] = training["batch"] // (degree("dp") * degree("microbatches"))
    return fields


def main():
    cli, plans = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    total = stated = high = high_right = right = done = refused = 0
    while done < plans and refused < 20 * plans:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            name = rng.choice(["gpt-tiny", "llama-tiny", "moe-tiny", "bert-tiny"])
            model, keys, size = variant(rng, name, folder), plan(rng, name), rng.choice([1, 2, 3])
            text = " ".join(f"{key}={value}" for key, value in keys.items())
            out = folder / "run.fourwalls"
            run = subprocess.run([cli, "record", "-o", out, "--model", model, "--plan", text, "--steps", "3", "--clock", "device",
                                  "--batch", str(keys["dp"] * keys["microbatches"] * size)], capture_output=True, text=True)
            if run.returncode != 0:
                refused += 1  # a plan that does not fit the network
                continue
            done += 1
            expected = truth(json.loads(subprocess.run([cli, "info", out, "--json"], capture_output=True, text=True, check=True).stdout)["spec"])
            file = sqlite3.connect(out)
            file.execute("delete from meta where key = 'spec'")
            file.commit()
            file.close()
            info = json.loads(subprocess.run([cli, "info", out, "--json"], capture_output=True, text=True, check=True).stdout)
            assert info["spec"] is None
            found = {field["field"]: field for field in info["inferred"]}
            for key, value in expected.items():
                total += 1
                field = found.get(key)
                if not field:
                    continue
                stated += 1
                good = field["value"] == str(value)
                right += good
                high += field["confidence"] == "high"
                high_right += field["confidence"] == "high" and good
                if not good:
                    print(f"wrong: {name} {text}: {key} = {field['value']} ({field['confidence']}), was {value}")
            missing = [key for key in expected if key not in found]
            if missing:
                print(f"not stated: {name} {text}: {', '.join(missing)}")
    print(f"{done} plans, {total} fields, {100 * stated / total:.1f} % stated, {100 * right / max(1, stated):.1f} % of them right, "
          f"{high} high of which {100 * high_right / max(1, high):.1f} % right")
    sys.exit(done < plans or stated < LEAST_STATED * total or high_right < LEAST_RIGHT * high)


main()
