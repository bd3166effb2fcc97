#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What docs/TUTORIAL.md says of `fathom static` on its program: misses before and after the loops are exchanged, by
closed forms. Speaks TAP."""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from tap_cases import case, end  # noqa: E402
FATHOM = os.environ.get("FATHOM", os.path.join(ROOT, "build", "fathom"))
SOURCE = os.path.join(ROOT, "examples", "tutorial", "blur.c")
ROWS, COLUMNS, REACH, FLOATS = 2048, 2048, 4, 16  # FLOATS: in a block
INNER = ROWS - 2 * REACH  # rows of the result


def misses(output):
    """Of 768 blocks: before and after."""
    line = next(line for line in output.splitlines() if line.startswith("48K misses") and "->" not in line)
    return [int(word.replace(",", "")) for word in line.split()[2:4]]


def main():
    done = subprocess.run([FATHOM, "static", SOURCE, "--function", "blur_columns", "--size", "48K", "--quiet",
                           "--what-if", "interchange:x,y"], capture_output=True, text=True)
    if "libclang" in done.stderr:
        print("skip static/tutorial this build has no front end for C and C++ (libclang)")
        return 0
    # By columns: every store misses, and of the loads the one that brings a row in, in every column.
    before = INNER * COLUMNS + ROWS * COLUMNS
    # By rows: nine rows and the result's are more than 768 blocks, so every block of them misses in every row.
    after = INNER * (2 * REACH + 2) * COLUMNS // FLOATS
    found = misses(done.stdout) if done.returncode == 0 else [done.stderr]
    case("misses as it is and with the loops exchanged", [] if found == [before, after] else
         [f"found {found}, expected {[before, after]}"])
    case("the exchange is legal", [] if done.stdout.rstrip().endswith("legal") else [done.stdout])
    return end()


if __name__ == "__main__":
    sys.exit(main())
