#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The runtime of fathom cc: closed forms of kernels, atomic operations performed right, programs with odd behaviour;
# each told by a receiver of the tests' own (drain_compiler.c), that finds any word out of place. Speaks TAP.
#
#     tests/collect/cc_runtime_test.sh        FATHOM: the program (default build/fathom)
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
unset FATHOM_CC FATHOM_CXX FATHOM_FC FATHOM_SESSION
cd "$work" || exit
gcc -O2 "$here/drain_compiler.c" -o drain || exit 1
everything=--wants=loads,stores,sites,calls,heap

skip() { # description, reason
    number=$((number + 1))
    echo "ok $number - $1 # SKIP $2"
}
cc() { "$fathom" cc -w -I"$include" "$@"; }
# What the drain printed must hold these words, each on some line.
shows() { # words…
    local word
    for word in "$@"; do
        grep -qE -- "$word" seen && continue
        echo "expected: $word"
        grep -v '^module' seen
        return 1
    done
}
drains() { ./drain "$@" >seen && return; cat seen; return 1; }

# ---- no name that leads back into the runtime ----

own_names() { # archive
    local wrapped undefined
    wrapped=$(sed 's/^--wrap=//' "$(dirname "$1")"/wraps "$(dirname "$1")"/wraps-static | sort)
    undefined=$(nm "$1" | awk '$1 == "U" { print $2 }' | sort -u)
    ! comm -12 <(echo "$wrapped") <(echo "$undefined") | grep .
}
parts=$(dirname "$fathom")/lib/fathom/cc
if [ -f "$parts/libtsan.a" ]; then
    for archive in libtsan.a libtsan_static.a libtsan_library.a; do
        case_ "$archive calls nothing that is wrapped" own_names "$parts/$archive"
    done
    inner_names() { ! nm "$parts/libtsan.a" | awk '$2 ~ /[TDBRVW]/ { print $3 }' | grep '^fm_'; }
    case_ "inner names stay inside" inner_names
fi

# ---- closed forms ----

kernel() { # program, kernel, n, words…
    local program=$1 name=$2 n=$3
    shift 3
    drains --region -- "$program" "$name" "$n" && shows '^exited 0' "$@"
}
kernels() { # program, whose: gcc or clang, level
    local loads='^sum loads=16000 stores=400 '
    case $3 in -O3*) loads=' store8=400 ' ;; esac # vectors are made of them there
    kernel "$1" product 20 ' load-bytes=128000 ' ' store-bytes=3200 ' "$loads" &&
        kernel "$1" copy 100 '^sum .*load-bytes=400 store-bytes=400 ' &&
        kernel "$1" strided 50 '^sum loads=50 stores=50 ' ' load1=50 store1=50 ' &&
        kernel "$1" unaligned 30 '^sum loads=90 stores=0 .*load-bytes=420 ' ' load2=30 load4=30 load8=30 ' &&
        kernel "$1" structures 10 '^sum .*load-bytes=2000 store-bytes=2000 ' &&
        kernel "$1" library 1000 '^sum .*load-bytes=2053 store-bytes=3101 ' &&
        kernel "$1" assignments 40 '^sum .*load-bytes=80000 store-bytes=160000 ' &&
        kernel "$1" histogram 300 '^sum .*load-bytes=2524 store-bytes=2224 ' &&
        kernel "$1" vectors 20 '^sum loads=20 stores=20 .*load-bytes=640 store-bytes=640 ' &&
        kernel "$1" gather 64 '^sum loads=128 stores=0 ' ' load4=64 load8=64 ' || return 1
    case $2 in
    gcc) kernel "$1" extended 9 '^sum loads=9 stores=9 ' ' load16=9 store16=9 ' ;;
    clang) kernel "$1" extended 9 '^sum loads=9 stores=9 .*load-bytes=90 store-bytes=90 ' ;;
    esac
}
for compiler in gcc clang; do
    for level in -O0 -O2 '-O3 -march=native'; do
        if ! command -v $compiler >/dev/null; then
            skip "closed forms, $compiler $level" "there is no $compiler"
            continue
        fi
        # shellcheck disable=SC2086
        FATHOM_CC=$compiler cc $level "$here/cc_kernels.c" -o "kernels-$compiler" || exit 1
        case_ "closed forms, $compiler $level" kernels "./kernels-$compiler" $compiler "$level"
    done
