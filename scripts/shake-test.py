#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds races in a test: runs it on few processors beside busy loops, where now and then one of its threads, or all of a
process, hardly gets a processor for a while (SCHED_IDLE). Nothing else is done to them: no signals, no other states.

    scripts/shake-test.py [--times N] [--cores 0] [--loops 1] [--starve 100-1200] [--pause 0-150] -- COMMAND...

--starve and --pause in milliseconds; --starve 0-0: only the busy loops. What a failing run printed is shown. Needs root."""
import argparse
import ctypes
import os
import random
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36


def milliseconds(text):
    low, high = (float(part) for part in text.split("-"))
    return low / 1000, high / 1000


def parents():
    """The children of each process."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                found.setdefault(int(file.read().rsplit(")", 1)[1].split()[1]), []).append(int(name))
        except OSError:
            pass
    return found


def descendants(but):
    children, found, left = parents(), [], [os.getpid()]
    while left:
        more = [pid for pid in children.get(left.pop(), []) if pid not in but]
        found += more
        left += more
    return found


def threads(pid):
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def schedule(thread, policy):
    try:
        os.sched_setscheduler(thread, policy, os.sched_param(0))
    except OSError:
        pass  # it has ended


def reap(but):
    """Orphans, which come to us."""
    while True:
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if not ended or ended.si_pid in but:
            return
        os.waitpid(ended.si_pid, 0)


def starve_some(test, but, seconds):
    found = descendants(but)
    if not found:
        return
    chosen = threads(random.choice(found[-6:] if random.random() < 0.6 else found))  # the last ones are the youngest
    if chosen and random.random() < 0.5:
        chosen = [random.choice(chosen)]
    for thread in chosen:
        schedule(thread, os.SCHED_IDLE)
    end = time.monotonic() + random.uniform(*seconds)
    while time.monotonic() < end and test.poll() is None:
        time.sleep(0.02)
    for pid in descendants(but):  # what was started meanwhile has inherited it
        for thread in threads(pid):
            schedule(thread, os.SCHED_OTHER)


def run(options, loops):
    """The exit code, and what was printed."""
    with open(os.memfd_create("output"), "w+", errors="replace") as out:
        test = subprocess.Popen(options.command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        but = {loop.pid for loop in loops}
        while test.poll() is None:
            reap(but | {test.pid})
            if options.starve[1] > 0:
                starve_some(test, but, options.starve)
            time.sleep(max(0.01, random.uniform(*options.pause)))
        out.seek(0)
        return test.returncode, out.read()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--cores", default="0")
    parser.add_argument("--loops", type=int, default=1, help="busy loops on each core")
    parser.add_argument("--starve", type=milliseconds, default="100-1200")
    parser.add_argument("--pause", type=milliseconds, default="0-150")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    cores = [int(core) for core in options.cores.split(",")]
    os.sched_setaffinity(0, cores)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    loops = []
    failed = 0
    try:
        for core in cores * options.loops:
            loops.append(subprocess.Popen(["taskset", "-c", str(core), sys.executable, "-c", "while True: pass"]))
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(5))  # of the shaker alone
        for number in range(1, options.times + 1):
            begin = time.monotonic()
            code, text = run(options, loops)
            failed += code not in (0, 77)
            print(f"run {number}: exit code {code}, {time.monotonic() - begin:.0f} s", flush=True)
            if code not in (0, 77):
                print(text, flush=True)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
