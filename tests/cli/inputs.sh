# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# The same trace as file, pipe and standard input, plain and compressed, in every format that holds keys: the
# same answer. Cyclic over 3: cold 3, then always 2.
try 'fathom gen cyclic --keys 3 --references 10 -o t.txt --quiet'
try 'cat t.txt'
for name in t.txt t.u64 t.fathom t.txt.zst t.txt.gz t.u64.zst t.u64.gz; do
    fathom gen cyclic --keys 3 --references 10 -o $name --quiet || echo "exit $?"
    fathom analyze $name --granularity 1 --json p.json --force --quiet >/dev/null || echo "exit $?"
    echo "$name: $(fields p.json references cold histogram | tr '\n' ' ')"
    format=${name#t.}
    format=${format%.*}
    [ "$format" = txt ] && format=text
    fathom analyze - --format "$format" --granularity 1 --json p.json --force --quiet <$name >/dev/null || echo "exit $?"
    echo "standard input: $(fields p.json references cold histogram | tr '\n' ' ')"
    # shellcheck disable=SC2002 # a pipe is meant
    cat $name | fathom analyze - --format "$format" --granularity 1 --json - --quiet >p.json || echo "exit $?"
    echo "pipe: $(fields p.json references cold histogram | tr '\n' ' ')"
done
# Made by others' compressors, and several members or frames one after the other.
zstd -q t.txt -o z.txt.zst && gzip -c t.txt >g.txt.gz && cat g.txt.gz g.txt.gz >gg.txt.gz && cat z.txt.zst z.txt.zst >zz.txt.zst
for name in z.txt.zst g.txt.gz gg.txt.gz zz.txt.zst; do
    fathom analyze $name --json p.json --force --quiet >/dev/null || echo "exit $?"
    echo "$name: $(fields p.json references cold histogram | tr '\n' ' ')"
done
# The content tells the native format and compression, whatever the name says.
try 'cp t.fathom nameless && fathom analyze nameless --granularity 1 --json p.json --force --quiet >/dev/null'
fields p.json references cold histogram
# A FIFO is a trace like any other.
mkfifo fifo.txt
# Not for ever: where nobody reads, the test is to fail, not to hang.
timeout 60 bash -c 'cat t.txt >fifo.txt' &
try 'fathom analyze fifo.txt --json p.json --force --quiet >/dev/null'
fields p.json references cold histogram
# No ending, no content that tells: an error that says what to do.
try 'fathom analyze - <t.txt'
try 'cp t.txt noending; fathom analyze noending'
