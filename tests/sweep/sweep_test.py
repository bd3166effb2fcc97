#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every verb over real programs, and the laws that each result keeps (docs/TESTING.md, "Laws"; sweep_laws.py judges).

    sweep_test.py [K/N | WORD...]    the K-th of N parts of the programs; those whose names begin with a word

FATHOM_TEST_SWEEP=large: inputs twelve times as large. FATHOM: another build. A program that is not there is skipped
by name."""
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sweep_laws as laws
import sweep_programs

import tap_cases

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FATHOM = os.path.abspath(os.environ.get("FATHOM", os.path.join(ROOT, "build", "fathom")))
GRANULARITIES = "64,8,4096"
SECONDS = 600 if sweep_programs.LARGE else 120
ENVIRONMENT = {**os.environ, "LC_ALL": "C", "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "COLUMNS": "100",
               "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "GIT_PAGER": "cat", "GIT_CONFIG_COUNT": "1",
               "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}


# Started by an interpreter of its own: the memory that a process is told to have used at most is, until it runs
# another program, that of who started it. Ours is large; this one's is written first.
SMALL = """
import os, resource, sys
out = os.open(sys.argv[1], os.O_WRONLY)
child = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(child, 0)
os.write(out, b"%d" % (used.ru_maxrss * 1024))
os._exit(os.waitstatus_to_exitcode(status) & 255)
"""


def peak_memory(command, work):
    """Bytes of a program that runs alone, at most (10 MiB are the interpreter's)."""
    with tempfile.NamedTemporaryFile(dir=work) as told:
        start([sys.executable, "-S", "-E", "-c", SMALL, told.name, *command], work)
        return int(told.read())


class Ended:
    def __init__(self, code, out, err, seconds, wall):
        self.code, self.out, self.err, self.seconds, self.wall = code, out, err, seconds, wall


def start(command, work):
    """Runs it; what it printed, and what it and its children used of memory and processors."""
    with tempfile.TemporaryFile(dir=work) as out, tempfile.TemporaryFile(dir=work) as err:
        began = time.monotonic()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=ENVIRONMENT, cwd=work)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return Ended(child.returncode, out.read(), err.read().decode(errors="replace"), used.ru_utime + used.ru_stime,
                     time.monotonic() - began)


