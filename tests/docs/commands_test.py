#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every command with `fathom` in README.md, docs/, examples/, the manual pages and the examples of --help is run as it
is written, in a directory with the files that it names; and it prints what the page shows. What cannot be run is listed
below, with the reason; a line of that list which fits no command is a failure, too. Speaks TAP.

    tests/docs/commands_test.py [WORD]      only sources with that word in their names
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from tap_cases import case, end  # noqa: E402

FATHOM = os.path.join(ROOT, "build", "fathom")
SECONDS = 120

# A piece of a command, the reason why it is not run.
NOT_RUN = {
    "--engine gpu": "needs a graphics card",
    "--sampler pmu": "needs performance counters",
}
# A piece of a command, what stands for it here, and why.
INSTEAD = [
    ("mpirun -np 64", "mpirun.openmpi --oversubscribe -np 2", "64 ranks"),
    ("--limit-time 60", "--limit-time 1", "a minute"),
    ("--limit-time 10", "--limit-time 1", "ten seconds"),
    ("4711", "$(cat server.pid)", "the number of a process"),
    ("--references 50M", "--references 1M", "time"),
    ("--references 10M", "--references 1M", "time"),
    ("--keys 1M", "--keys 100K", "time"),
    ("--limit 100M", "--limit 1M", "time"),
]
# What a command must exit with, where that is not 0.
EXIT_CODES = {
    "fathom diff --fail-if 'misses@L2 > +5%' --markdown comment.md main.json change.json": (0, 4),
    "fathom diff --fail-if 'misses@L2 > +5%' --markdown pr.md main.json change.json": (0, 4),
}
# Pages whose commands a test of their own types and reads.
ELSEWHERE = {"docs/TUTORIAL.md": "tests/collect/oracles_test.py"}

# Files that commands name, and how they are made. The first line that names a file makes it.
MADE = r"""
cp examples/gemm.c examples/solve.c .; sed -i 's/int n = .*/int n = argc > 1 \&\& atoi(argv[1]) > 2 ? atoi(argv[1]) : 100;/' solve.c
cp solve.c program.c; cp program.c prog.c
printf '#include <vector>\nint main() { std::vector<int> v(1000); int s = 0; for (int x : v) s += x; return s; }\n' >prog.cc
cp $ROOT/tests/programs/column_sum.f90 prog.f90
cp $ROOT/tests/static/kernels/jacobi-2d.f90 stencil.f90
gcc -O1 -g program.c -o program; cp program solve; cp program prog
sed 's/static void sweep/__attribute__((noinline)) void solve/; s/sweep(n/solve(n/' solve.c >s.c; gcc -O1 -g s.c -o solver
sed 's/ROUNDS = 6/ROUNDS = 20000/' solve.c >long.c; gcc -O2 -g long.c -o simulation
sed 's/ROUNDS = 6/ROUNDS = 30000/; s/argc > 1/0/' solve.c >s.c; gcc -O2 -g s.c -o server
gcc -O2 -g examples/tutorial/blur.c -o blur; cp examples/tutorial/*.c .
echo 100 >input; cp input input.txt; seq 3000 -1 1 >numbers.txt; seq 1000000 >data
fathom record -q -o trace.fathom -- ./program 100 >/dev/null
fathom gen uniform --keys 1000 --references 20K --to u64 -o keys.u64 -q
fathom record -q -o huge.fathom -- ./solve 200 >/dev/null
fathom gen sawtooth --keys 4000 --references 40K -o huge.u64 -q; zstd -q huge.u64
fathom gen cyclic --keys 100 --references 2K --to text -o keys.txt -q; zstd -q keys.txt
valgrind --tool=lackey --trace-mem=yes --log-file=trace.lackey true
awk 'BEGIN { print "time,lbn,offset,bytes,size"; for (i = 0; i < 3000; i++) print i "," i % 700 "," i % 700 * 512 ",4096,4096" }' >disk.csv
awk 'BEGIN { for (i = 0; i < 900; i++) print 1280166 i ",hm,0,Read," i % 70 * 4096 ",8192,77" }' >hm_0.csv
awk 'BEGIN { print "time,rel,fork,block"; for (i = 0; i < 3000; i++) print i "," i % 3 ",main," i % 700 }' >pages.csv
awk 'BEGIN { print "time,disk,offset,bytes"; for (i = 0; i < 3000; i++) print i "," i % 3 "," i % 700 * 512 ",4096" }' >disks.csv
awk 'BEGIN { print "OK"; for (i = 0; i < 900; i++) print 1339518083.1 + i " [0 127.0.0.1:60866] \"GET\" \"key:" i % 70 "\"" }' >monitor.log
awk 'BEGIN { for (i = 0; i < 900; i++) print "10.0.0.1 - - [19/Nov/2026:20:00:00 +0000] \"GET /" i % 70 " HTTP/1.1\" 200 5" }' >access.log
cp disk.csv io.csv; cut -d , -f 1,2 disk.csv | sed 's/lbn/key/' >requests.csv
for n in 100 200 400; do fathom run -q -o /dev/null --json size$n.json -- ./solve $n >/dev/null; done
fathom analyze -q trace.fathom --engine shards --engine-option rate=0.1 --json sampled.json >/dev/null
gcc -O2 -g examples/tutorial/blur_fixed.c -o s; fathom run -q --size 48K,2M -o /dev/null --json after.json -- ./s >/dev/null
for n in small before main change run profile exact; do cp size100.json $n.json; done; cp size200.json medium.json; cp size400.json large.json
fathom train -q -o model.json small.json medium.json >/dev/null; cp model.json solve.model
cp examples/machines/zen3.machine my.machine
mkdir -p include
"""


