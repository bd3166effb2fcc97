# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# hwloc's plug-ins (OpenGL, OpenCL, CUDA; with them the libraries of an X server and of graphics cards) are not
# loaded for the size of a cache: here one that leaves a file behind.
[ -e /sys/devices/system/cpu/cpu0/cache/index0/size ] || skip "the kernel tells no caches here: hwloc is asked"
cat >plugin.c <<'CODE'
#include <fcntl.h>
__attribute__((constructor)) static void load(void) { creat("loaded", 0600); }
CODE
cc -shared -fPIC plugin.c -o hwloc_plugin.so || skip "no compiler"
export HWLOC_PLUGINS_PATH=$PWD
printf ' L 1000,8\n S 2000,8\n L 1000,8\n' >t.lackey
try_silently 'fathom analyze t.lackey --json p.json'
try_silently 'fathom analyze t.lackey'
try_silently 'fathom mrc p.json'
try_silently 'fathom report p.json -o page.html'
try_silently 'fathom static --emit-machine here.machine'
try 'ls loaded'
# That the plug-in would have been loaded:
HWLOC_SYNTHETIC='l1d:1(size=49152) pu:1' fathom analyze t.lackey >/dev/null
try 'ls loaded'
