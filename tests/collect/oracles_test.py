#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The collectors against each other and against three independent ones, on real programs: Valgrind's lackey
(every access), a plug-in of qemu-user (nothing shared with Valgrind), and cachegrind with one fully associative level
(misses at its size)."""
import json
import os
import re
import shutil
import subprocess

from collect_support import *

cases = []


def case(function):
    cases.append((function.__name__.replace("_", " "), function))
    return function


def text_file(lines):
    path = os.path.join(work, f"text-{lines}")
    if not os.path.exists(path):
        with open(path, "w") as file:
            for i in range(lines):
                file.write(f"{i * i} {i % 97} some words {i // 7}\n")
    return path


def subjects(lines=8000):
    text = text_file(lines)
    return {
        "gzip": ["gzip", "-c", text],
        "sort": ["sort", "-n", "-k2", "--parallel=1", "-S", "64M", text],
        "sqlite": ["sqlite3", ":memory:", "with recursive c(x) as (select 1 union all select x+1 from c where x<4000)"
                   " select count(*), sum(x*x) from c where x%3=1;"],
    }


def static_matmul():
    return [build("kernels.c", "gcc", "-mavx2", "-fno-tree-vectorize", "-static"), "matmul"]


def count_lines(path):
    """Lines of lackey's format: loads, stores, accesses that do both. Not line by line: there are millions."""
    with open(path, "rb") as file:
        text = b"\n" + file.read()
    return tuple(text.count(b"\n " + kind) for kind in (b"L", b"S", b"M"))


