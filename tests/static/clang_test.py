#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The front end for C and C++ (modules/clang) on kernels and on hard cases.

Judge: the same source, compiled with arrays whose numbers write down every load and store (recorded.h). The walk over
the region must give the same accesses: array, offset, bytes, load or store, one after the other. What is refused is
refused with the file, the line and the reason that the table below states.
"""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
sys.path.insert(0, os.path.join(root, "tests"))
sys.path.insert(0, here)
import random_loops as random_loops_maker  # noqa: E402
from clang_sources import rewrite_choice, rewrite_compound  # noqa: E402
from tap_cases import case, end  # noqa: E402

build = os.environ.get("FATHOM_BUILD", os.path.join(root, "build"))
parts = os.environ.get("FATHOM_PARTS", os.path.join(build, "lib", "fathom"))
walker = os.path.join(build, "tests", "static", "walk_region")
work = tempfile.mkdtemp(prefix="fathom-clang-")


def walk(name, source, arguments):
    """The region of a source: (exit code, message, text)."""
    done = subprocess.run([walker, os.path.join(work, name), source] + arguments, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ, FATHOM_PARTS=parts))
    text = ""
    if os.path.exists(os.path.join(work, name + ".fir")):
        text = open(os.path.join(work, name + ".fir")).read()
    return done.returncode, done.stderr.strip(), text


def arrays_of(text):
    return re.findall(r"^array (\S+?)(?:\[.*?)? of (\d+)", text, re.M)


# ---- sources for the judge ----

def kernel_sources():
    sizes = {}
    for line in open(os.path.join(here, "sizes.txt")):
        words = line.split()
        if not line.startswith("#") and words[1] == "MINI":
            sizes[words[0]] = words[2:]
    return sizes


def kernel_judge(name, values, text):
    """The kernel as C++ in a namespace of its own, and the function that runs it."""
    source = open(os.path.join(here, "kernels", name + ".c")).read()
    source = re.sub(r"#include.*\n", "", source).replace("restrict ", "")
    source = rewrite_compound(source)
    if name in ("floyd-warshall", "nussinov", "correlation"):
        source = rewrite_choice(source)
    begin = source.index("void kernel_")
    signature = re.match(r"void (\w+)\(([^)]*)\)", source[begin:])
    parameters = [p.strip() for p in signature.group(2).replace("\n", " ").split(",")]
    for value in values: # C++ knows no arrays of variable extent as parameters
        parameters = [re.sub(r"\[%s\]" % value.split("=")[0], "[%s]" % value.split("=")[1], p) for p in parameters]
    typed = [re.sub(r"^(\w+) (\w+)\[", r"recorded<\1> \2[", p) for p in parameters]
    source = source[:begin] + "void %s(%s)" % (signature.group(1), ", ".join(typed)) + source[begin + signature.end():]
    space = "judged_" + name.replace("-", "_")
    run, call, made = [], [], {}
    for value in values:
        run.append("int %s = %s;" % tuple(value.split("=")))
    for p in parameters:
        array = re.match(r"(\w+) (\w+)((?:\[[^\]]*\])+)", p)
        if array:
            extents = re.findall(r"\[([^\]]*)\]", array.group(3))
            made[array.group(2)] = 'auto *%s_ = array<%s>("%s", (size_t)%s);' % (
                array.group(2), array.group(1), array.group(2), " * ".join(extents))
            inner = "".join("[%s]" % e for e in extents[1:])
            call.append("(recorded<%s>(*)%s)%s_" % (array.group(1), inner, array.group(2)) if inner else array.group(2) + "_")
        else:
            call.append(p.split()[1] if p.startswith("int") else "1.5")
    for array, _ in arrays_of(text):
        run.append(made[array])
    run.append("%s(%s);" % (signature.group(1), ", ".join(call)))
    return "namespace %s {\n%s\nstatic void run() {\n%s\n}\n}\n" % (space, source, "\n".join(run)), space


def compile_judges(name, pieces):
    """One program: NAME OUT runs that piece and writes OUT. None and the compiler's words where it does not compile."""
    source, program = os.path.join(work, name + ".cc"), os.path.join(work, name)
    with open(source, "w") as out:
        out.write('#include "%s"\n' % os.path.join(here, "recorded.h"))
        out.write("".join(text for text, _ in pieces))
        out.write("int main(int, char **a) {\ntrace = fopen(a[2], \"wb\");\n")
        for _, space in pieces:
            out.write('if (!strcmp(a[1], "%s")) %s::run();\n' % (space, space))
        out.write("return fclose(trace);\n}\n")
    done = subprocess.run(["clang++", "-std=c++17", "-O0", "-w", source, "-o", program], stderr=subprocess.PIPE, text=True)
    return (program, "") if done.returncode == 0 else (None, done.stderr[:2000])


