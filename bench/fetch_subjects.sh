#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fetches the sources of gzip, SQLite and tcc (a compiler), as this Debian has them, and builds each twice: as ever,
# and by fathom cc. The programs are then bench/work/subjects/{gzip,sqlite,tcc}-{native,fathom}.
#
#     bench/fetch_subjects.sh [FATHOM]        (default: build/fathom)
#
# The sources come from the archives that apt knows, asked for source packages by lists of our own: nothing of the
# system is changed, nothing is installed. Objects are kept as long as fathom cc compiles as it did: a second call only
# links anew, with the runtime of now.
# Exit code 1: they cannot be fetched or built here; the last lines say why.
set -euo pipefail
fathom=$(realpath "${1:-$(dirname "$0")/../build/fathom}")
cd "$(dirname "$0")"
subjects=$PWD/work/subjects
mkdir -p "$subjects"
cd "$subjects"
log=$subjects/log
: >"$log"
cannot() {
    tail -n 15 "$log" >&2
    echo "fetch_subjects.sh: $1" >&2
    exit 1
}
for tool in apt-get gcc make tclsh xz bzip2; do
    command -v "$tool" >/dev/null || cannot "needs $tool"
done

# ---- fetch ----

# The system's own lists with "deb" turned into "deb-src".
source_lists() {
    local file
    mkdir -p apt/sources.d apt/lists/partial apt/cache/archives/partial
    : >apt/sources.list
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -f "$file" ] && sed -n 's/^deb\([ \t]\)/deb-src\1/p' "$file" >>apt/sources.list
    done
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -f "$file" ] && sed 's/^Types:.*/Types: deb-src/' "$file" >"apt/sources.d/$(basename "$file")"
    done
    return 0
}
apt() {
    apt-get -q -o "Dir::Etc::sourcelist=$PWD/apt/sources.list" -o "Dir::Etc::sourceparts=$PWD/apt/sources.d" \
        -o "Dir::State::lists=$PWD/apt/lists" -o "Dir::Cache=$PWD/apt/cache" -o APT::Sandbox::User=root "$@" >>"$log" 2>&1
}
unpack() { # package: its upstream source, in a directory of its name
    local archive
    [ -d "$1" ] && return
    mkdir -p "$1.part"
    archive=$(find . -maxdepth 1 -name "$1_*.orig.tar.*" ! -name '*.asc' | head -n 1)
    [ -n "$archive" ] || cannot "no source of $1"
    tar -C "$1.part" -xf "$archive"
    # Some archives hold one directory, others the files.
    if [ "$(find "$1.part" -mindepth 1 -maxdepth 1 | wc -l)" -eq 1 ]; then
        mv "$1.part"/* "$1" && rmdir "$1.part"
    else
        mv "$1.part" "$1"
    fi
}
if ! [ -d gzip ] || ! [ -d sqlite3 ] || ! [ -d tcc ]; then
    source_lists
    apt update || true # an archive without sources among them is no harm
    apt source --download-only gzip sqlite3 tcc || cannot "the sources cannot be fetched"
fi
unpack gzip
unpack sqlite3
unpack tcc

# ---- build, twice ----

build() { # directory, how: "native" or "fathom", then the command, that finds the compiler in $compiler
    local compiler=gcc
    [ "$2" = native ] || compiler="$fathom cc"
    export compiler
    (cd "$1" && shift 2 && "$@") >>"$log" 2>&1
}
build_gzip() {
    [ -f Makefile ] || ../gzip/configure CFLAGS=-O2 || return
    rm -f gzip
    make version.c version.h && make -j2 -C lib CC="$compiler" && make -j2 CC="$compiler" gzip
}
amalgamate() {
    [ -f shell.c ] && [ -f sqlite3.c ] && return
    ../sqlite3/configure --disable-tcl --disable-readline && make sqlite3.c shell.c
}
build_sqlite() {
    local unit
    for unit in sqlite3 shell; do
        [ -f "$unit.o" ] ||
            $compiler -O2 -DSQLITE_OMIT_LOAD_EXTENSION -I../sqlite-made -c "../sqlite-made/$unit.c" -o "$unit.o" || return
    done
    $compiler sqlite3.o shell.o -o sqlite3 -lm -pthread
}
build_tcc() {
    [ -f config.mak ] || ../tcc/configure --cc="$compiler" --extra-cflags=-O2 || return
    rm -f tcc
    make -j2 tcc
}
# Another fathom, or what it tells the compiler has changed: compile again.
parts=$(dirname "$fathom")/lib/fathom/cc
if [ "$(cat compiled 2>/dev/null)" != "$fathom" ] || [ "$parts/gcc.specs" -nt compiled ] ||
    [ "$parts/inline.s" -nt compiled ] || [ -n "$(find "$parts" -name 'gcc-*.so' -newer compiled)" ]; then
    rm -rf build-{gzip,sqlite,tcc}-fathom
fi
mkdir -p sqlite-made build-{gzip,sqlite,tcc}-{native,fathom}
build sqlite-made native amalgamate || cannot "the sources of SQLite cannot be put together"
for how in native fathom; do
    build "build-gzip-$how" "$how" build_gzip || cannot "gzip cannot be built ($how)"
    build "build-sqlite-$how" "$how" build_sqlite || cannot "SQLite cannot be built ($how)"
    build "build-tcc-$how" "$how" build_tcc || cannot "tcc cannot be built ($how)"
    cp "build-gzip-$how/gzip" "gzip-$how"
    cp "build-sqlite-$how/sqlite3" "sqlite-$how"
    cp "build-tcc-$how/tcc" "tcc-$how"
done
echo "$fathom" >compiled
echo "built: $(cd "$subjects" && echo {gzip,sqlite,tcc}-{native,fathom}) in $subjects"
