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
# Directories that make install made, the deepest first, as far as nobody else has put something there.
directories=$(dirname "$manifest")/install_directories.txt
if [ -f "$directories" ]; then
    sort -r "$directories" | while read -r folder; do
        [ ! -d "$folder" ] || rmdir --ignore-fail-on-non-empty -- "$folder"
    done
    rm -f "$directories"
fi
if [ -z "$destination" ] && [ "$(id -u)" -eq 0 ]; then ldconfig || true; fi
