#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A tree that was copied or moved together with its builds: these name the place where they were made, and CMake refuses
# to go on with them. Removes them, and says so, so that they are made anew. Run at the top of the tree, by the Makefile
# and by what else builds.
for cache in build/CMakeCache.txt build-*/CMakeCache.txt; do
    [ -f "$cache" ] || continue
    made=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$cache")
    [ "$made" -ef . ] && continue
    echo "fathom: $(dirname "$cache")/ was built in $made; it is built anew here" >&2
    rm -rf "$(dirname "$cache")"
done
