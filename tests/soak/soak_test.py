#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile inputs, each with a limit on time and memory: tracees that scribble over the memory that they share with
fathom, native traces with right checksums and wrong contents, profiles that are valid JSON and wrong.

    soak_test.py [--seconds N] [--seed N] [tracees|traces|profiles]...

Without --seconds a fixed number of each (make test); with it, as many as there is time for (make soak). Whatever comes
in, fathom ends by itself within the limits, with an exit code of its own, and a profile that it writes adds up. What
failed is kept in build/soak/ and the seed that makes it again is printed."""
import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import hostile_inputs

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FATHOM = os.path.abspath(os.environ.get("FATHOM", os.path.join(ROOT, "build", "fathom")))
KEPT = os.path.join(ROOT, "build", "soak")
SECONDS, MEBIBYTES = 30, int(os.environ.get("SOAK_MEBIBYTES", 1024))
FEW = {"tracees": 30, "traces": 60, "profiles": 30}


class Failure(Exception):
    pass


def limited(command, codes=(0, 1, 3), **more):
    """Runs a command; its exit code and output. Fails when it takes too long, too much, or ends by a signal."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, **more)
        begin = time.monotonic()
        while True:
            pid, code, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - begin > SECONDS:
                process.kill()
                os.wait4(process.pid, 0)
                raise Failure(f"{' '.join(command)}: not done after {SECONDS} s")
            time.sleep(0.002)
        process.returncode = os.waitstatus_to_exitcode(code)
        out.seek(0)
        text = out.read().decode(errors="replace")
    if process.returncode not in codes:
        raise Failure(f"{' '.join(command)}: ended with {process.returncode}\n{text[-2000:]}")
    if usage.ru_maxrss > MEBIBYTES << 10:
        raise Failure(f"{' '.join(command)}: held {usage.ru_maxrss >> 10} MiB")
    return process.returncode, text


def check_profile(path, code):
    """A profile is there where the exit code says so, and it adds up."""
    if code == 1:
        return None
    with open(path) as file:
        text = file.read()
    profile = json.loads(text)
    total = profile["cold"] + profile.get("beyond", 0) + sum(count for _, _, count in profile["histogram"])
    if total != profile["references"]:
        raise Failure(f"{profile['references']} references, but {total} counted")
    if code == 0 and not profile["complete"]:
        raise Failure("exit code 0 of an incomplete profile")
    os.unlink(path)
    return text


class Tracees:
    OPTIONS = [[], ["--no-sites"], ["--call-paths"], ["--follow-children"], ["--threads-private", "--no-stack"],
               ["--threads", "3"], ["--granularity", "1", "--no-sites"], ["--function", "main"], ["--limit", "1000"]]

    def __init__(self, directory):
        self.program = os.path.join(directory, "scribbling")
        subprocess.run(["gcc", "-O1", "-I", ROOT, "-I", os.path.join(ROOT, "tests"), "-o", self.program,
                        os.path.join(ROOT, "tests", "soak", "scribbling.c")], check=True)
        os.mkfifo(os.path.join(directory, "fifo"))
        self.directory = directory

    def run(self, dice, seed):
        options = dice.choice(self.OPTIONS)
        code, _ = limited([FATHOM, "run", "--json", "p.json", "--force", "--quiet", "-o", "text", *options, "--", self.program, str(seed)],
                          codes=(0, 1, 2, 3), cwd=self.directory)
        if code != 2:  # there is no function main in what it plays
            check_profile(os.path.join(self.directory, "p.json"), code)


