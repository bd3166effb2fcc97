#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make soak: hostile inputs (tests/soak) for SOAK_SECONDS, half of them under AddressSanitizer, which needs more memory.
# Another seed each day; SOAK_SEED chooses one.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${SOAK_SECONDS:-600}
seed=${SOAK_SEED:-$(date +%Y%m%d)000000}
{ cmake --preset asan && cmake --build build-asan --parallel "${JOBS:-$(nproc)}" --target fathom; } >build/soak-build.log 2>&1 || {
    tail -n 40 build/soak-build.log
    exit 1
}
echo "seed $seed, $seconds s"
code=0
tests/soak/soak_test.py --seed "$seed" --seconds $((seconds / 2)) || code=1
ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:handle_sigill=1 FATHOM=build-asan/fathom FATHOM_PARTS=$PWD/build/lib/fathom \
    SOAK_MEBIBYTES=4096 tests/soak/soak_test.py --seed "$seed" --seconds $((seconds / 2)) || code=1
exit $code