def lackey(command):
    """Loads and stores, as lackey sees them: of an access that does both, one each. Of a locked instruction it tells as
    a load and an access that does both."""
    log = os.path.join(work, "lackey.log")
    subprocess.run(["valgrind", "--tool=lackey", "--trace-mem=yes", f"--log-file={log}", *command],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    counts = count_lines(log)
    os.unlink(log)
    loads, stores, both = counts
    return loads + both, stores + both


def recorded(command):
    """The same from fathom record, as stored."""
    trace, text = os.path.join(work, "t.fathom"), os.path.join(work, "t.json")
    done = subprocess.run([FATHOM, "record", "-q", "-o", trace, "--force", "--", *command], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    expect(done.returncode, 0, f"exit code of record: {done.stderr}")
    subprocess.run([FATHOM, "convert", "-q", trace, "-o", os.path.join(work, "t.lackey")], check=True)
    counts = count_lines(os.path.join(work, "t.lackey"))
    for name in ("t.fathom", "t.lackey"):
        os.unlink(os.path.join(work, name))
    expect(counts[2], 0, "accesses that are both")
    return counts[:2]


def close(found, wanted, share, what, slack=3000):
    """Within a share of the whole, and a few thousand for the start of a process (environment, loader)."""
    if abs(found - wanted) > share * wanted + slack:
        raise Failure(f"{what}: {found} and {wanted} differ by more than {share:.2%} and {slack}")


@case
def every_access_as_lackey_sees_it():
    # Lackey writes a line for every instruction, one by one: a short text, 650,000 accesses. The matrix product, which is
    # longer, has a closed form (programs_test.py) and qemu.
    command = subjects(600)["gzip"]
    for found, wanted, what in zip(recorded(command), lackey(command), ("loads", "stores")):
        close(found, wanted, 0.0005, f"gzip: {what}", 8000)


@case
def shared_words_tell_of_the_same_accesses():
    # By a receiver that has nothing in common with that of fathom run.
    dump = os.path.join(ROOT, "build", "tests", "collect", "stream_dump")
    tool = os.path.join(os.path.dirname(BUILDER), "lib", "fathom", "valgrind", "fathom-amd64-linux")
    if not os.path.exists(dump):
        return "no stream_dump was built"
    commands = [subjects(600)["gzip"], subjects(300)["sort"], [build("kernels.c", "gcc", "-mavx2"), "matmul"]]
    for command in commands:
        for kinds in ("loads,stores", "stores"):
            found = []
            for wants in (kinds, kinds + ",shared"):
                accesses = os.path.join(work, "accesses")
                subprocess.run([dump, "--tool", tool, "--wants", wants, "--accesses", accesses, "--", *command],
                               stdout=subprocess.DEVNULL, check=True)
                with open(accesses, "rb") as file:
                    found.append(file.read())
                os.unlink(accesses)
            expect(found[1].count(b"\n") > 10000, True, f"{command[0]}: {kinds} were seen")
            expect(found[1] == found[0], True, f"{command[0]}: {kinds} with shared words are those without")


@case
def every_access_as_qemu_sees_it():
    if not shutil.which("qemu-x86_64"):
        return "qemu-x86_64 is not installed"
    plugin = os.path.join(work, "qemu_count.so")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", os.path.join(ROOT, "tests/collect/qemu_count.c"), "-o", plugin],
                   check=True)
    counted = os.path.join(work, "counted")
    for name, command in (("matmul", static_matmul()), ("gzip", subjects(2000)["gzip"])):
        done = subprocess.run(["qemu-x86_64", "-plugin", plugin, shutil.which(command[0]), *command[1:]], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, env={**os.environ, "QEMU_COUNT": counted}, text=True)
        if not os.path.exists(counted):
            return f"qemu ran no plug-in: {done.stderr.strip()[:100]}"
        with open(counted) as file:
            _, loads, _, stores = file.read().split()
        os.unlink(counted)
        found = recorded(command)
        # qemu tells of a read and a write where an instruction does both; its processor has other vector
        # extensions, so that the C library chooses other copying loops.
        close(found[0], int(loads), 0.002, f"{name}: loads", 20000)
        close(found[1], int(stores), 0.002, f"{name}: stores", 20000)


@case
def misses_as_cachegrind_sees_them():
    """Fully associative, 32 KiB, lines of 64 bytes, LRU: cachegrind's D1 misses against ours at 512 blocks. Cachegrind counts an
    access that straddles two lines once, and one miss at most; fathom counts a reference to each line. What reads and writes
    the same place cachegrind counts as a read only; so loads are compared."""
    for name in ("gzip", "sort", "sqlite"):
        command = subjects(4000)[name]
        done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--D1=32768,512,64",
                               "--LL=8388608,16,64", "--cachegrind-out-file=/dev/null", *command],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        misses = int(re.search(r"D1\s+misses:\s+([\d,]+)", done.stderr).group(1).replace(",", ""))
        loads = int(re.search(r"D\s+refs:.*\(\s*([\d,]+) rd", done.stderr).group(1).replace(",", ""))
        result = run(["--no-sites", "--bins", "exact"], command)
        ours = result.profile["cold"] + sum(count for low, _, count in result.profile["histogram"] if low >= 512)
        close(run(["--no-sites", "--loads"], command).profile["references"], loads, 0.01, f"{name}: loads")
        close(ours, misses, 0.015, f"{name}: misses at 32 KiB", 600)


@case
def collectors_agree_on_the_same_code():
    """A function whose accesses the compiler cannot hide: both collectors see the same references in the same order, so the
    profiles are equal."""
    options = ["--function", "matmul", "--no-stack", "--no-sites", "--bins", "exact"]
    flags = ("-mavx2", "-fno-tree-vectorize")
    a = run(options, [build("kernels.c", "gcc", *flags), "matmul"]).profile
    b = run(options, [build("kernels.c", "fathom", *flags), "matmul"]).profile
    for field in ("references", "distinct", "cold", "histogram"):
        expect(b[field], a[field], field)


@case
def run_and_record_agree():
    command = static_matmul()
    direct = run(["--bins", "exact"], command).profile
    trace, path = os.path.join(work, "t.fathom"), os.path.join(work, "t.json")
    subprocess.run([FATHOM, "record", "-q", "-o", trace, "--force", "--", *command], check=True, capture_output=True)
    subprocess.run([FATHOM, "analyze", "-q", "--bins", "exact", trace, "--json", path, "--force"], check=True,
                   stdout=subprocess.DEVNULL)
    with open(path) as file:
        stored = json.load(file)
    for name in (trace, path):
        os.unlink(name)
    # The environment differs by the tool's own needs: some start-up code, nothing else.
    close(stored["references"], direct["references"], 0.001, "references", 2000)
    check_sums(stored)


