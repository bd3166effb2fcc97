#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces with code sites on several threads: fathom analyze of recorded programs, and of generated keys (make_site_keys:
Zipf keys over 10^6, uniform ones over 10^7; 16 sites at random), by --threads.

    bench/bench_sites.py [--program COMMAND | --keys REFERENCES] [--repeat N]
                                                                 (default: a matrix product, gzip, 80 million keys)
    FATHOM_BUILD=DIRECTORY                                       where fathom is (default: build/)

Prints a table: seconds and processor seconds (the least of N runs, whole commands), and how many times as fast as one
thread. The profiles must be the same, byte for byte."""
import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("FATHOM_BUILD", os.path.join(HERE, "..", "build")))
FATHOM = os.path.join(BUILD, "fathom")


def record(command, trace):
    said = subprocess.run([FATHOM, "record", "-q", "-o", trace, "--force", "--", *command], capture_output=True, text=True, check=True)
    return next(word for line in said.stderr.splitlines() if " accesses of " in line for word in [line.split(": ")[1].split()[0]])


def generate(pattern, keys, references, trace):
    subprocess.run([os.path.join(BUILD, "bench", "make_site_keys"), pattern, str(keys), str(references), "16", "any", trace],
                   check=True)
    return references


def subjects(directory, options):
    """Names, and what makes their traces."""
    if options.program:
        yield options.program, lambda trace: record(options.program.split(), trace)
        return
    if not options.keys:
        program = os.path.join(directory, "matmul")
        subprocess.run(["gcc", "-O2", "-g", os.path.join(HERE, "subject_matmul.c"), "-o", program, "-lm"], check=True)
        yield "matmul 120", lambda trace: record([program, "120"], trace)
        text = os.path.join(directory, "text")
        with open(text, "w") as file:
            for number in range(40000):
                file.write(f"line {number * 2654435761 % 1000003} of a text\n")
        yield "gzip of 1 MB", lambda trace: record(["gzip", "-kf", text], trace)
    references = options.keys or 80_000_000
    yield "Zipf, 10^6 keys", lambda trace: generate("zipf", 10**6, references, trace)
    yield "uniform, 10^7 keys", lambda trace: generate("uniform", 10**7, references, trace)


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(trace, threads, repeat, directory):
    profile, runs = os.path.join(directory, "profile.json"), []
    for _ in range(repeat):
        begin, used = time.monotonic(), processor_seconds()
        subprocess.run([FATHOM, "analyze", "-q", trace, "--threads", str(threads), "--json", profile, "--force"],
                       stdout=subprocess.DEVNULL, check=True)
        runs.append((time.monotonic() - begin, processor_seconds() - used))
    with open(profile, "rb") as file:
        return min(run[0] for run in runs), min(run[1] for run in runs), file.read()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program")
    parser.add_argument("--keys", type=int)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    processors = len(os.sched_getaffinity(0))
    counts = [1] + [count for count in (2, 4, 8, 16) if count <= processors]
    print("| trace with code sites | references | " + " | ".join(f"{count} threads" for count in counts) + " |")
    print("|---|--:|" + "--:|" * len(counts))
    with tempfile.TemporaryDirectory(prefix="fathom-bench-") as directory:
        for name, make in subjects(directory, options):
            trace = os.path.join(directory, "sites.fathom")
            references = make(trace)
            cells, first, alone = [], None, None
            for count in counts:
                seconds, used, profile = measure(trace, count, options.repeat, directory)
                alone, first = alone or seconds, first or profile
                if profile != first:
                    sys.exit(f"{name}: {count} threads give another profile than one")
                cells.append(f"{seconds:.3f} s ({used:.3f}), {alone / seconds:.2f} x")
            print(f"| {name} | {int(references):,} | " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
