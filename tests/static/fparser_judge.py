#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every Fortran kernel as fathom reads it against fparser's parse: lines of loops, lines of assignments, and the array
elements of each assignment.

  fparser_judge.py [WORD…]     only kernels whose name holds a word

FATHOM: the program (default build/fathom).
"""
import collections
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests"), os.path.join(ROOT, "tests/static")]
import fparser_tree as tree  # noqa: E402
import tap_cases  # noqa: E402

FATHOM = os.environ.get("FATHOM", os.path.join(ROOT, "build/fathom"))


def of_fathom(path):
    """Loops by line, assignments by line, accesses by the line of their assignment."""
    text = subprocess.run([FATHOM, "static", "--emit-ir", "-", path], capture_output=True, text=True)
    if text.returncode:
        raise RuntimeError(text.stderr)
    loops, assignments, accesses = (collections.Counter() for _ in range(3))
    line = None
    for row in text.stdout.splitlines():
        words = row.split()
        place = re.search(r"@1:(\d+)", row)
        if not words or not place:
            continue
        if words[0] == "for":
            loops[int(place[1])] += 1
        elif words[0] == "do":
            line = int(place[1])
            assignments[line] += 1
            accesses[line] += len(re.findall(r"\b(?:load|store) ", row))  # on one line where it fits
        elif words[0] in ("load", "store"):
            accesses[line] += 1
    return loops, assignments, accesses


def of_fparser(path):
    root = tree.parse(path)
    names = tree.arrays(root)
    loops, assignments, accesses = (collections.Counter() for _ in range(3))
    for part in tree.walk(root, tree.F.Execution_Part):
        for statement in tree.statements(part):
            line = statement.item.span[0]
            if isinstance(statement, (tree.F.Nonlabel_Do_Stmt, tree.F.Label_Do_Stmt)):
                loops[line] += 1
            elif isinstance(statement, tree.F.Assignment_Stmt):
                assignments[line] += 1
                accesses[line] += len(tree.references(statement, names))
    return loops, assignments, accesses


def main():
    if tree.MISSING:
        print("skip fparser judge: " + tree.MISSING)
        return 0
    kernels = sorted(glob.glob(os.path.join(ROOT, "tests/static/kernels/*.f")) +
                     glob.glob(os.path.join(ROOT, "tests/static/kernels/*.f90")))
    sums = [0, 0, 0]
    for path in kernels:
        name = os.path.basename(path)
        if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
            continue
        problems = []
        try:
            ours, theirs = of_fathom(path), of_fparser(path)
            for what, own, other in zip(("loops", "assignments", "array elements"), ours, theirs):
                for line in sorted(set(own) | set(other)):
                    if own[line] != other[line]:
                        problems.append("line %d: %d %s, fparser has %d" % (line, own[line], what, other[line]))
            sums = [a + sum(b.values()) for a, b in zip(sums, theirs)]
        except RuntimeError as error:
            problems.append(str(error))
        tap_cases.case("%s: loops, assignments, array elements by line" % name, problems)
    print("# %d kernels: %d loops, %d assignments, %d array elements" % ((len(kernels),) + tuple(sums)))
    tap_cases.case("thirty kernels", [] if len(kernels) == 30 or sys.argv[1:] else ["there are %d" % len(kernels)])
    return tap_cases.end()


if __name__ == "__main__":
    sys.exit(main())
