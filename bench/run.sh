#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs all measurements and writes them, with what they were made on, to bench/work/results.md (tables)
# and bench/work/results.lines (key=value, one measurement a line). bench/RESULTS.md is the committed
# copy of the former. See bench/README.md.
#
#     bench/run.sh [quick] [PART…]       PART: engines isas real threads scaling flooding memory closed-forms
#                                        formats collect burst parda approx predict sample
#     FATHOM_BUILD=DIRECTORY             where the programs are (default: build/)
set -eu

here=$(CDPATH='' cd "$(dirname "$0")" && pwd)
build=${FATHOM_BUILD:-$here/../build}
bin=$build/bench
work=$here/work
mkdir -p "$work"
results=$work/results.md
BENCH_LINES=$work/results.lines
export BENCH_LINES

quick=
[ "${1-}" != quick ] || { quick=1; shift; }
parts=${*:-engines isas real threads scaling flooding memory closed-forms formats collect burst parda approx predict \
    sample}
[ -x "$bin/bench_engines" ] || { echo "run.sh: no $bin/bench_engines: build first (make)" >&2; exit 1; }

if [ "$quick" ]; then
    work_traces=$work/quick
    trace_references=2000000
    engines_options='--references 3M --repeat 3'
    uniform=uniform:1M
    scaling_options='--references 2M --repeat 1 --keys 1M,4M'
    flooding_options='--references 2M --keys 500K --repeat 1'
    memory_options='--keys 3M'
    closed_options='--references 3M --keys 100K'
    formats_options='--references 1M --repeat 1'
    parda_options='--references 2M --repeat 1'
    approx_options='--references 2M --repeat 1 --engine-data 100K,1M'
else
    work_traces=$work
    trace_references=26000000
    engines_options='--references 50M --repeat 5'
    uniform=uniform:10M
    scaling_options='--references 20M --repeat 3 --keys 1M,3M,10M,30M,100M'
    flooding_options='--references 10M --keys 1M --repeat 3'
    memory_options='--keys 100M'
    closed_options='--references 100M --keys 1M,20M'
    formats_options='--references 20M --repeat 3'
    parda_options='--references 20M --repeat 3 --slow 3'
    approx_options='--references 20M --repeat 3'
fi

memory_available=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
if [ -z "$quick" ] && [ "$memory_available" -lt 10 ]; then
    echo "run.sh: $memory_available GiB of memory are free; the largest sizes need 10: they are left out" >&2
    scaling_options='--references 20M --repeat 3 --keys 1M,3M,10M'
    memory_options='--keys 10M'
    closed_options='--references 20M --keys 1M'
fi

{
    echo "# Measurements${quick:+ (quick: small sizes, for a look only)}"
    echo
    echo "Made by \`bench/run.sh${quick:+ quick}\`; bench/README.md says what each table means."
    echo
    echo "| | |"
    echo "|---|---|"
    echo "| date | $(date -u +%Y-%m-%d) |"
    echo "| processor | $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores |"
    echo "| caches | $(lscpu | sed -n 's/^\(L[123][di]*\) cache: *\(.*\)/\1 \2;/p' | tr '\n' ' ' | sed 's/; $//') |"
    echo "| memory | $(awk '/^MemTotal/ { printf "%.1f GiB", $2 / 1048576 }' /proc/meminfo) |"
    echo "| kernel | $(uname -sr) |"
    echo "| compiler | $(gcc --version | head -n 1) |"
    echo "| commit | $(git -C "$here" describe --always --dirty 2>/dev/null || echo unknown) |"
    echo "| load before | $(cut -d ' ' -f 1-3 /proc/loadavg) |"
} >"$results"
: >"$BENCH_LINES"

section() {
    echo "bench: $1" >&2
    printf '\n## %s\n\n' "$1" >>"$results"
}

