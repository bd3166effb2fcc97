#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The main job, shown on real programs: gzip as it is installed, compressing this project's sources, and a small program
# with a locality bug, down to its source lines. Writes report.html. Under a minute.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/build:$PATH
mkdir -p build/demo
rm -f build/demo/*.json # of the last time: a profile is not overwritten by itself

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }
show() { # a command line, shown and run
    echo "\$ $1"
    # The command line is one of ours, with pipes and redirections.
    bash -c "set -o pipefail; $1"
}

cat include/fathom/*.h src/base/*.c src/cli/*.c >build/demo/sources.txt
size=$(wc -c <build/demo/sources.txt)

say "1. Any program, as it is: gzip compresses $size bytes of fathom's sources. The reuse distances of all its"
echo "   references, what they mean for the caches of this machine, and which code re-uses data too late."
show 'fathom run --json build/demo/gzip.json -o build/demo/gzip.txt -- gzip -c build/demo/sources.txt >/dev/null'
cat build/demo/gzip.txt

say "2. The miss ratio of every cache size, from the same profile."
show 'fathom mrc build/demo/gzip.json'

say "3. A program with a locality bug (docs/TUTORIAL.md), built by fathom cc: it brings its own instrumentation."
show 'fathom cc -O2 -g examples/tutorial/blur.c -o build/demo/blur'
show 'fathom run --json build/demo/blur.json -- build/demo/blur'

say "4. The same as a page to look at, with the source."
if show 'fathom report build/demo/blur.json build/demo/gzip.json -o report.html'; then
    say "Done. Open report.html in a browser: file://$PWD/report.html"
else
    say "The page could not be written; everything else is in build/demo/."
    exit 1
fi
