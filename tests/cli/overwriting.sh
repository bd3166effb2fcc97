# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# A result never overwrites an input of the command; a profile, a trace or a model only with --force. Nothing is run or
# read before that.
quiet() { fathom "$@" --quiet >/dev/null || echo "exit $?"; }
quiet gen cyclic --keys 100 --references 1000 -o t.fathom
quiet gen cyclic --keys 200 --references 2000 -o u.fathom
for name in a b c; do quiet analyze t.fathom --granularity 1 --json $name.json; done
quiet analyze u.fathom --granularity 1 --json d.json
quiet train a.json d.json -o m.model
printf 'for (int i = 0; i < 10; i++) a[i] = 0;\n' >loop.c
echo text >notes.txt
# The forgotten name of a file, by which a profile was lost.
try 'fathom diff --markdown a.json b.json c.json'
try 'fathom gen zipf --keys 10 --references 10 -o t.fathom'
try 'fathom train a.json d.json -o m.model'
# Inputs, under any name: also with --force.
ln -s a.json soft.json
ln b.json hard.json
mkdir -p sub
try 'fathom diff a.json c.json --json soft.json'
try 'fathom diff b.json c.json --json hard.json --force'
try 'fathom diff - c.json --json sub/../a.json <a.json'
try 'fathom convert t.fathom -o ./t.fathom --force'
try 'fathom static loop.c --emit-c loop.c'
try 'fathom run --json ./loop.c -- ./loop.c'
try 'fathom run --json notes.txt -- cat notes.txt'
try 'fathom sample --simulate t.fathom --period 10 --json t.fathom --force'
try 'fathom predict m.model --size-from t.fathom --json t.fathom --force'
# Two results in one file, that is there or not.
try 'fathom mrc a.json --json x.json --csv sub/../x.json'
try 'fathom analyze t.fathom --json notes.txt --callgrind notes.txt'
# Every output of every verb.
sum() { cat ./*.json t.fathom u.fathom m.model | cksum; }
before=$(sum)
tried=0
refuses() { # option, command...
    local option=$1
    shift
    for old in d.json u.fathom m.model; do
        fathom "$@" "$option" $old >/dev/null 2>said
        [ $? = 2 ] && grep -q "would be lost" said || echo "$* $option $old: $(cat said)"
        tried=$((tried + 1))
    done
}
for option in --json --report --output --distances --callgrind --csv; do
    fathom run "$option" d.json -- touch ran 2>said
    [ $? = 2 ] && grep -q "would be lost" said || echo "run $option: $(cat said)"
done
for option in --json --report --output --callgrind --csv; do
    fathom sample "$option" u.fathom -- touch ran 2>said
    [ $? = 2 ] && grep -q "would be lost" said || echo "sample $option: $(cat said)"
done
fathom record -o u.fathom -- touch ran 2>said
grep -q "would be lost" said || echo "record"
[ -e ran ] && echo "a program ran"
for option in --json --distances --callgrind --csv; do refuses $option analyze t.fathom; done
for option in --json --csv; do refuses $option mrc a.json; done
for option in --json --markdown --report; do refuses $option diff a.json b.json; done
for option in --output --callgrind --csv; do refuses $option report a.json; done
for option in --json --report --callgrind --csv --emit-c --emit-ir; do refuses $option static loop.c; done
refuses --emit-machine static
refuses --json compare a.json b.json
refuses --json check t.fathom
refuses --json predict m2.model --data-size 10
refuses --json phases t.fathom
refuses --output convert t.fathom
refuses --output gen zipf --keys 10 --references 10
refuses --output train a.json c.json
echo "$tried tried"
[ "$before" = "$(sum)" ] && echo unchanged
# Names that a verb makes itself.
cp a.json phase-3.json
try 'fathom phases t.fathom --profiles phase-'
# With --force; other files as ever; what is no regular file.
try 'fathom mrc a.json --csv d.json --force >/dev/null && head -n 1 d.json'
try 'fathom mrc a.json --csv notes.txt >/dev/null && head -n 1 notes.txt'
try 'fathom mrc a.json --csv notes.txt >/dev/null && fathom mrc a.json --json curve.json >/dev/null && fathom mrc a.json --json curve.json >/dev/null'
try 'fathom mrc a.json --csv - | head -n 1; fathom mrc a.json --csv /dev/stdout | grep -c ^cache_blocks; fathom mrc a.json --csv /dev/null >/dev/null'
# A file with two names and of several owners stays that file.
try 'ln notes.txt other.txt; fathom compare a.json b.json --json notes.txt >/dev/null; cmp notes.txt other.txt'
# Where nothing is written there is no --force.
try 'fathom compare a.json b.json --forse'