def left_out():
    """Of this build."""
    with open(os.path.join(ROOT, "build", "left-out"), encoding="utf-8") as file:
        return file.read()


def verbs():
    said = subprocess.run([FATHOM, "--help=all"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  ([a-z+]+) ", said.split("Verbs:")[1].split("\n\n")[0], re.MULTILINE)


def help_of(verb):
    how = "--help" if verb in ("cc", "c++", "fc") else "--help=all"
    return subprocess.run([FATHOM, verb, how], capture_output=True, text=True).stdout


VERBS = verbs()
MACHINE = "pack:1 l3:1(size=33554432) core:2 l2:1(size=1048576) l1d:1(size=49152) pu:1"
CALL = re.compile(r"(?:^(?:[A-Z_]+=\S+ |mpirun -np \S+ )*(?:build/)?|\| )fathom (?:%s)(?:\s|$)" % "|".join(map(re.escape, VERBS)))
# What a page shows may be a curve, which differs by a pixel; a machine's caches; a time.
UNSTEADY = re.compile(r"[│┼┤─█▁▂▃▄▅▆▇▏▎▍▌▋▊▉]|^L[123]d? |; [\d.]+ s$| s, ")


def commands_of_text(text, prompt_only=False):
    """[(command, what is shown after it)] of fenced or indented code."""
    found = []
    for block in re.findall(r"^```[a-z]*\n(.*?)^```|((?:^    .*\n)+)", text, re.MULTILINE | re.DOTALL):
        lines = (block[0] or re.sub(r"^    ", "", block[1], flags=re.MULTILINE)).splitlines()
        prompts = any(line.startswith("$ ") for line in lines)
        for line in lines:
            if prompts and not line.startswith("$ "):
                if found and found[-1][0]:
                    found[-1][1].append(line)
            elif prompts or (CALL.search(line) and not prompt_only):
                found.append((line[2:] if prompts else line, []))
    return found


def sources():
    """Where commands are written: name, [(command, shown)]."""
    pages = ["README.md", "bench/README.md"]
    for pattern in ("docs/*.md", "examples/*/README.md", "collect/*/README.md", "man/*.scd"):
        pages += sorted(os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, pattern)))
    for page in pages:
        if page in ELSEWHERE:
            continue
        with open(os.path.join(ROOT, page), encoding="utf-8") as file:
            found = commands_of_text(file.read())
        if any(CALL.search(command) for command, _ in found):
            yield page, found
    for verb in VERBS:
        said = help_of(verb)
        examples = re.findall(r"^  (.*\bfathom .*)$", said.partition("\nExamples:")[2], re.MULTILINE)
        if examples:
            yield f"fathom {verb} --help", [(command, []) for command in examples]