done
cc -O0 "$here/cc_kernels.c" -o kernels-O0
cc -O2 "$here/cc_kernels.c" -o kernels-O2
# What the optimiser made is told, and not what it was given: by both compilers alike.
optimised() { # compiler
    local program=./optimised-$1
    FATHOM_CC=$1 cc -O3 -mavx2 -ffast-math "$here/cc_optimised.c" -o "$program" &&
        "$1" -w -I"$include" -O3 -mavx2 -ffast-math "$here/cc_optimised.c" -o plain || return 1
    for loop in scale masked gathered total table local unaligned; do
        ./plain $loop 192 >plain.out && "$program" $loop 192 | diff plain.out - || return 1
    done
    kernel "$program" scale 192 '^sum loads=48 stores=24 ' ' load32=48 store32=24 ' &&
        kernel "$program" masked 192 '^sum loads=88 stores=64 ' ' load4=64 load32=24 store4=64 ' &&
        kernel "$program" gathered 192 '^sum loads=384 stores=0 ' &&
        kernel "$program" total 192 '^sum loads=25 stores=1 ' ' load4=1 load32=24 store4=1 ' &&
        kernel "$program" table 192 '^sum loads=384 stores=0 ' ' load1=192 load4=192 ' &&
        kernel "$program" local 192 '^sum .*load-bytes=964 store-bytes=1024 ' ' load1=192 load4=193 ' &&
        kernel "$program" unaligned 192 '^sum loads=192 stores=192 ' ' load8=192 store8=192 '
}
# The same without the plug-in: what gcc begins with is told, and the profile says so.
bare() {
    mkdir -p bare/lib/fathom && cp "$fathom" bare/fathom && cp -r "$parts" bare/lib/fathom/ && rm -f bare/lib/fathom/cc/gcc-*.so &&
        bare/fathom cc -w -I"$include" -O2 "$here/cc_kernels.c" -o kernels-bare && kernels ./kernels-bare gcc -O2 &&
        bare/fathom cc -w -I"$include" -O3 -mavx2 "$here/cc_optimised.c" -o optimised-bare &&
        kernel ./optimised-bare scale 192 '^sum loads=384 stores=192 ' || return 1
    for program in ./optimised-bare "./optimised-$1"; do
        rm -f run.json run.txt
        "$fathom" run -q --no-sites --json run.json -o run.txt -- "$program" scale 192 >/dev/null || return 1
        grep -c 'loops are not vectorised' run.json run.txt
    done >said
    [ "$(tr '\n' ' ' <said)" = 'run.json:1 run.txt:1 run.json:0 run.txt:0 ' ] && return
    cat said
    return 1
}
if ! grep -q avx2 /proc/cpuinfo; then
    skip "what the optimiser made, gcc" "this processor has no AVX2"
elif [ -f "$parts/gcc-$(gcc -dumpfullversion).so" ]; then
    case_ "what the optimiser made, gcc" optimised gcc
    case_ "without the plug-in, gcc" bare gcc
else
    skip "what the optimiser made, gcc" "no plug-in was built for this gcc"
fi
if command -v clang >/dev/null && grep -q avx2 /proc/cpuinfo; then
    case_ "what the optimiser made, clang" optimised clang
else
    skip "what the optimiser made, clang" "there is no clang, or no AVX2"
fi
strings() { kernel ./kernels-O0 strings 1 '^sum loads=9 stores=1 .*load-bytes=37 store-bytes=6 '; }
case_ "strings: what the functions must look at" strings
copies() { # of 1000 bytes that begin at lines: 16 lines each, alternately
    drains --region --dump -- ./kernels-gcc library 1000 && awk '/region library/ { on = 1; next } on && $3 ~ /0x/ { print $2; if (++n == 32) exit }' seen >order &&
        [ "$(tr '\n' ' ' <order)" = "$(for _ in {1..16}; do printf 'load store '; done)" ] && return
    cat order
    return 1
}
case_ "a copy touches source and destination in turn" copies
fortran() { "$fathom" fc -O2 "$here/cc_fortran.f90" -o fortran && drains --region -- ./fortran && shows ' load8=16000 store8=400 ' '^exited 0'; }
if command -v gfortran >/dev/null; then case_ "closed form, Fortran" fortran; else skip Fortran "there is no gfortran"; fi
wants() { # what is not wanted is not told
    drains --wants=loads --region -- ./kernels-O2 product 10 && shows '^sum loads=2000 stores=0 ' &&
        drains --wants=stores --region -- ./kernels-O2 product 10 && shows '^sum loads=0 stores=100 ' &&
        drains --wants=loads,stores -- ./kernels-O2 product 10 && shows ' pages=0 enters=0 leaves=0 allocs=0 frees=0 contexts=0 ' ' sites=0 '
}
case_ "only what is wanted" wants
sites() { drains --wants=loads,stores,sites --region -- ./kernels-O2 product 10 && shows ' sites=3 '; }
case_ "three accesses in the source, three sites" sites

