#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Opens the pages that `fathom report` and `fathom diff` write in headless Chromium and looks at them.
#
#     tests/browser/run-report-test.sh BUILD_DIR
#
# SHOTS=DIRECTORY keeps a picture of each case there; ONLY=TEXT runs the cases with that in their names.
#
# Prints a line `ok NAME`, `not ok NAME` or `skip NAME reason` per case. Exits 0 when none failed, 1 when one
# did, 77 when nothing could be tested here (and says why). Needs Chromium and Python, nothing else: the cases run in
# Chromium itself (browser.py).
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:?usage: run-report-test.sh BUILD_DIR}" && pwd) || exit 1
fathom=${FATHOM:-$build/fathom}
chromium=${CHROMIUM:-$(command -v chromium-headless-shell chromium chromium-browser google-chrome | head -n 1)}

skip_all() {
  echo "skip report-in-browser $1"
  exit 77
}
[ -x "$fathom" ] || skip_all "there is no program at $fathom"
[ -n "$chromium" ] || skip_all "chromium is not installed"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export CHROMIUM=$chromium
for made in make-profiles.cjs make-attributions.cjs; do
  "$here/browser.py" "$work" $made || exit 1
done
"$fathom" report --quiet "$work/plain.json" -o "$work/probe.html" 2> "$work/said"
if grep -q 'no report page' "$work/said"; then
  skip_all "this build has no report page (FATHOM_REPORT=OFF)"
fi

export HWLOC_SYNTHETIC='pack:1 l3:1(size=33554432) core:2 l2:1(size=1048576) l1d:1(size=49152) pu:1'
pages() { # NAME PROFILE...
  local name=$1
  shift
  "$fathom" report --quiet "$@" -o "$work/$name.html"
  case $? in 0 | 3) ;; *) echo "not ok write-$name"; exit 1 ;; esac
}
pages one "$work/plain.json"
pages several "$work/plain.json" "$work/other.json" "$work/several.json"
pages hostile "$work/hostile.json" "$work/plain.json"
pages keys "$work/keys.json"
pages keys-sized "$work/keys.json" --size 600,1000
pages large "$work/large.json"
pages empty "$work/empty.json"
pages program "$work/program.json"
pages latencies "$work/latencies.json"
pages sampled "$work/sampled.json"
pages few "$work/few.json"
pages two-programs "$work/program.json" "$work/plain.json" "$work/after.json"
pages library "$work/library.json"
pages places "$work/places.json"
pages parts "$work/parts.json"
pages phases "$work/phases.json"
pages nested-phases "$work/nested-phases.json"
pages hostile-program "$work/hostile-program.json"
pages other-sources "$work/other-sources.json"
pages no-sums "$work/no-sums.json"
pages huge "$work/huge.json"
pages other-sizes --size 100000,3M "$work/program.json"
pages no-source --no-source "$work/program.json"

compared() { # NAME BEFORE AFTER [OPTION]...
  local name=$1
  shift
  "$fathom" diff --quiet "$@" --report "$work/$name.html" --json "$work/$name-page.json" > "$work/$name-page.txt"
  case $? in 0 | 3) ;; *) echo "not ok write-$name"; exit 1 ;; esac
}
compared diff "$work/program.json" "$work/after.json"
compared diff-incomparable "$work/program.json" "$work/empty.json"

"$here/browser.py" "$work" report-test.cjs "${SHOTS:-}" "${ONLY:-}"
