#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make hooks: before each commit scripts/hooks/pre-commit runs, that of the tree which is committed. A hook of your own is
# not overwritten.
set -euo pipefail
cd "$(dirname "$0")/.."
hook=$(git rev-parse --git-path hooks)/pre-commit
# shellcheck disable=SC2016 # the hook's own
wanted='#!/bin/sh
[ ! -x scripts/hooks/pre-commit ] || exec scripts/hooks/pre-commit "$@"'
if [ -e "$hook" ] && [ "$(cat "$hook")" != "$wanted" ]; then
    echo "fathom: $hook is there already; let it call scripts/hooks/pre-commit" >&2
    exit 1
fi
mkdir -p "$(dirname "$hook")"
printf '%s\n' "$wanted" >"$hook"
chmod +x "$hook"
echo "installed $hook"