# ---- atomic operations ----

atomics() { # compiler, level
    local options=(-w "$2" -mcx16 -I"$include" "$here/cc_atomics.c" -pthread)
    "$1" "${options[@]}" -o atomics-native -latomic && FATHOM_CC=$1 "$fathom" cc "${options[@]}" -o atomics-fathom &&
        ./atomics-native 4 5000 >native.out && ./atomics-fathom 4 5000 | diff native.out - &&
        drains --region -- ./atomics-fathom 4 5000 && grep -E '^(u[0-9]+|wide|[0-9]+) ' seen | diff native.out - && shows '^exited 0'
}
for compiler in gcc clang; do
    for level in -O0 -O2; do
        if command -v $compiler >/dev/null; then
            case_ "atomic operations give what they should, $compiler $level" atomics $compiler $level
        else
            skip "atomic operations, $compiler" "there is no $compiler"
        fi
    done
done
counted_atomics() { # one thread, a load and a store each: of a byte twice, and a store for the lock's release; of 16 bytes once
    drains --region -- ./atomics-fathom 1 1000 && shows '^thread 1\.2 .* load1=2000 .* load16=1000 store1=3000 .* store16=1000 '
}
case_ "atomic operations are told" counted_atomics

# ---- odd programs ----

cc -O2 "$here/cc_odd.c" -o odd -pthread || exit 1
cc -O1 -static "$here/cc_odd.c" -o odd-static -pthread 2>/dev/null || exit 1
cc -O2 -shared -fPIC "$here/cc_library.c" -o library.so || exit 1
printf '{ global: touch_library; local: *; };' >only.map
cc -O2 -shared -fPIC "$here/cc_library.c" -o hidden.so -Wl,--version-script=only.map || exit 1
export CC_LIBRARY=$work/library.so

