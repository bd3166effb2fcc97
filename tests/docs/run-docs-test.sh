#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is written about the program is true: options, links, and the worked example of docs/ARCHITECTURE.md, which
# is compiled into the program and used. Speaks TAP.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case_log=$work/log
# shellcheck source=tests/tap_cases.bash
. tests/tap_cases.bash

# ---- options ----

verbs=$(build/fathom --help=all | sed -n '/^Verbs:/,/^$/s/^  \([a-z+]*\) .*/\1/p' | grep -v help)
page_of() { echo "fathom-${1//+/x}"; } # of c++: names of manual pages have no +
page_names_verbs() {
    for verb in $verbs; do grep -q "$(page_of "$verb")(1)" man/fathom.1.scd || { echo "no $verb in man/fathom.1.scd"; return 1; }; done
}
case_ "fathom(1) names every verb" page_names_verbs
# Choices that the completion offers are those that the library has.
completion_choices() { # option, expected words
    local offered
    offered=$(bash -c 'source build/completions/fathom.bash; COMP_WORDS=(fathom analyze "$0" ""); COMP_CWORD=3; _fathom; printf "%s\n" "${COMPREPLY[@]}"' "$1")
    diff <(tr ' ' '\n' <<<"$2" | sort) <(sort <<<"$offered")
}
formats=$(build/fathom analyze --format '?' x 2>&1 | sed -n 's/.*expected one of //p' | tr -d ',')
case_ "completion of --format" completion_choices --format "$formats"
case_ "completion of --engine" completion_choices --engine "auto $(sed -n 's/^ *&fm_engine_\([a-z0-9_]*\),*.*/\1/p' src/analyzer/engine_table.c | tr '_\n' '- ' | sed 's/ $//')"
# Options of single engines: the library's tables, printed by a program that uses the public header.
engine_options_agree() {
    cat >"$work/tables.c" <<'END'
#include <fathom/fathom.h>
#include <inttypes.h>
#include <stdio.h>
int main(void)
{
    static const char *const types[] = {[FM_OPTION_COUNT] = "count", [FM_OPTION_SHARE] = "share",
                                        [FM_OPTION_OPEN_SHARE] = "open-share", [FM_OPTION_FLAG] = "flag"};
    const fm_engine_info *engine;
    const fm_engine_option *option;
    for (size_t e = 0; (engine = fm_engine_at(e)); e++) {
        printf("%s\n", engine->name);
        for (size_t i = 0; (option = fm_engine_option_at(engine->name, i)); i++)
            printf("%s %s %" PRIu64 " %" PRIu64 " %s %s\n", engine->name, option->name, option->least, option->most,
                   types[option->type], option->usual ? option->usual : "-");
    }
}
END
    # shellcheck disable=SC2046
    cc -std=gnu11 -I include "$work/tables.c" build/libfathom.a \
        $(pkg-config --libs libzstd zlib libxxhash hwloc libdw libelf isl gmp) -lm -pthread -o "$work/tables" &&
        "$work/tables" >"$work/tables.txt" && build/fathom help engines >"$work/engines.txt" &&
        python3 tests/docs/compare-engines.py "$work/tables.txt" "$work/engines.txt" man/fathom-engines.1.scd \
            build/completions/fathom.bash
}
case_ "options of engines: tables, help engines, manual page, completion" engine_options_agree
case_ "completion of --bins" completion_choices --bins "exact log2 loglinear"

# ---- manual pages ----

if command -v scdoc >/dev/null; then
    for page in build/man/*.scd; do
        case_ "$(basename "$page") is sound scdoc" bash -c "scdoc < '$page' > /dev/null"
    done
else
    number=$((number + 1))
    echo "ok $number - manual pages # SKIP there is no scdoc to check them"
fi

# ---- links ----

# Every page of the tree, but for what was fetched or built.
mapfile -t pages < <(find . -name '*.md' -not -path './build*' -not -path './bench/work/*' |
    sed 's,^\./,,' | LC_ALL=C sort)
links_lead_somewhere() {
    local file link bad=0
    for file in "${pages[@]}"; do
        while read -r link; do
            [ -e "$(dirname "$file")/$link" ] || { echo "$file: $link"; bad=1; }
        done < <(grep -oE '\]\([^)]+\)' "$file" | sed 's/^](//; s/)$//; s/#.*//' | grep -vE '^(https?:|$)')
    done
    return $bad
}
case_ "links between documents lead somewhere" links_lead_somewhere

# ---- columns ----

