#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces with code sites on several threads: fathom analyze of a recorded program, by --threads.

    bench/bench_sites.py [--program COMMAND] [--repeat N]        (default: a matrix product, and gzip)
    FATHOM_BUILD=DIRECTORY                                       where fathom is (default: build/)

Prints a table: seconds (the least of N runs, whole commands), and how many times as fast as one thread. The profiles
must be the same, byte for byte."""
import argparse
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FATHOM = os.path.join(os.path.abspath(os.environ.get("FATHOM_BUILD", os.path.join(HERE, "..", "build"))), "fathom")


def subjects(directory, asked):
    if asked:
        yield asked, asked.split()
        return
    program = os.path.join(directory, "matmul")
    subprocess.run(["gcc", "-O2", "-g", os.path.join(HERE, "subject_matmul.c"), "-o", program, "-lm"], check=True)
    yield "matmul 120", [program, "120"]
    text = os.path.join(directory, "text")
    with open(text, "w") as file:
        for number in range(40000):
            file.write(f"line {number * 2654435761 % 1000003} of a text\n")
    yield "gzip of 1 MB", ["gzip", "-kf", text]


def measure(trace, threads, repeat, directory):
    profile, least = os.path.join(directory, "profile.json"), None
    for _ in range(repeat):
        begin = time.monotonic()
        subprocess.run([FATHOM, "analyze", "-q", trace, "--threads", str(threads), "--json", profile],
                       stdout=subprocess.DEVNULL, check=True)
        seconds = time.monotonic() - begin
        least = seconds if least is None else min(least, seconds)
    with open(profile, "rb") as file:
        return least, file.read()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    processors = len(os.sched_getaffinity(0))
    counts = [1] + [count for count in (2, 4, 8, 16) if count <= processors]
    print("| trace with code sites | accesses | " + " | ".join(f"{count} threads" for count in counts) + " |")
    print("|---|--:|" + "--:|" * len(counts))
    with tempfile.TemporaryDirectory(prefix="fathom-bench-") as directory:
        for name, command in subjects(directory, options.program):
            trace = os.path.join(directory, "sites.fathom")
            said = subprocess.run([FATHOM, "record", "-q", "-o", trace, "--", *command], capture_output=True, text=True, check=True)
            accesses = next(word for line in said.stdout.splitlines() if " accesses of " in line
                            for word in [line.split(": ")[1].split()[0]])
            cells, first, alone = [], None, None
            for count in counts:
                seconds, profile = measure(trace, count, options.repeat, directory)
                alone, first = alone or seconds, first or profile
                if profile != first:
                    sys.exit(f"{name}: {count} threads give another profile than one")
                cells.append(f"{seconds:.3f} s, {alone / seconds:.2f} x")
            print(f"| {name} | {int(accesses):,} | " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
