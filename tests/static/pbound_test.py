#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The paper's codes at the paper's sizes (bench/pbound): misses of its two caches against counts by hand.

Lines of 64 bytes hold 8 doubles. A vector of 2500 has 313 lines, a matrix of 350 x 350 has 15,313.
"""
import json
import os
import subprocess
import sys

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(root, "tests"))
from tap_cases import case, end  # noqa: E402

fathom = os.environ.get("FATHOM", os.path.join(root, "build/fathom"))
SMALL, LARGE = 512, 262144  # lines of 32 KB, of 16 MB
CODES = [
    # Every line once.
    ("triad", {}, 3000000, 3 * 125000, 3 * 125000),
    # The second loop finds nothing of a in the small cache, and all of it in the large one.
    ("fission", {}, 490000, 4 * 15313, 3 * 15313),
    ("fusion", {}, 490000, 3 * 15313, 3 * 15313),
    # The matrix once. In the small cache both vectors of the inner loop are gone after a row (313 lines of each, and of
    # the matrix): again for every row. So are the lines of y_2[i], and of x1[i] until it is stored; right behind that
    # it is loaded again, but for the first of a line.
    ("mvt", {}, 2500 * (4 * 2500 + 3), 781250 + 2500 * 2 * 313 + 2500 + 2500 + 313, 781250 + 4 * 313),
    # A column of B is 32 lines: they stay for the 8 columns that they hold. A row of A stays.
    ("mxm", {"N": 1024, "M": 32}, 1024 * 1024 * (2 * 32 + 1), 1024 * 32 * 128 + 1024 * 4 + 1024 * 128,
     32 * 128 + 1024 * 4 + 1024 * 128),
    # A column of B is 1024 lines: each is lost before the next column, so is the row of A and the line of C.
    ("mxm", {"N": 32, "M": 1024}, 32 * 32 * (2 * 1024 + 1), 32 * 32 * (1024 + 128 + 1), 1024 * 4 + 32 * 128 + 32 * 4),
]


def main():
    for name, macros, references, small, large in CODES:
        defined = ["-D", ",".join("%s=%d" % item for item in macros.items())] if macros else []
        done = subprocess.run([fathom, "static", os.path.join(root, "bench/pbound", name + ".c"), "--quiet", "--method", "count",
                               "--bins", "exact", "--json", "-"] + defined, capture_output=True, text=True)
        title = " ".join([name] + ["%s=%d" % item for item in macros.items()])
        if "built without its front end" in done.stderr:
            print("skip %s: %s" % (title, done.stderr.strip()))
            continue
        problems = [done.stderr.strip()] if done.returncode else []
        if not problems:
            profile = json.loads(done.stdout)
            found = [profile["references"]] + [
                profile["cold"] + sum(count for low, _, count in profile["histogram"] if low >= lines) for lines in (SMALL, LARGE)]
            if found != [references, small, large]:
                problems = ["references and misses %s, by hand %s" % (found, [references, small, large])]
        case("%s: misses of the paper's caches" % title, problems)
    return end()


if __name__ == "__main__":
    sys.exit(main())
