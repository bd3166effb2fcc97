#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keys that do not repeat soon, by threads: `fathom analyze` of Zipf and uniform keys, from a native file in memory to
the profile, whole commands.

    bench/bench_keys.py [--fathom PROGRAM]... [--references 200000000] [--threads 1,2,4,8,16] [--turns 3]
                        [--bounds none] [--in-order] [--seconds 240] [--side] [--growth SECONDS]

In each turn every program does every trace with every number of threads, one after the other. "Times one thread" is
the median of the ratios within turns, with their range; processor seconds say how much work threads do beside it, also
where there are fewer processors than threads (then only that counts, not the ratio). Profiles must be the same, byte
for byte, for all programs and threads. --bounds none,100K,2M: so for each of these (--bound). --in-order: with single
distances (to /dev/null), and with time distances, instead. --side: as many processes with one thread each on the whole
trace, side by side: what the machine gives at most. --growth: bench_growth.py afterwards, for so many seconds. Several
--fathom (an older build beside a newer one) are compared in the same turns. Needs 5 bytes a reference in /dev/shm.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TRACES = {"Zipf 1 M": ("zipf", 10**6), "uniform 10 M": ("uniform", 10**7)}
GOALS = {2: 1.6, 8: 6, 16: 9}  # times one thread


def run(command):
    """Seconds, user and system seconds, and the most that was resident, in MB."""
    began = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"bench_keys.py: {' '.join(command)}: status {status}")
    return time.monotonic() - began, usage.ru_utime, usage.ru_stime, usage.ru_maxrss / 1024


def analyze(program, trace, threads, profile, asked=()):
    return [program, "analyze", "--quiet", "--threads", str(threads), *asked, trace, "--json", profile]


def machine():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
        name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="ascii") as file:
            pages = file.read().strip()
    except OSError:
        pages = "unknown"
    load = os.getloadavg()[0]
    return f"{name}, {len(os.sched_getaffinity(0))} processors, load {load:.1f}, huge pages {pages}"


def measure(options, trace, name, directory, asked):
    """With these options: one table line for each program and number of threads."""
    runs = {(program, threads): [] for program in options.fathom for threads in options.threads}
    first = None
    for _ in range(options.turns):
        if time.monotonic() > options.end:
            print(f"{name}: no time for more turns")
            break
        for program, threads in runs:
            profile = os.path.join(directory, "profile.json")
            if os.path.exists(profile):
                os.unlink(profile)
            runs[program, threads].append(run(analyze(program, trace, threads, profile, asked)))
            with open(profile, "rb") as file:
                found = file.read()
            first = first or found
            if found != first:
                sys.exit(f"bench_keys.py: {name}: {program} with {threads} threads gives another profile")
    for (program, threads), taken in runs.items():
        if not taken:
            continue
        ratios = sorted(alone[0] / each[0] for alone, each in zip(runs[program, options.threads[0]], taken))
        seconds, user, system, resident = (statistics.median(column) for column in zip(*taken))
        ratio, goal = statistics.median(ratios), GOALS.get(threads)
        kept = "" if goal is None else f"{goal}: " + ("kept" if ratio >= goal else "not kept")
        label = f" ({program})" if len(options.fathom) > 1 else ""
        print(f"| {name}{label} | {threads} | {seconds:.2f} | {ratio:.2f} | {ratios[0]:.2f} to {ratios[-1]:.2f} | "
              f"{user:.2f} + {system:.2f} | {resident:.0f} | {kept} |", flush=True)


def ways(options):
    """What is asked for: options of analyze."""
    if options.in_order:
        return [["--distances", "/dev/null"], ["--time"]]
    return [[] if bound == "none" else ["--bound", bound] for bound in options.bounds.split(",")]


def side_by_side(options, trace, name, directory):
    """As many engines as processors, each by itself."""
    processors, program = len(os.sched_getaffinity(0)), options.fathom[0]
    for name in os.listdir(directory): # of the engine before: older builds know no --force
        if name.endswith(".json"):
            os.unlink(os.path.join(directory, name))
    alone = run(analyze(program, trace, 1, os.path.join(directory, "profile.json")))[0]
    began = time.monotonic()
    children = [subprocess.Popen(analyze(program, trace, 1, os.path.join(directory, f"side{number}.json")),
                                 stdout=subprocess.DEVNULL) for number in range(processors)]
    if any(child.wait() != 0 for child in children):
        sys.exit("bench_keys.py: a process of those side by side failed")
    together = time.monotonic() - began
    return (f"{name}: {processors} processes side by side take {together:.2f} s, one alone {alone:.2f} s: "
            f"{processors * alone / together:.1f} times")


def main():
    parser = argparse.ArgumentParser(description="Zipf and uniform keys, by threads.")
    parser.add_argument("--fathom", action="append")
    parser.add_argument("--references", type=int, default=2 * 10**8)
    parser.add_argument("--threads", default=None, help="numbers of threads, the first is what others are compared to")
    parser.add_argument("--bounds", default="none", help="with each of these, such as none,100K")
    parser.add_argument("--in-order", action="store_true")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=240, help="no turn is begun after so many")
    parser.add_argument("--side", action="store_true")
    parser.add_argument("--growth", type=float, default=0, metavar="SECONDS")
    options = parser.parse_args()
    options.fathom = options.fathom or ["build/fathom"]
    processors = len(os.sched_getaffinity(0))
    options.threads = ([int(word) for word in options.threads.split(",")] if options.threads else
                       [count for count in (1, 2, 4, 8, 16) if count <= processors])
    options.end = time.monotonic() + options.seconds
    for program in options.fathom:
        if not os.access(program, os.X_OK):
            sys.exit(f"bench_keys.py: no program {program}: build first (make), or say --fathom")
    print(f"{machine()}; {options.references} references\n")
    print("| trace | threads | seconds | times one thread | range | processor s | resident, MB | goal |")
    print("|---|--:|--:|--:|---|--:|--:|---|")
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()
    with tempfile.TemporaryDirectory(prefix="fathom-bench-", dir=where) as directory:
        trace, sides = os.path.join(directory, "keys.fathom"), []
        for name, (pattern, keys) in TRACES.items():
            subprocess.run([options.fathom[0], "gen", pattern, "--keys", str(keys), "--references",
                            str(options.references), "--quiet", "-o", trace], check=True)
            for asked in ways(options):
                measure(options, trace, " ".join([name, *asked]), directory, asked)
            if options.side:  # after the table
                sides.append(side_by_side(options, trace, name, directory))
        print("\n" + "\n".join(sides) if sides else "", flush=True)
    if options.growth > 0:
        print(flush=True)
        subprocess.run([sys.executable, os.path.join(HERE, "bench_growth.py"), "--fathom", options.fathom[0], "--most",
                        "1e9", "--most-keys", "1e8", "--seconds", str(options.growth)], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
