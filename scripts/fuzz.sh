#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A short libFuzzer run of every fuzz target, from the committed corpus. New inputs go to build-fuzz/corpus/.
# A crash is left in build-fuzz/ and its name printed: copy it to the target's corpus with the fix.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-20}
cmake --preset fuzz >/dev/null
cmake --build build-fuzz --parallel "${JOBS:-$(nproc)}" --target fuzz_targets
for target in build-fuzz/tests/fuzz/fuzz_*; do
    [ -x "$target" ] || continue
    name=$(basename "$target")
    committed=tests/fuzz/corpus/${name#fuzz_}
    grown=build-fuzz/corpus/$name
    log=build-fuzz/$name.log
    mkdir -p "$grown"
    seeds=()
    [ -d "$committed" ] && seeds=("$committed")
    echo "fuzz: $name for $seconds s"
    status=0
    "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
        -artifact_prefix="build-fuzz/$name-found-" -print_final_stats=1 \
        "$grown" ${seeds[@]+"${seeds[@]}"} >"$log" 2>&1 || status=$?
    grep -E 'number_of_executed_units|peak_rss' "$log" || true
    if [ $status -ne 0 ]; then
        grep -E -A 20 'ERROR|runtime error|SUMMARY|Test unit written' "$log" >&2 || tail -n 30 "$log" >&2
        echo "fuzz: $name found something; see $log" >&2
        exit 1
    fi
done
echo "fuzz: nothing found"
