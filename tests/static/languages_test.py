#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The C, the Fortran and the C++ version of a kernel touch the same bytes in the same order.

All are walked; arrays may have other names in the other language, one for one. Fortran's arrays are the transposes of
C's, so that the same elements follow each other in memory. C++ has some of the kernels: vectors, views with operator(),
templates, std::min.

  languages_test.py [WORD…]     only kernels whose name holds a word
"""
import glob
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import tap_cases  # noqa: E402

FATHOM = os.environ.get("FATHOM", os.path.join(ROOT, "build/fathom"))
WALK = os.environ.get("WALK_SOURCE", os.path.join(ROOT, "build/tests/static/walk_source"))


def small_sizes():
    """The parameters of each kernel, with small values that differ: rows must not be taken for columns."""
    found = {}
    with open(os.path.join(ROOT, "tests/static/sizes.txt")) as table:
        for words in (line.split() for line in table):
            if len(words) > 2 and words[1] == "MINI":
                names = [word.split("=")[0] for word in words[2:]]
                found[words[0]] = ["%s=%d" % (name, 3 if name.startswith("t") else 9 + 2 * i) for i, name in enumerate(names)]
    return found


def walked(path, values, folder):
    """Lines of walk_source, by way of the region's text: the module for C is found by the program."""
    text = os.path.join(folder, "kernel.fir")
    name, ending = os.path.splitext(os.path.basename(path))
    chosen = ["--function", "kernel_" + name.replace("-", "_")] if ending == ".cc" else []
    for command in ([FATHOM, "static", "--quiet", "--emit-ir", text, path] + chosen, [WALK, text] + values):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
    return done.stdout.splitlines()


def difference(own, other, language):
    there, back = {}, {}
    for i, (a, b) in enumerate(zip(own, other)):
        (what, name, *where), (other_what, other_name, *other_where) = a.split(), b.split()
        same_array = there.setdefault(name, other_name) == other_name and back.setdefault(other_name, name) == name
        if what != other_what or where != other_where or not same_array:
            return ["access %d: '%s' in %s, '%s' in C" % (i, a, language, b)]
    return [] if len(own) == len(other) else ["%d accesses in %s, %d in C" % (len(own), language, len(other))]


def main():
    sizes, compared = small_sizes(), 0
    with tempfile.TemporaryDirectory() as folder:
        kernels = os.path.join(ROOT, "tests/static/kernels")
        for path in sorted(glob.glob(kernels + "/*.f*") + glob.glob(kernels + "/*.cc")):
            name = os.path.basename(path).split(".")[0]
            language = "C++" if path.endswith(".cc") else "Fortran"
            if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
                continue
            own = []
            try:
                own = walked(path, sizes[name], folder)
                compared += len(own)
                problems = difference(own, walked(os.path.join(kernels, name + ".c"), sizes[name], folder), language)
            except RuntimeError as error:
                if "built without its front end" in str(error):
                    print("skip %s in two languages: %s" % (name, error))
                    continue
                problems = [str(error)]
            tap_cases.case("%s in %s: %d accesses, the same in C" % (name, language, len(own)), problems)
    print("# %d accesses compared" % compared)
    return tap_cases.end()


if __name__ == "__main__":
    sys.exit(main())