# Words are split on purpose in the options below.
# shellcheck disable=SC2086
for part in $parts; do
    case $part in
    engines)
        section 'Engines, synthetic workloads'
        "$bin/bench_engines" $engines_options zipf:1M "$uniform" cyclic:1M >>"$results"
        ;;
    isas)
        section 'The exact engine, by instruction set'
        contenders=floor,exact
        grep -q '^flags.* avx512vl' /proc/cpuinfo && contenders=$contenders,exact/avx512
        grep -q '^flags.* avx2' /proc/cpuinfo && contenders=$contenders,exact/avx2
        contenders=$contenders,exact/portable
        "$bin/bench_engines" $engines_options --contenders "$contenders" zipf:1M "$uniform" cyclic:1M >>"$results"
        ;;
    real)
        section 'Engines, data references of real programs'
        "$here/make_traces.sh" -n "$trace_references" -b "$build" -w "$work_traces" >&2
        set --
        for name in cc1 gzip perl; do set -- "$@" "$work_traces/$name.fathom@64" "$work_traces/$name.fathom@8"; done
        "$bin/bench_engines" $engines_options --slow 5 "$@" >>"$results"
        ;;
    threads)
        section 'Several threads'
        "$here/make_traces.sh" -n "$trace_references" -b "$build" -w "$work_traces" >&2
        counts=1
        for count in 2 4 8 16; do [ "$count" -gt "$(nproc)" ] || counts=$counts,$count; done
        set -- zipf:1M "$uniform" cyclic:1M
        for name in cc1 gzip perl; do set -- "$@" "$work_traces/$name.fathom@64"; done
        "$bin/bench_threads" $engines_options --threads "$counts" "$@" >>"$results"
        echo >>"$results"
        "$bin/bench_threads" $engines_options --threads "$counts" --bound 2097152 "$uniform" >>"$results"
        ;;
    scaling)
        section 'Growth with the number of distinct keys'
        "$bin/bench_scaling" $scaling_options >>"$results"
        ;;
    flooding)
        section 'Hash flooding'
        "$bin/bench_flooding" $flooding_options >>"$results"
        ;;
    memory)
        section 'Memory'
        "$bin/bench_memory" $memory_options >>"$results"
        ;;
    closed-forms)
        section 'Closed forms'
        "$bin/bench_closed_forms" $closed_options >>"$results"
        ;;
    formats)
        section 'Trace formats'
        "$here/make_traces.sh" -n "$trace_references" -b "$build" -w "$work_traces" >&2
        "$bin/bench_formats" $formats_options --work "$work" "$work_traces/cc1.fathom" "$work_traces/gzip.fathom" \
            "$work_traces/perl.fathom" >>"$results"
        ;;
    collect)
        section 'Running programs'
        "$here/bench_collect.py" --build "$build" ${quick:+--quick --repeat 1} >>"$results"
        ;;
    burst)
        [ -x "$bin/bench_burst" ] || continue
        section 'Bursts'
        { echo '```' && "$bin/bench_burst" && echo '```'; } >>"$results"
        ;;
    parda)
        section "PARDA's scheme beside one tree"
        contenders='exact,tree,parda*1,parda*2'
        [ "$(nproc)" -lt 4 ] || contenders="$contenders,parda*4"
        [ "$(nproc)" -lt 16 ] || contenders="$contenders,parda*16"
        "$bin/bench_engines" $parda_options --contenders "$contenders" zipf:1M uniform:1M cyclic:100K >>"$results"
        ;;
    approx)
        section 'Speed against the number of data'
        "$bin/bench_approx" $approx_options >>"$results"
        "$here/speed_figure.py" "$BENCH_LINES" >"$work/speed.svg" # bench/speed.svg is the committed copy
        echo >>"$results"
        "$here/make_traces.sh" -n "$trace_references" -b "$build" -w "$work_traces" >&2
        set -- zipf:1M "$uniform"
        for name in cc1 gzip perl; do set -- "$@" "$work_traces/$name.fathom@64"; done
        "$bin/bench_engines" $engines_options --slow 5 \
            --contenders read,floor,exact,shards@0.01+alone,shards@0.01,shards@0.001,aet "$@" >>"$results"
        ;;
    predict)
        section 'Prediction for other inputs'
        "$here/bench_predict.py" --build "$build" ${quick:+--quick} >>"$results"
        ;;
    sample)
        section 'Samples: how far estimates are from the truth'
        # The pictures of docs/ are the committed copies.
        "$here/bench_sample_accuracy.py" --build "$build" --figures "$work/sample" \
            ${quick:+--seeds 2 --references 1000000 sqlite3 matmul listing2} >>"$results"
        ;;
    *)
        echo "run.sh: no part '$part'" >&2
        exit 2
        ;;
    esac
done
echo "bench: results in $results" >&2
cat "$results"
