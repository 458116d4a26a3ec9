#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The constants of the cost model come from measured rates and data sheets, and what only steps show from a file that says
so: runs the script that derives them, watches every file that it opens, and compares what it would write with the file in
the tree."""
import pathlib
import runpy
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "resources/calibration/derive_constants.py"
ALLOWED = {ROOT / "resources/validation/gemm-measured.csv", ROOT / "resources/validation/collectives-measured.csv",
           ROOT / "resources/presets/calibration/published.json", SCRIPT} | {
    ROOT / "resources/calibration" / name for name in (
        "measured_rates.py", "products.csv", "attention.csv", "memory_bound.csv", "collectives.csv", "host.csv",
        "from_steps.json")}
DEVICES = ROOT / "resources/presets/devices"

opened = set()


def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, pathlib.Path)):
        path = pathlib.Path(arguments[0]).resolve()
        if path.is_relative_to(ROOT):
            opened.add(path)
    if event in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "socket.connect"):
        sys.exit(f"the script may not do this: {event}")


sys.addaudithook(watch)
sys.dont_write_bytecode = True
sys.argv = [str(SCRIPT), "--check"]
runpy.run_path(str(SCRIPT), run_name="__main__")
foreign = {path for path in opened if path not in ALLOWED and path.parent != DEVICES and path.suffix != ".pyc"}
if foreign:
    sys.exit("read something else: " + ", ".join(sorted(map(str, foreign))))
if not {ROOT / "resources/validation/gemm-measured.csv"} <= opened:
    sys.exit("the watch did not see the tables being read")
print("read only", ", ".join(sorted(path.name for path in opened)))
