#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tries the wheel that packaging/wheel.sh made in bare systems, where nothing but Python and pip is put in first:
#
#   packaging/test_wheel.sh [--torch FOLDER] WHEEL [RELEASE]…     Debian's names; default: bullseye bookworm trixie
#
# Install, record the engine, record a Python command, import, metrics, check, uninstall without a trace. Where the C
# library is too old, one sentence has to say so, from pip and from the program, and the collector alone still records.
# With --torch, PyTorch is installed beside it from the wheels in FOLDER, trains, and has loaded no library of ours.
set -euo pipefail
fail() { echo "test_wheel.sh: $1" >&2; exit 1; }
torch=""
if [ "${1:-}" = --torch ]; then torch=$(realpath -s "$2") && shift 2; fi
[ $# -ge 1 ] || fail "usage: packaging/test_wheel.sh [--torch FOLDER] WHEEL [RELEASE]…"
wheel=$(realpath "$1")
shift
[ -f "$wheel" ] || fail "no file $wheel"

if [ "${1:-}" != --here ]; then
    cd "$(dirname "$0")/.."
    [ $# -gt 0 ] || set -- bullseye bookworm trixie
    for release in "$@"; do
        place=build/roots/$release/wheel-test
        rm -rf "$place" && mkdir -p "$place" && cp "$wheel" "$place/"
        echo "== The wheel in a bare $release"
        packaging/in_root.sh ${torch:+--with "$torch"} "$release" packaging/test_wheel.sh ${torch:+--torch "$torch"} "build/wheel-test/${wheel##*/}" --here
    done
    exit 0
fi

# ---- Inside the bare system ------------------------------------------------------------------------------------
# Nothing of the tree is used from here on.
export DEBIAN_FRONTEND=noninteractive
{ apt-get update -q && apt-get install -y -q --no-install-recommends python3-venv; } >/tmp/apt.log 2>&1 || { cat /tmp/apt.log >&2; fail "no python3-venv"; }
mkdir -p /tmp/user && cd /tmp/user
python3 -m venv env
listing() { find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp/user/work -o -path /var/log \) -prune -o -name __pycache__ -prune -o -print | sort; }
pip() { env/bin/pip --disable-pip-version-check "$@"; }
mkdir work
pip --version >/dev/null
listing >before

tag=$(sed -E 's/.*manylinux_([0-9]+)_([0-9]+)_.*/\1.\2/' <<<"${wheel##*/}")
have=$(getconf GNU_LIBC_VERSION | cut -d' ' -f2)
if [ "$(printf '%s\n' "$tag" "$have" | sort -V | head -n 1)" != "$tag" ]; then
    if pip install --no-index "$wheel" >work/pip.log 2>&1; then fail "pip installed what cannot run with C library $have"; fi
    grep -q 'is not a supported wheel on this platform' work/pip.log || { cat work/pip.log; fail "pip's sentence is another one"; }
    python3 -m zipfile -e "$wheel" work/unpacked
    if PYTHONPATH=work/unpacked python3 -m fourwalls --version >work/said 2>&1; then fail "it runs with C library $have"; fi
    [ "$(wc -l <work/said)" -eq 1 ] && grep -q "needs the GNU C library $tag or newer, and this system has $have" work/said || { cat work/said; fail "no single sentence on the C library"; }
    cat work/said
    # As the driver does it: the module begins to record and, without a driver, says so; its spool is whole.
    FOURWALLS_SPOOL_DIR=work python3 -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1]).InitializeInjection()' \
        work/unpacked/fourwalls/lib/libfourwalls_collector.so 2>work/told || fail "the collector does not load with C library $have"
    [ "$(wc -l <work/told)" -eq 1 ] && grep -q "this machine has no CUDA driver" work/told || { cat work/told; fail "the collector says something else"; }
    [ -s "$(echo work/*.fwspool)" ] || fail "the collector alone left no spool with C library $have"
    echo "== C library $have is too old and one sentence says so; the collector alone records"
    exit 0
fi

pip install -q --no-index "$wheel"
export PATH=/tmp/user/env/bin:$PATH
cd work
fourwalls-cli --version
[ "$(fourwalls-cli --version | grep -o '[0-9][0-9.]*' | head -n 1)" = "$(pip_version=$(cd .. && pip show fourwalls | sed -n 's/^Version: //p'); echo "$pip_version")" ] || fail "program and package have different versions"

