#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fathom cc, c++ and fc as compilers: what they pass on, what they add, what they refuse; make, CMake, a configure
# script's questions, libtool's way of linking. Speaks TAP.
#
#     tests/collect/cc_build_test.sh        FATHOM: the program (default build/fathom)
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
fathom=$(realpath "${FATHOM:-build/fathom}")
here=$PWD/tests/collect
include=$PWD/include
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case_log=$work/log
# shellcheck source=tests/tap_cases.bash
. tests/tap_cases.bash
# grep -q would end before the command in front of it, whose broken pipe would count.
grep_all() { grep "$@" >/dev/null; }
unset FATHOM_CC FATHOM_CXX FATHOM_FC
gcc -O2 "$here/drain_compiler.c" -o "$work/drain" || exit 1
cd "$work" || exit
cat >add.c <<'END'
volatile int numbers[100];
int add(int n);
int add(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += numbers[i]; return sum; }
END
cat >main.c <<'END'
#include <stdio.h>
int add(int n);
int main(void) { printf("%d\n", add(100)); return 7; }
END

cc() { "$fathom" cc "$@"; }
has_note() { readelf -n "$1" | grep_all '^ *fathom '; }
# The program works alone, and under a receiver its 100 loads in add() are seen.
works() { # program
    local status=0
    "$1" >out || status=$?
    if [ "$(cat out)" != 0 ] || [ $status -ne 7 ]; then
        echo "alone: $(cat out), $status"
        return 1
    fi
    "$work/drain" -- "$1" >seen || return 1
    if ! grep -q '^exited 7' seen || ! grep -q ' load4=100 ' seen; then
        cat seen
        return 1
    fi
}
is_plain() { ! nm "$1" | grep_all tsan; }

# ---- kinds of output ----

