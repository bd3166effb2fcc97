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
install_() { scripts/install.sh build $prefix "$stage"; }
has() { for path in "$@"; do [ -e "$root/$path" ] || { echo "missing: $path"; return 1; }; done; }
libdir() { dirname "$(dirname "$(find "$root" -name fathom.pc)")"; }

case_ "install" install_
case_ "program" has bin/fathom
case_ "the installed program runs" "$root/bin/fathom" --version
case_ "all public headers" bash -c "diff <(ls -R include/fathom) <(cd '$root' && ls -R include/fathom)"
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
if command -v scdoc >/dev/null; then case_ "man fathom-c++" has "share/man/man1/fathom-c++.1"; fi
case_ "completions of bash, zsh and fish" has share/bash-completion/completions/fathom share/zsh/site-functions/_fathom \
    share/fish/vendor_completions.d/fathom.fish

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
    cc -std=c11 examples/streaming_analyzer.c \
        $(pkg-config --static --cflags --libs fathom | sed 's/-lfathom\>/-l:libfathom.a/') -o "$stage/static" &&
        ! readelf -d "$stage/static" | grep libfathom && "$stage/static" >"$stage/static.out"
}
# As people write it: the flags of --static do no harm where the linker takes the shared library.
build_with_static_flags() {
    # shellcheck disable=SC2046
    cc -std=c11 examples/streaming_analyzer.c $(pkg-config --static --cflags --libs fathom) -o "$stage/flags" &&
        LD_LIBRARY_PATH=$lib "$stage/flags" >"$stage/flags.out" && cmp "$stage/flags.out" "$stage/shared.out"
}
# A build directory that was copied knows the files of the original, by their places.
copied_build() {
    mkdir "$stage/copied" "$stage/elsewhere" && cp build/CMakeCache.txt build/cmake_install.cmake "$stage/copied" || return 1
    cp build/install_manifest.txt "$stage/manifest"
    ! scripts/install.sh "$stage/copied" $prefix "$stage/elsewhere" 2>"$stage/copied.err" &&
        grep -q "was made as $PWD/build, and copied or moved here" "$stage/copied.err" &&
        [ -z "$(ls "$stage/elsewhere")" ] && cmp build/install_manifest.txt "$stage/manifest"
}
# find_package, where there is no pkg-config; the program finds the library by the path that CMake gave it.
build_cmake() {
    cmake -S examples -B "$stage/cmake" -DCMAKE_PREFIX_PATH="$root" -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON &&
        cmake --build "$stage/cmake" && "$stage/cmake/streaming_analyzer" >"$stage/cmake.out"
}
# A project that wants what find_package(fathom …) has: the version asked for, the target, found or not.
package() { # version, target
    mkdir -p "$stage/package" && cat >"$stage/package/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
find_package(fathom $1 REQUIRED CONFIG)
add_executable(user $PWD/examples/streaming_analyzer.c)
target_link_libraries(user PRIVATE fathom::$2)
CMAKE
    rm -rf "$stage/package/build"
    cmake -S "$stage/package" -B "$stage/package/build" -DCMAKE_PREFIX_PATH="$root"
}
package_static() {
    package "" fathom_static && cmake --build "$stage/package/build" && "$stage/package/build/user" >"$stage/package.out" &&
        ! readelf -d "$stage/package/build/user" | grep libfathom
}
version=$(pkg-config --modversion fathom)
series=${version%.*} # 0.y: what may take each other's place
package_versions() {
    package "$series" fathom && ! package "${series%.*}.$((${series#*.} + 1))" fathom && ! package 1.0 fathom
}
case_ "the example against the shared library" build_shared
case_ "the example against the static library" build_static
case_ "the example with what pkg-config --static says" build_with_static_flags
case_ "a copied build directory is not installed from" copied_build
case_ "the example with CMake's find_package" build_cmake
case_ "the CMake package has the static library" package_static
case_ "the CMake package stands for its own 0.y only" package_versions
soname_is() { readelf -d "$2" | grep -F "[$1]"; }
case_ "the SONAME is that of 0.y" soname_is "libfathom.so.$series" "$lib/libfathom.so"
case_ "programs ask for that SONAME" soname_is "libfathom.so.$series" "$stage/shared"
case_ "the library's file has the whole version" test -f "$lib/libfathom.so.$version" -a -L "$lib/libfathom.so.$series"
# What the example must print follows from what it feeds: 4 reports, each over 64 more blocks of 4096 requests.
example_says() { awk '$2 == "requests," { if ($1 != 262144 * ++n) exit 1 } END { exit n != 4 }' "$stage/shared.out"; }
case_ "the example reports every 262144 requests" example_says
case_ "the static example says the same" diff <(grep requests "$stage/shared.out") <(grep requests "$stage/static.out")
# A program that runs another one and profiles it, as `fathom run` does: the same references, and all outputs. A loop
# over 4096 blocks of 64 bytes, twice, is at least 8192 references and 4096 first touches.
profiles_program() {
    mkdir -p "$stage/run" && cat >"$stage/run/loop.c" <<'END' && (
#include <stdlib.h>
int main(void)
{
    volatile char *p = calloc(4096, 64);
    int sum = 0;
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < 4096; i++) sum += p[i * 64];
    return sum;
}
END
        cd "$stage/run" && cc -O1 -g loop.c -o loop && "$root/bin/fathom" run --quiet --json run.json -o run.txt -- ./loop &&
            "$stage/cmake/profile_program" ./loop 2>profile.txt && grep -q '</html>' profile.html &&
            python3 -c '
import json
a, b = json.load(open("run.json")), json.load(open("profile.json"))
assert a["references"] == b["references"] > 8192 and b["cold"] > 4096 and b["complete"], (a["references"], b["references"])
assert "loop.c" in json.dumps(b["attribution"])
' && grep -q loop.c profile.txt
    )
}
if command -v valgrind >/dev/null; then
    case_ "an example runs and profiles a program" profiles_program
