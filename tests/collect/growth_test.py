#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of fathom while a program starts short threads without end (tests/programs/storm.c): what is known of those that
are gone goes with them. bench/bench_long.py does it for an hour, with blocks of the heap, and for `fathom sample`."""
import subprocess

from collect_support import *

cases = []


def anonymous(pid):
    """Bytes of the process's own memory: without files, and without what it shares with the program."""
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("RssAnon"))


def grows(program, first, last, bound):
    """By how much fathom grows from thread to thread; the program is killed then."""
    every = first
    fathom = subprocess.Popen([FATHOM, "run", "--output", "/dev/null", "--", program, "0", "0", str(every)],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    sizes = {}
    try:
        for line in fathom.stdout:
            sizes[int(line)] = anonymous(fathom.pid)
            if int(line) >= last:
                break
    finally:
        fathom.terminate()
        fathom.stdout.close()
        fathom.wait(60)
    grown = sizes[last // every * every] - min(sizes[first], sizes[2 * first])
    if grown > bound:
        raise Failure(f"from {first} to {last} threads it grew by {grown} bytes, more than {bound}: {sizes}")


# Before, threads that were gone took 200 bytes each.
def compiler():
    grows(build("storm.c", "fathom", "-pthread"), 4000, 28000, 2 << 20)


def valgrind():
    grows(build("storm.c", "gcc", "-pthread"), 1000, 8000, 500 << 10)


main([("compiler: threads that come and go", compiler), ("valgrind: threads that come and go", valgrind)])