one_command() { cc -O2 add.c main.c -o one && works ./one && has_note one; }
case_ "compile and link in one command" one_command
two_commands() { cc -O2 -c add.c -o add.o && cc -O2 -c main.c -o main.o && cc add.o main.o -o two && works ./two; }
case_ "compile, then link" two_commands
each_level() {
    for o in -O0 -O1 -O3 -Os; do # -O2: all others
        cc $o add.c main.c -o level && works ./level && continue
        echo "$o"
        return 1
    done
}
case_ "every level of optimization" each_level
kinds() {
    for k in -no-pie '-fPIE -pie' -static -static-pie -s '-g0 -Wl,--gc-sections -ffunction-sections'; do
        # shellcheck disable=SC2086
        cc -O2 $k add.c main.c -o kind && works ./kind && continue
        echo "$k"
        return 1
    done
}
case_ "no-pie, pie, static, static-pie, stripped, collected garbage" kinds
stripped() { cc -O2 add.c main.c -o bare && strip bare && works ./bare && has_note bare; }
case_ "strip leaves the note" stripped
optimized_at_link() { cc -flto -O2 add.c main.c -o lto && works ./lto && cc -flto -O2 -c add.c -o l.o && cc -flto -O2 l.o main.c -o lto && works ./lto; }
case_ "link-time optimization" optimized_at_link
library() {
    cc -O2 -shared -fPIC add.c -o libadd.so && has_note libadd.so && cc main.c -L. -ladd -Wl,-rpath,"$PWD" -o uses && works ./uses && has_note uses &&
        gcc main.c -L. -ladd -Wl,-rpath,"$PWD" -o plain_uses && works ./plain_uses
}
case_ "shared library, in a program that is instrumented and in one that is not" library
defined() { cc -O2 -shared -fPIC -Wl,-z,defs -Wl,--no-undefined add.c -o libdefs.so; }
case_ "shared library that must know all its symbols" defined
static_library() { cc -O2 -c add.c -o a.o && ar rcs libs.a a.o && cc main.c -L. -ls -o with_archive && works ./with_archive; }
case_ "static library" static_library
libtool_way() { # as libtool links C++ libraries
    printf 'volatile int numbers[100]; extern "C" int add(int n) { int s = 0; for (int i = 0; i < n; i++) s += numbers[i]; return s; }\n' >add.cc
    "$fathom" c++ -O2 -fPIC -c add.cc -o add.lo.o &&
        "$fathom" c++ -shared -nostdlib "$(gcc -print-file-name=crti.o)" "$(gcc -print-file-name=crtbeginS.o)" add.lo.o \
            -lstdc++ -lm -lc -lgcc_s "$(gcc -print-file-name=crtendS.o)" "$(gcc -print-file-name=crtn.o)" -Wl,-soname -Wl,libadd.so -o libadd.so &&
        has_note libadd.so && works ./uses
}
case_ "libtool's -nostdlib with -lc" libtool_way
static_cxx() { # libstdc++.a needs what is wrapped, whether the program does or not
    printf '#include <iostream>\nint main() { std::cout << 0 << "\\n"; return 7; }\n' >prints.cc
    printf '#include <string>\nextern "C" int add(int n) { try { return (int)std::string((size_t)n, 0).at(0); } catch (...) { return 1; } }\n' >uses_string.cc
    "$fathom" c++ -O2 -static prints.cc -o prints && status=0 && { ./prints >out || status=$?; } && [ "$(cat out)/$status" = 0/7 ] &&
        g++ -O2 -c uses_string.cc -o uses_string.o && cc -static main.c uses_string.o -lstdc++ -o uses_string && status=0 &&
        { ./uses_string >out || status=$?; } && [ "$(cat out)/$status" = 0/7 ]
}
case_ "static programs with C++ of others" static_cxx
relocatable() { cc -O2 -r -nostdlib add.c -o part.o && ! nm part.o | grep_all ' [tT] __tsan_read4' && cc main.c part.o -o from_part && works ./from_part; }
case_ "-r links no runtime" relocatable
# shellcheck disable=SC2016 # dollars are the assembler's
assembler_source() { printf '.globl answer\nanswer: mov $42, %%eax\nret\n.section .note.GNU-stack,"",@progbits\n' >answer.s && cc -c answer.s -o answer.o && is_plain answer.o; }
case_ "assembler files" assembler_source
assembler_output() { cc -O2 -S add.c -o add.s && grep -q __tsan_read4 add.s; }
case_ "-S" assembler_output
language_chosen() { cc -O2 -x c - -o from_stdin < <(cat add.c main.c) && works ./from_stdin; }
case_ "-x c and standard input" language_chosen
response() { printf -- '-O2\n-c "add.c"\n-o resp.o' >arguments && cc @arguments && nm resp.o | grep_all __tsan_read4 && ! [ -e a.out ]; }
case_ "response files" response
other_linkers() {
    for l in gold lld; do
        command -v "ld.$l" >/dev/null || continue
        cc -O2 -fuse-ld=$l add.c main.c -o linked && works ./linked && continue
        echo "$l"
        return 1
    done
}
case_ "gold and lld, where they are" other_linkers
assembler_ways() {
    cat >intel.c <<'END'
#include <stdio.h>
void hello(void);
void hello(void) { puts("0"); }
int main(void)
{
    __asm__ volatile(".intel_syntax noprefix\n\tlea rsp, [rsp - 256]\n\tpush rbp\n\tmov rbp, rsp\n\tand rsp, -16\n\tcall hello@PLT\n\t"
                     "mov rsp, rbp\n\tpop rbp\n\tlea rsp, [rsp + 256]\n\t.att_syntax prefix"
                     ::: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory");
    return 7;
}
END
    for way in -pipe -save-temps -masm=intel -fno-plt -fno-pic; do
        cc -O2 $way -no-pie add.c main.c -o way && works ./way && continue
        echo "$way"
        return 1
    done
    cc -O1 intel.c -o intel && ./intel
    [ $? -eq 7 ]
}
case_ "ways to the assembler, and its other syntax" assembler_ways
odd_names() { mkdir -p 'a b' && cp add.c main.c 'a b' && cc -O2 'a b/add.c' 'a b/main.c' -o 'a b/pro gram' && works './a b/pro gram'; }
case_ "names with blanks" odd_names
freestanding() { cc -O2 -ffreestanding -c add.c -o free.o && is_plain free.o; }
case_ "-ffreestanding is left alone" freestanding

# ---- nothing added ----

asks_the_same() { # arguments: what gcc and fathom cc say must be equal
    diff <(gcc "$@" 2>&1; echo $?) <(cc "$@" 2>&1; echo $?)
}
for question in --version -v -dumpversion -dumpmachine -dumpspecs -print-search-dirs -print-file-name=libc.so '-E add.c' '-M add.c' \
    '-MM main.c' '-E -dM -x c /dev/null' '--help=warnings' 'nowhere.c' '-c nowhere.c' '-V' '-qversion' '-no-such-option add.c'; do
    # shellcheck disable=SC2086
    case_ "answers as gcc does: $question" asks_the_same $question
done
macro() { printf '#ifdef __SANITIZE_THREAD__\n#error instrumented\n#endif\n' >macro.c && cc -c macro.c; }
case_ "programs are not told that they are instrumented" macro
debug_lines() { cc -O2 -c add.c -o g.o && readelf -S g.o | grep_all debug_line && cc -g0 -O2 -c add.c -o g0.o && ! readelf -S g0.o | grep_all debug_line; }
case_ "-g is added unless one is given" debug_lines
same_status() { printf 'int main(void) { return }\n' >wrong.c; cc wrong.c; [ $? -eq 1 ]; }
case_ "the compiler's own status" same_status

# ---- refusals ----

refuses() { # exit code, text, then arguments
    local code=$1 text=$2
    shift 2
    "$@" 2>err
    if [ $? -ne "$code" ] || ! grep -q -- "$text" err; then
        cat err
        return 1
    fi
}
for sanitizer in address thread leak hwaddress; do
    case_ "refuses -fsanitize=$sanitizer" refuses 2 "fsanitize=$sanitizer" "$fathom" cc -fsanitize=undefined,$sanitizer add.c
done
undefined_is_fine() { cc -O1 -fsanitize=undefined add.c main.c -o ub && works ./ub; }
case_ "-fsanitize=undefined is fine" undefined_is_fine
case_ "refuses -m32" refuses 2 x86-64 "$fathom" cc -m32 add.c
case_ "no arguments" refuses 2 'nothing to compile' "$fathom" cc
case_ "no such compiler" refuses 1 'FATHOM_CC' env FATHOM_CC=no-such-compiler "$fathom" cc add.c
case_ "not a compiler" refuses 1 'neither gcc nor clang' env FATHOM_CC=true "$fathom" cc add.c
case_ "itself" refuses 2 'names fathom itself' env FATHOM_CC="$fathom cc" "$fathom" cc add.c
helps() { for verb in cc c++ fc; do "$fathom" "$verb" --help | grep_all "^Usage: fathom $verb" || return 1; done; }
case_ "--help" helps
chosen() { FATHOM_CC='gcc -DCHOSEN' cc -E -dM -x c /dev/null | grep CHOSEN && FATHOM_CC='env gcc' cc -O2 add.c main.c -o env_gcc && works ./env_gcc; }
case_ "a compiler with arguments" chosen

# ---- other compilers and languages ----

if command -v clang >/dev/null; then
    export FATHOM_CC=clang FATHOM_CXX=clang++
    case_ "clang: compile and link in one command" one_command
    case_ "clang: compile, then link" two_commands
    quiet() {
        cc -O2 -Wall -Wextra -c add.c -o q.o 2>err && cc q.o main.c -o q 2>>err && [ ! -s err ] && return
        cat err
        return 1
    }
    case_ "clang: no warnings of our making" quiet
    clang_kinds() {
        for k in -no-pie -static '-fPIE -pie'; do
            # shellcheck disable=SC2086
            cc -O1 $k add.c main.c -o kind && works ./kind && continue
            echo "$k"
            return 1
        done
    }
    case_ "clang: no-pie, static, pie" clang_kinds
    case_ "clang: shared library" library
    unset FATHOM_CC FATHOM_CXX
else
    number=$((number + 1))
    echo "ok $number - clang # SKIP there is none"
fi
fortran() {
    "$fathom" fc -O2 -Wall "$here/cc_fortran.f90" -o fortran 2>err && [ ! -s err ] && ./fortran && has_note fortran && return
    cat err
    return 1
}
if command -v gfortran >/dev/null; then
    case_ "Fortran, without a warning" fortran
else
    number=$((number + 1))
    echo "ok $number - Fortran # SKIP there is no gfortran"
fi
cxx() { "$fathom" c++ -O2 -I"$include" "$here/cc_cxx.cc" -o cxx && ./cxx && has_note cxx; }
case_ "C++" cxx

# ---- build systems ----

# shellcheck disable=SC2016 # dollars are make's
make_() { mkdir -p make && printf 'prog: add.o main.o\n\t$(CC) $^ -o $@\n' >make/Makefile && cp add.c main.c make && make -C make CC="$fathom cc" && works make/prog; }
case_ "make CC=\"fathom cc\"" make_
cmake_project() { # how CMake is told
    rm -rf cmake && mkdir cmake && cp add.c main.c cmake &&
        printf 'cmake_minimum_required(VERSION 3.13)\nproject(p C CXX)\nadd_library(add SHARED add.c)\nadd_executable(prog main.c)\ntarget_link_libraries(prog add)\n' >cmake/CMakeLists.txt &&
        "$@" cmake -S cmake -B cmake/build && cmake --build cmake/build && works cmake/build/prog
}
if command -v cmake >/dev/null; then
    by_option() { cmake_project env "CC=$fathom cc" "CXX=$fathom c++"; }
    case_ "CMake by CC and CXX" by_option
    by_variable() {
        rm -rf cmake/build
        cmake -S cmake -B cmake/build "-DCMAKE_C_COMPILER=$fathom;cc" "-DCMAKE_CXX_COMPILER=$fathom;c++" && cmake --build cmake/build && works cmake/build/prog
    }
    case_ "CMake by CMAKE_C_COMPILER=\"fathom;cc\"" by_variable
fi
configure() {
    mkdir -p autoconf && cp add.c main.c autoconf && cd autoconf &&
        printf 'AC_INIT([p],[1])\nAC_PROG_CC\nAC_PROG_CXX\nAC_CHECK_HEADERS([stdio.h])\nAC_CHECK_FUNCS([memcpy no_such_function])\nAC_CHECK_LIB([m],[cos])\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n' >configure.ac &&
        printf 'prog:\n\t@CC@ @CFLAGS@ add.c main.c @LIBS@ -o prog\n' >Makefile.in && autoconf && ./configure CC="$fathom cc" CXX="$fathom c++" >log &&
        grep -q 'whether the compiler supports GNU C... yes' log && grep -q 'for memcpy... yes' log && grep -q 'for no_such_function... no' log && make && works ./prog
    local status=$?
    cd "$work" && return $status
}
if command -v autoconf >/dev/null; then case_ "autoconf" configure; fi
echo "1..$number"
[ "$failed" -eq 0 ]