# A row of a table cannot be wrapped.
short_lines() { ! LC_ALL=C.UTF-8 grep -nE '^[^|].{120}' "$@"; }
case_ "lines of the ${#pages[@]} pages have at most 120 columns" short_lines "${pages[@]}"

# ---- the glossary ----

# Constants that it names have the values that it gives: asserted by the compiler, with the headers that define them.
glossary_sizes() {
    local name size header
    # shellcheck disable=SC2016
    sed -n '/^## Words for/,/^## Conventions/s/^|.*| *\(≤ \)*\([0-9 ]*[0-9]\) | `\(FM_[A-Z_]*\)` |$/\3 \2/p' \
        docs/ARCHITECTURE.md >"$work/sizes"
    [ "$(wc -l <"$work/sizes")" -ge 8 ] || { echo "expected at least 8 constants:"; cat "$work/sizes"; return 1; }
    while read -r name size; do
        header=$(grep -rlE "^[^*]*\<($name = |define $name )" --include='*.h' src include | head -n 1)
        [ "$header" ] || { echo "no header defines $name"; return 1; }
        printf '#include "%s"\n_Static_assert(%s == %s, "%s");\n' "$PWD/$header" "$name" "${size// /}" "$name"
    done <"$work/sizes" >"$work/sizes.c"
    cc -std=gnu11 -fsyntax-only -I src -I include -I . "$work/sizes.c"
}
case_ "the glossary of docs/ARCHITECTURE.md gives the sizes that the code has" glossary_sizes

# ---- names ----

case_ "names are there once, and of two words" python3 tests/docs/unique-names.py
twice_is_found() {
    mkdir "$work/names" && cp -r src include collect modules "$work/names/" || return 1
    cp src/view/text.c "$work/names/collect/" && echo 'typedef struct fm_run {' >>"$work/names/src/trace/lines/lines.h"
    printf 'static int\nfit(int a)\n{\n    return a; /* static int skip(void) { */\n}\n' >>"$work/names/src/view/text.c"
    python3 tests/docs/unique-names.py "$work/names" >"$work/names.said" && { echo "nothing was found"; return 1; }
    diff "$work/names.said" - <<'END'
text.c: collect/text.c, src/view/text.c
fm_run is defined in include/fathom/profile.h, src/trace/lines/lines.h
src/view/text.c: fit(): a static function has a name of two words or more
END
}
case_ "a name that is there twice is found" twice_is_found

# ---- rooms ----

case_ "rooms include what docs/ARCHITECTURE.md allows them" python3 tests/docs/rooms.py
# What the test is worth: in a copy, includes against the direction of data are found, with file and line.
finds_what_is_wrong() { # what it must say, command in the copy…
    rm -rf "$work/rooms" && mkdir -p "$work/rooms/docs" || return 1
    cp docs/ARCHITECTURE.md "$work/rooms/docs/"
    cp -r src include collect modules "$work/rooms/" || return 1
    (cd "$work/rooms" && eval "$2") || return 1
    python3 tests/docs/rooms.py "$work/rooms" >"$work/rooms.said" && { echo "nothing was found"; return 1; }
    grep -qF "$1" "$work/rooms.said" || { cat "$work/rooms.said"; return 1; }
}
case_ "rooms: a private header of a room above is found" finds_what_is_wrong \
    'src/trace/lines/lines.c:1: includes engine/engine.h of src/engine; src/trace may include src/base, src/profile' \
    "sed -i '1i #include \"engine/engine.h\"' src/trace/lines/lines.c"
case_ "rooms: a public header of a room above is found" finds_what_is_wrong \
    'include/fathom/collect.h:2: includes fathom/analyzer.h of src/analyzer; src/collect may include' \
    "sed -i '2i #  include <fathom/analyzer.h>' include/fathom/collect.h"
case_ "rooms: a folder of another engine is found" finds_what_is_wrong \
    'src/engine/exact/exact.c:1: includes ../sampled/sampled.h of src/engine/sampled; src/engine/exact may' \
    "sed -i '1i #include \"../sampled/sampled.h\"' src/engine/exact/exact.c"
case_ "rooms: a circle in the table is found" finds_what_is_wrong \
    'rooms may include each other in a circle: src/profile -> src/model -> src/profile' \
    "sed -i '/^. .src.profile. . .profile.h/s/.base. /&\`model\` /' docs/ARCHITECTURE.md"
case_ "rooms: a folder without a line is found" finds_what_is_wrong \
    'src/attic/old.c: belongs to no room' "mkdir src/attic && echo >src/attic/old.c"
case_ "rooms: a public header that no room names is found" finds_what_is_wrong \
    'include/fathom/attic.h: belongs to no room' "echo >include/fathom/attic.h"

