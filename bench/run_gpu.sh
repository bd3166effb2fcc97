#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures what a graphics card does, and writes it with date, device and commit to bench/results/gpu-DATE.md; or, with
# the word `test`, what scripts/test-gpu.sh prints to bench/results/gpu-tests-DATE.txt. For `make bench-gpu`, `make test-gpu`.
#
#     bench/run_gpu.sh [test]
#     FATHOM_BUILD=DIRECTORY    where the programs are (default: build/)
#     FATHOM_COMMIT=TEXT        where there is no git to ask
#     FATHOM_TRACES=DIRECTORY   with cc1.fathom, gzip.fathom and perl.fathom (default: bench/work, see make_traces.sh)
set -eu
here=$(CDPATH='' cd "$(dirname "$0")" && pwd)
build=${FATHOM_BUILD:-$here/../build}
traces=${FATHOM_TRACES:-$here/work}
commit=${FATHOM_COMMIT:-$(git -C "$here" describe --always --dirty 2>/dev/null || echo unknown)}
date=$(date -u +%Y-%m-%d)
results=$here/results
mkdir -p "$results"
device=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1) || device=none

if [ "${1-}" = test ]; then
    {
        echo "date: $date"
        echo "commit: $commit"
        "$here/../scripts/test-gpu.sh" --build "$build"
    } 2>&1 | tee "$results/gpu-tests-$date.txt"
    tail -n 1 "$results/gpu-tests-$date.txt" | grep -q ' 0 failed'
    exit
fi

{
    echo "# Measurements on a graphics card"
    echo
    echo "Made by \`make bench-gpu\`; docs/GPU.md says what they mean."
    echo
    echo "| | |"
    echo "|---|---|"
    echo "| date | $date |"
    echo "| device | $device |"
    echo "| processor | $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores |"
    echo "| commit | $commit |"
    "$build/bench/bench_card_floor"
    echo
    if [ -e "$traces/cc1.fathom" ]; then
        "$build/bench/bench_gpu" --trace "$traces/cc1.fathom"
        printf '\n### Error of HP-RDA, by its formula, for thread-level traces of 256 to 16384 references\n\n'
        "$here/hp_rda_errors.py" --build "$build" --engine hp-rda-gpu "$traces/cc1.fathom" "$traces/gzip.fathom" \
            "$traces/perl.fathom"
    else
        echo "run_gpu.sh: no traces of real programs in $traces: bench/make_traces.sh makes them" >&2
        "$build/bench/bench_gpu"
    fi
} | tee "$results/gpu-$date.md"
