# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# The sequences that define a reuse distance, with every engine. Cold is inf.
for engine in exact tree list parda; do
    try "printf 'a\na\n' | fathom analyze - --format text --engine $engine --distances d --json p.json --force --quiet >/dev/null"
    distances d
    fields p.json engine exact references distinct cold histogram
    try "printf 'a\nb\nc\nb\na\n' | fathom analyze - --format text --engine $engine --distances d --json p.json --force --quiet >/dev/null"
    distances d
    fields p.json references distinct cold histogram
    try "printf '5\n7\n5\n7\n5\n' | fathom analyze - --format text --engine $engine --distances d --json p.json --force --quiet >/dev/null"
    distances d
    fields p.json references distinct cold histogram
    # The smallest and the largest key are ordinary ones.
    try "printf '0\n18446744073709551615\n0\n18446744073709551615\n' | fathom analyze - --format text --engine $engine --distances d --quiet >/dev/null"
    distances d
done