# Each bundled library is found beside the program and has its licence.
site=$(echo /tmp/user/env/lib/python3*/site-packages)
python3 - "$site" <<'PYTHON'
import os, sys
site = sys.argv[1]
texts = os.path.join(site, next(f for f in os.listdir(site) if f.startswith("fourwalls-") and f.endswith(".dist-info")), "licenses")
named = " ".join(f for _, _, files in os.walk(texts) for f in files)
packages = {"libdnnl": "libdnnl", "libfmt": "libfmt", "libisal": "libisal", "libprotobuf": "libprotobuf", "libre2": "libre2", "libzstd": "libzstd", "liblzma": "liblzma", "libbz2": "libbz2", "libz": "zlib1g", "libnettle": "libnettle", "libsqlite3": "libsqlite3", "libgomp": "libgomp", "libOpenCL": "ocl-icd"}
for library in os.listdir(os.path.join(site, "fourwalls.libs")):
    stem = library.split(".")[0].split("-")[0]
    assert packages[stem] in named, "no licence of " + library + " among " + named
assert "LICENSE" in named and "nlohmann" in named and "cli11" in named, named
PYTHON
for file in "$site"/fourwalls/bin/* "$site"/fourwalls.libs/* $(find "$site/fourwalls/lib" -name '*.so'); do
    if ldd "$file" | grep 'not found'; then fail "$file lacks a library"; fi
done

echo "== The engine"
fourwalls-cli record -o engine.fourwalls --model gpt-tiny --steps 3 >/dev/null
fourwalls-cli check engine.fourwalls
fourwalls-cli metrics engine.fourwalls >metrics
[ -s metrics ] || fail "metrics says nothing"
fourwalls-cli predict --model llama2-7b --plan "dp=2 tp=4" --batch 64 --cluster dgx-a100 -o predicted.fourwalls >/dev/null # presets

echo "== A Python command"
cat >job.py <<'PYTHON'
import os, sys
own = [line.split()[-1] for line in open("/proc/self/maps") if "fourwalls" in line]
assert not own, own
assert "LD_LIBRARY_PATH" not in os.environ
assert os.path.isfile(os.environ["CUDA_INJECTION64_PATH"]), "no module"
import sitecustomize
assert hasattr(sitecustomize, "_Recording"), "no hook"
import ctypes
mark = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
if len(sys.argv) > 1:
    import torch
    weights = torch.nn.Linear(64, 64)
    optimizer = torch.optim.AdamW(weights.parameters())
    for _ in range(3):
        weights(torch.randn(8, 64)).sum().backward()
        optimizer.step()
    own = {line.split()[-1] for line in open("/proc/self/maps") if "fourwalls" in line}
    assert all(path.endswith("libfourwalls_collector.so") for path in own), own
    print("torch", torch.__version__, "libraries of ours:", own)
print("said by the job")
sys.exit(7)
PYTHON
status=0
fourwalls-cli record -o job.fourwalls -- python3 job.py >said 2>told || status=$?
cat told
[ "$status" -eq 7 ] && grep -q "said by the job" said || { cat said; fail "the job ended with $status instead of 7"; }
if ls -d job.fourwalls.spool* 2>/dev/null; then fail "spools are left"; fi

echo "== Import"
python3 - <<'PYTHON'
import json
events = [{"ph": "X", "pid": 1, "tid": 1, "ts": 100 * i, "dur": 50, "name": "work", "cat": "cpu_op"} for i in range(10)]
json.dump({"traceEvents": events}, open("profile.json", "w"))
PYTHON
fourwalls-cli import profile.json -o imported.fourwalls >/dev/null
fourwalls-cli check imported.fourwalls
fourwalls-cli info imported.fourwalls >/dev/null

if [ -n "$torch" ]; then
    echo "== Beside PyTorch"
    (cd .. && pip install -q --no-index --find-links "$torch" torch)
    status=0
    fourwalls-cli record -o torch.fourwalls -- python3 job.py torch || status=$?
    [ "$status" -eq 7 ] || fail "beside PyTorch the job ended with $status instead of 7"
    fourwalls-cli record -o again.fourwalls --model gpt-tiny --steps 1 >/dev/null
    (cd .. && pip uninstall -q -y fourwalls)
    find "$site" -iname '*fourwalls*' | grep . && fail "something is left"
    exit 0
fi

cd ..
pip uninstall -q -y fourwalls
listing >after
if ! diff before <(grep -vx /tmp/user/before after); then fail "uninstalling leaves the above"; fi
echo "== Installed, used and uninstalled without a trace, C library $have"
