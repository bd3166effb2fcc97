#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Lists source files of one kind, one path a line: c (C and CUDA sources and headers) or shell (scripts).
set -euo pipefail
cd "$(dirname "$0")/.."
# Untracked files count too, ignored ones do not; outside a git checkout, everything but build directories.
all_files() {
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files --cached --others --exclude-standard
    else
        find . -path './build*' -prune -o -type f -print | sed 's|^\./||'
    fi | sort -u | while read -r path; do [ -f "$path" ] && echo "$path"; done
}
case ${1:-} in
c) all_files | grep -E '\.([ch]|cuh?)$' ;;
shell)
    all_files | while read -r path; do
        case $path in
        *.sh | *.bash) echo "$path" ;;
        *) [ -x "$path" ] && head -n 1 "$path" | grep -aqE '^#!.*\b(ba)?sh\b' && echo "$path" ;;
        esac
    done || true
    ;;
*)
    echo "usage: $0 c|shell" >&2
    exit 2
    ;;
esac
