#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How the time of `fathom analyze` grows: with references, distinct keys, threads and ranks. One table.

    bench/bench_growth.py [--fathom build/fathom] [--work DIRECTORY] [--most 1e10] [--most-keys 1e9] [--seconds 200]

Lines change one of the four from the middle (Zipf, 10^6 keys, 10^8 references, one rank); those of references and keys
are done with one thread and with all. Every trace is a native file in DIRECTORY (best in memory: /dev/shm), made by
`fathom gen`, and removed before the next one is made; one that does not fit there comes through a pipe out of
`fathom gen`, which then bounds it. Times are those of whole commands, from the file to the profile, the best of
--repeat (once by a pipe); "ns each" is processor time, which others on the machine change less; "distinct" is what the
profile says. What would not fit (memory, --seconds for all) is left out, and the table says so. Ranks need Open MPI and
the module of fathom for it.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

MPIRUN = ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"]
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", NO_COLOR="1")
KEYS, REFERENCES = 10**6, 10**8
BYTES_A_REFERENCE = 4  # of a native trace of such keys, at most
BYTES_A_KEY = 64  # of the exact engine, at most, and of threads' pieces


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

    def make(self, pattern, keys, references):
        """Makes the trace; returns why not, or None."""
        if self.trace == (pattern, keys, references):
            return None
        if os.path.exists(self.path):
            os.remove(self.path)
        self.trace = None
        if min(keys, references) * BYTES_A_KEY > available_bytes() * 3 // 4:
            return "no memory"
        if self.by_pipe(references):
            return None
        if time.monotonic() > self.end:
            return "no time"
        subprocess.run(
            [self.options.fathom, "gen", pattern, "--keys", str(keys), "--references", str(references), "--quiet",
             "-o", self.path], check=True)
        self.trace = (pattern, keys, references)
        return None

    def by_pipe(self, references):
        return references * BYTES_A_REFERENCE > shutil.disk_usage(self.options.work).free * 3 // 4

    def command(self, trace, threads, ranks):
        command = [self.options.fathom, "analyze", "--quiet", "--threads", str(threads), trace]
        return MPIRUN + ["-np", str(ranks)] + command[:2] + ["--mpi"] + command[2:] if ranks else command

    def measure(self, pattern, keys, references, threads, ranks):
        """The best time of the whole command, its processor seconds, the most that was resident, distinct keys."""
        best = None
        for _ in range(self.options.repeat if self.trace else 1):
            began, source = time.monotonic(), None
            if self.trace:
                child = subprocess.Popen(self.command(self.path, threads, ranks), stdout=subprocess.PIPE,
                                         env=ENVIRONMENT)
            else:
                source = subprocess.Popen([self.options.fathom, "gen", pattern, "--keys", str(keys), "--references",
                                           str(references), "--quiet", "--to", "u64", "-o", "-"],
                                          stdout=subprocess.PIPE)
                child = subprocess.Popen(self.command("-", threads, ranks) + ["--format", "u64"], stdin=source.stdout,
                                         stdout=subprocess.PIPE)
                source.stdout.close()
            said = child.stdout.read().decode()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = status
            if status != 0 or (source and source.wait() != 0):
                sys.exit(f"bench_growth.py: {' '.join(child.args)}: status {status}")
            distinct = re.search(r"distinct\s+(?:\x1b\S*m)*([0-9,]+)", said)
            found = (time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024,
                     int(distinct.group(1).replace(",", "")) if distinct else 0)
            best = min(best or found, found)
        return best

    def row(self, changed, pattern, keys, references, threads, ranks=0):
        reason = self.make(pattern, keys, references)
        if not reason and time.monotonic() > self.end:
            reason = "no time"
        if not reason and ranks and not shutil.which(MPIRUN[0]):
            reason = "no mpirun"
        name = pattern if self.trace or reason else f"{pattern}, by a pipe"
        cells = [changed, name, power(references), power(keys)]
        after = [str(threads), str(ranks or "")]
        if reason:
            cells += [""] + after + [reason, "", "", ""]
        else:
            elapsed, used, resident, distinct = self.measure(pattern, keys, references, threads, ranks)
            cells += [f"{distinct:,}"] + after + [f"{elapsed:.3f}", f"{used:.2f}", f"{used * 1e9 / references:.2f}",
                                                  "" if ranks else f"{resident:.0f}"]
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
    parser.add_argument("--most", type=float, default=1e10, help="references of the longest trace")
    parser.add_argument("--most-keys", type=float, default=1e9, help="keys of the largest trace")
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
        print("| changed | trace | references | keys | distinct | threads | ranks | seconds | processor s | ns each | "
              "MB |")
        print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
        every = options.threads
        few = [1, every] if every > 1 else [1]
        # The middle first, and what needs no other trace.
        threads = 1
        while threads < every:
            growth.row("threads", "zipf", KEYS, REFERENCES, threads)
            threads *= 2
        growth.row("threads", "zipf", KEYS, REFERENCES, every)
        for ranks in (1, 2, 4, 8, 16):
            if ranks <= every:
                growth.row("ranks", "zipf", KEYS, REFERENCES, 1, ranks)
        for pattern in ("zipf", "uniform"):
            for keys in numbers_upto(10**3, int(options.most_keys)):
                for threads in few:
                    growth.row("keys", pattern, keys, REFERENCES, threads)
        for references in numbers_upto(10**6, int(options.most)):
            for threads in few if references <= 10**9 else [every]:
                growth.row("references", "zipf", KEYS, references, threads)


if __name__ == "__main__":
    main()
