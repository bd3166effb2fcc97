#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The main job, shown on a real program: the data references of gzip compressing this project's sources, recorded
# by Valgrind's lackey, become a stored trace, a profile on the terminal and report.html. Under a minute.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/build:$PATH
mkdir -p build/demo

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }
show() { # a command line, shown and run
    echo "\$ $1"
    # The command line is one of ours, with pipes and redirections.
    bash -c "set -o pipefail; $1"
}

cat include/fathom/*.h src/base/*.c src/cli/*.c >build/demo/sources.txt
size=$(wc -c <build/demo/sources.txt)

say "1. A real trace: gzip compresses $size bytes of fathom's sources under Valgrind (about half a minute)."
echo "   lackey writes every reference as text; fathom stores it in its own format as it comes."
show 'valgrind --tool=lackey --trace-mem=yes --log-fd=9 gzip -c build/demo/sources.txt 9>&1 >/dev/null |
      fathom convert - --format lackey -o build/demo/gzip.fathom'
echo "   stored: $(wc -c <build/demo/gzip.fathom) bytes"

say "2. Is the stored trace sound?"
show 'fathom check build/demo/gzip.fathom'

say "3. Its reuse distances, in blocks of 64 bytes, and what they mean for the caches of this machine."
show 'fathom analyze build/demo/gzip.fathom --json build/demo/gzip.json'

say "4. The miss ratio of every cache size."
show 'fathom mrc build/demo/gzip.json'

say "5. The same as a page to look at."
if show 'fathom report build/demo/gzip.json -o report.html'; then
    say "Done. Open report.html in a browser: file://$PWD/report.html"
else
    say "The page could not be written; everything else is in build/demo/."
    exit 1
fi