@case
def callgrind_annotate_reads_it():
    path = os.path.join(work, "out.callgrind")
    result = run(["--function", "touch", "--no-stack", "--callgrind", path, "--size", "2K"], [build("plain.c")])
    done = subprocess.run(["callgrind_annotate", path], capture_output=True, text=True)
    expect(done.returncode, 0, f"exit code: {done.stderr}")
    expect_in("Refs", done.stdout, "events")
    expect_in("300", done.stdout, "all references")
    expect_in("touch", done.stdout, "function")
    expect(result.profile["references"], 300, "references")
    os.unlink(path)


CI_SOURCE = """#include <stdio.h>
static volatile float from[512][512], to[512][512];
int main(void)
{
    for (int a = 0; a < 512; a++)
        for (int b = 0; b < 512; b++) to[%s] = from[%s] + 1;
    printf("%%g\\n", to[3][4]);
}
"""


def ci_repository():
    """A program with a loop along its rows, committed."""
    folder = os.path.join(work, "ci")
    os.mkdir(folder)
    settings = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-C", folder]
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    with open(os.path.join(folder, "walk.c"), "w", encoding="utf-8") as source:
        source.write(CI_SOURCE % ("a][b", "a][b"))
    subprocess.run([*settings, "add", "walk.c"], check=True)
    subprocess.run([*settings, "commit", "--quiet", "-m", "walk"], check=True)
    return folder


def ci_gate(folder, *options):
    return subprocess.run([os.path.join(ROOT, "examples", "ci", "locality-gate.sh"), "--build", "gcc -O1 -g walk.c -o walk",
                           *options, "--", "./walk"], cwd=folder, env={**os.environ, "FATHOM": FATHOM}, timeout=120,
                          capture_output=True, text=True, check=False)


@case
def the_ci_example_keeps_its_gate():
    folder = ci_repository()
    done = ci_gate(folder)
    expect(done.returncode, 0, f"nothing changed: {done.stdout}{done.stderr}")
    expect_in("same: misses did not change", done.stdout, "verdict")
    # Down the columns: 512 rows of 64 bytes do not fit 32 KiB twice, so that every access to both arrays misses there
    # (2 x 512 x 512) where it was one in sixteen before.
    with open(os.path.join(folder, "walk.c"), "w", encoding="utf-8") as source:
        source.write(CI_SOURCE % ("b][a", "b][a"))
    done = ci_gate(folder, "--size", "32K", "--fail-if", "misses@32K > +5%", "--fail-if", "misses@32K in main > 700K")
    expect(done.returncode, 4, f"the gate closes: {done.stdout}{done.stderr}")
    expect_in("FAILED: misses@32K > +5%", done.stdout, "condition")
    expect_in("kept: misses@32K in main > 700K", done.stdout, "condition of a function")
    with open(os.path.join(folder, "locality", "before.json"), encoding="utf-8") as file:
        before = json.load(file)
    with open(os.path.join(folder, "locality", "after.json"), encoding="utf-8") as file:
        after = json.load(file)
    expect(after["references"] - before["references"], 0, "references")
    with open(os.path.join(folder, "locality", "comment.md"), encoding="utf-8") as file:
        expect_in("| worse | `walk.c:6` | 32.8 k | 524 k |", file.read(), "comment")
    expect(ci_gate(folder, "--build", "false").returncode, 1, "what cannot be built")
    # A program that fails at its start misses nothing: it stops the gate, unless that is its status in both; then the
    # runs are compared.
    with open(os.path.join(folder, "walk.c"), "w", encoding="utf-8") as source:
        source.write(CI_SOURCE.replace("{\n", "{\n    return 2;\n", 1) % ("a][b", "a][b"))
    done = ci_gate(folder, "--size", "32K", "--fail-if", "misses@32K > +5%")
    expect(done.returncode, 1, f"a program that fails: {done.stdout}{done.stderr}")
    expect_in("after: ./walk ended with status 2, not 0", done.stderr, "why")
    profiles = [os.path.join(folder, "locality", name) for name in ("before.json", "after.json")]
    done = subprocess.run([FATHOM, "diff", *profiles, "--fail-if", "misses@32K > +5%"], capture_output=True, text=True, check=False)
    expect(done.returncode, 4, f"the gate: {done.stdout}{done.stderr}")
    expect_in("not comparable: the program exited with 0 before, exited with 2", done.stdout, "verdict")
    expect_in("--allow end", done.stderr, "how to compare them")
    done = subprocess.run([FATHOM, "diff", *profiles, "--fail-if", "misses@32K > +5%", "--allow", "end"], capture_output=True,
                          text=True, check=False)
    expect(done.returncode, 0, f"allowed: {done.stdout}{done.stderr}")


