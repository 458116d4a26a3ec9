#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-tidy (.clang-tidy) on the source files that a change touched, and tells what it finds in the changed lines.
#
#   packaging/tidy_changed.sh [COMMIT [SECONDS]]
#
# COMMIT: what they are compared with; by default where this branch left origin/main, or the commit before. Ends with 1
# where there are findings; with 2 where files were left out because SECONDS (300) had passed (their names are printed), or
# where there is nothing to compare with.
set -euo pipefail
cd "$(dirname "$0")/.."
base=${1:-}
if [ -z "$base" ]; then
    base=$(git merge-base HEAD origin/main 2>/dev/null || git rev-parse HEAD)
    [ "$base" != "$(git rev-parse HEAD)" ] || base=HEAD~1
fi
limit=${2:-300}
if ! git rev-parse --verify --quiet "$base^{commit}" >/dev/null; then
    echo "clang-tidy: there is no $base to compare with"
    exit 2
fi
mapfile -t files < <(git diff --name-only --diff-filter=d "$base" -- 'app/*.cpp' 'model/*.cpp' 'profiler/*.cpp' 'views/*.cpp')
echo "clang-tidy: ${#files[@]} files differ from $base"
[ ${#files[@]} -gt 0 ] || exit 0

# A build of its own that nothing is compiled in: clang-tidy reads how clang would, file by file.
cmake --preset dev -B build/tidy -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >build/tidy.log || { cat build/tidy.log; exit 1; }
said=build/tidy/said
rm -rf "$said" && mkdir -p "$said"
deadline=$(($(date +%s) + limit))
export base said deadline
check() {
    local log=$said/${1//\//_} left=$((deadline - $(date +%s))) code=0 lines
    # "@@ -1,2 +3,4 @@" is [3,6]; where lines only went there is nothing to look at.
    lines=$(git diff -U0 "$base" -- "$1" | sed -nE 's/^@@ [^+]*\+([0-9,]+) .*/\1/p' |
        awk -F, '{ n = $2 == "" ? 1 : $2 } n > 0 { printf "%s[%d,%d]", many++ ? "," : "", $1, $1 + n - 1 }')
    [ -n "$lines" ] || return 0
    grep -q "/$1\"" build/tidy/compile_commands.json || return 0 # of another build, such as CUDA's
    if [ "$left" -gt 0 ]; then
        timeout "$left" clang-tidy -p build/tidy --quiet --warnings-as-errors='*' \
            --line-filter="[{\"name\":\"$1\",\"lines\":[$lines]}]" "$1" >"$log" 2>&1 || code=$?
    else
        code=124
    fi
    if [ $code -eq 0 ]; then rm -f "$log"; fi
    if [ $code -eq 124 ]; then rm -f "$log" && echo "$1" >>"$said/left_out"; fi
}
export -f check
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -I{} bash -c 'check {}'
if [ -e "$said/left_out" ]; then
    sed 's/^/left out after the time: /' "$said/left_out"
    rm "$said/left_out"
    code=2
fi
for log in "$said"/*; do
    if [ -e "$log" ]; then grep -v 'warnings\? generated\|^Suppressed\|^Use -header-filter' "$log" && code=1; fi
done
exit "${code:-0}"
