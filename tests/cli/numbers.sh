# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Every option that takes a number: what is no such number is refused with exit code 2 and a message that names the
# option, before anything is done. What is accepted all the same would be shown here.
fathom gen cyclic --keys 4 --references 8 -o t.u64 --quiet
fathom analyze t.u64 --json p.json --quiet >nothing
printf 'double A[9];\nvoid f(int n)\n{\n    for (int i = 0; i < n; i++) A[i] = 0;\n}\n' >f.c
printf 'fathom-region 1\nparam n\narray A[n] of 8\nfor i = 0 to n - 1 { do { store A[i] } }\n' >f.fir
refuse() { # OPTION 'COMMAND, @ is where the option goes' VALUE…
    local option=$1 command=$2 value status accepted=
    shift 2
    for value; do
        rm -f out out.fathom out.u64
        eval "${command/@/\"$option=$value\"}" >nothing 2>message
        status=$?
        [ $status = 2 ] && grep -q -- "$option" message && [ ! -e out ] && [ ! -e out.fathom ] && [ ! -e out.u64 ] ||
            accepted+=" '$value' ($status: $(head -1 message))"
    done
    echo "${command/@/$option}:${accepted:- refused}"
}
# shellcheck disable=SC2054 # a comma is one of them
never=(-1 -0.5 -0 nan -nan inf -inf '' 5x ' 5' '5 ' 1e400 99999999999999999999T , 0,5 '5 6')
seconds=("${never[@]}" 0 1e-400)
counts=("${never[@]}" 1.5 1e3 0x 4KK '4 K' 18446744073709551616)
several=("${counts[@]}" 18446744073709551615) # where 2^64-1 stands for what was not given
some=("${several[@]}" 0)
for verb in run 'record -o out.fathom'; do
    refuse --limit-time "fathom $verb --quiet @ -- touch out" "${seconds[@]}"
    refuse --limit "fathom $verb --quiet @ -- touch out" "${some[@]}"
done
refuse --threads 'fathom run --quiet @ -- touch out' "${some[@]}" 17
refuse --level 'fathom record -o out.fathom --quiet @ -- touch out' "${several[@]}"
for option in limit-time rate overhead; do refuse --$option 'fathom sample --quiet @ -- touch out' "${seconds[@]}"; done
refuse --period 'fathom sample --quiet @ -- touch out' "${some[@]}"
refuse --bootstrap 'fathom sample --quiet @ -- touch out' "${some[@]}"
refuse --threads 'fathom analyze t.u64 --quiet @' "${some[@]}" 1025
refuse --max-memory 'fathom analyze t.u64 --quiet @' "${several[@]}"
refuse --bound 'fathom analyze t.u64 --quiet @' "${counts[@]}" 0
refuse --top 'fathom analyze t.u64 --quiet @' "${counts[@]}"
refuse --skew 'fathom gen zipf --keys 4 --references 4 -o out.u64 --quiet @' "${never[@]}"
for option in keys references seed; do
    refuse --$option 'fathom gen uniform --keys 4 --references 4 -o out.u64 --quiet @' "${counts[@]}"
done
refuse --hit-ratio 'fathom mrc p.json @' nan inf '' 5x -1 -0.5 1.5 1e400
refuse --select 'fathom mrc p.json @' "${counts[@]}"
refuse --limit-time 'fathom static f.fir --param n=4 --quiet @' "${seconds[@]}"
refuse --threads 'fathom static f.fir --param n=4 --quiet @' "${some[@]}"
refuse --samples 'fathom static f.fir --param n=4 --quiet @' "${some[@]}"
refuse --param 'fathom static f.fir --quiet @' n= n=nan n=1e3 'n= 5' n=5x n=9223372036854775808 n
refuse --alike 'fathom phases t.u64 @' "${never[@]}"
for option in threshold depth top; do refuse --$option 'fathom phases t.u64 @' "${counts[@]}"; done
refuse --percent 'fathom train p.json p.json -o out @' "${never[@]}"
