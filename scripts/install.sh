#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs what was built: install.sh BUILD PREFIX DESTDIR. Notes in BUILD what `make uninstall` is to remove: the files,
# and the directories that were not there before.
set -euo pipefail
build=$1 prefix=$2 destination=$3
manifest=$build/install_manifest.txt
made=$build/install_directories.txt
where=$destination$prefix

# What is to be copied is written into the build by its place: that of a copied tree would install the original's files,
# and write into it.
home=$(sed -n 's/^CMAKE_CACHEFILE_DIR:INTERNAL=//p' "$build/CMakeCache.txt")
if [ "$(realpath -m "$home")" != "$(realpath "$build")" ]; then
    echo "fathom: $build was made as $home, and copied or moved here: remove it and run make again" >&2
    exit 1
fi

# A manifest of another user (after sudo make install) cannot be written over, but taken away.
before=$(mktemp)
trap 'rm -f "$before"' EXIT
if [ -d "$where" ]; then find "$where" -type d >"$before"; fi
touch "$made" 2>/dev/null || rm -f "$made"
[ -w "$manifest" ] || rm -f "$manifest"
DESTDIR=$destination cmake --install "$build" --prefix "$prefix"

# Directories of the files, up to the prefix's own parents.
new=$(while read -r path || [ -n "$path" ]; do
    folder=$(dirname "$destination$path")
    while [ "$folder" != / ] && [ "$folder" != "$destination" ] && [ "$folder" != . ]; do
        case $folder in
        "$where" | "$where"/*) grep -qxF "$folder" "$before" || echo "$folder" ;;
        *) [ -s "$before" ] || [ "${where#"$folder"/}" = "$where" ] || echo "$folder" ;;
        esac
        folder=$(dirname "$folder")
    done
done <"$manifest" | sort -u)
{
    cat "$made" 2>/dev/null || true
    echo "$new"
} | sed '/^$/d' | sort -u >"$made.new"
mv -f "$made.new" "$made"

# As root for a user's build: what was written into it stays the user's.
if [ "$(id -u)" -eq 0 ]; then chown -R --reference="$build/CMakeCache.txt" "$build" 2>/dev/null || true; fi
[ -z "$destination" ] || exit 0
library=$(dirname "$(grep -m1 '/libfathom\.so' "$manifest")")
if [ "$(id -u)" -eq 0 ]; then
    ldconfig || echo "fathom: ldconfig failed: programs that use libfathom.so may not find it" >&2
fi
if ! PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep -qF "$library/libfathom.so"; then
    echo "fathom: the loader does not look into $library: programs that use libfathom.so need"
    echo "  LD_LIBRARY_PATH=$library, or (as root) that folder in /etc/ld.so.conf.d/ and ldconfig"
fi
case :$PATH: in
*:"$prefix/bin":*) ;;
*) echo "fathom: $prefix/bin is not on the PATH: export PATH=$prefix/bin:\$PATH" ;;
esac
