# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Files of every kind that fathom knows, given to every verb: what the file is, and what to do with it.
fathom gen cyclic --keys 100 --references 1000 -o trace.fathom --quiet
fathom gen cyclic --keys 200 --references 2000 -o other.fathom --quiet
fathom analyze trace.fathom --granularity 1 --json profile.json --quiet >/dev/null
fathom analyze other.fathom --granularity 1 --json other.json --quiet >/dev/null
fathom phases trace.fathom --granularity 1 --json phases.json --quiet >/dev/null
fathom train profile.json other.json -o model.json --quiet >/dev/null
fathom diff profile.json other.json --json diff.json --quiet >/dev/null
fathom check trace.fathom --json check.json --quiet >/dev/null
printf 'fathom-machine 1\nname "m"\n' >m.machine
printf '<!DOCTYPE html>\n<html></html>\n' >page.html
printf 'int main(void) { return 0; }\n' >main.c
kinds='trace.fathom profile.json phases.json model.json diff.json check.json m.machine page.html main.c /bin/true'
# What the verbs read is not refused as a wrong kind, everything else is, with exit code 1 and no other word.
shown() { # kinds it reads, command...
    local reads=" $1 " file
    shift
    for file in $kinds; do
        fathom "$@" "$file" >/dev/null 2>said
        local status=$?
        if [[ $reads == *" $file "* ]]; then
            grep -q 'expected a .*, found' said && echo "$* $file: $(cat said)"
        elif [ "$status" != 1 ] || [ "$(wc -l <said)" != 1 ] || ! grep -q "^fathom $1: $file: expected .*, found .*: " said; then
            echo "$* $file: $status: $(cat said)"
        fi
    done
}
for verb in analyze phases check; do shown trace.fathom $verb; done
shown trace.fathom convert --to text -o out.txt
for verb in mrc report; do shown 'profile.json phases.json' $verb; done
for verb in diff compare; do shown 'profile.json phases.json' $verb profile.json; done
shown 'profile.json phases.json' train -o new.model profile.json
shown model.json predict --data-size 100
shown main.c static
for verb in run sample; do shown /bin/true $verb; done
shown /bin/true record -o new.fathom
shown trace.fathom sample --period 10 --simulate
shown trace.fathom predict model.json --size-from
shown m.machine static main.c --machine
# Which message each kind gets.
for file in $kinds; do
    [ "$file" = trace.fathom ] || try "fathom analyze $file"
done
try 'fathom mrc trace.fathom'
try 'fathom mrc page.html'
try 'fathom run -- ./profile.json'
try 'fathom run -- ./main.c'
try 'fathom static --machine profile.json main.c'
# Whoever says what a trace is knows better; a file of which nothing is known may be anything.
try 'fathom analyze --format text --quiet main.c >/dev/null'
try 'fathom analyze --format u64 --quiet profile.json 2>&1 >/dev/null | grep -c "ends within a key"'
printf '# A heading\n' >README.md
try 'fathom mrc README.md'
# A name that says nothing about the content.
try 'cp trace.fathom nameless && fathom report nameless'