def without_digits(line):
    """Numbers to their third digit may differ between compilers and machines; words and their order may not."""
    return " ".join(re.sub(r"[<>~+-]?[0-9][0-9.,]*(e[+-]?\d+)?( ?[kMG]\b)?", "N", line).split())


def differs(shown, printed):
    """Why it is not what the page shows; an ellipsis stands for any lines."""
    shown = [line for line in shown if line == "…" or not UNSTEADY.search(line)]
    printed = [line for line in printed if not UNSTEADY.search(line)]
    lines = [without_digits(line) for line in printed]
    ends, free = {0}, False  # where what was printed may go on, after the lines of the page so far
    for line in shown:
        if line == "…":
            ends, free = set(range(min(ends), len(lines) + 1)), True
            continue
        found = {at + 1 for at in ends if at < len(lines) and lines[at] == without_digits(line)}
        if not found:
            return f"the page shows {line!r}, printed is {printed[min(ends):min(ends) + 3]}"
        ends, free = found, False
    return "" if free or len(lines) in ends else f"more is printed than the page shows: {printed[max(ends):max(ends) + 3]}"


def needs(command):
    """What this build, or this machine, lacks for it."""
    out = left_out()
    for wanted, part in ((r"fathom static .*\.(c|cc)\b", "fathom static, C, C++"), (r"fathom (run|record) ", "fathom run, any"),
                         (r"fathom sample ", "fathom sample"), (r"--mpi", "analyze --mpi, openmpi")):
        if re.search(wanted, command) and part in out:
            return part + " is left out of this build"
    for tool in ("mpirun.openmpi", "valgrind", "zstdcat", "gfortran", "clang"):
        if re.search(r"(^|[| =])%s\b" % tool.replace("gfortran", "fathom fc"), command) and not shutil.which(tool):
            return "there is no " + tool
    return None


class Place:
    """A directory with all the files, in which one page's commands are typed."""

    def __init__(self, made):
        self.path = tempfile.mkdtemp(prefix="fathom-commands-")
        shutil.copytree(made, self.path, dirs_exist_ok=True, symlinks=True)
        self.prepared = set(os.listdir(self.path))
        # Caches of one machine.
        self.environment = dict(os.environ, HWLOC_SYNTHETIC=MACHINE, PATH=self.path + "/build:" + os.environ["PATH"], LC_ALL="C.UTF-8",
                                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", ROOT=ROOT)

    def forget_outputs(self, command):
        """What a command writes for the first time is not there for a reader; fathom does not overwrite profiles."""
        for name in re.findall(r"(?:--json|-o|--output)[ =](\S+)", command):
            for path in glob.glob(os.path.join(self.path, re.sub(r"\$\w+", "*", name))):
                if os.path.basename(path) in self.prepared and os.path.isfile(path):
                    self.prepared.discard(os.path.basename(path))
                    os.unlink(path)

    def run(self, command, together):
        """together: what goes to either stream, in its order, as standard output."""
        self.forget_outputs(command)
        # The process whose number pages have: it is there as long as the command is.
        if "server.pid" in command:
            command = "./simulation 400 >/dev/null & echo $! >server.pid; " + command + "; code=$?; kill $!; exit $code"
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=self.path, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT if together else subprocess.PIPE, timeout=SECONDS)
        return done.returncode, done.stdout, done.stderr or ""

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


