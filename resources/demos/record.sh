#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the traces of the demos again: resources/demos/record.sh PATH/TO/fourwalls-cli [NAME...]
# Each is one measured step of a real training (or a prediction), cut out and stored compressed: NAME.fourwalls.z is four
# bytes of length and a zlib stream, as Qt's qUncompress reads it. About two minutes on two cores; nothing else should run meanwhile.
set -eu
cli=${1:?usage: record.sh PATH/TO/fourwalls-cli [NAME...]}
shift
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
wanted=" $* "

pack() { packFile "$work/$1.cut.fourwalls" "$1.fourwalls"; }

packFile() { # FILE NAME
    python3 - "$1" "$here/$2.z" <<'PYTHON'
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
with open(sys.argv[2], "wb") as out:
    out.write(struct.pack(">I", len(data)) + zlib.compress(data, 9))
print(f"{sys.argv[2].rsplit('/', 1)[1]}: {len(data) / 1e3:.0f} kB, packed {(zlib.compress(data, 9).__len__()) / 1e3:.0f} kB")
PYTHON
}

isWanted() { [ "$wanted" = "  " ] || case "$wanted" in *" $1 "*) true ;; *) false ;; esac; }

step() { # NAME STEP record's arguments...: keeps one step
    name=$1 kept=$2
    shift 2
    isWanted "$name" || return 0
    "$cli" record -o "$work/$name.fourwalls" "$@" 2>/dev/null >/dev/null
    "$cli" trim "$work/$name.fourwalls" --steps "$kept" --redact -o "$work/$name.cut.fourwalls" >/dev/null
    pack "$name"
}

lengthOf() { # FILE STEP: nanoseconds of the job's step
    python3 -c 'import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("SELECT \"end\" - start FROM job_step WHERE step = ?", (sys.argv[2],)).fetchone()[0])' "$@"
}

quickest() { # NAME STEP record's arguments...: of five runs the one that was disturbed least
    name=$1 kept=$2
    shift 2
    isWanted "$name" || return 0
    least=
    for run in 1 2 3 4 5; do
        "$cli" record -o "$work/run.fourwalls" "$@" 2>/dev/null >/dev/null
        length=$(lengthOf "$work/run.fourwalls" "$kept")
        if [ -z "$least" ] || [ "$length" -lt "$least" ]; then
            least=$length
            mv "$work/run.fourwalls" "$work/$name.fourwalls"
        fi
    done
    "$cli" trim "$work/$name.fourwalls" --steps "$kept" --redact -o "$work/$name.cut.fourwalls" >/dev/null
    pack "$name"
}

job() { # NAME LAST record's arguments...: keeps all steps up to LAST, failures and checkpoints included
    name=$1 last=$2
    shift 2
    isWanted "$name" || return 0
    "$cli" record -o "$work/$name.fourwalls" "$@" 2>/dev/null >/dev/null
    "$cli" trim "$work/$name.fourwalls" --steps "0-$last" --redact -o "$work/$name.cut.fourwalls" >/dev/null
    pack "$name"
}

runs() { # NAME sweep's arguments...: keeps the curves of the runs
    name=$1
    shift
    isWanted "$name" || return 0
    "$cli" sweep -o "$work/$name" "$@" 2>/dev/null >/dev/null
    "$cli" runs "$work/$name" --series --json | sed "s#$work/##" >"$work/$name.runs.json"
    packFile "$work/$name.runs.json" "$name.runs.json"
}

whole() { # NAME command and its arguments...: keeps all of it
    name=$1
    shift
    isWanted "$name" || return 0
    "$cli" "$@" -o "$work/$name.cut.fourwalls" 2>/dev/null >/dev/null
    pack "$name"
}

# Memory
step resnet 1 --model resnet50 --batch 32 --steps 2 --optimizer sgd
# Traces of one plan beside those of others: compared by their time.
quickest gpt 3 --model gpt-tiny --steps 4 --clock device --cluster "$here/recording/eight-cores.json"
quickest gpt_selective 3 --model gpt-tiny --steps 4 --plan "recompute=selective attention=unfused" --clock device --cluster "$here/recording/eight-cores.json"
quickest gpt_full 3 --model gpt-tiny --steps 4 --plan "recompute=full" --clock device --cluster "$here/recording/eight-cores.json"
for zero in 0 1 2 3; do
    quickest zero$zero 3 --model gpt-tiny --steps 4 --plan "dp=4 zero=$zero" --clock device --cluster "$here/recording/eight-cores.json"
done
# Communication
quickest straggler 3 --model gpt-tiny --steps 4 --plan "dp=4" --clock device --cluster "$here/recording/eight-cores.json" --slow-rank 2:1.5
# The same step with the slow rank brought to its peers: of the trace that was just recorded, or of the one that is there.
if isWanted straggler_without; then
    python3 - "$here/straggler.fourwalls.z" "$work/straggler.cut.fourwalls" <<'PYTHON'
import sys, zlib
open(sys.argv[2], "wb").write(zlib.decompress(open(sys.argv[1], "rb").read()[4:]))
PYTHON
    "$cli" replay "$work/straggler.cut.fourwalls" --change rank:2=fleet -o "$work/straggler_without.cut.fourwalls" >/dev/null
    pack straggler_without
fi
quickest exposed 3 --model gpt-tiny --steps 4 --plan "dp=4 overlap=0" --clock device --cluster "$here/recording/eight-cores.json"
quickest traffic 3 --model gpt-tiny --steps 4 --plan "dp=2 tp=2 pp=2 microbatches=2" --clock device --cluster "$here/recording/eight-cores.json"
# Performance
quickest unfused 3 --model gpt-tiny --steps 4 --plan "fuse=0 attention=unfused" --clock device --cluster "$here/recording/eight-cores.json"
for schedule in naive gpipe 1f1b zb; do
    quickest pipe_$schedule 3 --model gpt-tiny --steps 4 --plan "pp=4 microbatches=8 schedule=$schedule" --clock device --cluster "$here/recording/eight-cores.json"
done
quickest pipe_interleaved 3 --model gpt-tiny --steps 4 --plan "pp=4 microbatches=8 vpp=2 schedule=interleaved" --clock device --cluster "$here/recording/eight-cores.json"
# Tuning
whole spike record --model "$here/recording/one-layer.json" --steps 24 --batch 4 --optimizer sgd --lr 10 --seed 3
whole llama predict --model llama2-7b --cluster dgx-a100 --plan "dp=4 tp=2 zero=1 microbatches=2" --batch 8 --seq 4096
two="$here/recording/two-layers.json"
job checkpoints 23 --model "$two" --batch 8 --steps 24 --checkpoint-every 7
job checkpoints_async 23 --model "$two" --batch 8 --steps 24 --checkpoint-every 7 --checkpoint-async
job failures 29 --model "$two" --plan "dp=2" --batch 16 --steps 30 --checkpoint-every 6 --fault kill:1:10 --fault kill:0:22 --restarts 4
set -- --model "$two" --steps 80 --seq 64 --grid "lr=5e-4,7e-4,1e-3,1.4e-3,2e-3,2.8e-3,4e-3,8e-3 width=64,128,256"
runs sweep "$@"
runs sweep_mup --mup 64 "$@"
