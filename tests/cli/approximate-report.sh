# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# The page says what an approximate profile promises.
fathom gen cyclic --keys 1000 --references 5000 -o t.u64 --quiet
fathom analyze t.u64 --engine approx --error 0.25 --json p.json --quiet >/dev/null
fathom report p.json -o r.html --no-machine --quiet 2>message
grep -q 'no report page' message && skip "$(cat message)"
try 'grep -o "\"exact\":false,\"accuracy\":\"[^\"]*\"" r.html'
