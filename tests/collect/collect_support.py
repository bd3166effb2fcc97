# SPDX-License-Identifier: Apache-2.0
"""What the tests of collectors share: building tests/programs, running fathom, cases in TAP, leftovers."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FATHOM = os.path.abspath(os.environ.get("FATHOM", os.path.join(ROOT, "build", "fathom")))
# A build with sanitizers has no runtime of its own: the ordinary one builds the programs then.
BUILDER = os.path.abspath(os.environ.get("FATHOM_BUILDER", FATHOM))
PROGRAMS = os.path.join(ROOT, "tests", "programs")
BLOCK = 64

work = tempfile.mkdtemp(prefix="fathom-collect-test-")
# fathom and its producers must leave nothing behind: what they could leave would be seen here.
os.environ["TMPDIR"] = os.path.join(work, "tmp")
os.mkdir(os.environ["TMPDIR"])
os.environ.pop("FATHOM_SESSION", None)


class Failure(Exception):
    pass


def expect(found, wanted, what):
    if found != wanted:
        raise Failure(f"{what}: expected {wanted!r}, found {found!r}")


def expect_in(part, whole, what):
    if part not in whole:
        raise Failure(f"{what}: expected {part!r} in:\n{whole}")


# ---- programs ----

COMPILERS = {"gcc": [["gcc"], ["g++"], ["gfortran"]], "fathom": [[BUILDER, "cc"], [BUILDER, "c++"], [BUILDER, "fc"]]}
built = {}


def build(name, how="gcc", *flags, output=None, env=None):
    """The path of tests/programs/NAME compiled by gcc or by fathom cc (how: 'gcc', 'fathom')."""
    key = (name, how, flags, tuple(sorted((env or {}).items())))
    if key in built:
        return built[key]
    source = os.path.join(PROGRAMS, name)
    language = {".c": 0, ".cc": 1, ".f90": 2}[os.path.splitext(name)[1]]
    path = os.path.join(work, output or f"{os.path.splitext(name)[0]}-{how}-{len(built)}")
    command = COMPILERS[how][language] + ["-g", "-O2", "-I" + os.path.join(ROOT, "include"), *flags, source, "-o", path]
    made = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(env or {})})
    if made.returncode:
        raise Failure(f"{' '.join(command)}:\n{made.stderr}")
    built[key] = path
    return path


# ---- fathom ----


class Result:
    def __init__(self, done, profile):
        self.code, self.out, self.err, self.profile = done.returncode, done.stdout, done.stderr, profile


def run(options, command, timeout=120, env=None, code=0, stdin=None):
    """fathom run OPTIONS --json … -- COMMAND; checks the exit code and reads the profile."""
    path = os.path.join(work, "profile.json")
    if os.path.exists(path):
        os.unlink(path)
    full = [FATHOM, "run", "--json", path, "--force", *options, "--", *command]
    done = subprocess.run(full, capture_output=True, text=True, errors="replace", timeout=timeout, env={**os.environ, **(env or {})},
                          stdin=stdin or subprocess.DEVNULL)
    if done.returncode != code:
        raise Failure(f"{' '.join(full)}\nexit code {done.returncode}, expected {code}\n{done.stdout}\n{done.stderr}")
    profile = None
    if os.path.exists(path):
        with open(path) as file:
            profile = json.load(file)
        check_sums(profile)
    return Result(done, profile)


def named(columns, rows):
    return [dict(zip(columns, row)) for row in rows]


def expand(profile):
    """The rows of an attribution's tables (docs/PROFILE.md) as dictionaries with the columns' names."""
    for part in profile.get("parts", []):
        expand(part)
    attribution = profile.get("attribution")
    if not attribution or attribution.get("expanded"):
        return
    attribution["expanded"] = True
    strings = attribution["strings"]
    attribution["sites"] = named(("module", "address", "path", "symbol", "symbol_offset", "frames"), attribution["sites"])
    for site in attribution["sites"]:
        numbers = site["frames"]
        site["frames"] = [{"function": strings[numbers[i]] if numbers[i] is not None else None,
                           "file": strings[numbers[i + 1]] if numbers[i + 1] is not None else None,
                           "line": numbers[i + 2]} for i in range(0, len(numbers), 4)]
    attribution["paths"] = named(("parent", "call"), attribution["paths"])
    attribution["pairs"] = named(("use", "reuse", "count", "cold", "beyond", "ranges"), attribution["pairs"])
    attribution["object_uses"] = named(("object", "site", "count", "cold", "beyond", "ranges"),
                                       attribution["object_uses"])


def check_sums(profile):
    """What always holds in a profile, its attribution and its parts."""
    expand(profile)
    counted = sum(count for _, _, count in profile["histogram"])
    expect(profile["cold"] + profile.get("beyond", 0) + counted, profile["references"], "cold + beyond + histogram")
    attribution = profile.get("attribution")
    if attribution:
        pairs = attribution["pairs"]
        expect(sum(pair["count"] for pair in pairs), profile["references"], "sum of all pairs")
        expect(sum(pair["cold"] for pair in pairs), profile["cold"], "sum of cold over all pairs")
    for part in profile.get("parts", []):
        check_sums(part)


def cyclic(profile, blocks, passes, what="cyclic"):
    """The closed form of touch(): blocks first touches, everything else at the distance blocks - 1."""
    expect(profile["references"], blocks * passes, f"{what}: references")
    expect(profile["cold"], blocks, f"{what}: cold")
    wanted = [[blocks - 1, blocks - 1, blocks * (passes - 1)]] if passes > 1 else []
    expect(profile["histogram"], wanted, f"{what}: histogram")


# ---- processes to be killed ----


def start(options, command, **more):
    """fathom run in the background, its standard output a pipe."""
    path = os.path.join(work, "profile.json")
    if os.path.exists(path):
        os.unlink(path)
    full = [FATHOM, "run", "--json", path, "--force", *options, "--", *command]
    return subprocess.Popen(full, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more), path


def wait_for_line(process, wanted):
    line = process.stdout.readline()
    if line.strip() != wanted:
        raise Failure(f"expected the program to say {wanted!r}, it said {line!r}: {process.stderr.read()}")


def finish(process, path, timeout=90):
    out, err = process.communicate(timeout=timeout)
    profile = None
    if os.path.exists(path):
        with open(path) as file:
            profile = json.load(file)
    return Result(subprocess.CompletedProcess([], process.returncode, out, err), profile)


def processes_named(part):
    """Process numbers whose command line holds this text."""
    found = []
    for entry in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(entry, "rb") as file:
                if part.encode() in file.read():
                    found.append(int(entry.split("/")[2]))
        except OSError:
            pass
    return [pid for pid in found if pid != os.getpid()]


def gone_within(part, seconds):
    end = time.monotonic() + seconds
    while processes_named(part):
        if time.monotonic() > end:
            for pid in processes_named(part):
                os.kill(pid, signal.SIGKILL)
            raise Failure(f"processes of {part} are still there after {seconds} s")
        time.sleep(0.05)


# ---- waiting ----

def wait_until(condition, what, seconds=60):
    """Until a condition holds; long before that limit, unless it never does."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failure(f"after {seconds} s still not: {what}")
        time.sleep(0.005)


