#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs into an empty DESTDIR, looks for every part, and builds and runs the example against what was
# installed, shared and static, by pkg-config and by CMake. Then uninstalls. Speaks TAP.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
prefix=/opt/fathom
root=$stage$prefix
case_log=$stage/log
# shellcheck source=tests/tap_cases.bash
. tests/tap_cases.bash

# build/ is complete by now; only the install step of `make install` runs, so that tests can go on beside it.
install_() { DESTDIR=$stage cmake --install build --prefix $prefix; }
has() { for path in "$@"; do [ -e "$root/$path" ] || { echo "missing: $path"; return 1; }; done; }
libdir() { dirname "$(dirname "$(find "$root" -name fathom.pc)")"; }

case_ "install" install_
case_ "program" has bin/fathom
case_ "the installed program runs" "$root/bin/fathom" --version
case_ "all public headers" bash -c "diff <(ls include/fathom) <(ls '$root/include/fathom')"
lib=$(libdir)
case_ "libraries and pkg-config file" test -e "$lib/libfathom.a" -a -e "$lib/libfathom.so" -a -e "$lib/pkgconfig/fathom.pc"
if command -v scdoc >/dev/null; then
    for page in man/*.scd; do
        case_ "man page $(basename "$page" .scd)" has "share/man/man1/$(basename "$page" .scd)"
    done
else
    number=$((number + 1))
    echo "ok $number - man pages # SKIP there is no scdoc to make them"
fi
case_ "bash completion" has share/bash-completion/completions/fathom

export PKG_CONFIG_PATH=$lib/pkgconfig
version_agrees() { [ "fathom $(pkg-config --modversion fathom)" = "$("$root/bin/fathom" --version)" ]; }
case_ "pkg-config knows the version" version_agrees
build_shared() {
    # shellcheck disable=SC2046
    cc -std=c11 -Wall -Wextra -Werror examples/streaming_analyzer.c $(pkg-config --cflags --libs fathom) -o "$stage/shared" &&
        LD_LIBRARY_PATH=$lib "$stage/shared" >"$stage/shared.out" && cat "$stage/shared.out"
}
build_static() {
    # shellcheck disable=SC2046
    # libfathom itself statically, the libraries below it as they are here (static ones are often not installed).
    cc -std=c11 examples/streaming_analyzer.c $(pkg-config --cflags fathom) "$lib/libfathom.a" \
        $(pkg-config --libs $(pkg-config --print-requires-private fathom)) -lm -pthread -o "$stage/static" &&
        "$stage/static" >"$stage/static.out"
}
build_cmake() {
    cmake -S examples -B "$stage/cmake" && cmake --build "$stage/cmake" && LD_LIBRARY_PATH=$lib "$stage/cmake/streaming_analyzer"
}
case_ "the example against the shared library" build_shared
case_ "the example against the static library" build_static
case_ "the example with CMake" build_cmake
# What the example must print follows from what it feeds: 4 reports, each over 64 more blocks of 4096 requests.
example_says() { awk '$2 == "requests," { if ($1 != 262144 * ++n) exit 1 } END { exit n != 4 }' "$stage/shared.out"; }
case_ "the example reports every 262144 requests" example_says
case_ "the static example says the same" diff <(grep requests "$stage/shared.out") <(grep requests "$stage/static.out")
# Only public names leave the shared library.
exports_clean() { ! nm -D --defined-only "$lib/libfathom.so" | awk '$2 ~ /[TDBRVW]/ {print $3}' | grep -v '^fm_'; }
case_ "the shared library exports fm_ names only" exports_clean
# C++ programs can use the headers.
headers_in_cxx() { echo '#include <fathom/fathom.h>' | c++ -x c++ -fsyntax-only "-I$root/include" -; }
if command -v c++ >/dev/null; then
    case_ "headers compile as C++" headers_in_cxx
fi
uninstall_() {
    scripts/uninstall.sh build/install_manifest.txt "$stage" && [ -z "$(find "$root" ! -type d)" ]
}
case_ "uninstall leaves no file" uninstall_

# ---- make, after something was installed that a message told to install ----

# Not the real CMake: what counts is when `make` calls it to configure. Where pkg-config and programs are looked for is
# ours for once.
make_notices() {
    local made=$stage/made ours=$stage/ours calls
    mkdir -p "$made/.dependencies" "$ours/bin" "$ours/pc" || return 1
    touch "$made/.dependencies/build"
    cat >"$ours/cmake" <<END
#!/bin/sh
echo "\$*" >>"$stage/calls"
case "\$*" in *--preset*) scripts/optional-parts.sh >"$made/optional-parts" ;; esac
END
    chmod +x "$ours/cmake"
    make_ours() {
        PATH=$ours/bin:/usr/bin:/bin PKG_CONFIG_LIBDIR=$ours/pc make --no-print-directory BUILD="$made" CMAKE="$ours/cmake" all
    }
    configured() { # how often, since the last time
        calls=$(grep -c -e --preset "$stage/calls")
        : >"$stage/calls"
        [ "$calls" -eq "$1" ] || { echo "$2: configured $calls times, expected $1"; return 1; }
    }
    make_ours && touch "$made/build.ninja" && : >"$stage/calls" || return 1
    make_ours && configured 0 "nothing changed" || return 1
    printf 'Name: mpich\nDescription: x\nVersion: 9.9\n' >"$ours/pc/mpich.pc"
    make_ours && configured 1 "MPI headers were installed" || return 1
    make_ours && configured 0 "nothing changed since" || return 1
    printf '#!/bin/sh\n' >"$ours/bin/nvcc"
    chmod +x "$ours/bin/nvcc"
    make_ours && configured 1 "nvcc was installed" || return 1
    make_ours && configured 0 "nothing changed since"
}
case_ "make configures anew after MPI, npm or nvcc were installed" make_notices
echo "1..$number"
[ $failed -eq 0 ]