class Sweep:
    """One program through every verb."""

    def __init__(self, program, work):
        self.program, self.work = program, work
        self.symbols = laws.Symbols()
        self.command = [program.path(), *program.command(program.full)]

    def path(self, name):
        return os.path.join(self.work, f"{self.program.name}.{name}")

    def is_ours(self, path):
        return os.path.dirname(path) == self.work and os.path.isfile(path) and not os.path.islink(path)

    @staticmethod
    def results(arguments):
        """The files that a verb is told to write, up to the command that it runs."""
        own = list(arguments[:arguments.index("--")]) if "--" in arguments else list(arguments)
        return {own[at + 1] for at, word in enumerate(own[:-1]) if word in ("-o", "--json", "--csv", "--callgrind", "--report")}

    def fathom(self, faults, *arguments, code=0):
        """A verb that must end with this code and say nothing of faults of its own."""
        for argument in arguments:
            # What an earlier call left must not look like a result; nothing outside the folder of the sweep is touched.
            if self.is_ours(argument) and argument in self.results(arguments):
                os.unlink(argument)
        ended = start([FATHOM, *arguments], self.work)
        if os.environ.get("SWEEP_TIMES"):
            print(f"# {ended.wall:.2f} s: {' '.join(arguments)[:60]}")
        shown = " ".join(map(str, arguments))
        faults.holds(ended.code == code, f"exit code {ended.code}, expected {code}: fathom {shown}\n{ended.err[-600:]}")
        faults.holds("internal error" not in ended.err, f"fathom {shown}\n{ended.err[-600:]}")
        return ended

    def case(self, name, check):
        faults = laws.Faults()
        try:
            check(faults)
        except (OSError, KeyError, ValueError, AttributeError, IndexError) as error:
            faults.append(f"{type(error).__name__}: {error}")
        tap_cases.case(f"{self.program.name}: {name}", faults)
        return not faults

    # ---- the verbs ----

    def as_alone(self, ended, profile, faults):
        """What a complete profile is of ended as the program does alone, and printed the same."""
        if not profile["complete"]:
            return
        faults.holds(profile["run"].get("exit_code") == self.alone.code,
                     f"the program ended with {profile['run'].get('ending')}, alone with {self.alone.code}")
        faults.holds(ended.out == self.alone.out, "the program printed something else than alone")

    def run(self, faults):
        made = {what: self.path(f"run.{what}") for what in ("json", "csv", "callgrind", "html", "txt")}
        ended = self.fathom(faults, "run", "-q", "-g", GRANULARITIES, "--json", made["json"], "--csv", made["csv"], "--callgrind",
                            made["callgrind"], "--report", made["html"], "-o", made["txt"], "--", *self.command)
        profiles = laws.read(made["json"])
        laws.check(profiles, faults, "run", self.symbols)
        self.as_alone(ended, profiles[0], faults)
        self.references = profiles[0]["references"]
        text = {what: open(path, errors="replace").read() for what, path in made.items()}
        laws.pairs_csv(text["csv"], profiles[0], faults, "run --csv")
        laws.callgrind(text["callgrind"], profiles[0], faults, "run --callgrind")
        laws.screen(text["txt"], profiles, faults, "run")
        faults.holds(len(text["html"]) > 10000, "run --report: an empty page")

    def record(self, faults):
        trace, made = self.path("fathom"), self.path("analyze.json")
        recorded = self.fathom(faults, "record", "-q", "-o", trace, "--", *self.command)
        faults.holds(recorded.out == self.alone.out, "record: the program printed something else than alone")
        self.fathom(faults, "check", "-q", trace)
        ended = self.fathom(faults, "analyze", "-q", "-g", GRANULARITIES, "--json", made, trace)
        profiles = laws.read(made)
        laws.check(profiles, faults, "analyze", self.symbols)
        shown = self.fathom(faults, "analyze", "-q", "-g", GRANULARITIES, trace)
        laws.screen(shown.out.decode(), profiles, faults, "analyze")
        near = abs(profiles[0]["references"] - self.references) <= 0.02 * self.references + 5000
        faults.holds(near, f"{profiles[0]['references']} references recorded, {self.references} run")
        del ended

    def phases(self, faults):
        made = self.path("phases.json")
        self.fathom(faults, "phases", "-q", "--json", made, self.path("fathom"))
        profile = laws.read(made)[0]
        laws.check([profile], faults, "phases", self.symbols)
        laws.phases(profile, faults, "phases")
        self.fathom(faults, "report", "-q", made, "-o", self.path("phases.html"))

    def curves(self, faults):
        made = self.path("analyze.json")
        profile = laws.read(made)[0]
        laws.curve(self.fathom(faults, "mrc", "-q", "--select", "64", "--csv", "-", made).out.decode(), profile, faults, "mrc")
        text = self.fathom(faults, "mrc", "-q", "--select", "64", "--size", "32K,1M,1G", made).out.decode()
        shares = [float(n) for n in re.findall(r"([\d.]+(?:e-\d+)?) %", text)]
        faults.holds(shares and all(0 <= n <= 100 for n in shares), f"mrc: shares {shares}")
        page = self.path("report.html")
        self.fathom(faults, "report", "-q", made, "-o", page)
        faults.holds(os.path.getsize(page) > 10000, "report: an empty page")

    def sample(self, faults):
        made, text = self.path("sample.json"), self.path("sample.txt")
        command = [self.program.path(), *self.program.command(self.program.full * self.program.sampled)]
        alone = start(command, self.work)
        memory = peak_memory(command, self.work)
        arguments = ["sample", "-q", "--rate", "1000", "-g", "64,4096", "--json", made, "-o", text, "--", *command]
        ended = start([FATHOM, *arguments], self.work)
        if ended.code == 1 and ("before a sample was taken" in ended.err or "no references were made" in ended.err):
            return  # it says so
        faults.holds(ended.code == 0, f"exit code {ended.code}: fathom {' '.join(arguments)}\n{ended.err[-600:]}")
        profiles = laws.read(made)
        laws.check(profiles, faults, "sample", self.symbols)
        faults.holds(ended.out == alone.out, "the program printed something else than alone")
        # The sampler itself has memory in the program.
        laws.sampled(profiles, faults, "sample", memory * 5 // 4 + (4 << 20), ended.seconds)
        shown = open(text, errors="replace").read()
        laws.verdict_of_samples(shown, profiles[0], faults, "sample")
        self.fathom(faults, "report", "-q", made, "-o", self.path("sample.html"))
        self.fathom(faults, "mrc", "-q", "--select", "64", made)

    def predict(self, faults):
        files = []
        for size in (self.program.small, self.program.full):
            files.append(self.path(f"train{size}.json"))
            self.fathom(faults, "run", "-q", "--no-sites", "--json", files[-1], "-o", self.path("train.txt"), "--", self.program.path(),
                        *self.program.command(size))
        profiles = [laws.read(file)[0] for file in files]
        model, made = self.path("model"), self.path("predict.json")
        if profiles[1]["distinct"] < 1.5 * profiles[0]["distinct"]:
            return  # it hardly grows: train says that sizes are too near each other
        self.fathom(faults, "train", "-q", "-o", model, *files)
        wanted = 2 * profiles[1]["distinct"]
        shown = self.fathom(faults, "predict", "-q", "--data-size", str(wanted), "--json", made, model)
        profile = laws.read(made)[0]
        laws.check([profile], faults, "predict", self.symbols)
        laws.predicted(profile, faults, "predict")
        text = self.fathom(faults, "predict", "-q", "--data-size", str(wanted), model).out.decode()
        shares = [float(n) for n in re.findall(r"([\d.]+(?:e-\d+)?) %", text)]
        faults.holds(all(0 <= n <= 100 for n in shares), f"predict: shares {shares}")
        del shown

    def itself(self, faults):
        made, told = self.path("run.json"), self.path("diff.json")
        arguments = ("diff", "-q", "--select", "64", "--json", told)
        self.fathom(faults, *arguments, "--fail-if", "misses@L1d > +0", "--fail-if", "references > +0", made, made)
        difference = laws.json.load(open(told))
        faults.holds(difference["verdict"] == "same", f"a profile and itself are '{difference['verdict']}'")
        changed = [row for kind in ("lines", "functions", "objects") for row in difference.get(kind, []) if row["change"] != "same"]
        faults.holds(not changed, f"{len(changed)} rows changed between a profile and itself: {changed[:1]}")
        alike = self.fathom(faults, "compare", "--select", "64", made, made).out.decode()
        faults.holds("100" in alike or "1.0" in alike, f"a profile and itself: {alike}")

    def all(self):
        self.alone = start(self.command, self.work)
        if self.case("run", self.run):
            pass
        recorded = self.case("record and analyze", self.record)
        self.case("phases", self.phases)
        self.case("mrc and report", self.curves)
        self.case("sample", self.sample)
        self.case("train and predict", self.predict)
        self.case("diff with itself", self.itself)
        del recorded
        for name in os.listdir(self.work):
            if name.startswith(self.program.name + "."):
                os.unlink(os.path.join(self.work, name))


def wanted(programs):
    words = sys.argv[1:]
    part = re.fullmatch(r"(\d+)/(\d+)", words[0]) if words else None
    if part:
        return programs[int(part.group(1)) - 1::int(part.group(2))]
    return [program for program in programs if not words or any(program.name.startswith(word) for word in words)]


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    work = tempfile.mkdtemp(prefix="fathom-sweep-")
    inputs = os.path.join(work, "inputs")
    os.mkdir(inputs)
    try:
        for program in wanted(sweep_programs.programs(sweep_programs.Inputs(inputs))):
            if program.path() is None:
                tap_cases.skip(program.name, f"{program.name} is not installed")
                continue
            began = time.monotonic()
            Sweep(program, work).all()
            print(f"# {program.name}: {time.monotonic() - began:.1f} s", flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return tap_cases.end()


sys.exit(main())
