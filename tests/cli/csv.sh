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
