# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Paths that are no trace, no profile, or may not be read or written.
mkdir dir
: >empty.fathom
: >empty.txt
: >empty.csv
for verb in 'analyze' 'check' 'mrc' 'report -o x.html' 'convert -o x.u64'; do
    try "fathom $verb nothing.fathom"
    try "fathom $verb dir"
done
try 'fathom compare nothing.json nothing.json'
try 'fathom analyze nothing/at/all.txt'
try 'fathom analyze dir --format text'
try 'fathom analyze empty.fathom'
try 'fathom check empty.fathom'
try 'fathom mrc empty.txt'
# An empty text is a trace of nothing.
try_silently 'fathom analyze empty.txt --json p.json --force'
fields p.json references cold complete
try 'fathom analyze ""'
# Where results cannot go.
try 'fathom gen cyclic --keys 2 --references 4 -o no/such/dir/x.u64'
try 'fathom gen cyclic --keys 2 --references 4 -o dir'
fathom gen cyclic --keys 2 --references 4 -o t.u64 --quiet
try_silently 'fathom analyze t.u64 --json no/such/dir/p.json'
try_silently 'fathom analyze t.u64 --json dir'
try_silently 'fathom analyze t.u64 --distances no/such/dir/d'
fathom analyze t.u64 --json p.json --force --quiet >/dev/null
try_silently 'fathom mrc p.json --csv no/such/dir/c --no-machine'
try_silently 'fathom compare p.json p.json --json no/such/dir/c'
try 'fathom convert t.u64 -o no/such/dir/x.txt'
# Nothing was left behind.
try 'ls; ls dir'

# Results are tried before the program runs, and what is there stays as it is.
cat >script <<'END'
#!/bin/sh
echo ran >ran
END
chmod +x script
mkdir folder
for option in --json --report --output --csv --callgrind; do
    try "fathom run $option nowhere/x -- ./script 2>&1 | grep -v 'is a script'; ls ran"
done
try 'fathom run --json folder -- ./script 2>&1 | grep -v "is a script"; ls ran'
echo old >kept.json
try 'fathom run --json kept.json --report nowhere/x -- ./script 2>&1 | grep -v "is a script"; cat kept.json; ls'
fathom gen cyclic --keys 10 --references 100 -o t.u64 --quiet
try 'fathom analyze t.u64 --json nowhere/x'
# Hints, where a reader of the result would stumble.
try 'fathom run --json nowhere/x -- ./script 2>&1 | head -n 1'
try 'fathom run --follow-children --json nowhere/x -- ./script 2>&1 | head -n 1'
try 'fathom run --json nowhere/x -- python3 2>&1 | head -n 1'
