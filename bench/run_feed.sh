#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The way of a stored trace to a graphics card, step by step (bench_feed), on keys and on a program's references; whole
# commands; and whether the card's profiles are those of `exact`. Writes bench/results/feed-DATE.md. About 3 minutes on
# 16 cores with a card; without one, or without the module, what needs it is left out.
#
#     bench/run_feed.sh
#     FATHOM_BUILD=DIRECTORY    where the programs are (default: build/)
#     FATHOM_COMMIT=TEXT        where there is no git to ask
#     FATHOM_FEED=DIRECTORY     for traces, 2.5 GB in memory (default: /dev/shm)
#     FATHOM_TRACES=DIRECTORY   with traces of programs, *.fathom (default: bench/work, see make_traces.sh)
#     FATHOM_REFERENCES=N       of the keys' traces (default: 300M)
set -eu
here=$(CDPATH='' cd "$(dirname "$0")" && pwd)
build=${FATHOM_BUILD:-$here/../build}
traces=${FATHOM_TRACES:-$here/work}
references=${FATHOM_REFERENCES:-300M}
commit=${FATHOM_COMMIT:-$(git -C "$here" describe --always --dirty 2>/dev/null || echo unknown)}
FATHOM_PARTS=${FATHOM_PARTS:-$(CDPATH='' cd "$build" && pwd)/lib/fathom}
export FATHOM_PARTS
work=$(mktemp -d "${FATHOM_FEED:-/dev/shm}/fathom-feed-XXXXXX")
trap 'rm -rf "$work"' EXIT
fathom=$build/fathom
date=$(date -u +%Y-%m-%d)
cores=$(nproc)
mkdir -p "$here/results"
"$fathom" gen uniform --keys 10 --references 100 --seed 1 -o "$work/tiny.u64"
card=
! "$fathom" analyze -q --engine gpu "$work/tiny.u64" >/dev/null 2>&1 || card=,upload,gpu

threads=1
while [ $((${threads##*,} * 2)) -le "$cores" ] && [ "${threads##*,}" -lt 16 ]; do threads=$threads,$((${threads##*,} * 2)); done

same() { # two profiles: all but the names, the engine and its times
    python3 - "$1" "$2" <<'END'
import json, sys
a, b = (json.load(open(path)) for path in sys.argv[1:])
for profile in (a, b):
    for key in ("name", "engine", "exact", "stages"):
        profile.pop(key, None)
sys.exit(a != b)
END
}

seconds() { # of a command, by the clock
    python3 -c 'import subprocess, sys, time
start = time.time()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print("%.3f" % (time.time() - start))' "$@"
}

measure() { # name, trace, granularity
    printf '\n## %s, blocks of %s\n\n' "$1" "$3"
    "$build/bench/bench_feed" --threads "$threads" --granularity "$3" --repeat 3 \
        --steps "ahead,read,claim,decode,cut,copy$card" "$2"
    printf '\nThe engine gpu with a card that takes all in no time, and counts nothing (idle_card.c): '
    FATHOM_PARTS=$build/bench/idle "$build/bench/bench_feed" --threads "$threads" --granularity "$3" --repeat 3 \
        --steps gpu "$2"
    [ -n "$card" ] || return 0
    took=$(seconds "$fathom" analyze -q --engine gpu --granularity "$3" --json "$work/gpu.json" --force "$2")
    "$fathom" analyze -q --engine exact --granularity "$3" --json "$work/exact.json" --force "$2" >/dev/null
    if same "$work/gpu.json" "$work/exact.json"; then answer="the same profile as exact"; else answer="ANOTHER PROFILE"; fi
    printf '\nThe whole command, with the start of CUDA: %s s, %s\n' "$took" "$answer"
}

{
    echo "# From a stored trace to a card"
    echo
    echo "Made by \`bench/run_feed.sh\`; docs/GPU.md says what it means."
    echo
    echo "| | |"
    echo "|---|---|"
    echo "| date | $date |"
    echo "| device | $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1 || echo none) |"
    echo "| processor | $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $cores cores |"
    echo "| commit | $commit |"
    "$fathom" gen zipf --keys 1000000 --references "$references" --seed 1 -o "$work/zipf.fathom" --force
    measure "Zipf over 10^6 keys" "$work/zipf.fathom" 64
    measure "Zipf over 10^6 keys" "$work/zipf.fathom" 1
    "$fathom" convert -q --level 4 "$work/zipf.fathom" -o "$work/small.fathom" --force
    rm "$work/zipf.fathom"
    measure "the same, all of it compressed (convert --level 4)" "$work/small.fathom" 64
    rm "$work/small.fathom"
    "$fathom" gen uniform --keys 10000000 --references "$references" --seed 1 -o "$work/uniform.fathom" --force
    measure "uniform over 10^7 keys" "$work/uniform.fathom" 1
    rm "$work/uniform.fathom"
    for trace in "$traces"/*.fathom; do
        [ ! -e "$trace" ] || measure "$(basename "$trace" .fathom)" "$trace" 64
    done
} | tee "$here/results/feed-$date.md"