# A call of touch stores 100 numbers of 4 bytes: so many calls there were in all.
odd() { # options of the drain, --, program and arguments; then "=" and calls, words…
    local command=()
    while [ "$1" != = ]; do command+=("$1") && shift; done
    local calls=$2
    shift 2
    timeout 60 ./drain --region "${command[@]}" >seen || { cat seen; return 1; }
    [ "$(grep -oE ' store4=[0-9]+' seen | awk -F= '{ n += $2 } END { print n + 0 }')" = $((calls * 100)) ] || echo "not $calls calls" >>seen
    ! grep -q '^not ' seen && shows "$@"
}
for program in ./odd ./odd-static; do
    kind=$([ $program = ./odd ] && echo dynamic || echo static)
    case_ "$kind: plain" odd $everything -- $program plain 50 = 50 '^exited 0' '^end 1 code=0'
    case_ "$kind: 64 threads" odd $everything -- $program threads 64 = 640 'channels=65 refused=0' '^thread 1\.65 .*starts=1 ends=1'
    case_ "$kind: 1200 threads, one after the other" odd $everything -- $program churn 1200 = 1200 'channels=1201 refused=0'
    case_ "$kind: threads outlive main, which ends by pthread_exit" odd $everything -- $program outlive 7 = 27 '^exited 0' '^end 1 code=0'
    case_ "$kind: threads that never end" odd $everything -- $program pool 4 = 13 '^exited 0'
    case_ "$kind: references in destructors of thread-specific data" odd $everything -- $program destructors 5 = 15 'channels=6 '
    case_ "$kind: handlers of exit and destructors" odd $everything -- $program handlers 2 = 7 '^end 1 code=0'
    case_ "$kind: fork, children not wanted" odd $everything -- $program forks 2 = 2 '^exited 4' 'channels=1 '
    case_ "$kind: fork, children wanted" odd $everything,children -- $program forks 2 = 12 '^process 2 parent=1' '^process 3 parent=2' '^end 1 code=4' '^end 2 code=4' '^end 3 code=5'
    case_ "$kind: fork beside another thread" odd $everything,children -- $program fork-in-thread 2 = 6 'channels=4 '
    case_ "$kind: fork without handlers" odd $everything -- $program bare-fork 2 = 2 'channels=1 '
    case_ "$kind: fork without handlers, child wanted" odd $everything,children -- $program bare-fork 2 = 4 '^process 2 parent=1'
    case_ "$kind: vfork, posix_spawn, system" odd $everything,children -- $program vforks 2 = 4 '^exited 0' '^end 1 code=0' 'channels=1 '
    case_ "$kind: exec, children not wanted" odd $everything -- $program execs 2 = 2 '^exec 1 /nowhere/at/all' '^exec 1 /proc/self/exe' '^exited 0'
    case_ "$kind: exec, children wanted" odd $everything,children -- $program execs 2 = 4 '^end 2 code=0'
    case_ "$kind: _exit" odd -- $program short-exit 3 = 3 '^end 1 code=9' '^exited 9'
    case_ "$kind: quick_exit" odd -- $program fast-exit 3 = 3 '^end 1 code=8' '^exited 8'
    case_ "$kind: abort" odd -- $program aborts 3 = 3 '^killed 6'
    case_ "$kind: crash" odd -- $program crashes 3 = 3 '^killed 11'
    case_ "$kind: longjmp" odd $everything -- $program long-jumps 30 = 330 '^exited 0'
    case_ "$kind: signals, errno, environment stay the program's" odd $everything -- $program masks 4 = 4 '^exited 0'
    case_ "$kind: all descriptors closed" odd -- $program closes-files 3 = 6 '^exited 0'
    case_ "$kind: descriptors are numbered as ever" odd -- $program descriptors 1 = 0 '^descriptor 3'
done
# A handler at any moment: nothing is lost, nothing is told twice, every access has its own site.
storm() { # program
    local handled
    drains --region $everything -- "$1" storm 15000 && handled=$(sed -n 's/^handled //p' seen) &&
        shows " store2=$((7 * handled)) store4=1500000 " ' sites=2 ' '^exited 0' && echo "$handled handlers" && [ "$handled" -gt 100 ]
}
case_ "a storm of signals" storm ./odd
case_ "a storm of signals, static" storm ./odd-static
jump_storm() { drains --region $everything -- ./odd jump-storm 300 && shows '^handled 300$' ' store2=2100 ' '^exited 0'; }
case_ "handlers that leave by siglongjmp, on a stack of their own" jump_storm
stacks() { # of a thread whose stack is part of a larger block: what was given, up to its thread-local storage
    local low high lowest
    drains --dump $everything -- ./odd own-stack 3 && read -r _ _ _ _ low high _ < <(grep '^1\.2 thread-start' seen) &&
        lowest=$(sed -n 's/^1\.2 thread-local 0 0x2 0x[0-9a-f]* \(0x[0-9a-f]*\) .*/\1/p' seen | sort | head -1) &&
        [ $((high)) -eq $((lowest)) ] && [ $((low % 4096)) -eq 0 ] && [ $((high - low)) -lt 262144 ] && [ $((high - low)) -gt $((262144 - 16384)) ]
}
case_ "a stack that the program gave" stacks
heap() { # malloc, realloc and strdup 20 times; b is optimized away; one is never given back
    drains $everything -- ./odd heap 20 && shows ' allocs=60 frees=59 contexts=3 '
}
case_ "blocks of the heap" heap
case_ "dlopen and dlclose" odd $everything -- ./odd library 3 = 12 'instrumented .*library.so' '^exited 0'

# ---- several copies of the runtime in one process ----

gcc "$here/cc_host.c" -o host -pthread -ldl
cc "$here/cc_host.c" -o host-fathom -pthread -ldl
cp library.so second.so
case_ "instrumented libraries in a program that is not" odd $everything -- ./host "$work/library.so" "$work/second.so" "$work/hidden.so" = 30 \
    '^end 1 code=0' 'channels=4 ' '^thread 1\.4 .*starts=1 ends=1'
