#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs transcript tests: every NAME.sh of a directory against its NAME.expected. Speaks TAP.
#
#   tests/cli/run.sh [--directory DIR] [--update] [--but NAME]… [NAME…]
#
# FATHOM is the program under test (default build/fathom). --update writes the expected files anew: read the
# difference before believing it. Numbers in them must come from a closed form, never from the program.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
export TESTS=$PWD/tests
directory=tests/cli
update=no
names=()
but=" run "
while [ $# -gt 0 ]; do
    case $1 in
    --directory)
        directory=$2
        shift
        ;;
    --update) update=yes ;;
    --but)
        but+="$2 "
        shift
        ;;
    *) names+=("$1") ;;
    esac
    shift
done
program=$(realpath "${FATHOM:-build/fathom}")
[ -x "$program" ] || {
    echo "Bail out! no program at $program"
    exit 1
}
if [ ${#names[@]} -eq 0 ]; then
    for script in "$directory"/*.sh; do
        name=$(basename "$script" .sh)
        [[ $but == *" $name "* ]] || names+=("$name")
    done
fi

work=$(mktemp -d)
# Tests that give up root's rights must still be able to come here.
chmod 755 "$work"
trap 'chmod -R u+rwX "$work"; rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$program" "$work/bin/fathom"
# python3 may be a slow wrapper that looks for the real one each time; and tests need nothing but what comes with Python:
# without the search for other packages (-S) it starts four times as fast.
printf '#!/bin/sh\nexec "%s" -S "$@"\n' "$(python3 -c 'import sys; print(sys.executable)')" >"$work/bin/python3"
chmod 755 "$work/bin/python3"
export PATH=$work/bin:$PATH LC_ALL=C TZ=UTC HOME=$work
unset COLUMNS NO_COLOR TERM

echo "1..${#names[@]}"
number=0
failed=0
for name in "${names[@]}"; do
    number=$((number + 1))
    place=$work/run/$name
    mkdir -p "$place"
    expected=$PWD/$directory/$name.expected
    # Temporary names in messages become DIR; nothing else is touched.
    (cd "$place" && bash -c 'source "$TESTS/cli/transcript.bash"; source "$0"' "$OLDPWD/$directory/$name.sh" </dev/null 2>&1) |
        sed "s|$place|DIR|g" >"$work/$name.actual"
    if [ -f "$place/.skip" ]; then
        echo "ok $number - $name # $(cat "$place/.skip")"
        continue
    fi
    [ "$update" = yes ] && cp "$work/$name.actual" "$expected"
    if diff -u --label "$name.expected" --label "what happened" "$expected" "$work/$name.actual" >"$work/$name.diff" 2>&1; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        sed 's/^/# /' "$work/$name.diff"
        failed=$((failed + 1))
    fi
done
[ $failed -eq 0 ]
