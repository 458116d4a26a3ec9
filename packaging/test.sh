#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing (as root), builds everything, and runs all tests: first the build without Qt and CUDA,
# then the full one. Ends with the test runner's summary.
#
#   packaging/test.sh         the tests that run on every change
#   packaging/test.sh PRESET [EXCEPT]
#                             the same of one build alone: core (without Qt and CUDA) or release; without the tests whose
#                             names match the regular expression EXCEPT
#   packaging/test.sh --all   also the slow ones (the whole parity matrix, every file of the import corpus), and the
#                             engine's tests under the thread sanitizer
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8
jobs=$(($(nproc) + 1)) # a compiler that waits for a file leaves no processor idle
label=(-L fast)
slow=OFF
presets=(core release)
passed=${2:-}
case ${1:-} in
"") ;;
core | release) presets=("$1") ;;
--all) label=() slow=ON ;;
*) echo "usage: packaging/test.sh [--all | core [EXCEPT] | release [EXCEPT]]" >&2 && exit 2 ;;
esac

packaging/install_packages.sh

# Both presets compile the same files with the same flags, so ccache makes the second build short. Relative paths and
# the two sloppinesses let it share what is made with precompiled headers, too; those (300 MB each) are read for their
# checksums once, not for every file.
export CCACHE_DIR=${CCACHE_DIR:-$PWD/build/ccache} CCACHE_BASEDIR=$PWD CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_INODECACHE=1

# What passed in the build without Qt is not run again with it: the same files, compiled with the same flags.
build_and_test() { # preset
    local preset=$1
    echo "== $preset: build"
    cmake --preset "$preset" -DFOURWALLS_WERROR="${CI:+ON}" -DFOURWALLS_SLOW_TESTS="$slow"
    cmake --build --preset "$preset" -j "$jobs"
    echo "== $preset: tests"
    ctest --preset "$preset" -j "$(nproc)" "${label[@]}" ${passed:+-E "$passed"}
    if [ "$preset" = core ]; then
        passed=$(ctest --preset core -N "${label[@]}" | sed -n 's/^ *Test *#[0-9]*: //p' | sed 's/[.+]/\\&/g' | paste -sd '|' | sed 's/.*/^(&)$/')
    fi
}

if [ "${1:-}" = --all ]; then
    echo "== tsan: build"
    cmake --preset tsan
    cmake --build --preset tsan -j "$jobs"
    echo "== tsan: tests of the engine, its ranks as threads and as processes"
    ctest --test-dir build/tsan --output-on-failure -j "$(nproc)" -R "profiler/engine|app/cli/gloo|slow/.*parity"
fi
for preset in "${presets[@]}"; do build_and_test "$preset"; done
