#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles from source code: the thirty kernels of tests/static/kernels by each method of fathom static.

    bench/bench_static.py [OPTION…] [KERNEL…]
    FATHOM_BUILD=DIRECTORY      where fathom is (default: build/)

    --size NAME                 of tests/static/sizes.txt (default: LARGE)
    --odd                       all extents (not numbers of time steps) one larger
    --times 1,2,10              all parameters times these: one column for each, by the first method
    --layout, --bins, --limit   as for fathom static; bins are loglinear, as for a user who says nothing
    --methods LIST              count, reconstruct, sample
    --kernels FOLDER            with KERNEL.c, or KERNEL.fir (--emit-ir) for machines without libclang
    --jobs N                    kernels at a time

Prints a table: accesses, and for each method the processor seconds of the whole command, with what it found. A cross
is a method that gave up within the time allowed. The last line is the sum. Where two methods have found exact numbers,
their histograms must be the same; samples must keep to their band."""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FATHOM = os.path.join(os.path.abspath(os.environ.get("FATHOM_BUILD", os.path.join(HERE, "..", "build"))), "fathom")
KERNELS = os.path.join(HERE, "..", "tests", "static", "kernels")


STEPS = ("tsteps", "tmax")


def sizes(wanted):
    """Kernels and their parameters."""
    with open(os.path.join(HERE, "..", "tests", "static", "sizes.txt")) as file:
        for line in file:
            words = line.split()
            if len(words) > 2 and words[1] == wanted:
                yield words[0], {name: int(value) for name, value in (word.split("=") for word in words[2:])}


def run(kernel, parameters, method, options, path):
    """Processor seconds, and the profile; None where it gave up."""
    source = os.path.join(options.kernels_in, kernel + ".c")
    source = source if os.path.exists(source) else os.path.join(options.kernels_in, kernel + ".fir")
    command = [FATHOM, "static", source, "--param", ",".join(f"{name}={value}" for name, value in parameters.items()),
               "--quiet", "--bins", options.bins, "--layout", options.layout, "--limit-time", str(options.limit),
               "--method", method, "--json", path]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        if process.returncode:
            print(f"{kernel} {method}: {said.read().strip()}", file=sys.stderr)
    seconds = used.ru_utime + used.ru_stime
    if process.returncode:
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


def cell(seconds, profile):
    return f"{seconds:.2f}" if profile else f"✗ ({seconds:.1f})"


def compare_methods(kernel, parameters, methods, options, directory):
    """Seconds and what was found, by each method; and a row of the table."""
    profiles, cells, results = {}, [], []
    for method in methods:
        seconds, profile = run(kernel, parameters, method, options, os.path.join(directory, f"{kernel}-{method}.json"))
        results.append((seconds, profile is not None))
        cells.append(cell(seconds, profile))
        if profile:
            profiles[method] = profile
    sure = [method for method in profiles if profiles[method]["kernel"]["certainty"] != "sampled"]
    for method in sure[1:]:
        if profiles[method]["histogram"] != profiles[sure[0]]["histogram"]:
            sys.exit(f"{kernel}: {method} and {sure[0]} differ")
    if sure and "sample" in profiles and "sample" not in sure:
        off = difference(profiles["sample"], profiles[sure[0]])
        cells[methods.index("sample")] += f" (off by {100 * off:.2f} %)"
    accesses = next((profile["references"] for profile in profiles.values()), 0)
    return results, f"| {kernel} | {accesses:,} | " + " | ".join(cells) + " |"


def compare_sizes(kernel, parameters, times, method, options, directory):
    """The same for several sizes."""
    cells, results, accesses = [], [], []
    for factor in times:
        larger = {name: value * factor for name, value in parameters.items()}
        seconds, profile = run(kernel, larger, method, options, os.path.join(directory, f"{kernel}-{factor}.json"))
        results.append((seconds, profile is not None))
        cells.append(cell(seconds, profile))
        accesses.append(f"{profile['references']:.1e}" if profile else "?")
    return results, f"| {kernel} | {' … '.join((accesses[0], accesses[-1]))} | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", default="LARGE")
    parser.add_argument("--odd", action="store_true")
    parser.add_argument("--times")
    parser.add_argument("--layout", default="contiguous")
    parser.add_argument("--bins", default="loglinear")
    parser.add_argument("--methods", default="sample,reconstruct")
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kernels", dest="kernels_in", default=KERNELS)
    parser.add_argument("kernels", nargs="*")
    options = parser.parse_args()
    methods = options.methods.split(",")
    times = [int(factor) for factor in options.times.split(",")] if options.times else None
    columns = [f"{factor} ×, s" for factor in times] if times else [f"{method}, s" for method in methods]
    sums, found = [0.0] * len(columns), [0] * len(columns)
    print("| kernel | accesses | " + " | ".join(columns) + " |")
    print("|---|--:|" + "--:|" * len(columns))

    with tempfile.TemporaryDirectory(prefix="fathom-bench-") as directory:
        def measure(item):
            kernel, parameters = item
            if options.odd:
                parameters = {name: value + (name not in STEPS) for name, value in parameters.items()}
            if times:
                return compare_sizes(kernel, parameters, times, methods[0], options, directory)
            return compare_methods(kernel, parameters, methods, options, directory)

        wanted = [item for item in sizes(options.size) if not options.kernels or item[0] in options.kernels]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as workers:
            for results, row in workers.map(measure, wanted):
                for i, (seconds, known) in enumerate(results):
                    sums[i] += seconds
                    found[i] += known
                print(row, flush=True)
    print("| all | | " + " | ".join(f"**{sum:.1f}** ({count} found)" for sum, count in zip(sums, found)) + " |")


if __name__ == "__main__":
    main()
