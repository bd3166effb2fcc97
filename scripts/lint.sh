#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All linters over all files; every finding is an error. Needs build/compile_commands.json (make lint makes it).
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
# clang-tidy and cppcheck need to know how a file is compiled: those that CMake compiles.
mapfile -t compiled < <(python3 - <<'END'
import json, os
root = os.getcwd()
names = {os.path.relpath(e["file"], root) for e in json.load(open("build/compile_commands.json"))}
print("\n".join(sorted(n for n in names if n.endswith(".c") and not n.startswith(("..", "build")))))
END
)

run_tidy() {
    printf '%s\n' "${compiled[@]}" | xargs -P "${JOBS:-$(nproc)}" -n 4 clang-tidy -p build --quiet --warnings-as-errors='*' 2>build/clang-tidy.log
    local status=$?
    # "N warnings generated" about system headers is noise; real trouble with the tool is not.
    grep -vE '^[0-9]+ warnings?( and [0-9]+ errors?)? (generated|treated)|^Suppressed|^Use -header-filter' build/clang-tidy.log
    return $status
}

run_cppcheck() {
    cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
        --suppress=missingIncludeSystem --suppress=unknownMacro -DFATHOM_TUNABLE -D__linux__ -D__x86_64__ -D__GNUC__=12 \
        -j "${JOBS:-$(nproc)}" -I include -I src -I src/cli -I tests "${compiled[@]}"
}

step "clang-format (${#c_files[@]} files)" clang-format --dry-run -Werror "${c_files[@]}"
step "clang-tidy (${#compiled[@]} files)" run_tidy
step "cppcheck (${#compiled[@]} files)" run_cppcheck
step "shellcheck (${#shell_files[@]} files)" shellcheck --external-sources "${shell_files[@]}"
if [ ${#failed[@]} -gt 0 ]; then
    printf 'lint: FAILED: %s\n' "${failed[@]}" >&2
    exit 1
fi
echo "lint: clean"
