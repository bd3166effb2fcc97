#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fails when the working tree misses caches more than another commit does.
#
#   locality-gate.sh [--base COMMIT] [--build COMMAND] [--size LIST] [--fail-if CONDITION]... [--status N] \
#                    -- PROGRAM [ARGUMENTS...]
#
# Builds both (default: make), runs PROGRAM in both under `fathom run --reproducible`, and compares the profiles with
# `fathom diff`. PROGRAM is a path from the top of the repository. Leaves in locality/: before.json, after.json,
# comment.md for a comment on the change, page.html with the two sources side by side, and before.txt, after.txt.
#
# Exit status: that of fathom diff: 0, or 4 when a condition holds or the two cannot be compared; 1 when something
# could not be built or run, or PROGRAM did not end with --status (default: 0): one that fails early misses little.
# FATHOM is the program (default: fathom on the PATH). Sizes are given, not those of the machine that happens to run
# this, so that numbers of different machines can be compared.
set -eu

base=HEAD
build='make'
sizes=32K,1M,32M
FATHOM=${FATHOM:-fathom}
out=$PWD/locality
conditions=
status=0
while [ $# -gt 0 ]; do
    case $1 in
    --base) base=$2 && shift 2 ;;
    --build) build=$2 && shift 2 ;;
    --status) status=$2 && shift 2 ;;
    --size) sizes=$2 && shift 2 ;;
    --fail-if)
        conditions="${conditions:+$conditions,}$2"
        shift 2
        ;;
    --) shift && break ;;
    *) echo "locality-gate.sh: what is '$1'? The program comes behind --" >&2 && exit 2 ;;
    esac
done
[ $# -gt 0 ] || { echo "locality-gate.sh: which program? Give it behind --" >&2 && exit 2; }
[ -n "$conditions" ] || conditions='misses@32K > +5%'

work=$(mktemp -d)
trap 'git worktree remove --force "$work/before" >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
mkdir -p "$out"
git worktree add --quiet --detach "$work/before" "$base"

# Whatever the program prints goes into a file of its own: the profile's text is not wanted here.
profile() { # folder, name, command...
    folder=$1 name=$2
    shift 2
    (cd "$folder" && sh -c "$build" >"$out/$name.txt" 2>&1) || { tail "$out/$name.txt" >&2 && echo "locality-gate.sh: $name: '$build' failed" >&2 && exit 1; }
    ended=0
    rm -f "$out/$name.json"
    (cd "$folder" && "$FATHOM" run --quiet --reproducible --pass-status --embed-source --size "$sizes" \
        --json "$out/$name.json" --output "$out/$name.txt" -- "$@" >/dev/null) || ended=$?
    [ -e "$out/$name.json" ] || { echo "locality-gate.sh: $name: no profile (exit status $ended)" >&2 && exit 1; }
    [ "$ended" -eq "$status" ] || { echo "locality-gate.sh: $name: $1 ended with status $ended, not $status" >&2 && exit 1; }
}
profile "$work/before" before "$@"
profile "$PWD" after "$@"

"$FATHOM" diff --fail-if "$conditions" --markdown "$out/comment.md" --report "$out/page.html" "$out/before.json" \
    "$out/after.json"
