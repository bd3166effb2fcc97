#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Removes the files that the last `make install` wrote: uninstall.sh MANIFEST DESTDIR
set -euo pipefail
manifest=$1
destination=$2
if [ ! -f "$manifest" ]; then
    echo "fathom: nothing to uninstall: $manifest does not exist; run make install with the same settings first" >&2
    exit 1
fi
# The manifest has the paths without DESTDIR.
while read -r path || [ -n "$path" ]; do
    if [ -e "$destination$path" ] || [ -L "$destination$path" ]; then
        rm -f -- "$destination$path"
        echo "removed $destination$path"
    fi
done <"$manifest"
# The directory of the public headers is ours alone.
headers=$(sed -n 's|/fathom/fathom\.h$|/fathom|p' "$manifest")
if [ -n "$headers" ] && [ -d "$destination$headers" ]; then rmdir --ignore-fail-on-non-empty "$destination$headers"; fi
