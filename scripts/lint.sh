#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All linters over all files; every finding is an error. Needs build/compile_commands.json (make lint makes it).
# clang-tidy and cppcheck remember what was clean, in build/tidy/ and build/cppcheck/.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
failed=()

step() {
    local name=$1
    shift
    echo "lint: $name"
    "$@" || failed+=("$name")
}

mapfile -t c_files < <(scripts/list-sources.sh c)
mapfile -t shell_files < <(scripts/list-sources.sh shell)
# cppcheck gets the files that CMake compiles, as clang-tidy does.
mapfile -t compiled < <(python3 - <<'END'
import json, os
root = os.getcwd()
names = {os.path.relpath(e["file"], root) for e in json.load(open("build/compile_commands.json"))}
print("\n".join(sorted(n for n in names if n.endswith(".c") and not n.startswith(("..", "build")))))
END
)

# What cppcheck takes for a fault where there is none, and who looks for it instead:
#   uninitvar, legacyUninitvar, ctuuninitvar   what a called function fills; gcc, clang's analyzer, sanitizers
#   nullPointer, nullPointerRedundantCheck     what a function that does not return has excluded; clang's analyzer
#   zerodivcond, arrayIndexOutOfBoundsCond     takes a condition of another call for one of this; sanitizers
#   va_end_missing                             lists that end by longjmp, as everywhere on x86-64
#   comparePointers                            symbols of the linker at the ends of one section
#   internalAstError                           its own parser, at sound C
off=(uninitvar legacyUninitvar ctuuninitvar nullPointer nullPointerRedundantCheck zerodivcond arrayIndexOutOfBoundsCond
    va_end_missing comparePointers internalAstError missingIncludeSystem unknownMacro)
run_cppcheck() {
    mkdir -p build/cppcheck
    cppcheck --cppcheck-build-dir=build/cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
        "${off[@]/#/--suppress=}" -DFATHOM_TUNABLE -D__linux__ -D__x86_64__ -D__GNUC__=12 \
        -j "${JOBS:-$(nproc)}" -I include -I src -I src/cli -I tests "${compiled[@]}"
}

step "clang-format (${#c_files[@]} files)" clang-format --dry-run -Werror "${c_files[@]}"
step "clang-tidy (${#compiled[@]} files)" scripts/tidy.py
step "cppcheck (${#compiled[@]} files)" run_cppcheck
step "shellcheck (${#shell_files[@]} files)" shellcheck --external-sources "${shell_files[@]}"
if [ ${#failed[@]} -gt 0 ]; then
    printf 'lint: FAILED: %s\n' "${failed[@]}" >&2
    exit 1
fi
echo "lint: clean"
