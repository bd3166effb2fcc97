# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# --granularity element: an access is one reference to its address, whatever its size.
python3 - <<'END'
import random
random.seed(4)
kinds = {"L": "0", "S": "1", "M": "0"}
with open("a.lackey", "w") as lackey, open("a.txt", "w") as text, open("a.din", "w") as din:
    for _ in range(20000):
        address, kind = 4096 + random.randrange(3000), random.choice("LSM")
        print(f" {kind} {address:08x},{random.choice((1, 2, 4, 8, 16, 32, 300))}", file=lackey)
        print(f"{kinds[kind]} {address:x}", file=din)
        print(address, file=text)
END
# The judge: the same addresses as keys.
fathom analyze a.txt --distances judge --json judge.json --quiet >judge.out
try_silently 'fathom analyze a.lackey -g element --distances d --json e.json --force'
try 'cmp d judge'
fields e.json granularity elements references distinct
same_histogram() {
    python3 -c '
import json, sys
a, b = (json.load(open(name)) for name in sys.argv[1:])
print("the same" if all(a[k] == b[k] for k in ("references", "distinct", "cold", "histogram")) else "another")' "$@"
}
for way in 'a.lackey --threads 3' 'a.lackey --threads 1 --engine tree' 'a.lackey --threads 2 --engine parda' \
    'a.din' 'a.fathom --threads 3' 'a.fathom --threads 1 --time' '--format lackey - <a.lackey'; do
    [ -e a.fathom ] || fathom convert a.lackey -o a.fathom --quiet
    try_silently "fathom analyze $way -g element --json e.json --force"
    same_histogram e.json judge.json
done
# Bytes are another thing, and that is said.
try_silently 'fathom analyze a.lackey -g 1 --json bytes.json'
try_silently 'fathom analyze a.lackey -g 4,64 --json words.json'
try_silently 'fathom analyze a.din -g 1 --json d.json'
same_histogram d.json judge.json
for command in 'diff e.json bytes.json --size 1K' 'compare e.json bytes.json' 'mrc e.json bytes.json' \
    'train e.json bytes.json -o model.json'; do
    try "fathom $command"
done
try 'fathom mrc e.json --size 1K | tail -n 5'
try_silently 'fathom mrc e.json'
try 'fathom mrc e.json --machine'
try 'fathom diff e.json e.json --size 1K | tail -n 2'
try 'fathom analyze a.lackey -g element --size 1K --quiet | tail -n 5'
try 'fathom analyze a.lackey -g element,64'
try 'fathom analyze a.lackey -g elements'
