#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run-read-ahead-test.sh PROGRAM: traces of two megabytes through the program, so that its reading threads and the
# engine's really work at the same time. Meant for a build with ThreadSanitizer, whose findings are an exit code
# other than 0 and words on standard error; the answers are checked as well, by closed forms. Prints TAP.
set -uo pipefail
program=$(realpath "$1") || exit
folder=$(mktemp -d) || exit
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit
cases=0
bad=0

# A cyclic walk over K keys, N references: K first touches, all others at distance K - 1.
check() { # name, keys, references, arguments of analyze…
    local name=$1 keys=$2 references=$3 problem=
    shift 3
    cases=$((cases + 1))
    rm -f p.json
    "$program" analyze "$@" --threads 2 --json p.json --force --quiet >out 2>err || problem="exit code $?"
    [ -s err ] && problem="$problem; wrote: $(head -n 40 err)"
    if [ -z "$problem" ]; then
        problem=$(python3 -c '
import json, sys
keys, references = map(int, sys.argv[1:])
d = json.load(open("p.json"))
want = {"references": references, "cold": keys, "histogram": [[keys - 1, keys - 1, references - keys]]}
print("; ".join(f"{k} is {d[k]}, expected {v}" for k, v in want.items() if d[k] != v))' "$keys" "$references" 2>&1)
    fi
    if [ -z "$problem" ]; then
        echo "ok $cases - $name"
    else
        bad=$((bad + 1))
        echo "not ok $cases - $name"
        printf '%s\n' "$problem" | sed 's/^/# /'
    fi
}

"$program" gen cyclic --keys 900 --references 300000 -o t.u64 --quiet || exit
"$program" convert t.u64 -o t.fathom --quiet || exit
zstd -q t.u64 -o t.u64.zst || exit
check "keys of eight bytes" 900 300000 t.u64 --granularity 1
check "the portable loops" 900 300000 t.u64 --granularity 1 --isa portable
check "a native trace" 900 300000 t.fathom --granularity 1
check "a compressed trace" 900 300000 t.u64.zst --granularity 1
check "four threads" 900 300000 t.u64 --granularity 1 --threads 4
check "a native trace by four threads" 900 300000 t.fathom --granularity 1 --threads 4
check "a pipe" 900 300000 - --format u64 --granularity 1 < <(cat t.u64)
echo "1..$cases"
[ "$bad" -eq 0 ]
