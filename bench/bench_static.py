#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles from source code: the thirty kernels of tests/static/kernels by each method of fathom static.

    bench/bench_static.py [--size NAME] [--layout NAME] [--methods LIST] [--limit SECONDS] [--kernels FOLDER] [KERNEL…]
    bench/bench_static.py --symbolic [--check] [--limit SECONDS] [KERNEL…]     formulas of open parameters
    FATHOM_BUILD=DIRECTORY                                       where fathom is (default: build/)

FOLDER holds KERNEL.c, or KERNEL.fir (fathom static --emit-ir) for machines without libclang. Prints a table: accesses, and for each method the processor seconds of the whole command, with what it found. A cross
is a method that gave up within the time allowed. The last line is the sum. Where two methods have found exact numbers,
their histograms must be the same; samples must keep to their band.

--symbolic: formulas for 32 KiB and 1 MiB with all parameters open, rows being whole blocks: the seconds that finding
them takes, pieces, and how long the evaluation of everything takes at sizes next to LARGE, through the library.
--check: the values there are those of --method count."""
import argparse
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
        failed = library.fm_symbolic_evaluate_sized(symbolic, given, ctypes.byref(values),
                                                    ctypes.c_size_t(ctypes.sizeof(values)), None)
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
                           "count", "--json", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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
            done = subprocess.run([FATHOM, "static", source, "--symbolic", "--quiet", "--size", "32K,1M", "--json", path,
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
            given = dict(word.split("=") for word in parameters.split(","))
            point = [int(given[one["name"]]) // one["modulus"] * one["modulus"] for one in formulas["parameters"]]
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
    parser.add_argument("--layout", default="contiguous")
    parser.add_argument("--methods", default="sample,reconstruct")
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--kernels", dest="kernels_in", default=KERNELS)
    parser.add_argument("--symbolic", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("kernels", nargs="*")
    options = parser.parse_args()
    if options.symbolic:
        symbolic(options)
        return
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
