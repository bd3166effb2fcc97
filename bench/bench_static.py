#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles from source code: the thirty kernels of tests/static/kernels by each method of fathom static.

    bench/bench_static.py [OPTION…] [KERNEL…]
    bench/bench_static.py --symbolic [--check] [--limit SECONDS] [KERNEL…]     formulas of open parameters
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
their histograms must be the same; samples must keep to their band.

--symbolic: formulas for 32 KiB and 1 MiB with all parameters open, rows being whole blocks: the seconds that finding
them takes, pieces, and how long the evaluation of everything takes at sizes next to LARGE, through the library.
--check: the values there are those of --method count."""
import argparse
import concurrent.futures
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

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
               "--method", method, "--json", path, "--force"]
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


class Values(ctypes.Structure):
    """fm_symbolic_values"""
    _fields_ = [("counts", ctypes.c_uint64 * 6), ("size_count", ctypes.c_size_t), ("sizes", ctypes.c_uint64 * 16),
                ("misses", ctypes.c_uint64 * 16)]


def evaluate(path, parameters):
    """The values, and the microseconds that they take: the shortest of some calls."""
    library = ctypes.CDLL(os.path.join(os.path.dirname(FATHOM), "libfathom.so"))
    symbolic, values, shortest = ctypes.c_void_p(), Values(), 1e9
    if library.fm_symbolic_read(ctypes.byref(symbolic), path.encode(), None):
        sys.exit(f"{path}: cannot be read")
    given = (ctypes.c_int64 * len(parameters))(*parameters)
    for _ in range(30):
        began = time.perf_counter()
        failed = library.fm_symbolic_evaluate_sized(ctypes.c_size_t(ctypes.sizeof(values)), symbolic, given,
                                                    ctypes.byref(values), None)
        shortest = min(shortest, 1e6 * (time.perf_counter() - began))
        if failed:
            return None, shortest
        if shortest > 20000:
            break
    library.fm_symbolic_destroy(symbolic)
    return values, shortest


def counted(source, parameters, path):
    """First touches and misses by --method count; None where it gave up."""
    done = subprocess.run([FATHOM, "static", source, "--param", parameters, "--quiet", "--bins", "exact", "--method",
                           "count", "--json", path, "--force"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if done.returncode:
        return None
    with open(path) as file:
        profile = json.load(file)
    return [profile["references"], profile["cold"]] + [
        profile["references"] - sum(count for low, _, count in profile["histogram"] if low < size // 64)
        for size in (32768, 1 << 20)]


def symbolic(options):
    print("| kernel | formulas, s | pieces | evaluation, µs | at |" + (" as counted |" if options.check else ""))
    print("|---|--:|--:|--:|---|" + ("---|" if options.check else ""))
    all_seconds, found, quick = 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="fathom-bench-") as directory:
        path = os.path.join(directory, "formulas.json")
        for kernel, parameters in sizes("LARGE"):
            if options.kernels and kernel not in options.kernels:
                continue
            source = os.path.join(options.kernels_in, kernel + ".c")
            source = source if os.path.exists(source) else os.path.join(options.kernels_in, kernel + ".fir")
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run([FATHOM, "static", source, "--symbolic", "--quiet", "--size", "32K,1M", "--json", path, "--force",
                                   "--limit-time", str(options.limit), "--layout", options.layout],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            all_seconds += seconds
            if done.returncode:
                print(f"| {kernel} | ✗ ({seconds:.1f}) | | | {done.stderr.strip()} |", flush=True)
                continue
            with open(path) as file:
                formulas = json.load(file)
            point = [parameters[one["name"]] // one["modulus"] * one["modulus"] for one in formulas["parameters"]]
            values, shortest = evaluate(path, point)
            names = ",".join(f"{one['name']}={value}" for one, value in zip(formulas["parameters"], point))
            pieces = sum(len(formula["pieces"]) for formula in formulas["formulas"])
            found += 1
            quick += values is not None and shortest < 1000
            row = f"| {kernel} | {seconds:.2f} | {pieces} | {shortest:.0f}{'' if values else ' (given up)'} | {names} |"
            if options.check:
                truth = counted(source, names, path)
                same = values and truth == [values.counts[4], values.counts[5], values.misses[0], values.misses[1]]
                row += " – |" if truth is None else " yes |" if same else " NO |"
            print(row, flush=True)
    print(f"| all | **{all_seconds:.1f}** ({found} found) | | {quick} below 1 ms | |")


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
    parser.add_argument("--symbolic", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("kernels", nargs="*")
    options = parser.parse_args()
    if options.symbolic:
        symbolic(options)
        return
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
