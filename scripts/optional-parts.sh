#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the build uses where it is there (cmake/*.cmake leave out what is not): one line each. CMake stores these lines
# when it configures; `make` compares them with what is there now, and configures anew after something was installed.
for program in nvcc scdoc; do
    echo "$program $(PATH=$PATH:/usr/local/cuda/bin command -v "$program")"
done
for module in valgrind ompi-c mpich cmocka jansson; do
    echo "$module $(pkg-config --modversion "$module" 2>/dev/null)"
done
for header in /usr/include/Zydis/Zydis.h /usr/local/include/Zydis/Zydis.h; do
    [ ! -e "$header" ] || echo "zydis $header"
done
for header in /usr/include/perfmon/pfmlib.h /usr/local/include/perfmon/pfmlib.h; do
    [ ! -e "$header" ] || echo "libpfm4 $header"
done
# Nor have the headers for plug-ins of gcc.
for header in /usr/lib/gcc/*/*/plugin/include/gcc-plugin.h; do
    [ ! -e "$header" ] || echo "gcc-plugin $header"
done
# libclang has no pkg-config file: its headers, of any version.
for headers in /usr/lib/llvm-*/include/clang-c /usr/include/clang-c /usr/local/include/clang-c; do
    [ ! -d "$headers" ] || echo "libclang $headers"
done
