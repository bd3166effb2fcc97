# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# One page that needs nothing else.
fathom gen cyclic --keys 100 --references 1000 -o t.u64 --quiet
fathom analyze t.u64 --json p.json --quiet >/dev/null
fathom report p.json -o probe.html --quiet 2>message
grep -q 'no report page' message && skip "$(cat message)"
try 'fathom report p.json p.json -o page.html --quiet'
try 'fathom report p.json -o - --quiet | head -c 15'
try 'grep -ciE "(src|href) *= *.?https?://" page.html'
try 'fathom report p.json'
try 'fathom report -o page.html'
