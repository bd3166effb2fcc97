#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Histograms that `fathom static` counts (--method count) against a walk over every access: all bins of all
kernels, at sizes whose rows are whole blocks and at odd ones, rows contiguous and aligned, elements and 64-byte blocks.

    tests/static/histograms_test.py [--all] [--jobs N] [--limit SECONDS] [--sizes MINI,MINI+1…] [--method NAME]
                                    [--kernels FOLDER] [KERNEL…]

Without --all, a few kernels that stand for the others. With it all thirty, at the sizes MINI and SMALL of
tests/static/sizes.txt, and one and three more of every extent. FOLDER has KERNEL.c, or KERNEL.fir (--emit-ir) for
machines without libclang. With it, what is not done
within the limit is told, and no failure; a histogram that differs is one.
Speaks TAP."""
import argparse
import concurrent.futures
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FATHOM = os.path.abspath(os.environ.get("FATHOM", os.path.join(HERE, "..", "..", "build", "fathom")))
STEPS = ("tsteps", "tmax")  # no extents
ELEMENTS = {"deriche": 4, "floyd-warshall": 4, "nussinov": 4}  # bytes; 8 otherwise
ALL_SIZES = "MINI,SMALL,MINI+1,MINI+3,SMALL+1,SMALL+3"
# Kernel, size, layout, blocks of an element: rows of several remainders; triangles; descending loops; steps of time
QUICK = [("atax", "MINI+1", "contiguous", False), ("trisolv", "SMALL+3", "contiguous", False),
         ("durbin", "SMALL", "contiguous", False), ("gemm", "MINI", "contiguous", False),
         ("gemver", "MINI", "aligned", False), ("gemm", "MINI+3", "aligned", True),
         ("jacobi-1d", "SMALL+1", "contiguous", False), ("mvt", "SMALL", "contiguous", False),
         ("trmm", "MINI", "aligned", False), ("doitgen", "MINI", "contiguous", True)]


def read_sizes():
    """Parameters by kernel and size."""
    found = {}
    with open(os.path.join(HERE, "sizes.txt")) as file:
        for line in file:
            words = line.split()
            if len(words) > 2 and not line.startswith("#"):
                found[words[0], words[1]] = {name: int(value) for name, value in (word.split("=") for word in words[2:])}
    return found


def larger(parameters, more):
    return {name: value + (more if name not in STEPS else 0) for name, value in parameters.items()}


def check(case, options, sizes, regions):
    """equal, given up, or what is wrong."""
    kernel, size, layout, elements = case
    name, _, more = size.partition("+")
    parameters = larger(sizes[kernel, name], int(more or 0))
    command = [FATHOM, "static", regions[kernel], "--param", ",".join(f"{name}={value}" for name, value in parameters.items()),
               "--method", options.method, "--bins", "exact", "--layout", layout, "--verify", "--limit-time",
               str(options.limit), "--granularity", str(ELEMENTS.get(kernel, 8) if elements else 64), "--top", "0"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0 and "bin by bin" in done.stderr:
        return "equal", ""
    if done.returncode and ("given up" in done.stderr or "time allowed" in done.stderr):
        return "given up", done.stderr.strip().splitlines()[-1]
    return "wrong", " ".join(command) + "\n" + done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--sizes", default=ALL_SIZES)
    parser.add_argument("--method", default="count")
    parser.add_argument("--kernels", default=os.path.join(HERE, "kernels"))
    parser.add_argument("only", nargs="*")
    options = parser.parse_args()
    sizes = read_sizes()
    kernels = sorted({kernel for kernel, _ in sizes})
    cases = QUICK
    if options.all or options.only:
        cases = [(kernel, size, layout, elements) for kernel in kernels if not options.only or kernel in options.only
                 for size in options.sizes.split(",") for layout in ("aligned", "contiguous")
                 for elements in (False, True)]
    with tempfile.TemporaryDirectory(prefix="fathom-histograms-") as folder:
        regions = {}
        for kernel in sorted({case[0] for case in cases}):
            regions[kernel] = os.path.join(options.kernels, kernel + ".fir")
            if os.path.exists(regions[kernel]):
                continue
            regions[kernel] = os.path.join(folder, kernel + ".fir")  # the source is read once
            source = os.path.join(options.kernels, kernel + ".c")
            subprocess.run([FATHOM, "static", source, "--quiet", "--emit-ir", regions[kernel]], check=True)
        print(f"1..{len(cases)}")
        number = failed = given_up = 0
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as workers:
            for case, (result, why) in zip(cases, workers.map(lambda case: check(case, options, sizes, regions), cases)):
                number += 1
                if result == "given up" and cases is QUICK:
                    result = "wrong"  # these are all counted
                failed += result == "wrong"
                given_up += result == "given up"
                kernel, size, layout, elements = case
                name = f"{kernel} {size} {layout} {'elements' if elements else 'blocks'}"
                note = f" # SKIP {why}" if result == "given up" else ""
                print(f"{'not ' if result == 'wrong' else ''}ok {number} - {name}{note}", flush=True)
                if result == "wrong":
                    print("\n".join("# " + line for line in why.splitlines()), flush=True)
    if options.all:
        print(f"# {number - failed - given_up} equal, {given_up} given up, {failed} wrong")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
