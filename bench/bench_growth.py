#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How the time of `fathom analyze` grows: with references, distinct keys, threads and ranks. One table.

    bench/bench_growth.py [--fathom build/fathom] [--work DIRECTORY] [--most 10^9] [--repeat 1] [--seconds 200]

Each line of the table changes one of the four from the middle (Zipf, 10^6 keys, 10^8 references, all threads, one
rank); every trace is a native file in DIRECTORY (best in memory: /dev/shm), made by `fathom gen`, and removed before the
next one is made. Times are those of whole commands, from the file to the profile, the best of --repeat. What would not
fit (memory, the space in DIRECTORY, --seconds for all) is left out, and the table says so. Ranks need `mpirun` and the
module of fathom for it.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

KEYS, REFERENCES = 10**6, 10**8
BYTES_A_REFERENCE = 4  # of a native trace of such keys, at most
BYTES_A_KEY = 100  # of the exact engine, while it grows


def power(number):
    exponent = len(str(number)) - 1
    return f"10^{exponent}" if number == 10**exponent else str(number)


def available_bytes():
    with open("/proc/meminfo", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("MemAvailable"):
                return int(line.split()[1]) * 1024
    return 0


class Growth:
    def __init__(self, options):
        self.options = options
        self.trace = None  # what the file is of: (pattern, keys, references)
        self.path = os.path.join(options.work, "growth.fathom")
        self.end = time.monotonic() + options.seconds
        self.rows = []

    def make(self, pattern, keys, references):
        """Makes the trace; returns why not, or None."""
        if self.trace == (pattern, keys, references):
            return None
        if os.path.exists(self.path):
            os.remove(self.path)
        self.trace = None
        if references * BYTES_A_REFERENCE > shutil.disk_usage(self.options.work).free * 3 // 4:
            return "no space"
        if min(keys, references) * BYTES_A_KEY > available_bytes() // 2:
            return "no memory"
        if time.monotonic() > self.end:
            return "no time"
        subprocess.run(
            [self.options.fathom, "gen", pattern, "--keys", str(keys), "--references", str(references), "--quiet",
             "-o", self.path], check=True)
        self.trace = (pattern, keys, references)
        return None

    def seconds(self, threads, ranks):
        """The best time of the whole command, and the processor time with it."""
        command = [self.options.fathom, "analyze", "--quiet", "--threads", str(threads), self.path]
        if ranks > 1:
            command = ["mpirun", "-np", str(ranks)] + command[:2] + ["--mpi"] + command[2:]
        best = None
        for _ in range(self.options.repeat):
            before, began = os.times(), time.monotonic()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            elapsed, after = time.monotonic() - began, os.times()
            used = after.children_user + after.children_system - before.children_user - before.children_system
            best = min(best or (elapsed, used), (elapsed, used))
        return best

    def row(self, changed, pattern, keys, references, threads, ranks=1):
        reason = self.make(pattern, keys, references)
        if not reason and time.monotonic() > self.end:
            reason = "no time"
        if not reason and ranks > 1 and not shutil.which("mpirun"):
            reason = "no mpirun"
        cells = [changed, pattern, power(references), power(keys), str(threads), str(ranks)]
        if reason:
            cells += [reason, "", "", ""]
        else:
            elapsed, used = self.seconds(threads, ranks)
            cells += [f"{elapsed:.3f}", f"{used:.2f}", f"{references / elapsed / 1e6:.1f}",
                      f"{elapsed * 1e9 / references:.2f}"]
        self.rows.append(cells)
        print("| " + " | ".join(cells) + " |", flush=True)


def numbers_upto(first, most):
    number = first
    while number <= most:
        yield number
        number *= 10


def main():
    parser = argparse.ArgumentParser(description="How time grows with references, keys, threads and ranks.")
    parser.add_argument("--fathom", default="build/fathom")
    parser.add_argument("--work", default=None, help="where traces are made (default: /dev/shm)")
    parser.add_argument("--most", type=float, default=1e9, help="references of the longest trace")
    parser.add_argument("--most-keys", type=float, default=1e8, help="keys of the largest trace")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=200, help="nothing is begun after so many")
    options = parser.parse_args()
    if not os.access(options.fathom, os.X_OK):
        sys.exit(f"bench_growth.py: no program {options.fathom}: build first (make), or say --fathom")
    where = options.work or ("/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir())
    with tempfile.TemporaryDirectory(dir=where) as work:
        options.work = work
        growth = Growth(options)
        print("| changed | trace | references | keys | threads | ranks | seconds | processor s | M references/s | ns each |")
        print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|")
        every = options.threads
        # The middle first, and what needs no other trace.
        threads = 1
        while threads < every:
            growth.row("threads", "zipf", KEYS, REFERENCES, threads)
            threads *= 2
        growth.row("threads", "zipf", KEYS, REFERENCES, every)
        for ranks in (2, 4, 8, 16):
            if ranks <= every:
                growth.row("ranks", "zipf", KEYS, REFERENCES, 1, ranks)
        for references in numbers_upto(10**6, int(options.most)):
            growth.row("references", "zipf", KEYS, references, every)
        for keys in numbers_upto(10**3, int(options.most_keys)):
            growth.row("keys", "zipf", keys, REFERENCES, every)
        for keys in numbers_upto(10**3, int(options.most_keys)):
            growth.row("keys", "uniform", keys, REFERENCES, every)


if __name__ == "__main__":
    main()
