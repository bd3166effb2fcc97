#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of fathom over a long run: a program that allocates, frees and starts short threads without end.

    bench/bench_long.py [--fathom build/fathom] [--minutes 60] [--every 5] [--threads-a-second N]

tests/programs/storm.c runs under `fathom run` (Valgrind, and built by fathom cc) and `fathom sample`, one after the
other, so long each; what fathom's own process holds is written down as it goes. A storm goes as fast as it can, and
starts as many threads in a minute as a server in an hour: the last columns say how many there were, and how long a
program would run that starts N in a second (default 25, as the program of bench/RESULTS.md does).
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def megabytes(pid, field):
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        for line in lines:
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024
    return 0


class Storm:
    """The program under a verb; how many threads it has said it started."""

    def __init__(self, command):
        self.started = 0
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            self.started = int(line)

    def end(self):
        self.process.terminate()
        return self.process.wait(300)


def row(name, storm, began, rate):
    pid, minutes = storm.process.pid, (time.monotonic() - began) / 60
    hours = storm.started / rate / 3600
    print(f"| {name} | {minutes:.1f} | {megabytes(pid, 'VmRSS'):.1f} | {megabytes(pid, 'RssAnon'):.1f} | "
          f"{storm.started:,} | {hours:.1f} h |", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Memory of fathom over a long run.")
    parser.add_argument("--fathom", default=os.path.join(ROOT, "build", "fathom"))
    parser.add_argument("--minutes", type=float, default=60, help="of each of the three")
    parser.add_argument("--every", type=float, default=5, help="minutes from line to line")
    parser.add_argument("--threads-a-second", type=float, default=25, help="of the program that it stands for")
    parser.add_argument("--only", default="", help="valgrind, cc or sample")
    options = parser.parse_args()
    source = os.path.join(ROOT, "tests", "programs", "storm.c")
    with tempfile.TemporaryDirectory() as work:
        flags = ["-g", "-O1", "-pthread", source, "-o"]
        plain, built = os.path.join(work, "storm"), os.path.join(work, "storm-cc")
        subprocess.run(["gcc", *flags, plain], check=True)
        subprocess.run([options.fathom, "cc", *flags, built], check=True)
        print("| fathom | minutes | resident MB | of its own MB | threads | stands for |")
        print("|---|--:|--:|--:|--:|--:|")
        for name, verb, program in (("valgrind", "run", plain), ("cc", "run", built), ("sample", "sample", plain)):
            if options.only not in ("", name):
                continue
            storm = Storm([options.fathom, verb, "--output", "/dev/null", "--", program, "0", "20", "1000"])
            began = time.monotonic()
            while time.monotonic() - began < options.minutes * 60:
                time.sleep(min(options.every * 60, max(began + options.minutes * 60 - time.monotonic(), 0) + 1))
                if storm.process.poll() is not None:
                    sys.exit(f"bench_long.py: {name} ended: {storm.process.stderr.read()}")
                row(name, storm, began, options.threads_a_second)
            storm.end()


if __name__ == "__main__":
    main()
