# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Help and version: standard output, exit 0; nothing at all on the command line is wrong usage.
try 'fathom --version'
try 'fathom -V'
try 'fathom version'
try 'fathom --help'
try 'fathom -H | diff <(fathom --help) -'
try 'fathom --help=all | cmp - <(fathom -H)'
try 'fathom run --help=some'
try 'fathom'
try 'fathom help | cmp - <(fathom --help)'
try 'fathom -h | cmp - <(fathom --help)'
for verb in run record sample simulate cc c++ fc analyze mrc compare report convert gen check; do
    try "fathom $verb --help | head -n 1"
    try "fathom help $verb | cmp - <(fathom $verb --help)"
    try "fathom $verb -h | cmp - <(fathom $verb --help)"
done
# Engines and their options; the tables are compared by tests/docs.
try 'fathom help engines | head -n 1'
try 'fathom help engines | grep -A 3 "^  aet"'
try 'fathom help engine'
