#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing (as root), builds Fourwalls, trains a small transformer on this machine, records its steps
# and opens the recording. Without a display the views are rendered to picture files instead.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=${LC_ALL:-C.UTF-8}
out=build/first-run
trace=$out/first-run.fourwalls

wanted=()
if [ -n "${WAYLAND_DISPLAY:-}" ] && [ -z "${DISPLAY:-}" ]; then wanted+=(qt6-wayland); fi
packaging/install_packages.sh "${wanted[@]}"

echo "== Building (about five minutes on two cores, fifteen on a slow one; what follows takes seconds)"
cmake --preset release
cmake --build --preset release -j "$(nproc)" --target fourwalls fourwalls-cli
bin=$PWD/build/release/bin

echo "== Training gpt-tiny for 20 steps and recording them"
mkdir -p "$out"
rm -f "$trace"
"$bin/fourwalls-cli" record -o "$trace" --model gpt-tiny --steps 20 --data resources/text/tom_sawyer.txt
"$bin/fourwalls-cli" metrics "$trace"

echo "== To call the programs by their names, as README.md does: export PATH=$bin:\$PATH"
if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
    echo "== Opening $PWD/$trace"
    exec "$bin/fourwalls" "$trace"
fi
echo "== No display: rendering the views"
for view in overview timeline memory steps; do
    QT_QPA_PLATFORM=offscreen "$bin/fourwalls" --render $view --size 1600x900 -o "$out/$view.png" "$trace"
    echo "$PWD/$out/$view.png"
done
echo "The recording is $PWD/$trace. Where there is a display: $bin/fourwalls $PWD/$trace"
