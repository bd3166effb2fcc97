# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# CSV: the key by name or number, requests with a size cut into blocks, units.
cat >io.csv <<'END'
time,op,offset,bytes
1,R,0,512
2,W,4096,8192
3,R,0,4096
4,R,8192,512
END
# Keys alone: 0 4096 0 8192.
try_silently 'fathom analyze io.csv --key offset --distances d --quiet'
distances d
try_silently 'fathom analyze io.csv --key 3 --distances d --quiet'
distances d
# Requests in blocks of 4096: 0 | 1 2 | 0 | 2.
try_silently 'fathom analyze io.csv --key offset --size-column bytes --granularity 4096 --distances d --json p.json --quiet'
distances d
fields p.json granularity references distinct cold histogram
# The same in sectors of 512 bytes.
printf '0;1\n8;16\n0;8\n16;1\n' >sectors.csv
try_silently 'fathom analyze sectors.csv --header no --delimiter ";" --key 1 --size-column 2 --key-unit 512 --size-unit 512 --granularity 4096 --distances d --quiet'
distances d
printf '0\t1\n8\t16\n0\t8\n16\t1\n' >tabs.csv
try_silently 'fathom analyze tabs.csv --header no --delimiter tab --key 1 --size-column 2 --key-unit 512 --size-unit 512 --granularity 4096 --distances d --quiet'
distances d
# Strings are hashed, and that is said.
printf 'key\n"a, b"\nc\n"a, b"\n' >strings.csv
try_silently 'fathom analyze strings.csv --key key --distances d'
distances d
try 'fathom analyze io.csv --key nothing'
try 'fathom analyze io.csv --key 9'
# Nobody says which column is the key: its name does, and that is told. 0 4096 0 8192.
try_silently 'fathom analyze io.csv --distances d'
distances d
cat >blocks.csv <<'END'
version,time,op,size,LBN
1,100,2a,512,8
1,101,2a,1024,9
1,102,28,512,8
END
for command in 'analyze --distances d' 'convert -o keys.txt' 'check' 'phases'; do
    # shellcheck disable=SC2086
    try_silently "fathom $command blocks.csv"
done
distances d
try 'cat keys.txt'
try_silently 'fathom analyze - --format csv --distances d --quiet <blocks.csv'
distances d
# No name tells, several do, or there are no names.
cut -d , -f 1-4 blocks.csv >nothing.csv
try 'fathom analyze nothing.csv --json nothing.json'
try 'fathom convert nothing.csv -o nothing.u64'
try 'ls nothing.json nothing.u64 2>/dev/null'
printf 'offset,key\n1,2\n3,4\n' >two.csv
try 'fathom analyze two.csv'
tail -n +2 blocks.csv >bare.csv
try 'fathom analyze bare.csv'
try_silently 'fathom analyze bare.csv --key 5 --distances d'
distances d
# Block numbers and sizes in bytes: how many bytes a block is has to be said. 8: bytes 4096 to 4607, 9: 4608 to 5631.
try 'fathom analyze blocks.csv --size-column size --granularity 512'
try_silently 'fathom analyze blocks.csv --size-column size --key-unit 512 --granularity 512 --distances d'
distances d
try_silently 'fathom analyze blocks.csv --granularity 4 --distances d'
distances d
# A cache of keys has no bytes.
try_silently 'fathom analyze blocks.csv --key LBN --json keys.json --size 2 --quiet'
try 'fathom mrc keys.json --size 16Mkeys | grep -A 4 ^cache'
try_silently 'fathom report keys.json --size 16Mkeys -o page.html'
try_silently 'fathom analyze blocks.csv --key LBN --size 16Mkeys'