def process_state(pid):
    """As in /proc (R, S, T, Z, ...); None: it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for_work(pid, seconds):
    """Until a process has used so much more processor time: clocks that take samples come by as often as that says, however
    busy the machine is."""
    until = processor_seconds(pid) + seconds
    wait_until(lambda: processor_seconds(pid) >= until, f"process {pid} works for {seconds} s")


def wait_for_signal(pid, number):
    """Until a signal that was sent to a process does not wait there any more: a second one of its kind is not the same."""
    def waits():
        with open(f"/proc/{pid}/status") as file:
            status = dict(line.split(":", 1) for line in file)
        return (int(status["ShdPnd"], 16) | int(status["SigPnd"], 16)) >> (number - 1) & 1

    wait_until(lambda: not waits(), f"process {pid} takes signal {number}")


def wait_for_looks(pid, times=6):
    """Until a process that sleeps between looks has slept so often again."""
    def slept():
        with open(f"/proc/{pid}/status") as file:
            return int([line for line in file if line.startswith("voluntary")][0].split()[1])

    until = slept() + times
    wait_until(lambda: slept() >= until, f"process {pid} looks around")


# ---- cases ----

def shared_memory():
    """Files in /dev/shm that fathom or Valgrind could have made. Other tests and benchmarks, which may run at the same time,
    have folders there."""
    if not os.path.isdir("/dev/shm"):
        return set()
    with os.scandir("/dev/shm") as entries:
        return {entry.name for entry in entries
                if entry.name.startswith(("fathom-", "vgdb-", "valgrind")) and not entry.is_dir(follow_symlinks=False)}


shm_before = shared_memory()


def leftovers():
    """What is in /dev/shm, or in the directory for temporary files, which TMPDIR makes the tests' own."""
    return sorted(shared_memory() - shm_before) + os.listdir(os.environ["TMPDIR"])


def main(cases):
    """Runs (name, function) pairs; a function that returns a text was skipped for that reason. Arguments choose those
    with one of these texts in their names (_ stands for a blank)."""
    chosen = [part.replace("_", " ") for part in sys.argv[1:]]
    failed = 0
    number = 0
    try:
        for part in chosen:
            if not any(part in name.replace("_", " ") for name, _ in cases):
                number, failed = number + 1, failed + 1
                print(f"not ok {number} - there is no case with {part!r} in its name", flush=True)
        for name, function in cases:
            if chosen and not any(part in name.replace("_", " ") for part in chosen):
                continue
            number += 1
            try:
                skipped = function()
                left = leftovers()
                if left:
                    raise Failure(f"left behind: {left}")
                print(f"ok {number} - {name}" + (f" # SKIP {skipped}" if skipped else ""), flush=True)
            except Exception as error:
                failed += 1
                print(f"not ok {number} - {name}", flush=True)
                for line in f"{type(error).__name__}: {error}".splitlines():
                    print("#", line)
        print(f"1..{number}")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    sys.exit(1 if failed else 0)
