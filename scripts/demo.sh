#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The main job, shown on real programs: gzip as it is installed, compressing this project's sources, and a small program
# with a locality bug: its source lines, the change, whether that was any good, and what its source alone tells. Writes
# report.html. Under a minute. What this build has not (build/left-out) is not shown, and said.
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
left_out() { grep -q "^$1" build/left-out; }
number=0
step() {
    number=$((number + 1))
    say "$number. $1"
}

any_program() {
    cat include/fathom/*.h src/base/*.c src/cli/*.c >build/demo/sources.txt
    step "Any program, as it is: gzip compresses $(wc -c <build/demo/sources.txt) bytes of fathom's sources. The reuse distances of all its"
    echo "   references, what they mean for the caches of this machine, and which code re-uses data too late."
    show 'fathom run --json build/demo/gzip.json -- gzip -c build/demo/sources.txt >build/demo/sources.gz'
    step "The miss ratio of every cache size, from the same profile."
    show 'fathom mrc build/demo/gzip.json'
}

# As README.md shows it, and docs/TUTORIAL.md explains it.
locality_bug() {
    cd build/demo
    cp ../../examples/tutorial/blur*.c .
    step "A program that blurs a picture, and the two lines that make it slow (docs/TUTORIAL.md)."
    show 'gcc -O2 -g blur.c -o blur'
    show 'fathom run --size 48K,2M --json before.json -- ./blur'
    step "The two loops exchanged: was that any good?"
    show 'gcc -O2 -g blur_fixed.c -o blur_fixed'
    show 'fathom run --quiet --size 48K,2M --json after.json -o after.txt -- ./blur_fixed'
    show 'fathom diff before.json after.json'
    cd ../..
}

# Programs that bring their own instrumentation need no Valgrind.
instrumented() {
    step "The program built by fathom cc: it brings its own instrumentation, and is traced faster. References of the C"
    echo "   library, which is not built so, are not in it; the misses are the same."
    show 'fathom cc -O2 -g examples/tutorial/blur.c -o build/demo/blur_cc'
    show 'fathom run --quiet --size 48K,2M --top 0 --json build/demo/blur_cc.json -- build/demo/blur_cc'
}

source_alone() {
    step "Loops in source code, without running them: a product of matrices."
    show 'fathom static examples/gemm.c --param n=1000 --size 48K,2M'
}

if left_out 'fathom run, any program'; then
    say 'Programs as they are: left out of this build, which has no Valgrind.'
    instrumented
    pages='build/demo/blur_cc.json'
else
    any_program
    locality_bug
    instrumented
    pages='build/demo/before.json build/demo/after.json build/demo/gzip.json'
fi
if left_out 'fathom static, C, C++'; then
    say 'Loops in C sources: left out of this build, which has no libclang.'
else
    source_alone
fi
step "Profiles as a page to look at, with the source."
show "fathom report $pages -o report.html"
say "Done. Open report.html in a browser: file://$PWD/report.html"