# ---- how tests are run ----

stopped() { # what it must say, options and command…
    local said=$1
    shift
    scripts/run-limited.py "$@" 2>"$work/limited"
    if [ $? -ne 124 ] || ! grep -qF "$said" "$work/limited"; then
        cat "$work/limited"
        return 1
    fi
}
# shellcheck disable=SC2016
case_ "a test that computes for ever is stopped, its children counted" stopped 'more than 1 s of processor time' --cpu 1 \
    sh -c 'while :; do sh -c "i=0; while [ \$i -lt 100000 ]; do i=\$((i + 1)); done"; done'
case_ "a test that hangs is stopped" stopped 'next to no processor time for 2 s' --idle 2 sh -c 'sleep 60 & wait'
nothing_left() { ! pgrep -f "sleep 61.$$" && stopped 'next to no' --idle 1 sh -c "sleep 61.$$ & wait" && ! pgrep -f "sleep 61.$$"; }
case_ "nothing of it is left" nothing_left
# Standing still is no processor time: a loaded machine stops a test like this, here by a signal.
# shellcheck disable=SC2016
case_ "a test that is slow is not" scripts/run-limited.py --cpu 1 --idle 4 \
    sh -c '(sleep 0.2; kill -STOP $$; sleep 2; kill -CONT $$) & sleep 1; wait'
code_of() { scripts/run-limited.py sh -c "$2"; [ $? -eq "$1" ]; }
case_ "its exit code is the test's" code_of 77 'exit 77'
# shellcheck disable=SC2016
case_ "its exit code tells of a signal" code_of 139 'kill -SEGV $$'
# Not the real cmake: one that takes long, and says how far it is as ninja does.
tells_how_far() {
    mkdir -p "$work/tree/bin" && cp -r scripts "$work/tree/" || return 1
    # shellcheck disable=SC2016
    printf '%s\n' '#!/bin/sh' 'case $1 in --build)' 'echo "[1/40] first"; sleep 5.2; echo "[7/40] later" ;; esac' >"$work/tree/bin/cmake"
    chmod +x "$work/tree/bin/cmake"
    PATH=$work/tree/bin:$PATH "$work/tree/scripts/run-tests.sh" --only none >"$work/told"
    diff <(head -n 2 "$work/told") - <<'END'
building build: programs under test, and tests
building build: 7 of 40
END
}
case_ "whoever waits for a build is told how far it is" tells_how_far

# ---- the worked example: a new trace format in one file and one line ----

worked_example() {
    mkdir "$work/trace"
    cp src/trace/*.h src/trace/format_table.c "$work/trace/"
    # The first block of C in the section is the file, the second the table's line.
    block() { awk -v want="$1" '/^## Adding a trace format/ { on = 1 } on && /^```c/ { n++; inside = 1; next }
        /^```/ { inside = 0 } inside && n == want' docs/ARCHITECTURE.md; }
    block 1 >"$work/trace/import_u32.c"
    sed -i "0,/&fm_format_u64,/s//$(block 2 | sed 's/&/\\&/') \&fm_format_u64,/" "$work/trace/format_table.c"
    sed -i 's/^extern const fm_format fm_format_u64;/&\nextern const fm_format fm_format_u32;/' "$work/trace/format.h"
    # The new file and the changed table, in front of the library's own: the linker takes the first it finds.
    # Objects of sources that there are: a build may have older ones.
    local objects=build/CMakeFiles/fathom.dir
    # shellcheck disable=SC2046
    cc -std=gnu11 -Wall -Wextra -Wconversion -Werror -I "$work" -I src -I include "$work"/trace/*.c \
        $(find src/cli -name '*.c' | sed "s,.*,$objects/&.o,") build/libfathom.a \
        $(pkg-config --libs libzstd zlib libxxhash hwloc libdw libelf isl gmp) -lm -pthread -o "$work/fathom" || return 1
    # 5 7 5 7 5 as 32-bit numbers: two first touches, then 1 1 1.
    printf '\5\0\0\0\7\0\0\0\5\0\0\0\7\0\0\0\5\0\0\0' >"$work/keys.u32"
    "$work/fathom" analyze "$work/keys.u32" --distances "$work/keys.distances" --quiet >/dev/null || return 1
    { printf '\377%.0s' {1..16}; printf '\1\0\0\0\0\0\0\0%.0s' 1 2 3; } >"$work/wanted.distances"
    cmp "$work/keys.distances" "$work/wanted.distances"
}
case_ "a trace format in one file and one line, as docs/ARCHITECTURE.md says" worked_example
echo "1..$number"
[ $failed -eq 0 ]
