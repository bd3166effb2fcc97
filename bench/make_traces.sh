#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Records the data references of three real programs with Valgrind's lackey, into bench/work/*.fathom:
# the C compiler proper (cc1) on a file made here, gzip, and perl. Each is done once and kept.
#
#     bench/make_traces.sh [-n REFERENCES] [-b BUILD_DIRECTORY] [-w WORK_DIRECTORY]
set -eu

here=$(CDPATH='' cd "$(dirname "$0")" && pwd)
build=$here/../build
work=$here/work
references=26000000
while getopts n:b:w: option; do
    case $option in
    n) references=$OPTARG ;;
    b) build=$OPTARG ;;
    w) work=$OPTARG ;;
    *) exit 2 ;;
    esac
done
fathom=$build/fathom
[ -x "$fathom" ] || { echo "make_traces.sh: no $fathom: build first (make)" >&2; exit 1; }
command -v valgrind >/dev/null || { echo "make_traces.sh: valgrind is not installed: apt-get install valgrind" >&2; exit 1; }
mkdir -p "$work"

# Inputs with some life in them, the same on every machine.
make_inputs() {
    awk 'BEGIN {
        print "#include <stddef.h>"
        for (f = 0; f < 400; f++) {
            printf "struct shape%d { int kind; double x[%d]; struct shape%d *next; };\n", f, 2 + f % 7, f
            printf "double area%d(const struct shape%d *s, size_t n)\n{\n    double sum = 0;\n", f, f
            printf "    for (size_t i = 0; i < n && s; i++, s = s->next) {\n"
            printf "        switch (s->kind %% %d) {\n", 3 + f % 5
            for (c = 0; c < 3 + f % 5; c++)
                printf "        case %d: sum += s->x[%d] * %d.5 - (double)i / %d; break;\n", c, c % (2 + f % 7), c + f, c + 1
            printf "        }\n    }\n    return sum;\n}\n"
        }
    }' >"$work/input.c"
    awk 'BEGIN { s = 1; for (i = 0; i < 120000; i++) { s = (s * 48271) % 2147483647;
        printf "%d request=%d user%d %s/page%d.html status=%d bytes=%d\n", 1700000000 + i, i, s % 900,
               (s % 3 ? "/static" : "/dynamic"), s % 5000, (s % 50 ? 200 : 404), s % 100000 } }' >"$work/input.log"
}

# Valgrind writes into a FIFO; the reader takes what it wants, and then the program is ended.
record() {
    name=$1
    shift
    if [ -s "$work/$name.fathom" ]; then
        echo "$name: kept from earlier"
        return
    fi
    echo "$name: recording up to $references data references"
    rm -f "$work/$name.fifo"
    mkfifo "$work/$name.fifo"
    valgrind --tool=lackey --trace-mem=yes --log-file="$work/$name.fifo" "$@" >/dev/null 2>&1 &
    traced=$!
    # grep ends by SIGPIPE once head has had enough; only the last command's status counts here.
    grep -E '^ [LSM] ' <"$work/$name.fifo" | head -n "$references" |
        "$fathom" convert --quiet --format lackey - -o "$work/$name.fathom"
    kill "$traced" 2>/dev/null || true
    wait "$traced" 2>/dev/null || true
    rm -f "$work/$name.fifo"
}

if [ ! -s "$work/input.c" ] || [ ! -s "$work/input.log" ]; then make_inputs; fi
cc1=$(gcc -print-prog-name=cc1)
record cc1 "$cc1" -quiet -O2 "$work/input.c" -o /dev/null
record gzip gzip -6 -c "$work/input.log"
# The script is perl's to expand.
# shellcheck disable=SC2016
record perl perl -ne '/user(\d+) (\S+) status=(\d+) bytes=(\d+)/ and $bytes{$1} += $4, $pages{"$2 $3"}++;
    END { print "$_ $pages{$_}\n" for sort { $pages{$b} <=> $pages{$a} || $a cmp $b } keys %pages;
          print "$_ $bytes{$_}\n" for sort keys %bytes }' "$work/input.log"
