#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Cross-builds everything without Qt for 64-bit ARM, and runs its fast tests and a recording under qemu's user-mode
# emulation. It adds a foreign architecture to the system, so it belongs into one that is thrown away:
#
#   packaging/in_root.sh trixie packaging/test_arm64.sh            the tests that take less than a minute there
#   packaging/in_root.sh trixie packaging/test_arm64.sh --all      all of them: hours, emulation computes slowly
#
# With CUPTI's headers (in_root.sh --with /usr/local/cuda/include) the collector's module and its tests are part of it.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
fail() { echo "test_arm64.sh: $1" >&2; exit 1; }
label="fast"
case ${1:-} in
"") ;;
--all) label="fast|slow" ;;
*) echo "usage: packaging/test_arm64.sh [--all]" >&2 && exit 2 ;;
esac
[ "$(id -u)" -eq 0 ] || fail "only root can install packages and tell the kernel how to run ARM programs"

# What packages.txt names, without the desktop application: libraries for ARM, tools for this system.
arm=(libsqlite3-dev libfmt-dev libdnnl-dev libgloo-dev zlib1g-dev libarchive-dev libprotobuf-dev libre2-dev qt6-base-dev) # Qt for the tests (Qt Test)
dpkg --add-architecture arm64
apt-get update -q
apt-get install -y -q --no-install-recommends crossbuild-essential-arm64 qemu-user-static cmake ninja-build ccache \
    python3 mount binutils nlohmann-json3-dev libcli11-dev qt6-base-dev-tools "${arm[@]/%/:arm64}"

# Programs that start programs need the kernel to know the emulator. The rule goes when this script ends.
rules=/proc/sys/fs/binfmt_misc
[ -e $rules/register ] || mount -t binfmt_misc binfmt_misc $rules
if [ ! -e $rules/qemu-aarch64 ]; then
    magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00' # a 64-bit little-endian ARM program
    mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
    echo ":qemu-aarch64:M::$magic:$mask:$(command -v qemu-aarch64-static):FP" >$rules/register
    trap 'echo -1 >$rules/qemu-aarch64' EXIT
fi

export CCACHE_DIR=${CCACHE_DIR:-$PWD/build/ccache} CCACHE_BASEDIR=$PWD CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_INODECACHE=1
echo "== arm64: build"
cmake --preset arm64 -DFOURWALLS_WERROR="${CI:+ON}" -DFOURWALLS_SLOW_TESTS=OFF
cmake --build --preset arm64 -j "$(($(nproc) + 1))"

echo "== arm64: recordings and imports"
python3 tests/portability/same_results.py make build/arm64/bin/fourwalls-cli build/arm64/portable --without resnet50
for trace in build/arm64/portable/*.fourwalls; do build/arm64/bin/fourwalls-cli check "$trace"; done
build/arm64/bin/fourwalls-cli metrics build/arm64/portable/recorded-gpt-tiny.fourwalls

echo "== arm64: tests"
ctest --preset arm64 -j "$(nproc)" -L "$label"