class Traces:
    def __init__(self, directory):
        self.directory, self.sound = directory, []
        lines = [f"{0x1000 + i * 64 % 5000} {4 + i % 3 * 4} {i % 3} {1 + i % 2} {0x400000 + i % 7 * 4}" for i in range(2000)]
        for extra in ([], ["--by-site"], ["--block", "100", "--module", "/bin/true,,0x400000,0x410000,0x400000"]):
            path = os.path.join(directory, "made.fathom")
            subprocess.run([sys.executable, os.path.join(ROOT, "tests", "cli", "write_fathom.py"), path, *extra],
                           input="\n".join(lines), text=True, check=True)
            self.keep(path)
        path = os.path.join(directory, "zipf.fathom")
        limited([FATHOM, "gen", "zipf", "--keys", "500", "--references", "20000", "-o", path, "--force"])
        self.keep(path)

    def keep(self, path):
        with open(path, "rb") as file:
            self.sound.append(file.read())

    def run(self, dice, seed):
        path, profile = (os.path.join(self.directory, name) for name in ("hostile.fathom", "p.json"))
        with open(path, "wb") as file:
            file.write(hostile_inputs.hostile_trace(dice, dice.choice(self.sound)))
        told = []
        for threads in ("1", "2"):
            code, text = limited([FATHOM, "analyze", path, "--threads", threads, "--json", profile, "--force", "--quiet"])
            told.append((code, text, check_profile(profile, code)))
        if told[0] != told[1]:
            raise Failure(f"one thread and two differ:\n{told[0]}\n{told[1]}"[:4000])
        more = dice.choice([["check", path], ["convert", path, "-o", os.path.join(self.directory, "out.txt")], ["phases", path],
                            ["analyze", path, "--granularity", "1"], ["analyze", path, "--engine", "tree"]])
        limited([FATHOM, *more])


class Profiles:
    def __init__(self, directory):
        self.directory, self.sound = directory, []
        path = os.path.join(directory, "made.json")
        commands = [["run", "--json", path, "--force", "-o", "/dev/null", "--quiet", "--", "/bin/true"],
                    ["analyze", "--json", path, "--force", "--quiet", "--engine", "shards", "--rate", "0.5", os.path.join(directory, "zipf.fathom")],
                    ["analyze", "--json", path, "--force", "--quiet", "--time", os.path.join(directory, "zipf.fathom")]]
        limited([FATHOM, "gen", "zipf", "--keys", "500", "--references", "20000", "-o", os.path.join(directory, "zipf.fathom")])
        for command in commands:
            limited([FATHOM, *command])
            with open(path) as file:
                self.sound.append(file.read())
        self.reference = path

    def run(self, dice, seed):
        path, page = (os.path.join(self.directory, name) for name in ("hostile.json", "page.html"))
        with open(path, "w") as file:
            file.write(hostile_inputs.hostile_profile(dice, dice.choice(self.sound)))
        codes = (0, 1, 2, 3)
        limited([FATHOM, "mrc", path, "--size", "32K"], codes)
        limited([FATHOM, "compare", path, self.reference], codes)
        limited([FATHOM, "train", "-o", os.path.join(self.directory, "model.json"), "--force", path, self.reference], codes)
        code, _ = limited([FATHOM, "report", path, "-o", page], codes)
        if os.path.exists(page):
            if code not in (0, 3):
                raise Failure(f"a page is there, and the exit code is {code}")
            os.unlink(page)


PARTS = {"tracees": Tracees, "traces": Traces, "profiles": Profiles}


def keep(part, seed, directory):
    os.makedirs(KEPT, exist_ok=True)
    for name in ("hostile.fathom", "hostile.json"):
        if os.path.exists(os.path.join(directory, name)):
            os.replace(os.path.join(directory, name), os.path.join(KEPT, f"{part}-{seed}-{name}"))


def soak(part, seed, seconds):
    """Runs a part; how many inputs, and what failed."""
    failures, count, end = [], 0, time.monotonic() + (seconds or 0)
    with tempfile.TemporaryDirectory(prefix="fathom-soak-") as directory:
        made = PARTS[part](directory)
        while len(failures) < 5 and (time.monotonic() < end if seconds else count < FEW[part]):
            try:
                made.run(random.Random(seed + count), seed + count)
            except (Failure, OSError, ValueError, KeyError, TypeError) as failure:
                failures.append(f"seed {seed + count}: {type(failure).__name__}: {failure}")
                keep(part, seed + count, directory)
            count += 1
    return count, failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("part", nargs="*")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    chosen = options.part or list(PARTS)
    failed = 0
    for index, part in enumerate(chosen, 1):
        count, failures = soak(part, options.seed, options.seconds / len(chosen) if options.seconds else None)
        print(f"{'not ok' if failures else 'ok'} {index} - soak: {count} hostile {part}", flush=True)
        for failure in failures:
            failed = 1
            print("".join(f"# {line}\n" for line in failure.splitlines()), end="", flush=True)
    print(f"1..{len(chosen)}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
