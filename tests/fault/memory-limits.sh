# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Memory that the system refuses, or that the user forbids.
# How much an engine needs is its own business: numbers of three digits and more are shown as N.
limited() { try_silently "$1" | sed '/^!/s/[0-9]\{3,\}/N/g'; }
fathom gen distinct --keys 2M --references 2M -o t.u64 --quiet
for engine in exact tree parda; do
    limited "fathom analyze t.u64 --engine $engine --max-memory 32M"
done
# The list is quadratic: a limit just above what the program itself needs is reached soonest.
limited 'fathom analyze t.u64 --engine list --max-memory 16500K'
limited 'fathom analyze t.u64 --max-memory 1'
try_silently 'fathom analyze t.u64 --max-memory 1G --json p.json --quiet'
fields p.json references distinct
# Samples are taken where the blocks do not fit, and the process keeps its word.
fathom gen uniform --keys 2M --references 4M --seed 1 -o large.u64 --quiet
peak 40 'fathom analyze large.u64 --max-memory 40M --json used.json --quiet'
fields used.json engine
