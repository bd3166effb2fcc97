#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command, in a session of its own, and ends all of that session when it does not come to an end.

    run-limited.py [--cpu SECONDS] [--idle SECONDS] [--wall SECONDS] COMMAND [ARGUMENT...]

On a machine that is slow, or has other work, a test takes longer and is no worse for it. So the limits are: --cpu (600):
processor time of the whole session; --idle (180): a time in which it used next to none, which is a deadlock; --wall
(3600): a last resort. The exit code is the command's, 128 and the signal's number where it was killed, or 124 at a
limit; which one, the last line of standard error says.
"""
import argparse
import os
import select
import signal
import subprocess
import sys
import time

TICKS = os.sysconf("SC_CLK_TCK")
NEXT_TO_NONE = 0.3  # seconds: what sleeping and looking again may use


def members(session):
    """Processes of the session, each with its seconds of processor time and those of its children that have ended."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue  # ended meanwhile
        if int(fields[3]) == session:
            found[int(name)] = sum(map(int, fields[11:15])) / TICKS
    return found


def end(process):
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in members(process.pid):
            try:
                os.kill(pid, number)
            except OSError:
                pass
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            continue
        if not members(process.pid):
            return


def watch(process, limits):
    """Why it has to be stopped; None: it has ended."""
    ended = select.poll()
    ended.register(os.pidfd_open(process.pid), select.POLLIN)
    begin = changed = time.monotonic()
    counted = 0.0
    while not ended.poll(1000):
        now, used = time.monotonic(), sum(members(process.pid).values())
        if used > counted + NEXT_TO_NONE:
            counted, changed = used, now
        if used > limits.cpu:
            return f"it has used more than {limits.cpu:g} s of processor time"
        if now - changed > limits.idle:
            return f"it has used next to no processor time for {limits.idle:g} s"
        if now - begin > limits.wall:
            return f"it has taken more than {limits.wall:g} s"
    return None


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--cpu", type=float, default=600)
    parser.add_argument("--idle", type=float, default=180)
    parser.add_argument("--wall", type=float, default=3600)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    limits = parser.parse_args()
    if not limits.command:
        parser.error("which command?")
    try:
        process = subprocess.Popen(limits.command, start_new_session=True)
    except OSError as error:
        sys.exit(f"run-limited.py: {limits.command[0]}: {error.strerror}")

    def stop(number, _):
        end(process)
        sys.exit(128 + number)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    why = watch(process, limits)
    if why:
        end(process)
        print("run-limited.py: stopped: " + why, file=sys.stderr)
        sys.exit(124)
    code = process.wait()
    sys.exit(code if code >= 0 else 128 - code)


main()
