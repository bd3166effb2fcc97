#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that a group of targets needs, where they are missing.
#
#   scripts/install-dependencies.sh build|parts|check|test|lint|fuzz|demo|bench…
#
# build: what `make` cannot do without; parts: what the program can do without; check: what the quick tests need; test:
# what the others need besides, each test skipped without it: a browser, two MPIs, clang, qemu …
#
# What is there is found out by asking for commands and pkg-config modules, not for packages: a compiler
# that came from elsewhere is as good. Only when something is missing is apt-get called, as root or
# through sudo. FATHOM_NO_INSTALL=1: never install, only say what is missing.
set -euo pipefail

# One line each: group; what must be there (command:NAME, module:NAME, any:NAME|NAME…, file:PATH, header:PATH of LLVM,
# plugin:HEADER of gcc, or fuzzer: for clang's libFuzzer); Debian package.
requirements='
build command:gcc gcc
build file:/usr/include/stdio.h libc6-dev
build command:make make
build command:cmake cmake
build command:ninja ninja-build
build command:pkg-config pkgconf
build module:libzstd libzstd-dev
build module:zlib zlib1g-dev
build module:libxxhash libxxhash-dev
build module:hwloc libhwloc-dev
build module:libdw libdw-dev
build module:isl libisl-dev
build module:gmp libgmp-dev
parts command:valgrind valgrind
parts file:/usr/include/valgrind/pub_tool_basics.h valgrind
parts header:Zydis/Zydis.h libzydis-dev
parts header:perfmon/pfmlib_perf_event.h libpfm4-dev
parts plugin:gcc-plugin.h gcc-12-plugin-dev
parts command:scdoc scdoc
parts header:clang-c/Index.h libclang-dev
check module:jansson libjansson-dev
check module:cmocka libcmocka-dev
check command:python3 python3
check command:zstd zstd
check command:gzip gzip
check command:setpriv util-linux
check command:gfortran gfortran
check command:g++ g++
test any:chromium-headless-shell|chromium|chromium-browser|google-chrome chromium-headless-shell
test file:/usr/lib/python3/dist-packages/fparser python3-fparser
test command:clang clang
test command:qemu-x86_64 qemu-user
test command:sqlite3 sqlite3
test command:zsh zsh
test command:fish fish
test module:ompi-c libopenmpi-dev
test command:mpirun.openmpi openmpi-bin
test module:mpich libmpich-dev
test command:mpirun.mpich mpich
lint command:clang clang
lint command:clang-format clang-format
lint command:clang-tidy clang-tidy
lint command:cppcheck cppcheck
lint command:shellcheck shellcheck
fuzz command:clang clang
fuzz fuzzer: libclang-rt-14-dev
demo command:gcc gcc
bench command:python3 python3
'

present() {
    local kind=${1%%:*} name=${1#*:} choice
    case $kind in
    command) command -v "$name" >/dev/null ;;
    module) command -v pkg-config >/dev/null && pkg-config --exists "$name" ;;
    file) [ -e "$name" ] ;;
    header) compgen -G "/usr/lib/llvm-*/include/$name" >/dev/null || [ -e "/usr/include/$name" ] || [ -e "/usr/local/include/$name" ] ;;
    plugin) compgen -G "/usr/lib/gcc/*/*/plugin/include/$name" >/dev/null ;;
    any)
        for choice in ${name//|/ }; do
            command -v "$choice" >/dev/null && return 0
        done
        return 1
        ;;
    fuzzer)
        local probe='int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d && n ? 0 : 0; }'
        echo "$probe" | clang -x c -fsanitize=fuzzer,address - -o /dev/null 2>/dev/null
        ;;
    esac
}

if [ $# -eq 0 ]; then
    echo "usage: $0 build|parts|check|test|lint|fuzz|demo|bench..." >&2
    exit 2
fi

missing=()
for group in "$@"; do
    found=no
    while read -r of what package; do
        [ "$of" = "$group" ] || continue
        found=yes
        present "$what" || [[ " ${missing[*]-} " == *" $package "* ]] || missing+=("$package")
    done <<<"$requirements"
    if [ "$found" = no ]; then
        echo "$0: unknown group '$group'; expected build, parts, check, test, lint, fuzz, demo or bench" >&2
        exit 2
    fi
done
[ ${#missing[@]} -gt 0 ] || exit 0

list="${missing[*]}"
cannot() {
    echo "fathom: these Debian packages are missing: $list" >&2
    echo "fathom: $1" >&2
    exit 1
}
[ -z "${FATHOM_NO_INSTALL:-}" ] || cannot "FATHOM_NO_INSTALL is set; install them, or what provides the same, yourself"
command -v apt-get >/dev/null || cannot "there is no apt-get here; install them, or what provides the same, with this system's package manager"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || cannot "you are not root and there is no sudo; ask an administrator to run: apt-get install $list"
    as_root=(sudo)
fi

echo "fathom: installing missing Debian packages: $list"
export DEBIAN_FRONTEND=noninteractive
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" </dev/null; }
apt update >/dev/null || cannot "apt-get update failed"
apt install -y --no-install-recommends "${missing[@]}" || cannot "apt-get install failed"
