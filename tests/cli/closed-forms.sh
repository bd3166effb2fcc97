# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Patterns whose answer is known: cyclic over M keys has only the distance M-1, one key only 0, distinct keys
# none at all.
try 'fathom gen cyclic --keys 5 --references 23 -o cyclic.u64 --quiet'
try_silently 'fathom analyze cyclic.u64 --json p.json'
fields p.json schema engine exact granularity references distinct cold histogram complete lost
try 'fathom gen same --keys 1 --references 1000 -o same.u64 --quiet'
try_silently 'fathom analyze same.u64 --json p.json --force'
fields p.json references distinct cold histogram
try 'fathom gen distinct --keys 1000 --references 1000 -o distinct.u64 --quiet'
try_silently 'fathom analyze distinct.u64 --json p.json --force'
fields p.json references distinct cold histogram
# Sawtooth over 5: after each turn the distances 1 2 3 4; 5 first touches and 3 slopes.
try 'fathom gen sawtooth --keys 5 --references 17 -o sawtooth.u64 --quiet'
try_silently 'fathom analyze sawtooth.u64 --json p.json --force'
fields p.json references distinct cold histogram
# A million references: 1000 first touches, all others at 999.
try 'fathom gen cyclic --keys 1000 --references 1M -o cyclic.fathom --quiet'
try_silently 'fathom analyze cyclic.fathom --json p.json --force --time --bins exact --granularity 1'
fields p.json references distinct cold histogram times bins
# Nothing is a trace too.
try ': > empty.u64'
try_silently 'fathom analyze empty.u64 --json p.json --force'
fields p.json references distinct cold histogram complete
