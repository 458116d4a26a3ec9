#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Renders the pictures of README and manual again, in English and Chinese, from the traces that the demos carry and
# from some that it records, five minutes on a quiet machine:
#     docs/pictures.sh [FOLDER WITH THE PROGRAM]
# Chinese needs a font that has it (fonts-wqy-microhei); with ImageMagick installed the files get a palette, a third as large.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
bin=$(cd "${1:-build/release/bin}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export QT_QPA_PLATFORM=offscreen XDG_CONFIG_HOME="$work/config" XDG_RUNTIME_DIR="$work"

# unpack CARRIED NAME: a trace of resources/demos (four bytes of length, then zlib) as NAME.fourwalls
unpack() {
    python3 -c 'import sys, zlib; open(sys.argv[2], "wb").write(zlib.decompress(open(sys.argv[1], "rb").read()[4:]))' \
        "$root/resources/demos/$1.fourwalls.z" "$work/$2.fourwalls"
}
unpack pipe_1f1b 1f1b
unpack pipe_gpipe gpipe
unpack resnet resnet50
unpack unfused gpt
unpack llama llama2-7b

# Whoever wants to compare a run with its prediction has the machine measured first: one core of it stands for each of
# eight devices, with the links of the demos.
"$bin/fourwalls-cli" calibrate -o "$work/core.json" > /dev/null
python3 - "$root/resources/demos/recording/eight-cores.json" "$work/core.json" "$work/eight-cores.json" <<'PYTHON'
import json, sys
demo, core = (json.load(open(name)) for name in sys.argv[1:3])
demo["device"] = core["device"] | {"memory_bytes": demo["device"]["memory_bytes"]}
json.dump(core | demo, open(sys.argv[3], "w"))
PYTHON
"$bin/fourwalls-cli" record -o "$work/whole.fourwalls" --model gpt-tiny --steps 4 --clock device \
    --cluster "$work/eight-cores.json" --plan "dp=2 tp=2 pp=2 microbatches=2" > /dev/null
"$bin/fourwalls-cli" trim "$work/whole.fourwalls" --steps 3 --redact -o "$work/gpt-3d.fourwalls" > /dev/null

"$bin/fourwalls-cli" record -o "$work/spoiled.fourwalls" --model gpt-tiny --steps 14 --clock device --blind \
    --plan "dp=2 pp=2 microbatches=4" --disturb slow_rank:1:1.6 --disturb memory_growth:2:2 > /dev/null

# The learning rate at three widths, without and with the maximal update parametrisation: some minutes.
for how in "" "--mup 64"; do
    # shellcheck disable=SC2086
    "$bin/fourwalls-cli" sweep -o "$work/sweep${how:+_mup}" $how --model gpt-tiny --steps 60 --seq 64 \
        --grid "lr=5e-4,1e-3,2e-3,4e-3,8e-3,1.6e-2 width=64,128,256" > /dev/null
done

# draw PICTURE VIEW [OPTIONS] FILE…
draw() {
    picture=$1 view=$2
    shift 2
    "$bin/fourwalls" --render "$view" --lang "$language" --size 1440x810 -o "$picture" "$@"
    if command -v convert > /dev/null; then convert "$picture" -strip +dither -colors 255 "PNG8:$work/small.png" && cp "$work/small.png" "$picture"; fi
}

cd "$work"
for language in en zh_CN; do
    to=$root/docs/manual
    [ $language = en ] || to=$to/$language
    draw "$to/overview.png" overview gpt-3d.fourwalls
    draw "$to/findings.png" findings spoiled.fourwalls
    draw "$to/hang.png" hang "$root/tests/data/hangs/gpu_error_1st"
    draw "$to/runs.png" runs sweep
    draw "$to/runs_mup.png" runs sweep_mup
    draw "$to/timeline.png" timeline --step 3 --find "receive from 4" gpt-3d.fourwalls
    draw "$to/memory.png" memory resnet50.fourwalls
    draw "$to/communication.png" communication gpt-3d.fourwalls
    draw "$to/performance.png" performance gpt.fourwalls
    draw "$to/pipeline.png" pipeline 1f1b.fourwalls
    draw "$to/tuning.png" tuning llama2-7b.fourwalls
    draw "$to/compare.png" compare gpipe.fourwalls 1f1b.fourwalls
    draw "$to/tables.png" tables gpt-3d.fourwalls
    draw "$to/whatif.png" overview --whatif "pp=4 microbatches=8 schedule=zbv" 1f1b.fourwalls
done
language=en
draw "$root/docs/images/overview.png" overview gpt-3d.fourwalls
draw "$root/docs/images/pipeline.png" pipeline 1f1b.fourwalls
draw "$root/docs/images/whatif.png" memory --step 3 --whatif "pp=4 microbatches=8 schedule=gpipe" 1f1b.fourwalls
