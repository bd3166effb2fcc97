#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two builds of fathom in turn, within one run: is the new one slower, or larger?

    bench/bench_builds.py OLD NEW [--trace FILE.fathom] [--repeat N]

OLD and NEW are programs. FILE: a trace with code sites (fathom record); without it only synthetic keys are tried. Prints a
table: the median of the ratios new/old of wall seconds, of processor seconds and of the largest memory."""
import argparse
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
    print("| fathom analyze of | new, s | wall, new/old | processor | memory |\n|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory(prefix="fathom-bench-") as directory:
        for name, arguments in cases(options, directory):
            ratios, seconds = [], []
            for turn in range(options.repeat):
                found = {}
                for program in (options.old, options.new) if turn % 2 else (options.new, options.old):
                    found[program] = measure([program, "analyze", "--quiet", *arguments])
                ratios.append([new / max(old, 1e-9) for new, old in zip(found[options.new], found[options.old])])
                seconds.append(found[options.new][0])
            middle = [statistics.median(column) for column in zip(*ratios)]
            print(f"| {name} | {statistics.median(seconds):.2f} | " + " | ".join(f"{ratio:.2f}" for ratio in middle) + " |",
                  flush=True)


if __name__ == "__main__":
    main()