@case
def the_ci_recipes_name_what_there_is():
    """The packages of the container are those that the build asks for; the files that are named are there."""
    with open(os.path.join(ROOT, "examples", "ci", "Containerfile"), encoding="utf-8") as file:
        recipe = file.read()
    with open(os.path.join(ROOT, "scripts", "install-dependencies.sh"), encoding="utf-8") as file:
        needed = {row.split()[2] for row in file.read().splitlines() if row.startswith(("build ", "parts "))}
    installed = set(recipe.split("FROM")[1].split("install -y --no-install-recommends")[1].split("COPY")[0].replace("\\", "").split())
    expect(needed - installed, set(), "packages that are missing from the container")
    # The second stage has the libraries that the program and its parts are linked with; MPI and CUDA are not built there.
    second = set(recipe.split("FROM")[2].split("install -y --no-install-recommends")[1].split("&&")[0].replace("\\", "").split())
    parts = [FATHOM, *glob.glob(os.path.join(os.path.dirname(FATHOM), "lib", "fathom", "*.so"))]
    if shutil.which("dpkg-query") and shutil.which("readelf"):
        second |= {"libc6", "libelf1"}  # that of libdw1
        for part in parts:
            if re.search(r"mpi|cuda", os.path.basename(part)):
                continue
            listed = subprocess.run(["readelf", "-d", part], capture_output=True, text=True, check=True).stdout
            for library in re.findall(r"\(NEEDED\).*\[(.*)\]", listed):
                owner = subprocess.run(["dpkg-query", "-S", "*/" + library], capture_output=True, text=True, check=False).stdout
                owners = {line.split(":")[0] for line in owner.splitlines()}
                expect(bool(owners & second) or not owners, True, f"a package of {owners} with {library} for {part}")
    # What is built here does not go into it: CMake would refuse to go on with it.
    with open(os.path.join(ROOT, ".dockerignore"), encoding="utf-8") as file:
        expect({"build", "build-*", ".git"} - set(file.read().split()), set(), "what COPY leaves behind")
    with open(os.path.join(ROOT, "examples", "ci", "workflow.yml"), encoding="utf-8") as file:
        workflow = file.read()
    expect_in("./locality-gate.sh --base", workflow, "the gate")
    usage = subprocess.run([os.path.join(ROOT, "examples", "ci", "locality-gate.sh"), "--wrong"], capture_output=True, check=False)
    expect(usage.returncode, 2, "a wrong option")


def tutorial_misses(profile):
    """Misses at 48 KiB, and those of pairs of lines that are no first touches, straight from the profile."""
    attribution = profile["attribution"]
    first = attribution["edges"].index(768)
    lines = {}
    for pair in attribution["pairs"]:
        late = sum(count for number, count in zip(pair["ranges"][::2], pair["ranges"][1::2]) if number >= first)
        places = []
        for site in (pair["use"], pair["reuse"]):
            frames = attribution["sites"][site]["frames"] if site is not None else []
            places.append((os.path.basename(frames[0]["file"] or "?"), frames[0]["line"]) if frames else None)
        lines[tuple(places)] = lines.get(tuple(places), 0) + late
    return profile["cold"] + sum(lines.values()), lines


