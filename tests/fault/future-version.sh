# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# A trace of a later version of the format is refused, not misread.
fathom gen cyclic --keys 10 --references 100 -o t.fathom --quiet
python3 "$TESTS/fault/raise_version.py" t.fathom later.fathom
try 'fathom analyze later.fathom'
try 'fathom check later.fathom'
try 'fathom convert later.fathom -o x.txt'
