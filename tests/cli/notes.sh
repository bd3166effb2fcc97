# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# What is noted: once, where it matters; and options that went to the program.
fathom gen cyclic --keys 10 --references 100 -o t.u64 --quiet
fathom analyze t.u64 --json p.json --quiet >/dev/null
# Twice the same profile, the same note once.
try 'fathom mrc p.json p.json --json m.json --size 5 | grep -c ^5'
# Options after the program's name are the program's; those that look like ours are a mistake, unless -- says otherwise.
try 'fathom run true --json x.json -o /dev/null 2>&1 >/dev/null | grep "stands after"'
try 'fathom run --no-sites -o /dev/null true --json=x.json 2>&1 | grep "stands after"'
try 'fathom run -o /dev/null -- true --json x.json 2>&1 | grep "stands after"'
try 'fathom run -q -o /dev/null true --json x.json 2>&1 | grep "stands after"'
try 'fathom run -o /dev/null true --quiet --version --output x -- --json y 2>&1 | grep "stands after"'
try 'fathom record -o t.fathom true --follow-children 2>&1 | grep "stands after"'
try 'fathom sample true --report x 2>&1 | grep "stands after"'
