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
    fathom "${1%% *}" --help | grep -E -- "^ .*${3%% *} " && echo 'shown'
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
same 'check a.u64' '-j FILE' '--json FILE' | sed '/^ .*--json FILE/d; s/^shown/(both are)/'
# A typing error is not answered by a word that is not shown.
try 'fathom predict model --sampl b.u64'
