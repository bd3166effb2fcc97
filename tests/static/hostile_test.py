#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sources that are wrong, huge, deep or made to take forever: each gets a message and an exit code, in time.

Then kernels and cases with random damage (words and lines that are cut out, doubled, exchanged): whatever comes out,
the program ends by itself, and no front end by a signal. FATHOM_TEST_DAMAGE: how many (default 12), FATHOM_TEST_SEED.
"""
import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
sys.path.insert(0, os.path.join(root, "tests"))
from tap_cases import case, end  # noqa: E402

fathom = os.environ.get("FATHOM", os.path.join(root, "build/fathom"))
work = tempfile.mkdtemp(prefix="fathom-hostile-")
KERNEL = "void f(int n, double A[n])\n{\n  for (int i = 0; i < n; i++)\n    A[i] = A[i] + 1;\n}\n"
FORTRAN = "subroutine f(n, a)\ninteger :: n, i\nreal(8) :: a(n)\n%send subroutine\n"


def loops(variables, body):
    return "".join("for (int %s = 0; %s < 2; %s++)\n" % (v, v, v) for v in variables) + body


def steep():
    """A region that no method can answer: bounds and subscripts of six loops depend on each other in odd ways."""
    bounds = [("a", "0", "n"), ("b", "floor(a, 3)", "n + a"), ("c", "max(0, floor(b - a, 2))", "min(n, a + b)"),
              ("d", "floor(c + 2 * a, 5)", "n"), ("e", "0", "floor(7 * d + 3 * b, 11)"),
              ("f", "mod(e + 3 * a, 7)", "min(floor(e + c, 2), n)")]
    loads = " ".join("load A[%s + %d]" % (" + ".join("%d * %s" % ((k * 7 + d * 13) % 29 + 1, v) for d, v in enumerate("abcdef")),
                                          k * 11) for k in range(14))
    return "fathom-region 1\nparam n = 37\narray A[100000] of 8\n%sif mod(a + 2 * b + 3 * c, 5) != 2 or 3 * d - 2 * e > f " \
           "{ do { %s } }\n%s\n" % ("".join("for %s = %s to %s {\n" % row for row in bounds), loads, "}" * 6)


# name, source, arguments, exit code, a part of the message (of a result: its references).
CASES = [
    ("lines.c", "".join("static int g%d(int x)\n{\n    int y = x * %d;\n    return y + 1;\n}\n" % (k, k) for k in range(2000)) + KERNEL,
     "-D n=5", 0, 10),
    ("loops.c", "double A[64];\nvoid f(int n)\n{\n%s}\n" % (
        "  for (int i = 0; i < n; i++)\n    A[i] += A[63 - i];\n" * 400), "-D n=5", 0, 400 * 5 * 3),
    ("loops.f90", FORTRAN % ("do i = 1, n\na(i) = a(i) + 1\nend do\n" * 3300), "-D n=5", 0, 3300 * 5 * 2),
    ("deep.c", "double A[2];\nvoid f(void)\n{\n%s}\n" % loops(["i%d" % d for d in range(40)], "A[i0] = 0;\n"), "", 1,
     "line 28: more than 24 loops inside each other"),
    ("brackets.c", "double A[9];\nvoid f(int n)\n{\n  for (int i = 0; i < n; i++) A[%si%s] = 0;\n}\n" % ("(" * 9999, ")" * 9999),
     "-D n=5", 1, "line 4: does not compile: bracket nesting level exceeded"),
    ("sum.c", "double A[9];\nvoid f(int n)\n{\n  for (int i = 0; i < n; i++) A[i] = %s;\n}\n" % " + ".join(["A[i]"] * 4000),
     "-D n=5", 1, "line 4: an expression has more than 2000 others inside each other"),
    ("calls.c", "double A[9];\nstatic void h0(int i) { A[i] = 0; }\n%svoid f(int n)\n{\n  for (int i = 0; i < n; i++) h30(i);\n}\n" %
     "".join("static void h%d(int i) { h%d(i); h%d(i); }\n" % (k, k - 1, k - 1) for k in range(1, 31)), "--function f -D n=5", 1,
     "more than 20000 calls would have to be inlined"),
    ("steep.fir", steep(), "--limit-time 0.2", 1, "given up: neither an exact result nor samples in the 0.2 s"),
    ("zero.c", KERNEL, "-D n=0", 0, 0),
    ("empty.c", "void f(int n)\n{\n  for (int i = 0; i < n; i++)\n    ;\n}\n", "", 0, 0),
    ("empty.f90", FORTRAN % "do i = 1, n\nend do\n", "-D n=5", 0, 0),
    ("negative.c", KERNEL, "-D n=-5", 2, "extent 1 of 'A' is -5"),
    ("backwards.c", KERNEL.replace("double A[n]", "double *A"), "-D n=-5", 0, 0),
    ("huge.c", KERNEL, "-D n=4611686018427387904", 1, "'A' is larger than 2^56 bytes"),
    ("missing.c", KERNEL, "", 2, "n: no value: give it by --param"),
    ("other.c", KERNEL, "-D n=3 -D n=4", 2, "--param n: given twice, with different values"),
    ("unknown.fir", "fathom-region 1\nparam n\n", "-D n=3 -D m=4", 2, "no parameter 'm'"),
    ("nothing.c", "", "", 2, "there is no region to analyse"),
    ("nothing.f90", "", "", 1, "there is no statement in it"),
    ("binary.c", "\0\1\2\377" * 100, "", 1, "binary.c"),
    ("recursion.f90", "recursive subroutine f(n, a)\ninteger :: n, i\nreal(8) :: a(n)\ndo i = 1, n\ncall f(n, a)\nend do\n"
     "end subroutine\n", "-D n=3", 1, "calls itself"),
    ("syntax.f90", FORTRAN % "do i = 1, n\na(i = 0\nend do\n", "-D n=3", 1, "line 5"),
    ("assumed.fir", "fathom-region 1\nparam n\nassume n >= 10\narray A[n] of 8\nfor i = 0 to n - 1 { do { load A[i] } }\n", "-D n=5", 2,
     "contradict assumption 1"),
]


def start(path, arguments, limit):
    try:
        return subprocess.run([fathom, "static", path, "--quiet", "--size", "1K", "--json", path + ".json", "--force"] + arguments.split(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=limit)
    except subprocess.TimeoutExpired:
        return None


def known():
    for name, source, arguments, code, said in CASES:
        path = os.path.join(work, name)
        with open(path, "w", encoding="latin-1") as out:
            out.write(source)
        done = start(path, arguments, 60)
        if done and "built without its front end" in done.stderr:
            print("skip %s: %s" % (name, done.stderr.strip()))
            continue
        problems = []
        if not done:
            problems = ["it does not end"]
        elif done.returncode != code:
            problems = ["exit code %d: %s" % (done.returncode, done.stderr[:400])]
        elif code == 0:
            with open(path + ".json") as result:
                references = json.load(result)["references"]
            problems = [] if references == said else ["%d references, not %d" % (references, said)]
        elif said not in done.stderr:
            problems = [done.stderr[:400]]
        case("%s %s: %s" % (name, arguments, "%d references" % said if code == 0 else said), problems)


def damaged(source, chance):
    """Some words of a source cut out, doubled, or exchanged for others of it; or lines."""
    pieces = re.findall(r"\w+|\s+|[^\w\s]", source) if chance.random() < 0.8 else source.splitlines(True)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(pieces))
        kind = chance.randrange(4)
        if kind == 0:
            del pieces[at]
        elif kind == 1:
            pieces.insert(at, pieces[chance.randrange(len(pieces))])
        elif kind == 2:
            pieces[at] = pieces[chance.randrange(len(pieces))]
        else:
            pieces[at] = chance.choice(("0", "-1", "9999999999999999999", "n", "*", "i", "(", ")", "sizeof(int)", "1.5", "while (1)"))
    return "".join(pieces)


def damage():
    seed, count = int(os.environ.get("FATHOM_TEST_SEED", "1")), int(os.environ.get("FATHOM_TEST_DAMAGE", "12"))
    sources = sorted(path for folder in ("kernels", "cases", "fortran") for path in glob.glob(os.path.join(here, folder, "*.*")))
    problems, codes = [], {}
    for i in range(count):
        chance = random.Random(seed * 1000000 + i)
        path = chance.choice(sources)
        with open(path) as file:
            source = damaged(file.read(), chance)
        copy = os.path.join(work, "damaged-%d%s" % (i, os.path.splitext(path)[1]))
        with open(copy, "w") as out:
            out.write(source)
        done = start(copy, "--counts", 60)
        if not done or done.returncode not in (0, 1, 2) or "ended by signal" in done.stderr or "error of fathom" in done.stderr:
            problems.append("%s, damage %d: %s" % (os.path.basename(path), i, done and (done.returncode, done.stderr[:300])))
        elif done.returncode and not done.stderr:
            problems.append("%s, damage %d: exit code %d without a word" % (os.path.basename(path), i, done.returncode))
        codes[done and done.returncode] = codes.get(done and done.returncode, 0) + 1
    case("%d damaged sources: a result or a message" % count, problems)
    print("# exit codes: %s" % codes)


def endless():
    """Sources that no compiler reads to its end: an included pipe and an included device."""
    os.mkfifo(os.path.join(work, "pipe"))
    running = {}
    for name, included in ("pipe.c", "pipe"), ("device.c", "/dev/zero"):
        with open(os.path.join(work, name), "w") as out:
            out.write('#include "%s"\n%s' % (included, KERNEL))
        running[name] = subprocess.Popen([fathom, "static", name, "-D", "n=5", "--limit-time", "5", "--quiet"], cwd=work, text=True,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, process_group=0)
    for name, process in running.items():
        message = process.communicate()[1]
        if "built without its front end" in message:
            print("skip %s: %s" % (name, message.strip()))
            continue
        problems = []
        if process.returncode != 1 or not re.match(r"fathom static: %s: libclang (has not read|needs more than)" % name, message):
            problems.append("exit code %d: %s" % (process.returncode, message[:400]))
        try:
            os.killpg(process.pid, 0)
            problems.append("a process is left")
        except ProcessLookupError:
            pass
        case("%s: ends in --limit-time, with a message" % name, problems)


known()
endless()
damage()
sys.exit(end())
