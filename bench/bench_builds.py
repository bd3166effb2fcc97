#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two builds of fathom in turn, within one run: is the new one slower, or larger?

    bench/bench_builds.py OLD NEW [--trace FILE.fathom] [--repeat N]

OLD and NEW are programs. FILE: a trace with code sites (fathom record); without it only synthetic keys are tried, and a small
program that runs under both collectors. Prints a table: the median of the ratios new/old of wall seconds, of processor seconds and of the largest memory."""
import argparse
import itertools
import os
import statistics
import subprocess
import tempfile
import time


def measure(command):
    """Wall seconds, processor seconds, kilobytes."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)}: status {status}")
    return time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss


# Loops with and without re-use, calls, and a heap that comes and goes.
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
enum { N = 200 };
static double a[N][N], b[N][N], c[N][N];
static __attribute__((noinline)) double dot(int i, int j)
{
    double sum = 0;
    for (int k = 0; k < N; k++) sum += a[i][k] * b[k][j];
    return sum;
}
int main(int count, char **words)
{
    (void)words;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) a[i][j] = b[j][i] = i + count; /* not known to the compiler */
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) c[i][j] = dot(i, j);
    unsigned long all = 0;
    for (int i = 0; i < 100000; i++) {
        unsigned char *some = malloc(16 + i % 200);
        some[i % 16] = (unsigned char)i;
        all += some[i % 16];
        free(some);
    }
    return printf("%g %lu\n", c[N - 1][N - 1], all) < 0;
}
"""


def run_cases(options, directory):
    """The same program under both collectors: built once by each fathom's own cc, and once without."""
    source = os.path.join(directory, "program.c")
    with open(source, "w") as file:
        file.write(SOURCE)
    built = {program: os.path.join(directory, f"program{i}") for i, program in enumerate((options.old, options.new))}
    for program, output in built.items():
        subprocess.run([program, "cc", "-O2", "-g", source, "-o", output], check=True)
    plain = os.path.join(directory, "plain")
    subprocess.run(["cc", "-O2", "-g", source, "-o", plain], check=True)
    for more in ([], ["--no-sites"]):
        words = " without sites" if more else ""
        yield f"run: built by fathom cc{words}", lambda program, more=more: ["run", "-q", *more, "--", built[program]]
        yield f"run: under Valgrind{words}", lambda program, more=more: ["run", "-q", *more, "--", plain]
    yield "record: built by fathom cc", lambda program: [
        "record", "-q", "-o", absent(os.path.join(directory, "recorded.fathom")), "--", built[program]]


def absent(path):
    """The path, where nothing is any more: older builds know no --force."""
    if os.path.exists(path):
        os.unlink(path)
    return path


def cases(options, directory):
    zipf, uniform = (os.path.join(directory, name) for name in ("zipf.fathom", "uniform.u64"))
    subprocess.run([options.new, "gen", "zipf", "--keys", "1M", "--references", "60M", "-o", zipf, "--quiet"], check=True)
    subprocess.run([options.new, "gen", "uniform", "--keys", "4M", "--references", "20M", "-o", uniform, "--quiet"], check=True)
    for threads in ("1", "2", "8"):
        yield f"Zipf, {threads} threads", [zipf, "--threads", threads]
    yield "uniform, raw keys, 1 thread", [uniform, "--threads", "1"]
    yield "Zipf, shards", [zipf, "--engine", "shards", "--rate", "0.01"]
    yield "Zipf, bound 100K", [zipf, "--bound", "100K", "--threads", "2"]
    if not options.trace:
        return
    for threads in ("1", "2", "8"):
        yield f"program with sites, {threads} threads", [options.trace, "--threads", threads]
    for threads in ("1", "2", "8"):
        yield f"program without sites, {threads} threads", [options.trace, "--no-sites", "--threads", threads]
    yield "program, granularities 8 and 64", [options.trace, "--granularity", "8,64", "--threads", "2"]
    yield "program, --time", [options.trace, "--no-sites", "--time", "--threads", "2"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--trace")
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    print("| what | new, s | wall, new/old | processor | memory |\n|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory(prefix="fathom-bench-") as directory:
        analyses = ((name, lambda _, arguments=arguments: ["analyze", "--quiet", *arguments])
                    for name, arguments in cases(options, directory))
        for name, command in itertools.chain(run_cases(options, directory), analyses):
            ratios, seconds = [], []
            for turn in range(options.repeat):
                found = {}
                for program in (options.old, options.new) if turn % 2 else (options.new, options.old):
                    found[program] = measure([program, *command(program)])
                ratios.append([new / max(old, 1e-9) for new, old in zip(found[options.new], found[options.old])])
                seconds.append(found[options.new][0])
            middle = [statistics.median(column) for column in zip(*ratios)]
            print(f"| {name} | {statistics.median(seconds):.2f} | " + " | ".join(f"{ratio:.2f}" for ratio in middle) + " |",
                  flush=True)


if __name__ == "__main__":
    main()