def compare(name, program, space, text):
    """What differs between the walk and the program."""
    judged = os.path.join(work, name + ".judged")
    done = subprocess.run([program, space, judged], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return ["the judge failed: " + done.stderr[:300]]
    ours, theirs = open(os.path.join(work, name + ".trace"), "rb").read(), open(judged, "rb").read()
    if ours == theirs and len(ours) > 0:
        return []
    at = next((i for i in range(0, min(len(ours), len(theirs)), 16) if ours[i:i + 16] != theirs[i:i + 16]),
              min(len(ours), len(theirs)))
    names = [a for a, _ in arrays_of(text)]

    def show(bytes_):
        if len(bytes_) < 16:
            return "the end"
        array, size = int.from_bytes(bytes_[:4], "little"), int.from_bytes(bytes_[4:8], "little")
        return "%s of %d bytes at %s + %d" % ("store" if size >> 31 else "load", size & 0x7fffffff, names[array],
                                              int.from_bytes(bytes_[8:16], "little", signed=True))
    return ["access %d of %d (the program has %d): the region has a %s, the program a %s" % (
        at // 16, len(ours) // 16, len(theirs) // 16, show(ours[at:at + 16]), show(theirs[at:at + 16]))]


def kernels():
    pieces, known = [], []
    for name, values in sorted(kernel_sources().items()):
        code, message, text = walk(name, os.path.join(here, "kernels", name + ".c"), values)
        if code:
            case("kernel " + name, ["exit code %d: %s" % (code, message)])
            continue
        piece = kernel_judge(name, values, text)
        pieces.append(piece)
        known.append((name, piece[1], text))
    program, words = compile_judges("kernels", pieces)
    for name, space, text in known:
        case("kernel %s: every access as the program makes it" % name,
             compare(name, program, space, text) if program else [words])


# ---- cases ----

# Values of parameters, arrays that are parameters (how many elements), and the call. Arrays of the source
# itself are known by their names.
CASES = {
    "rows.c": ("n=7 m=9", {"A": "63", "B": "63", "x": "9"}, "rows(7, 9, (R(*)[9])A, (R(*)[9])B, x)"),
    "linear.c": ("n=7 m=9", {"A": "63", "B": "63", "C": "63"}, "linear(7, 9, A, B, C)"),
    "tiles.c": ("n=37 m=43", {}, "tiles(37, 43)"),
    "members.c": ("g.n=5 g.m=6", {"g.u": "30", "g.v": "30"},
                  "static grid g; g.n = 5; g.m = 6; g.u = g_u; g.v = g_v; known[G] = {\"g\", (char *)&g, sizeof g}; members(&g)"),
    "while.c": ("n=13", {}, "disguised(13)"),
    "swaps.c": ("steps=5 n=20", {}, "swaps(5, 20)"),
    "pointers.c": ("n=11", {"from": "11"}, "pointers(11, from)"),
    "whole.c": ("n=90", {}, "whole(90)"),
    "guards.c": ("n=12", {}, "guards(12)"),
    "calls.c": ("", {}, "calls()"),
    "steps.c": ("n=29", {}, "steps(29)"),
    "scop.c": ("n=9 unknown=3", {}, "recording = false; scop(9); recording = true"),
    "local.c": ("n=9", {}, None),
    "folded.c": ("n=9", {}, None),
    "containers.cc": ("n=7 v.size=10 m.columns_=8", {}, None),
    "containers_swapped.cc": ("steps=3 n=9", {}, None),
    "template.cc": ("", {}, None),
    "complex.c": ("n=9", {}, None),
    "methods.cc": ("times=2 this.nx_=9 this.ny_=7", {}, None),
}


def judged_source(name, values):
    source = open(os.path.join(here, "cases", name)).read()
    source = re.sub(r"#include.*\n", "", source).replace("restrict ", "")
    source = rewrite_compound(source)
    for value in values.split():
        source = re.sub(r"\[%s\](?=.*\)$)" % value.split("=")[0], "[%s]" % value.split("=")[1], source, flags=re.M)
    source = re.sub(r"v\[n\]", "v[]", source) # a parameter
    source = re.sub(r"struct (particle|cell|grid|field) \{[^}]*\}", lambda m: re.sub(r"\bdouble\b", "R", m.group(0)), source)
    source = source.replace("int kind", "recorded<int> kind").replace("float colour", "recorded<float> colour")
    source = source.replace("short first", "recorded<short> first").replace("char name", "recorded<char> name")
    source = source.replace("(double)", "(DOUBLE)")
    source = re.sub(r"\bdouble(?=\s*(?:\(?\*|\w+\s*\[))", "R", source)
    source = source.replace("#pragma scop", "recording = true;").replace("#pragma endscop", "recording = false;")
    return source.replace("(DOUBLE)", "(double)")


def case_judge(name, text):
    values, arrays, call = CASES[name]
    space = "case_" + name.replace(".", "_")
    run = []
    for i, (array, _) in enumerate(arrays_of(text)):
        plain = array.replace(".", "_")
        if array in arrays:
            run.append('auto *%s = array<double>("%s", %s);' % (plain, array, arrays[array]))
        elif array == "g":
            run.append("const unsigned G = known_count++;")
        else:
            run.append('known[known_count++] = {"%s", (char *)&%s, sizeof %s};' % (array, array, array))
    return "namespace %s {\ntypedef recorded<double> R;\n%s\nstatic void run() {\n%s\n%s;\n}\n}\n" % (
        space, judged_source(name, values), "\n".join(run), call), space


def function_of(name):
    said = re.search(r"--function ([\w:]+)", open(os.path.join(here, "cases", name)).read())
    return ["--function", said.group(1)] if said else []


# Lines that a region must have (blanks and places do not count): worked out by hand.
LINES = {
    "local.c": """
        array weights[2][4] of 8
        array line[n] of 8
        array plane[4 * n] of 8
        array row[n] of 8
        for zero = 2 to 3 {
        do multiplies 1 { load line[i] "line[i]" load weights[0][1] "weights[0][1]" store row[i] "row[i]" }
        do { load row[i] "row[i]" store plane[j + 4 * i] "plane[4 * i + j]" }""",
    "folded.c": """
        do adds 1 divides 1 { load a[i] "a[i]" store b[i] "b[i]" }
        do integers 2 { load k[i] "k[i]" store k[i] "k[i]" }
        do adds 1 { load a[i] "a[i]" store b[i] "b[i]" }""",
    "containers.cc": """
        array v[v.size] of 8
        array a[6][4] of 8
        array local.data_[8 * n] of 8
        array m.data_[] of 8
        for x = 0 to v.size - 1 {
        do adds 1 { load v[i] "v[i]" load w[i] "w[i]" store v[i] "v[i]" }
        do multiplies 1 specials 1 { load a[i][x] "x" load v[i] "v[i]" store a[i][x] "x" }
        for j = 0 to min(i, 8) - 1 {
        do { load m.data_[m.columns_ * i + j] "here" store local.data_[j + 8 * i] "local(i, j)" }""",
    "methods.cc": """
        array this.u_[] of 8
        for j = 1 to this.ny_ - 2 {
        do adds 1 { load this[2] member 0 8 "dt_" load this.u_[this.ny_ * i + j - this.ny_] "at(i - 1, j)" store this.w_[j] "w_[j]" }
        do adds 1 { load this.u_[this.ny_ * i + this.ny_ + j] "this->at(i + 1, j)" store this.v_[this.ny_ * i + j] "v_[idx(i, j)]" }""",
    "containers_swapped.cc": """
        for t = 0 to steps - 1 {
        do adds 1 { load from[i - 1] "from[i - 1]" load from[i + 1] "from[i + 1]" store to[i] "to[i]" }
        do adds 1 { load to[i - 1] "from[i - 1]" load to[i + 1] "from[i + 1]" store from[i] "to[i]" }""",
    "complex.c": """
        array b[] of 16
        do adds 2 multiplies 4 { load a[i] "a[i]" load b[i] "b[i]" store a[i] "a[i]" }
        do adds 4 multiplies 2 { load b[i] "b[i]" load x[i] "x[i]" load a[i] "a[i]" store a[i] "a[i]" }
        do adds 3 multiplies 6 divides 2 { load b[i] "b[i]" load a[i] "a[i]" store b[i] "b[i]" }
        do adds 2 { load a[i] "a[i]" store b[n - i - 1] "b[n - 1 - i]" }
        do specials 1 { load b[i] "b[i]" store x[i] "x[i]" }""",
    "template.cc": """
        array b[12][12] of 4
        for i = 0 to 11 {
        do { load b[j][i] "from" store a[i][j] "a[i][j]" }""",
    "calls.c": """
        do adds 1 multiplies 1 { load A[i][k] "a[k]" load x[k] "b[k]" }
        do divides 1 specials 2 { store y[i + 2] "y[at(i, 2)]" }""",
    "members.c": """
        array cells[20][30][9] of 8
        array bodies[7][64] of 1
        do integers 1 { load p[i] member 24 4 "p[i].kind" store p[i] member 24 4 "p[i].kind" }""",
    "tiles.c": """
        for ii = 0 to n - 1 step 8 {
        for i = ii to min(n, ii + 8) - 1 {
        for j = max(jj, 1) to min(min(m, jj + 8) - 1, i + 5) {""",
}


def lines(name, text):
    had = [" ".join(re.sub(r" @[\d:-]+", "", line).split()) for line in text.split("\n")]
    missing = [line.strip() for line in LINES[name].strip().split("\n") if line.strip() not in had]
    case("case %s: lines" % name, ["missing: " + line for line in missing] + (["\n".join(had)] if missing else []))


# What the user states: the source of refused.txt, the assumption, a line of the region.
ASSUMED = [
    ("dataif.c", "if at 4 holds", 'do { store A[i] "A[i]" }'),
    ("whiledata.c", "loop at 4 runs t times", 'do adds 1 { load A[max(t, 0)] "A[i]" }'),
    ("rowsptr.c", "A is matrix[n][m]", "array A[n][m] of 8"),
    ("whiledata.c", "while runs t times", 'do adds 1 { load A[max(t, 0)] "A[i]" }'),
    ("indirect.c", "idx is permutation of 0..n-1", 'do { load idx[i] "idx[i]" store A[i] "A[idx[i]]" }'),
    ("indirect.c", "idx is permutation of 1..n", 'do { load idx[i] "idx[i]" store A[i] "A[idx[i]]" }'),
    ("indirect.c", "idx is identity", 'do { load idx[i] "idx[i]" store A[i] "A[idx[i]]" }'),
]


def assumptions():
    for name, said, line in ASSUMED:
        source = open(os.path.join(here, "refused.txt")).read().split("\n=== " + name)[1].split("\n", 1)[1].split("\n===")[0]
        path = os.path.join(work, "assumed-" + name)
        with open(path, "w") as out:
            out.write(source + "\n")
        code, message, text = walk("assumed-" + name, path, ["--assume", said])
        had = [" ".join(re.sub(r" @[\d:-]+", "", one).split()) for one in text.split("\n")]
        noted = [one for one in had if one.startswith("note") and (said in one or "identity" in one)]
        case("assumed: " + said, [] if code == 0 and line in had and noted else ["exit code %d: %s\n%s" % (code, message, text)])
    code, message, _ = walk("assumed", path, ["--assume", "if at 99 holds", "--assume", "idx is identity"])
    path = os.path.join(work, "two-whiles.c")
    with open(path, "w") as out:
        out.write("void f(double *A)\n{\n  int i = 0, k = 0;\n  while (A[i] > 0) i++;\n  while (A[k] > 1) k++;\n}\n")
    code, message2, _ = walk("two-whiles", path, ["--assume", "while runs 3 times"])
    case("an assumption about several loops is refused",
         [] if code == 8 and "several loops, in lines 4 and 5" in message2 else [message2])
    case("an assumption about nothing is refused", [] if code == 8 and "is about nothing in the region" in message else [message])


def cases():
    assumptions()
    pieces, known = [], []
    for name, (values, _, call) in sorted(CASES.items()):
        code, message, text = walk(name, os.path.join(here, "cases", name), values.split() + function_of(name))
        if code:
            case("case " + name, ["exit code %d: %s" % (code, message)])
            continue
        if call:
            piece = case_judge(name, text)
            pieces.append(piece)
            known.append((name, piece[1], text))
        if name in LINES:
            lines(name, text)
    program, words = compile_judges("cases", pieces)
    for name, space, text in known:
        case("case %s: every access as the program makes it" % name,
             compare(name, program, space, text) if program else [words])


def refused():
    text = open(os.path.join(here, "refused.txt")).read()
    for block in text.split("\n=== ")[1:]:
        head, source = block.split("\n", 1)
        name, status, line, part = head.split(" | ")
        path = os.path.join(work, name)
        with open(path, "w") as out:
            out.write(source + "\n")
        code, message, made = walk("refused-" + name, path, [])
        wanted = path + (": line %s: " % line if line != "0" else ": ")
        case("refused %s: %s" % (name, part), [] if code == int(status) and message.startswith(wanted) and part in message and not made
             else ["exit code %d: %s" % (code, message)])


def random_loops():
    seed, count = int(os.environ.get("FATHOM_TEST_SEED", "1")), int(os.environ.get("FATHOM_TEST_LOOPS", "14"))
    pieces, known, refusals = [], [], {}
    for i in range(count):
        name, n = "random_%d" % i, 5 + i % 9
        source = random_loops_maker.make(random.Random(seed * 100000 + i), name)
        path = os.path.join(work, name + ".c")
        with open(path, "w") as out:
            out.write("static double A[128], B[32][32];\n" + source)
        code, message, text = walk(name, path, ["n=%d" % n])
        if code:
            reason = re.sub(r"'.*?'|\d+", "…", re.sub(r"^.*line \d+: ", "", message))
            refusals.setdefault((code, reason), []).append(name)
            continue
        run = ['known[known_count++] = {"%s", (char *)&%s, sizeof %s};' % (a, a, a) for a, _ in arrays_of(text)]
        pieces.append(("namespace judged_%s {\ntypedef recorded<double> R;\nstatic R A[128], B[32][32];\n%s\n"
                       "static void run() {\n%s\n%s(%d);\n}\n}\n" % (
                           name, source.replace("double *", "R *"), "\n".join(run), name, n), "judged_" + name))
        known.append((name, "judged_" + name, text))
    program, words = compile_judges("random", pieces)
    problems = [] if program else [words]
    for name, space, text in known if program else []:
        problems += ["%s: %s" % (name, p) for p in compare(name, program, space, text)]
    for (code, reason), names in refusals.items():
        if os.environ.get("KEEP"):
            print("# %d refused (%d): %s (%s)" % (len(names), code, reason, names[0]))
        if code != 7:
            problems.append("%s: exit code %d, %s" % (names[0], code, reason))
    case("%d of %d random functions: every access as the program makes it" % (len(known), count),
         problems if len(known) * 2 > count else problems + ["most are refused"])


if not os.path.exists(os.path.join(parts, "fathom-clang.so")):
    print("skip static/clang this build has no front end for C and C++ (libclang)")
    sys.exit(0)
try:
    for group in sys.argv[1:] or ["kernels", "cases", "refused", "random"]:
        {"kernels": kernels, "cases": cases, "refused": refused, "random": random_loops}[group]()
    sys.exit(end())
finally:
    if os.environ.get("KEEP"):
        print("# " + work)
    else:
        shutil.rmtree(work)
