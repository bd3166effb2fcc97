#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles from source code: the thirty kernels of tests/static/kernels by each method of fathom static.

    bench/bench_static.py [--size NAME] [--layout NAME] [--methods LIST] [--limit SECONDS] [--kernels FOLDER] [KERNEL…]
    FATHOM_BUILD=DIRECTORY                                       where fathom is (default: build/)

FOLDER holds KERNEL.c, or KERNEL.fir (fathom static --emit-ir) for machines without libclang. Prints a table: accesses, and for each method the processor seconds of the whole command, with what it found. A cross
is a method that gave up within the time allowed. The last line is the sum. Where two methods have found exact numbers,
their histograms must be the same; samples must keep to their band."""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FATHOM = os.path.join(os.path.abspath(os.environ.get("FATHOM_BUILD", os.path.join(HERE, "..", "build"))), "fathom")
KERNELS = os.path.join(HERE, "..", "tests", "static", "kernels")


def sizes(wanted):
    with open(os.path.join(HERE, "..", "tests", "static", "sizes.txt")) as file:
        for line in file:
            words = line.split()
            if len(words) > 2 and words[1] == wanted:
                yield words[0], ",".join(words[2:])


def run(kernel, parameters, method, options, path):
    """Processor seconds, and the profile; None where it gave up."""
    source = os.path.join(options.kernels_in, kernel + ".c")
    source = source if os.path.exists(source) else os.path.join(options.kernels_in, kernel + ".fir")
    command = [FATHOM, "static", source, "--param", parameters, "--quiet", "--bins",
               "exact", "--layout", options.layout, "--limit-time", str(options.limit), "--method", method, "--json", path]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode:
        print(f"{kernel} {method}: {done.stderr.strip()}", file=sys.stderr)
        return seconds, None
    with open(path) as file:
        return seconds, json.load(file)


def curve(profile):
    """Misses at every distance that the profile has: (blocks, misses)."""
    misses, points = profile["references"], []
    for low, _, count in profile["histogram"]:
        misses -= count
        points.append((low, misses))
    return points


def at(points, everything, blocks):
    """Misses of a cache that holds all distances up to this one."""
    found = everything
    for low, misses in points:
        if low > blocks:
            break
        found = misses
    return found


def difference(a, b):
    """The largest difference of two miss ratios."""
    left, right, whole = curve(a), curve(b), a["references"]
    return max((abs(at(left, whole, blocks) - at(right, whole, blocks)) for blocks, _ in left[:2000] + right[:2000]),
               default=0) / max(whole, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", default="LARGE")
    parser.add_argument("--layout", default="contiguous")
    parser.add_argument("--methods", default="sample,reconstruct")
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--kernels", dest="kernels_in", default=KERNELS)
    parser.add_argument("kernels", nargs="*")
    options = parser.parse_args()
    methods, sums, found = options.methods.split(","), {}, {}
    print("| kernel | accesses | " + " | ".join(f"{method}, s" for method in methods) + " |")
    print("|---|--:|" + "--:|" * len(methods))
    with tempfile.TemporaryDirectory(prefix="fathom-bench-") as directory:
        for kernel, parameters in sizes(options.size):
            if options.kernels and kernel not in options.kernels:
                continue
            profiles, cells = {}, []
            for method in methods:
                seconds, profile = run(kernel, parameters, method, options, os.path.join(directory, "profile.json"))
                sums[method] = sums.get(method, 0) + seconds
                found[method] = found.get(method, 0) + (profile is not None)
                cells.append(f"{seconds:.2f}" if profile else f"✗ ({seconds:.1f})")
                if profile:
                    profiles[method] = profile
            sure = [method for method in profiles if profiles[method]["kernel"]["certainty"] != "sampled"]
            for method in sure[1:]:
                if profiles[method]["histogram"] != profiles[sure[0]]["histogram"]:
                    sys.exit(f"{kernel}: {method} and {sure[0]} differ")
            if sure and "sample" in profiles and "sample" not in sure:
                cells[methods.index("sample")] += f" (off by {100 * difference(profiles['sample'], profiles[sure[0]]):.2f} %)"
            accesses = next((profile["references"] for profile in profiles.values()), 0)
            print(f"| {kernel} | {accesses:,} | " + " | ".join(cells) + " |", flush=True)
    print("| all | | " + " | ".join(f"**{sums.get(method, 0):.1f}** ({found.get(method, 0)} found)" for method in methods) + " |")


if __name__ == "__main__":
    main()