def tutorial_steps():
    """The commands of docs/TUTORIAL.md, each with what it prints there."""
    steps, inside = [], False
    with open(os.path.join(ROOT, "docs", "TUTORIAL.md"), encoding="utf-8") as page:
        for line in page.read().splitlines():
            if line.startswith("```"):
                inside = line == "```console"
            elif inside and line.startswith("$ "):
                steps.append((line[2:], []))
            elif inside and steps:
                steps[-1][1].append(line)
    return steps


def without_digits(line):
    """Numbers to their third digit may differ between compilers and C libraries; words and their order may not."""
    return " ".join(re.sub(r"[<>]?[0-9][0-9.,]*( ?[kM]\b)?", "N", line).split())


def told_in_order(told, printed):
    """Every line of the page is printed, in this order; an ellipsis stands for any lines."""
    at, free = 0, False
    for line in told:
        if line == "…":
            free = True
            continue
        found = at
        while free and found < len(printed) and without_digits(printed[found]) != without_digits(line):
            found += 1
        if found >= len(printed) or without_digits(printed[found]) != without_digits(line):
            return f"expected {line!r}, found {printed[at:at + 3]}"
        at, free = found + 1, False
    return "" if free or at == len(printed) else f"more was printed: {printed[at:]}"


@case
def the_tutorial_works_as_it_stands():
    # All commands in one shell, as they are typed; each followed by a mark.
    steps = tutorial_steps()
    if not os.path.exists(os.path.join(os.path.dirname(FATHOM), "lib", "fathom", "fathom-clang.so")):
        steps = [step for step in steps if not step[0].startswith("fathom static ")] # no front end for C in this build
    expect(len(steps) >= 10, True, "commands of the tutorial")
    tree = os.path.join(work, "tree")
    os.makedirs(os.path.join(tree, "build"))
    os.makedirs(os.path.join(tree, "examples"))
    os.symlink(FATHOM, os.path.join(tree, "build", "fathom"))
    shutil.copytree(os.path.join(ROOT, "examples", "tutorial"), os.path.join(tree, "examples", "tutorial"))
    # Standard output of a program that is run is its own; what fathom shows comes after that, on standard error.
    script = "".join(command + (" 2>&1" if re.match("fathom (run|record|sample) ", command) else "") + "\necho '--- step'\n"
                     for command, _ in steps)
    done = subprocess.run(["bash", "-c", script], cwd=tree, capture_output=True, text=True, timeout=300, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})
    printed = done.stdout.split("--- step\n")
    expect(len(printed), len(steps) + 1, f"steps that ran ({done.stderr})")
    for (command, told), output in zip(steps, printed):
        expect(told_in_order(told, output.splitlines()), "", command)
        for line in output.splitlines():
            expect(len(line) <= 80, True, f"80 columns: {line!r}")
    expect(os.path.exists(os.path.join(tree, "blur-tutorial", "before.html")), True, "the page")
    # What the page tells, by the profiles that the commands left.
    misses, lines = {}, {}
    for name in ("before", "after"):
        with open(os.path.join(tree, "blur-tutorial", name + ".json"), encoding="utf-8") as file:
            profile = json.load(file)
        expand(profile)
        misses[name], lines[name] = tutorial_misses(profile)
    ranked = sorted(lines["before"], key=lines["before"].get, reverse=True)
    wanted = [(("blur.c", 25),) * 2, (("blur.c", 26),) * 2]
    expect(sorted(ranked[:2]), wanted, "the two pairs of lines")
    share = sum(lines["before"][pair] for pair in wanted) / misses["before"]
    expect(0.85 < share < 0.87, True, f"their share of the misses, {share:.3f}")
    expect(9.1e6 < misses["before"] < 9.2e6, True, f"misses before: {misses['before']}")
    expect(3.3e6 < misses["after"] < 3.5e6, True, f"misses after: {misses['after']}")


main(cases)
