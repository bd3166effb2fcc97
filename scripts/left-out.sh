#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a build has not, as a table: left-out.sh BUILD/left-out. Nothing where nothing is left out.
[ -s "$1" ] || exit 0
echo
printf '%-22s %-34s %s\n' 'left out' 'Debian package that brings it' 'why'
while IFS='|' read -r part package why; do
    printf '%-22s %-34s %s\n' "$part" "$package" "$why"
done <"$1"
echo 'After installing one, run make again.'
