# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Distances of the bound and over are one class. Cyclic over 10: all reuses at 9.
fathom gen cyclic --keys 10 --references 30 -o t.u64 --quiet
for bound in 9 10; do
    for engine in exact tree list parda; do
        try_silently "fathom analyze t.u64 --bound $bound --engine $engine --json p.json --force --distances d --quiet"
        fields p.json references distinct cold beyond histogram | tr '\n' ' '
        distances d
    done
done