case_ "a library that hides its symbols" odd $everything -- ./host-fathom "$work/hidden.so" "$work/library.so" = 20 'channels=3 ' '^exited 0'
alone() { ./host "$work/library.so" "$work/second.so" && ./host-fathom "$work/hidden.so"; }
case_ "they run alone" alone

# ---- C++, OpenMP ----

cxx() { # compiler
    FATHOM_CXX=$1 "$fathom" c++ -O2 -I"$include" "$here/cc_cxx.cc" -o cxx && [ "$(./cxx)" = '21 220 175 500' ] && drains --region $everything -- ./cxx &&
        shows '^21 220 175 500$' ' store-bytes=4000 ' '^exited 0' &&
        [ "$(sed -n 's/^thread.* enters=\([0-9]*\) .*/\1/p' seen)" = "$(sed -n 's/^thread.* leaves=\([0-9]*\) .*/\1/p' seen)" ]
}
openmp() { FATHOM_CC=$1 cc -fopenmp -O2 "$here/cc_openmp.c" -o openmp && drains --region $everything -- ./openmp && shows '^7998000$' 'channels=4 ' && [ "$(grep -c ' store4=10...' seen)" = 4 ]; }
sums() { # compiler
    for level in -O1 -O2 '-O3 -mavx2'; do
        # shellcheck disable=SC2086
        FATHOM_CC=$1 cc -fopenmp $level "$here/cc_openmp_sums.c" -o sums && OMP_NUM_THREADS=4 ./sums && continue
        echo "$1 $level"
        return 1
    done
}
for compiler in g++ clang++; do
    if command -v $compiler >/dev/null; then case_ "C++ exceptions, operator new, virtual functions: $compiler" cxx $compiler; else skip "C++" "there is no $compiler"; fi
done
case_ "OpenMP: gcc" openmp gcc
case_ "OpenMP: every schedule sums up right, gcc" sums gcc
if command -v clang >/dev/null && echo 'int main(void) { return 0; }' | clang -x c -fopenmp - -o /dev/null 2>/dev/null; then
    case_ "OpenMP: clang" openmp clang
    case_ "OpenMP: every schedule sums up right, clang" sums clang
else
    skip "OpenMP: clang" "there is no clang with libomp"
    skip "OpenMP: every schedule, clang" "there is no clang with libomp"
fi

# ---- the receiver's side ----

late() { # nobody makes room for more threads than there is room for, for a while: they wait
    ./drain --region $everything -- ./odd churn 1200 >seen &
    local drain=$!
    until grep -q . "/proc/$drain/task/$drain/children"; do sleep 0.01; done
    kill -STOP $drain
    sleep 2.2
    kill -CONT $drain
    wait $drain && shows 'channels=1201 refused=0' ' store4=100 '
}
case_ "a receiver that is late: threads wait for it" late
gone() { # the receiver ends without a word: the program runs on
    rm -f ended
    ./drain --die-after=20 -- sh -c './odd plain 20000 && echo >ended' >/dev/null
    for _ in {1..300}; do
        [ -e ended ] && return
        sleep 0.2
    done
    return 1
}
case_ "the receiver dies: the program runs on" gone
detached() { drains --detach-after=5 -- ./odd plain 20000 && shows '^exited 0' 'chunks=([5-9]|1[0-9]|2[0-2]) '; }
case_ "told to stop: the program runs on" detached
killed() { drains --region --kill-after=7 -- ./odd endless 1 && shows '^killed 9' && [ "$(grep -oE 'chunks=[0-9]+' seen | cut -d= -f2)" -ge 7 ]; }
case_ "killed from outside" killed
waits() { drains --stop-after=3 -- ./odd plain 50000 && shows '^killed 9'; }
case_ "a receiver that takes nothing: the program waits" waits
no_session() {
    local session
    for session in /nowhere /dev/null /proc/self/exe ''; do FATHOM_SESSION=$session ./odd plain 3 || return 1; done
}
case_ "a session that is none" no_session
if command -v valgrind >/dev/null; then
    valgrind_() { ./drain -- valgrind -q --tool=none ./odd plain 3 >seen && shows 'channels=0 ' '^exited 0'; }
    case_ "passive under Valgrind" valgrind_
fi
echo "1..$number"
[ "$failed" -eq 0 ]