def make_files(where):
    os.makedirs(os.path.join(where, "build"))
    os.symlink(FATHOM, os.path.join(where, "build", "fathom"))
    shutil.copytree(os.path.join(ROOT, "examples"), os.path.join(where, "examples"))
    environment = dict(os.environ, HWLOC_SYNTHETIC=MACHINE, PATH=os.path.join(ROOT, "build") + ":" + os.environ["PATH"], ROOT=ROOT)
    problems = []
    for line in MADE.strip().splitlines():
        made = subprocess.run(["bash", "-ec", line], cwd=where, env=environment, capture_output=True, text=True)
        if made.returncode and not needs(line):
            problems.append(f"{line}: {made.stderr}")
    case("the files that commands name can be made", problems)


def check_options(page, text, options):
    """`fathom VERB … --option` in the middle of a sentence: the verb has the option."""
    problems = []
    for call in re.findall(r"`(?:build/)?fathom ([^`]+)`", text):
        words = call.split(" -- ")[0].split()
        if words[0] not in options:
            continue
        for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", " ".join(words[1:])):
            if option not in options[words[0]] and not (words[0] in ("cc", "c++", "fc")):
                problems.append(f"{page}: `fathom {call}`: {words[0]} has no {option}")
    return problems


def check_command(place, command, shown, used):
    command = re.sub(r"\s+# .*", "", command).strip()
    for piece, reason in NOT_RUN.items():
        if piece in command:
            used.add(piece)
            return [], reason
    typed = command
    for piece, other, _ in INSTEAD:
        if piece in typed:
            used.add(piece)
            typed = typed.replace(piece, other)
    missing = needs(typed)
    if missing:
        return [], missing
    begin = time.monotonic()
    # Of a program that is run, standard output is its own; what fathom says of it comes after that.
    code, out, err = place.run(typed, re.search(r"\bfathom (run|record|sample)\b", typed))
    if os.environ.get("TIMES"):
        print(f"# {time.monotonic() - begin:5.1f} s {typed}")
    wanted = EXIT_CODES.get(command, (0, 141) if command.endswith("| head") else (0,))
    if code not in wanted:
        return [f"{command}\nexit code {code}, expected {wanted}\n{out[-600:]}{err[-1200:]}"], None
    if shown and "fathom sample" not in command:  # by chance, more or less
        differences = [differs(shown, text.splitlines()) for text in (out, out + err)]
        return [f"{command}\n{differences[0]}"] if all(differences) else [], None
    return [], None


def main():
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    made = tempfile.mkdtemp(prefix="fathom-commands-made-")
    used, done = set(), set()
    try:
        make_files(made)
        for source, commands in sources():
            if only not in source:
                continue
            place, problems, skipped, number = Place(made), [], [], 0
            for command, shown in commands:
                if command in done and not shown and "--help" in source:
                    continue
                done.add(command)
                number += 1
                found, reason = check_command(place, command, shown, used)
                problems += found
                if reason and CALL.search(command):
                    skipped.append(f"{command}: {reason}")
            place.remove()
            case(f"{source}: {number} commands", problems)
            for one in skipped:
                print("skip " + one)
        if not only:
            unused = [piece for piece in [*NOT_RUN, *(piece for piece, _, _ in INSTEAD)] if piece not in used]
            case("every exception of this test is one", [f"no command has {piece!r}" for piece in unused])
        options = {verb: help_of(verb) for verb in VERBS}
        problems = []
        for page in glob.glob(os.path.join(ROOT, "docs", "*.md")) + [os.path.join(ROOT, "README.md")]:
            with open(page, encoding="utf-8") as file:
                problems += check_options(os.path.basename(page), file.read(), options)
        case("commands in sentences have options that there are", problems)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return end()


if __name__ == "__main__":
    sys.exit(main())
