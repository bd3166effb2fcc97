#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Formulas of open parameters (fathom static --symbolic) against a walk over every access, at small sizes that are
not those the formulas come from: counts, first touches, and misses of caches from one block to more than everything.
The C functions of --emit-c are compiled by every compiler there is, without a warning, and give the same numbers.

    tests/static/symbolic_test.py [--all] [WORD…]     kernels; --all: all thirty, with more sizes. Speaks TAP."""
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FATHOM = os.path.abspath(os.environ.get("FATHOM", os.path.join(HERE, "..", "..", "build", "fathom")))
KERNELS = os.path.join(HERE, "kernels")
SIZES = [64, 1024, 4096, 32768, 1 << 24]
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]

# Kernel (with its file's ending and a layout, where they are not .c and contiguous), and the values of its parameters
# in their order: one set of formulas for each group, whose first point chooses the
# remainders; then points that they must be right for, and points that they must refuse.
QUICK = {
    "gemm": [[(5, 16, 24), (1, 8, 8), (33, 40, 8), (7, 80, 64)], [(5, 12, 24), (6, 36, 16)]],
    "gemm aligned": [[(5, 12, 23), (1, 1, 1), (7, 8, 9), (16, 17, 24)]],
    "gemm.f90": [[(16, 24, 8), (64, 40, 32)]],
    "durbin": [[(16,), (1,), (2,), (29,), (87,)]],
    "trmm": [[(16, 24), (8, 8), (40, 16)]],
    "trisolv": [[(n,), (n + 40,)] for n in (9, 14, 16)],
}
COMPILED = ("gemm", "durbin", "trmm") # quotients; many pieces; variables that are gone through
REFUSED = {"gemm": [(5, 17, 24), (0, 16, 24), (5, 16, 1 << 40)], "durbin": [(0,), (-5,)]}

DRIVER = """#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    struct NAME_counts counts;
    (void)argc;
    int failed = NAME(ARGUMENTS, &counts);
    if (failed) return failed == EDOM ? 3 : 4;
    FIELDS
    return 0;
}
"""


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def numbers(text):
    """The lines "name   number" behind the last line that begins with "for"."""
    found = {}
    for line in text.splitlines():
        name, _, value = line.rstrip().rpartition(" ")
        if line.startswith("for "):
            found = {}
        elif value.isdigit():
            found[name.strip()] = int(value)
    return found


def walked(kernel, parameters, layout, folder):
    """The same numbers by a walk over all accesses."""
    path = os.path.join(folder, "walk.json")
    done = run([FATHOM, "static", kernel, "--param", parameters, "--method", "walk", "--bins", "exact", "--quiet",
                "--json", path, "--force", "--size", "32K", "--layout", layout])
    if done.returncode:
        raise RuntimeError(f"walk {kernel} {parameters}: {done.stderr}")
    with open(path) as file:
        profile = json.load(file)
    counts = profile["counts"]
    found = {"loads": counts["loads"], "stores": counts["stores"], "flops": counts["flops"],
             "integer operations": counts["integer_operations"], "references": profile["references"],
             "first touches": profile["cold"]}
    for size in SIZES:
        hits = sum(count for low, _, count in profile["histogram"] if low < size // 64)
        found[f"misses of {size} bytes"] = profile["references"] - hits
    return found


def compile_c(source, names, folder):
    """A program for each compiler; its arguments are the parameters."""
    text = open(source).read()
    name = text.split("struct ")[1].split("_counts")[0]
    fields = ["loads", "stores", "flops", "integer_operations", "references", "first_touches"]
    fields += [f"misses_{size}" for size in SIZES]
    driver = DRIVER.replace("NAME", name)
    driver = driver.replace("ARGUMENTS", ", ".join(f"atoll(argv[{i + 1}])" for i in range(len(names))))
    driver = driver.replace("FIELDS", "\n    ".join(f'printf("%lld\\n", (long long)counts.{field});' for field in fields))
    program = os.path.join(folder, "main.c")
    with open(program, "w") as file:
        file.write(text + driver)
    made = []
    for compiler in COMPILERS:
        out = os.path.join(folder, "main-" + compiler)
        done = run([compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", program, "-o", out])
        if done.returncode:
            raise RuntimeError(f"{compiler}: {done.stderr[:2000]}")
        made.append(out)
    return made


def region_of(kernel, folder):
    """The kernel as a region, so that the source is read once only, and the names of its parameters."""
    path = os.path.join(folder, "region.fir")
    done = run([FATHOM, "static", kernel, "--emit-ir", path, "--quiet"])
    if done.returncode:
        raise RuntimeError(f"{kernel}: {done.stderr}")
    with open(path) as file:
        return path, [line.split()[1] for line in file if line.startswith("param ")]


def check_group(kernel, names, layout, points, refused, compiled, folder):
    """Problems, as texts."""
    join = lambda point: ",".join(f"{name}={value}" for name, value in zip(names, point))
    formulas, source = os.path.join(folder, "formulas.json"), os.path.join(folder, "formulas.c")
    done = run([FATHOM, "static", kernel, "--symbolic", "--quiet", "--param", join(points[0]), "--json", formulas, "--force",
                "--emit-c", source, "--layout", layout, "--size", ",".join(map(str, SIZES))])
    if done.returncode:
        return [f"no formulas: {done.stderr.strip()}"]
    wrong = []
    shown = numbers(done.stdout)
    programs = compile_c(source, names, folder) if compiled else []
    for point in points:
        truth = walked(kernel, join(point), layout, folder)
        done = run([FATHOM, "static", formulas, "--param", join(point)])
        found = numbers(done.stdout)
        if found != truth:
            wrong.append(f"{join(point)}: {found} instead of {truth} {done.stderr}")
        if point == points[0] and shown != truth:
            wrong.append(f"{join(point)}: shown are {shown}")
        for program in programs:
            done = run([program] + [str(value) for value in point])
            if [int(line) for line in done.stdout.split()] != list(truth.values()):
                wrong.append(f"{os.path.basename(program)} {join(point)}: {done.stdout.split()}")
    for point in refused:
        if run([FATHOM, "static", formulas, "--param", join(point)]).returncode != 2:
            wrong.append(f"{join(point)} is not refused")
        for program in programs:
            if run([program] + [str(value) for value in point]).returncode != 3:
                wrong.append(f"{os.path.basename(program)} {join(point)}: not refused")
    return wrong


def many_points(names):
    """For --all: whole blocks, several sizes of every parameter; time steps few."""
    def values(name):
        return [2, 1, 5] if name.startswith("t") else [32, 16, 48]
    chosen = [values(name) for name in names]
    return [list(itertools.product(*chosen))[:9]]


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    everything = "--all" in sys.argv[1:]
    kernels = sorted(name[:-2] for name in os.listdir(KERNELS) if name.endswith(".c")) if everything else list(QUICK)
    kernels = [kernel for kernel in kernels if not words or kernel in words]
    print(f"1..{len(kernels)}")
    failed = 0
    for number, name in enumerate(kernels, 1):
        file, _, layout = name.partition(" ")
        wrong = []
        with tempfile.TemporaryDirectory(prefix="fathom-symbolic-") as folder:
            try:
                kernel, names = region_of(os.path.join(KERNELS, file if "." in file else file + ".c"), folder)
                groups = many_points(names) if everything else QUICK[name]
                for group in groups:
                    wrong += check_group(kernel, names, layout or "contiguous", group,
                                         REFUSED.get(name, []) if group is groups[0] else [],
                                         group is groups[0] and (everything or name in COMPILED), folder)
            except (RuntimeError, OSError) as error:
                wrong.append(str(error))
        print(f"{'not ok' if wrong else 'ok'} {number} - {name}: formulas and a walk agree", flush=True)
        for text in wrong:
            print(f"# {text[:1500]}", flush=True)
        failed += bool(wrong)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
