# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# A byte order mark is no part of the first key, address or name. 1 2 1: the last distance is 1.
for name in t.txt t.csv; do
    printf '\357\273\2771\n2\n1\n' >$name
    try_silently "fathom analyze $name --distances d"
    distances d
done
# Compressed, and through a pipe.
gzip -c t.txt >t.txt.gz
try_silently 'cat t.txt.gz | fathom analyze - --format text --distances d'
distances d
# Before a quoted name.
printf '\357\273\277"key",other\n1,7\n2,7\n1,7\n' >q.csv
try_silently 'fathom analyze q.csv --key key --distances d'
distances d
# A lackey and a din trace whose first line is a reference.
printf '\357\273\277 L 1000,4\n L 2000,4\n L 1000,4\n' >t.lackey
try_silently 'fathom analyze t.lackey --distances d'
distances d
printf '\357\273\2770 1000\n0 2000\n0 1000\n' >t.din
try_silently 'fathom analyze t.din --distances d'
distances d
# Nothing but a mark: an empty trace. Two thirds of a mark: a key.
printf '\357\273\277' >empty.txt
try_silently 'fathom analyze empty.txt --distances d'
distances d
printf '\357\273' >two.txt
try_silently 'fathom analyze two.txt --distances d'
distances d
# Other encodings are refused by name, and converting helps.
for encoding in UTF-16LE UTF-16BE UTF-32LE UTF-32BE; do
    for name in t.txt t.csv t.lackey t.din; do
        iconv -f UTF-8 -t $encoding $name >wide.${name#t.}
        try "fathom analyze wide.${name#t.}"
    done
done
try_silently 'iconv -f UTF-32 -t UTF-8 wide.txt | fathom analyze - --format text --distances d'
distances d
# Profiles and models.
fathom gen sawtooth --keys 200 --references 4000 -o a.u64 --quiet
fathom gen sawtooth --keys 400 --references 8000 -o b.u64 --quiet
fathom analyze a.u64 --json a.json --quiet >/dev/null
fathom analyze b.u64 --json b.json --quiet >/dev/null
fathom train -o model.json a.json b.json --quiet >/dev/null
for name in a model; do
    { printf '\357\273\277' && cat $name.json; } >$name.mark.json
    iconv -f UTF-8 -t UTF-16 $name.json >$name.wide.json
done
try 'fathom compare a.mark.json a.json | grep overlap'
try 'fathom compare a.wide.json a.json'
try_silently 'fathom predict model.mark.json --data-size 800 --json p.json && fathom predict model.json --data-size 800 --json q.json && cmp p.json q.json'
try 'fathom predict model.wide.json --data-size 800'
