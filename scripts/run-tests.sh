#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs every test and counts single cases. The last line is "N passed, N failed, N skipped"; the exit code is 0
# only when nothing failed. Output of what failed is shown, and why something was skipped.
#
#   scripts/run-tests.sh [--quick | --only GROUP]
#
# GROUP: unit oracle fuzz cli fault collect sample sweep static soak mpi browser install docs asan tsan. --quick (make check): those
# that find most for their time, of the ordinary build alone.
#
# Every test program speaks TAP on standard output ("ok 1 - name", "not ok 2 - name", "ok 3 - name # SKIP why", or
# "skip name why"):
# cmocka does when asked, the scripts under tests/ do by themselves. One that prints no such line counts as one
# case by its exit code (77: skipped, the last line it wrote is the reason).
set -uo pipefail
# Started in the background by a shell, this one would ignore SIGINT, and so would all that it starts: tests that send it
# would wait for ever.
if [ -z "${FATHOM_TEST_SIGNALS:-}" ] && env --default-signal=INT true 2>/dev/null; then
    FATHOM_TEST_SIGNALS=1 exec env --default-signal=INT,QUIT bash "$0" "$@"
fi
unset FATHOM_TEST_SIGNALS # no program under test sees it
cd "$(dirname "$0")/.." || exit
jobs=${JOBS:-$(nproc)}
# Some tests wait for programs more than they compute: one more than there are processors.
at_once=$((jobs + 1))
groups="unit oracle fuzz cli fault collect static sample sweep soak mpi browser install docs asan tsan"
quick=no
case "$# ${1:-}" in
"0 ") ;;
"1 --quick") quick=yes groups="unit oracle fuzz cli fault docs" ;;
"2 --only") groups=$2 ;;
*)
    echo "usage: $0 [--quick | --only GROUP]" >&2
    exit 2
    ;;
esac
scripts/moved-builds.sh
logs=build/test-logs
rm -rf "$logs"
mkdir -p "$logs"

wanted() { [[ " $groups " == *" $1 "* ]]; }

# ---- build what is needed ----

# What ninja says goes to a log; how far it is, to whoever waits, every few seconds.
show_progress() { # directory, log
    local line said=$SECONDS
    while IFS= read -r line; do
        printf '%s\n' "$line" >>"$2"
        if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] && [ $((SECONDS - said)) -ge 5 ]; then
            echo "building $1: ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}"
            said=$SECONDS
        fi
    done
}
build() { # directory, preset, commands at a time, targets…
    local directory=$1 preset=$2 parallel=$3 log
    shift 3
    log=$logs/build-$preset.log
    echo "building $directory: programs under test, and tests"
    if ! { cmake --preset "$preset" && cmake --build "$directory" --parallel "$parallel" --target "$@"; } 2>&1 |
        show_progress "$directory" "$log"; then
        tail -n 60 "$log"
        echo "the $preset build failed"
        return 1
    fi
    # Warnings of our own sources are shown, not hidden by a quiet log.
    grep -A 6 -E 'warning:' "$log" || true
    echo "built $directory, $((SECONDS - started)) s after the start"
}
not_built() {
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
}

# Tests that start threads: the only ones ThreadSanitizer has something to say about. Traces in parts open thousands of
# readers, whose threads are those of test_trace_stream; that of test_symbols is waited for at once.
threaded() {
    grep -lE 'read_ahead|pthread_create' tests/unit/test_*.c | grep -vE 'allocation_failure|trace_parts|test_symbols' | xargs basename -s .c
}
# Several threads, ranks, and engines with threads of their own.
threaded_oracles="test_oracle_parallel test_oracle_parallel_drawn test_oracle_team test_oracle_team_parda test_oracle_parda test_oracle_gpu test_oracle_hp_rda"

# Unit tests of the ordinary build. Where those under AddressSanitizer run too, only those that do less there (fewer
# places, shorter traces), that test vector code or code that is written at run time: the others do the same in both.
units() {
    if wanted asan; then
        grep -lE 'FATHOM_TEST_|few_rounds|stride|large_divisor|_isa|burst|release build runs this' tests/unit/test_*.c | grep -v test_symbols.c
    else
        echo tests/unit/test_*.c
    fi | xargs basename -s .c
}

started=$SECONDS
if [ "$groups" != asan ] && [ "$groups" != tsan ]; then
    targets="all test_tools"
    wanted oracle && targets+=" oracle_tests"
    wanted fuzz && targets+=" fuzz_targets"
    wanted unit && targets+=" $(units | tr '\n' ' ')"
    [ $quick = no ] && targets+=" benches"
    # shellcheck disable=SC2086 # a list of names
    build build release "$jobs" $targets || not_built
fi