fi
# Only public names leave the shared library.
exports_clean() { ! nm -D --defined-only "$lib/libfathom.so" | awk '$2 ~ /[TDBRVW]/ {print $3}' | grep -v '^fm_'; }
case_ "the shared library exports fm_ names only" exports_clean
# No state outside handles, as fathom.h says. What can be written: the signals of the one collection (collect/watch.c),
# where libdw's handler jumps to, for each thread (symbols/symbol_file.c), the bytes that its threads are about to take
# (base/memory.c), and tables that are filled when the library is
# loaded and not written again (engine/exact_…_body.h).
writable() { objdump -t "$1" | awk '$0 ~ /[[:space:]]O[[:space:]]|[[:space:]]\.t(bss|data)[[:space:]]/ && / \.(data|bss|tdata|tbss)[.[:space:]]/ && !/ \.data\.rel\.ro/ {print $NF}' | sort -u; }
no_state() {
    local found
    found=$(writable "$lib/libfathom.a")
    grep -qx watched <<<"$found" && ! grep -vxE 'being_taken|innermost|ones_before|steps16|steps32|watched' <<<"$found"
}
case_ "the library keeps no state outside its handles" no_state
# C++ programs can use the headers.
headers_in_cxx() { echo '#include <fathom/experimental.h>' | c++ -x c++ -Wall -Wextra -Wpedantic -Werror -fsyntax-only "-I$root/include" -; }
headers_in_c99() { echo '#include <fathom/experimental.h>' | cc -x c -std=c99 -Wall -Wextra -Wpedantic -Werror -fsyntax-only "-I$root/include" -; }
case_ "headers compile as C99" headers_in_c99
# Programs that were compiled with other headers than the library's: options and results have other sizes.
headers_of() { # name, a change to trace.h
    cp -r "$root/include" "$stage/$1" && sed -i "$2" "$stage/$1/fathom/trace.h" &&
        ! cmp "$stage/$1/fathom/trace.h" include/fathom/trace.h
}
runs_with() { # headers, what it says, compiler, its flags…
    local headers=$1 says=$2
    shift 2
    # shellcheck disable=SC2086
    "$@" -Wall -Wextra -Werror tests/install/grown_structs.c "-I$headers" "-L$lib" -lfathom -o "$stage/grown" &&
        [ "$(printf '%016d' 1 2 3 | LD_LIBRARY_PATH=$lib "$stage/grown" $want)" = "$says" ]
}
want=
number_of=$(sed -n 's/^#define FM_VERSION_\(M[A-Z]*\|PATCH\) //p' include/fathom/version.h | awk '{ n = n * 100 + $1 } END { print n }')
served="6 references by libfathom $number_of"
case_ "a program with these headers" runs_with "$root/include" "$served" cc
if command -v c++ >/dev/null; then
    case_ "headers compile as C++" headers_in_cxx
    case_ "a C++ program with these headers" runs_with "$root/include" "$served" c++ -x c++
