# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Spellings that were replaced keep working, give what the new ones give, and are not shown. Those of --engine-option:
# approximate.sh.
fathom gen cyclic --keys 8K --references 200K -o a.u64 --quiet
fathom gen cyclic --keys 16K --references 400K -o b.u64 --quiet
for name in a b; do fathom analyze $name.u64 --granularity 1,64 --json $name.json --quiet >/dev/null; done

same() { # verb and arguments, new words, old words; each writes FILE
    # shellcheck disable=SC2086
    { fathom $1 $2 --quiet >new.out && mv FILE new.file; fathom $1 $3 --quiet >old.out && mv FILE old.file; } || echo failed
    cmp new.out old.out && cmp new.file old.file && echo "fathom ${1%% *} $2 is $3"
    fathom "${1%% *}" --help=all | grep -E -- "^ .*${3%% *} " && echo 'shown'
    true
}
same 'mrc a.json --no-machine --json FILE' '--select 64' '--granularity 64'
same 'mrc a.json --no-machine -j FILE' '--select 64' '-g 64'
same 'compare a.json b.json --json FILE' '--select 64' '--granularity 64'
same 'compare a.json b.json -j FILE' '--select 64' '-g 64'
same 'train a.json b.json -o FILE' '--select 64' '--granularity 64'
same 'gen cyclic --keys 5 --references 20 -o FILE' '--to text' '--format text'
fathom train a.json b.json -o model --quiet >/dev/null
same 'predict model --json FILE' '--size-from b.u64 --data-samples 1' '--sample b.u64 --samples 1'
same 'train a.json b.json -o FILE' '--data-size 5,9' '--sizes 5,9'
same 'analyze b.u64 --format u64 --json FILE' '--engine-option rate=0.5 --engine shards' '--rate 0.5 --engine shards'
# What a table is read by: one option, and the older ones.
printf 'time;disk;offset;bytes\n1;a;512;1024\n2;b;0;512\n3;a;512;512\n' >t.csv
same 'analyze t.csv -g 512 --json FILE' '--format csv:key=disk,offset,size=bytes,key-unit=1' '--key disk,offset --size-column bytes --key-unit 1'
same 'convert t.csv -o FILE --to text' '--format csv:key=3,delimiter=;,header=yes' '--key 3 --delimiter ; --header yes'
same 'convert t.csv -o FILE --to text' '--format :key=3,size-unit=512,size=4' '--key 3 --size-column 4 --size-unit 512'
printf 'I  04000000,3\n L 1ffe,8\n' >t.lackey
same 'analyze t.lackey --json FILE' '--format lackey:instructions=all' '--instructions all'
try 'fathom analyze t.csv --format csv:row=1'
try 'fathom analyze t.csv --format csv:key-unit=x'
try 'fathom analyze t.csv --format cvs:key=1'
try 'fathom analyze a.u64 --format u64:key=1'
same 'check a.u64' '-j FILE' '--json FILE' | sed '/^ .*--json FILE/d; s/^shown/(both are)/'
# The sampler of a stored trace was an option of sample.
fathom simulate b.u64 --period 50 --registers 2 --even --json new.file --quiet >/dev/null
fathom sample --simulate b.u64 --period 50 --registers 2 --even --json old.file --quiet >/dev/null
cmp new.file old.file && echo 'fathom simulate is fathom sample --simulate'
try 'fathom sample --simulate b.u64 --duration 0 --period 10 -- true'
try 'fathom sample --duration 0 -- true'
try 'fathom sample --method none -- true'
cat >loop.fir <<'REGION'
fathom-region 1
param n = 12
array A[n][512] of 8
for t = 0 to 9 { for i = 0 to n - 1 { do { load A[i][0] } } }
REGION
printf 'fathom-machine 1\nloads 8G\ncache L1 size 32K ways 8 line 64 bandwidth 100M\nmemory bandwidth 1G\n' >m.machine
same_static() { # new, old: but for the time that it took
    # shellcheck disable=SC2086
    fathom static loop.fir $1 --json - --quiet | grep -v seconds >new.file && fathom static loop.fir $2 --json - --quiet | grep -v seconds >old.file
    cmp new.file old.file && echo "fathom static $1 is $2"
}
same_static '--method sample --samples 40' '--method sample --draws 40'
same_static '--machine-file m.machine' '--machine m.machine'
# A typing error is not answered by a word that is not shown.
try 'fathom predict model --sampl b.u64'