# The builds with sanitizers are made one after the other while tests of the ordinary build run, with half of the
# processors: many of those tests wait for programs, compilers do not.
to_build=()
wanted asan && to_build+=(asan)
wanted tsan && to_build+=(tsan)
[ "$groups" = asan ] || [ "$groups" = tsan ] && build_jobs=$jobs || build_jobs=$(((jobs + 1) / 2))
build_sanitized() { # preset
    local targets="unit_tests oracle_tests fuzz_targets fathom"
    [ "$1" = tsan ] && targets="$(threaded | tr '\n' ' ') $threaded_oracles fathom"
    # shellcheck disable=SC2086 # a list of names
    build "build-$1" "$1" "$build_jobs" $targets && : >"$logs/built-$1"
}

# ---- the list of test programs: label, then the command ----

labels=()
commands=()
programs=() # what need not be there: a machine may lack what its source is built with
builds=()   # what it waits for
add() {     # label, command, program that need not be there
    labels+=("$1")
    commands+=("$2")
    programs+=("${3:-}")
    case $1 in asan/* | tsan/*) builds+=("${1%%/*}") ;; *) builds+=(release) ;; esac
}

add_programs() { # group, directory of sources, where the programs are, what to start them with
    local name
    for name in $(basename -s .c "$2"/test_*.c); do
        add "$1/$name" "${4:-} $3/$name" "$3/$name"
    done
}

# In this order they are started, those of a build that is not there yet after it. The longest first, so that they do
# not stand alone at the end.
# Transcripts run under AddressSanitizer where that is wanted; those whose time goes to the judge (what they run, others
# run on other input), constant texts (help), and those that try engines and readers in many ways, which oracles and fuzz
# targets do under the sanitizer, with the ordinary program. Without the sanitizer all run with that. Parts that are
# loaded or started (the Valgrind tool, front ends, events) are those of the ordinary build, for sanitized tests too.
parts=$PWD/build/lib/fathom
ordinary="approximate-real independent-reader progress naive-model help"
ordinary+=" threads memory-choice approximate parda hp-rda inputs old-spellings byte-order-mark contract-examples closed-forms"
ordinary+=" predict static-what-if numbers"
if wanted asan; then
    # shellcheck disable=SC2086 # a list of names
    add asan/cli "env FATHOM=build-asan/fathom FATHOM_PARTS=$parts FATHOM_TEST_STRIDE=19 tests/cli/run.sh $(printf ' --but %s' $ordinary)"
    wanted cli && add cli "tests/cli/run.sh $ordinary"
else
    wanted cli && add cli tests/cli/run.sh
fi
wanted mpi && add mpi tests/mpi/mpi_test.py
wanted browser && [ -x tests/browser/run-report-test.sh ] && add browser/report "tests/browser/run-report-test.sh build"
wanted fault && add fault "tests/cli/run.sh --directory tests/fault"
# Real programs under the collectors, each script a list of cases.
for script in tests/collect/*_test.py tests/collect/*_test.sh; do
    [ -x "$script" ] || continue
    name=$(basename "$script")
    wanted collect && add "collect/${name%_test.*}" "$script"
done
# fathom sample: programs with the sampler inside.
for script in tests/sample/*_test.py; do
    [ -x "$script" ] || continue
    name=$(basename "$script")
    wanted sample && add "sample/${name%_test.py}" "$script"
done
# Regions of source code (fathom static): front ends on kernels and hard cases.
for script in tests/static/*_test.py; do
    [ -x "$script" ] || continue
    name=$(basename "$script")
    wanted static && add "static/${name%_test.py}" "$script"
done
wanted static && add static/fparser tests/static/fparser_judge.py
# Every verb over real programs, each half of these by itself.
for half in 1 2; do wanted sweep && add "sweep/$half" "tests/sweep/sweep_test.py $half/2"; done
wanted soak && add soak tests/soak/soak_test.py
# Those of the programs that take a way of their own through the receiver or the analysis: built by fathom cc where
# what is sent is the same, since programs under Valgrind start slowly.
collect_with() { # build, words of cases
    local with="env FATHOM=$1/fathom FATHOM_BUILDER=build/fathom FATHOM_PARTS=$parts"
    shift
    echo "$with tests/collect/programs_test.py $*"
}
wanted asan && add asan/collect "$(collect_with build-asan plain_program with_following compiler:_exec_in \
    compiler:_crashing compiler:_call_paths compiler:_fork_without compiler:_vfork compiler:_thread_that_outlives \
    compiler:_sixty compiler:_signal compiler:_plug compiler:_regions compiler:_limits compiler:_data_objects \
    compiler:_analysed_by compiler:_recorded valgrind:_fortran)"
wanted tsan && add tsan/collect "$(collect_with build-tsan \
    valgrind:_plain compiler:_data_objects compiler:_sixty compiler:_analysed_by)"
wanted oracle && add_programs oracle tests/oracle build/tests/oracle "$([ $quick = yes ] && echo env FATHOM_TEST_TRACES=100)"
# A sanitizer makes tests some ten times slower: the same ones on fewer random traces, and with damage at fewer places.
wanted asan && add_programs asan/oracle tests/oracle build-asan/tests/oracle "env FATHOM_TEST_TRACES=60 FATHOM_TEST_REFERENCES=130000"
wanted asan && add_programs asan tests/unit build-asan/tests/unit "env FATHOM_TEST_STRIDE=19 FATHOM_TEST_PARTS=$parts"
if wanted tsan; then
    for name in $threaded_oracles; do
        add "tsan/$name" "env FATHOM_TEST_TRACES=6 build-tsan/tests/oracle/$name"
    done
    for name in $(threaded); do
        add "tsan/$name" "env FATHOM_TEST_STRIDE=61 build-tsan/tests/unit/$name"
    done
    add tsan/cli "tests/threads/run-read-ahead-test.sh build-tsan/fathom"
fi
wanted install && add install tests/install/run-install-test.sh
wanted install && add install/abi tests/install/abi-test.py
wanted install && add install/null-handles tests/install/null-handles.py
wanted docs && add docs tests/docs/run-docs-test.sh
wanted docs && add docs/commands tests/docs/commands_test.py
wanted docs && add docs/options tests/docs/options_test.py
wanted docs && add docs/headers tests/docs/header-examples.py
if wanted unit; then
    for name in $(units); do
        add "unit/$name" "build/tests/unit/$name" "build/tests/unit/$name"
    done
fi
# Every target of the sources, built or not: one that is missing fails. Formats that are not text have no
# committed corpus, only the seeds that the target makes itself.
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    corpus=tests/fuzz/corpus/${name#fuzz_}
    [ -d "$corpus" ] || corpus=
    wanted fuzz && add "fuzz/$name" "build/tests/fuzz/$name $corpus"
    # The kernel takes most of the time of fuzz_fathom: readers of native traces ask for much memory at once.
    [ "$name" = fuzz_fathom ] && fewer=20 || fewer=
    wanted asan && add "asan/$name" "env FATHOM_TEST_MUTATIONS=$fewer build-asan/tests/fuzz/$name $corpus"
done

# ---- run them, a few at a time ----

export CMOCKA_MESSAGE_OUTPUT=TAP
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0:allocator_may_return_null=1:handle_sigill=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1}
unset CDPATH COLUMNS NO_COLOR
export LC_ALL=C

log_of() { echo "$logs/${1//\//-}"; }
# A slow machine, or one with other work, is no reason for a test to fail: limits are of processor time, of which tests
# with threads use more where there are more processors.
processors=$(nproc)
limited="scripts/run-limited.py --cpu $((300 * (processors > 2 ? processors : 2)))"
command -v python3 >/dev/null || limited="timeout --kill-after=10 400"

run_one() { # label, command
    local log begin status
    log=$(log_of "$1")
    begin=$EPOCHREALTIME
    echo "$1" >"$log.runs"
    # The commands are ours and hold no quotes: splitting at blanks is meant.
    # shellcheck disable=SC2086
    $limited $2 >"$log.out" 2>"$log.err" </dev/null
    status=$?
    rm -f "$log.runs"
    echo $status >"$log.status"
    # The second line of times: what the children, all of this test, have used of the processors.
    times >"$log.seconds"
    awk -v a="$begin" -v b="$EPOCHREALTIME" '
        NR == 2 { split($0, t, /[ms ]+/); cpu = t[1] * 60 + t[2] + t[3] * 60 + t[4] }
        END { printf "%.1f s, processors %.1f s\n", b - a, cpu }' "$log.seconds" >"$log.took" && mv "$log.took" "$log.seconds"
    # A word as it goes, for those who wait; cases are counted in the end. 77: skipped.
    echo >>"$logs/ended"
    printf '[%d of %d] %s%s, %s\n' "$(wc -l <"$logs/ended")" ${#labels[@]} "$1" \
        "$([ $status -ne 0 ] && [ $status -ne 77 ] && echo ': exit code' $status)" "$(cat "$log.seconds")"
}

declare -A there
left=("${!labels[@]}")
# What a build has not built is no test of this machine.
is_there() { # build
    local i
    there[$1]=yes
    for i in "${left[@]}"; do
        [ "${builds[$i]}" = "$1" ] && [ -n "${programs[$i]}" ] && [ ! -x "${programs[$i]}" ] && unset "labels[$i]"
    done
}
next_test() { # its number in $next
    local at
    for at in "${!left[@]}"; do
        next=${left[$at]}
        [ -n "${there[${builds[$next]}]:-}" ] || continue
        unset "left[$at]"
        [ -n "${labels[$next]:-}" ] && return 0
    done
    return 1
}

is_there release
# Where nothing has ended for a while: what is at work.
while sleep 20 >/dev/null 2>&1; do
    [ -z "$(find "$logs/ended" -newermt '20 seconds ago' 2>/dev/null)" ] || continue
    at_work=$(cat "$logs"/*.runs 2>/dev/null | tr '\n' ' ')
    [ -z "$at_work" ] || echo "at work, $((SECONDS - started)) s after the start: $at_work"
done &
watcher=$!
trap 'kill $watcher 2>/dev/null' EXIT
wait_for_tests() {
    local running
    mapfile -t running < <(jobs -rp | grep -vx $watcher)
    [ ${#running[@]} -eq 0 ] || wait "${running[@]}"
    return 0
}
echo "running ${#labels[@]} groups of tests, $at_once at a time"
building=
while [ ${#left[@]} -gt 0 ]; do
    # shellcheck disable=SC2207 # numbers
    running=($(jobs -rp | grep -vx $watcher))
    if [ -n "$building" ] && [[ " ${running[*]} " != *" $builder "* ]]; then
        [ -e "$logs/built-$building" ] || { wait_for_tests && not_built; }
        is_there "$building"
        building=
    fi
    count=${#running[@]}
    if [ -z "$building" ] && [ ${#to_build[@]} -gt 0 ]; then
        building=${to_build[0]}
        to_build=("${to_build[@]:1}")
        build_sanitized "$building" &
        builder=$!
        count=$((count + 1))
    fi
    [ -n "$building" ] && count=$((count - 1 + build_jobs))
    if [ "$count" -lt "$at_once" ] && next_test; then
        run_one "${labels[$next]}" "${commands[$next]}" &
    elif [ ${#left[@]} -gt 0 ]; then
        wait -n
    fi
done
wait_for_tests

# ---- count ----

# Prints "passed failed skipped", then "SKIP name: why" lines. A plan (1..N) that was not fulfilled, or an exit
# code that no case explains, is one more failure.
count_cases() { # output, status
    awk -v status="$2" '
        /^1\.\.[0-9]+/ { planned += substr($1, 4) }
        /^(# )?SKIP: / { why = $0; sub(/^(# )?SKIP: /, "", why) }
        /^(not )?ok .*# SKIP/ {
            skipped++
            text = $0
            sub(/.*# SKIP */, "", text)
            name = $0
            if (sub(/ *# SKIP.*/, "", name) && sub(/^(not )?ok [0-9]+ *-? */, "", name) && name != "") text = name ": " text
            reasons = reasons "SKIP " text (why != "" ? ": " why : "") "\n"
            why = ""
            next
        }
        /^skip / { skipped++; reasons = reasons "SKIP " substr($0, 6) "\n"; next }
        /^not ok / { failed++; next }
        /^ok / { passed++ }
        { if ($0 != "") last = $0 }
        END {
            seen = passed + failed + skipped
            if (seen == 0 && status == 77) { skipped = 1; reasons = "SKIP " last "\n" }
            else if (seen == 0 && planned == 0) { if (status == 0) passed = 1; else failed = 1 }
            else if (seen < planned || (status != 0 && failed == 0 && !(status == 77 && skipped))) failed++
            printf "%d %d %d\n%s", passed, failed, skipped, reasons
        }' "$1"
}

passed=0 failed=0 skipped=0
for label in $(printf '%s\n' "${labels[@]}" | sort); do
    log=$(log_of "$label")
    status=$(cat "$log.status" 2>/dev/null || echo 125)
    { read -r p f s; mapfile -t reasons; } < <(count_cases "$log.out" "$status")
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    word=ok
    [ "$f" -gt 0 ] && word=FAILED
    printf '%-6s %-40s %4d passed %s%s(%s)\n' "$word" "$label" "$p" "$([ "$f" -gt 0 ] && echo "$f failed ")" \
        "$([ "$s" -gt 0 ] && echo "$s skipped ")" "$(cat "$log.seconds" 2>/dev/null)"
    for reason in ${reasons[@]+"${reasons[@]}"}; do echo "         skipped: ${reason#SKIP }"; done
    if [ "$f" -gt 0 ]; then
        [ "$status" -eq 124 ] && echo "         timed out"
        echo "------ $label: exit code $status; standard output:"
        grep -vE '^ok ' "$log.out" | tail -n 150
        echo "------ $label: standard error:"
        grep -vE '^\[( RUN|       OK)' "$log.err" | tail -n 80
        echo "------"
    fi
done
echo "tests took $((SECONDS - started)) s with the builds, $at_once at a time"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