fi
case_ "older headers" headers_of older '/uint64_t csv_key_unit, csv_size_unit;/d; /const char \*key_values;/,/^} fm_trace_info;/{/^} fm_trace_info;/!d}'
case_ "a program with older headers" runs_with "$stage/older" "$served" cc
case_ "newer headers" headers_of newer 's/^} fm_\(reader_options\|trace_info\);/    uint64_t extra;\n&/'
case_ "a program with newer headers" runs_with "$stage/newer" "$served" cc -DFM_EXTRA
want=it
size=$(sed -n 's/^struct fm_reader_options: \([0-9]*\) bytes/\1/p' tests/install/abi.txt)
case_ "a program with newer headers that wants what the library has not" runs_with "$stage/newer" \
    "unsupported: the program is newer than libfathom $version, which does not know what it asks for: byte $size of fm_reader_options" \
    cc -DFM_EXTRA
uninstall_() {
    scripts/uninstall.sh build/install_manifest.txt "$stage" && [ ! -e "$root" ] && [ ! -e "$stage/opt" ]
}
case_ "uninstall leaves no file, and no directory that it made" uninstall_
# Directories that were there before stay, be they empty; so do those with something of somebody else.
uninstall_beside() {
    mkdir -p "$root/bin" "$root/lib" && install_ && touch "$root/include/fathom/mine.h" &&
        scripts/uninstall.sh build/install_manifest.txt "$stage" &&
        [ -d "$root/bin" ] && [ -d "$root/lib" ] && [ ! -e "$root/share" ] &&
        [ "$(find "$root" ! -type d)" = "$root/include/fathom/mine.h" ]
}
case_ "uninstall leaves what was there before" uninstall_beside
# A user's install after root's: the manifest is root's, the folder is the user's.
install_after_root() {
    local mini=$stage/mini
    mkdir -p "$mini/build" && cp scripts/install.sh "$mini/" && chmod 755 "$stage" &&
        printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(mini LANGUAGES NONE)' \
            'install(FILES CMakeLists.txt DESTINATION share/mini)' >"$mini/CMakeLists.txt" &&
        cmake -S "$mini" -B "$mini/build" && : >"$mini/build/install_manifest.txt" && chown nobody "$mini" "$mini/build" &&
        setpriv --reuid nobody --clear-groups "$mini/install.sh" "$mini/build" /usr "$mini/out" &&
        [ -e "$mini/out/usr/share/mini/CMakeLists.txt" ]
}
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    case_ "installing for a user after root" install_after_root
fi

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
case_ "make configures anew after MPI or nvcc were installed" make_notices

# ---- a tree that was copied with its builds ----

copied() {
    local tree=$stage/copied said
    mkdir -p "$tree"/build "$tree"/build-asan "$tree"/build-mine "$tree"/built && cp -r Makefile scripts "$tree/" &&
        ln -s "$tree" "$stage/link" || return 1
    echo "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" | tee "$tree/build/CMakeCache.txt" >"$tree/built/CMakeCache.txt"
    echo "CMAKE_HOME_DIRECTORY:INTERNAL=/nowhere/any/more" >"$tree/build-asan/CMakeCache.txt"
    echo "CMAKE_HOME_DIRECTORY:INTERNAL=$stage/link" >"$tree/build-mine/CMakeCache.txt"
    said=$(make --no-print-directory -C "$tree" help 2>&1 >/dev/null)
    diff - <(echo "$said") <<END || return 1
fathom: build/ was built in $PWD; it is built anew here
fathom: build-asan/ was built in /nowhere/any/more; it is built anew here
END
    [ ! -e "$tree/build" ] && [ ! -e "$tree/build-asan" ] && [ -e "$tree/build-mine" ] && [ -e "$tree/built" ]
}
case_ "builds that came along with a copied tree are made anew" copied
echo "1..$number"
[ $failed -eq 0 ]
