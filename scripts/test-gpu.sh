#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What needs a graphics card: the oracle tests with the card instead of its stand-in, the program's engines against each
# other, and compute-sanitizer over all kernels. The last line is "N passed, N failed, N skipped".
#
#     scripts/test-gpu.sh [--build DIRECTORY] [--traces N]       (default build, 1200)
#
# `make test-gpu` keeps what it prints in bench/results/.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
build=build traces=1200
while [ $# -ge 2 ]; do
    case $1 in
    --build) build=$2 ;;
    --traces) traces=$2 ;;
    *) break ;;
    esac
    shift 2
done
[ $# -eq 0 ] || { echo "usage: $0 [--build DIRECTORY] [--traces N]" >&2; exit 2; }
# Test programs know where they were built, which may be on another machine.
export FATHOM_PARTS=$PWD/$build/lib/fathom
[ "${build#/}" = "$build" ] || FATHOM_PARTS=$build/lib/fathom
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

result() { # 0 or not, name
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok - $2"
    else
        failed=$((failed + 1))
        echo "not ok - $2"
    fi
}

echo "device: $(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null || echo none)"
if ! "$build/fathom" gen uniform --keys 10 --references 100 --seed 1 -o "$work/tiny.u64" ||
    ! "$build/fathom" analyze --engine gpu "$work/tiny.u64" >/dev/null; then
    echo "no usable graphics card: nothing was tested"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
fi

# ---- oracles ----
for name in test_oracle_gpu test_oracle_hp_rda; do
    begin=$SECONDS
    FATHOM_TEST_GPU=1 FATHOM_TEST_TRACES=$traces "$build/tests/oracle/$name" >"$work/log" 2>&1
    status=$?
    [ $status -eq 0 ] || cat "$work/log"
    result $status "$name: $traces traces on the card ($((SECONDS - begin)) s)"
done

# ---- the program ----
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
for shape in zipf uniform cyclic sawtooth; do
    "$build/fathom" gen $shape --keys 300000 --references 20000000 --seed 7 -o "$work/trace.fathom" --force
    for options in "--granularity 1" "--granularity 64 --bins exact" "--granularity 8 --time" "--bound 5000 --granularity 1"; do
        # Words are split on purpose.
        # shellcheck disable=SC2086
        "$build/fathom" analyze -q --engine gpu $options --json "$work/gpu.json" --force "$work/trace.fathom" >/dev/null &&
            "$build/fathom" analyze -q --engine exact $options --json "$work/exact.json" --force "$work/trace.fathom" >/dev/null &&
            same "$work/gpu.json" "$work/exact.json"
        result $? "gpu is exact: $shape $options"
    done
done
# Keys of one bit to more than 28: buckets after one pass, after two, and a sort; and few keys in long batches.
for shape in "zipf 2" "zipf 300" "zipf 5000" "uniform 3000" "zipf 2000000" "uniform 20000000" "zipf 100000000" "zipf 500000000"; do
    # shellcheck disable=SC2086
    set -- $shape
    "$build/fathom" gen "$1" --keys "$2" --references 90000000 --seed 3 -o "$work/keys.fathom" --force
    "$build/fathom" analyze -q --engine gpu --granularity 1 --json "$work/gpu.json" --force "$work/keys.fathom" >/dev/null &&
        "$build/fathom" analyze -q --engine exact --granularity 1 --json "$work/exact.json" --force "$work/keys.fathom" >/dev/null &&
        same "$work/gpu.json" "$work/exact.json"
    result $? "gpu is exact: $shape keys"
    rm "$work/keys.fathom"
done
"$build/fathom" analyze -q --engine gpu --granularity 1 --distances "$work/gpu.d" "$work/trace.fathom" >/dev/null &&
    "$build/fathom" analyze -q --engine exact --granularity 1 --distances "$work/exact.d" "$work/trace.fathom" >/dev/null &&
    cmp "$work/gpu.d" "$work/exact.d"
result $? "gpu is exact: every single distance"
for options in "" "--disable-adjusting" "--thread-trace-size 256 --trace-size 1M"; do
    # shellcheck disable=SC2086
    "$build/fathom" analyze -q --engine hp-rda-gpu $options --json "$work/gpu.json" --force "$work/trace.fathom" >/dev/null &&
        "$build/fathom" analyze -q --engine hp-rda $options --json "$work/cpu.json" --force "$work/trace.fathom" >/dev/null &&
        same "$work/gpu.json" "$work/cpu.json"
    result $? "hp-rda-gpu is hp-rda: $options"
done

# ---- compute-sanitizer ----
if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck; do
        for name in test_oracle_gpu test_oracle_hp_rda; do
            begin=$SECONDS
            FATHOM_TEST_GPU=1 FATHOM_TEST_TRACES=12 FATHOM_TEST_BATCH=2000 timeout 150 compute-sanitizer --tool $tool --error-exitcode 9 \
                "$build/tests/oracle/$name" >"$work/log" 2>&1
            status=$?
            [ $status -eq 0 ] || tail -n 40 "$work/log"
            grep -E '========= (ERROR|RACECHECK) SUMMARY' "$work/log"
            result $status "compute-sanitizer $tool: $name ($((SECONDS - begin)) s)"
        done
    done
else
    skipped=$((skipped + 1))
    echo "skip compute-sanitizer: it is not installed"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
