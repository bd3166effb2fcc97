#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do two builds give the same results? For changes that must change none: over all verbs, engines, formats, collectors
and numbers of threads, every file and everything printed is compared, profiles field by field.

    scripts/compare-builds.py OLD NEW [WORD]...      OLD, NEW: directories with a `fathom` in them (build)

With words, only commands that contain one of them. What depends on the moment (process numbers, seconds) is left out.
Programs run without randomised addresses (setarch -R), and the programs of `fathom cc` are built by each build."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Fields of a profile that say when and by whom, not what.
MOMENT = {"seconds", "process", "pid", "parent", "started", "version", "collector_version", "generator", "created"}

# Sources of loops, for `fathom static`, out of this tree; and two regions as text.
SOURCES = ["examples/gemm.c", "examples/machines"] + [
    "tests/static/" + name for name in (
        "kernels/2mm.c", "kernels/adi.f90", "kernels/cholesky.c", "kernels/durbin.c", "kernels/floyd-warshall.c", "kernels/gemver.f",
        "kernels/heat-3d.c", "kernels/jacobi-1d.c", "kernels/jacobi-2d.c", "kernels/jacobi-2d.f90", "kernels/lu.c",
        "kernels/nussinov.c", "kernels/seidel-2d.c", "kernels/syr2k.f90", "cases/calls.c", "cases/complex.c", "cases/containers.cc",
        "cases/guards.c", "cases/members.c", "cases/methods.cc", "cases/pointers.c", "cases/steps.c", "cases/swaps.c",
        "cases/while.c", "fortran/calls.f90", "fortran/control.f90", "fortran/matmuls.f90", "fortran/sections.f90",
        "fortran/shapes.f90")]
REGIONS = {
    "sweep.fir": """fathom-region 1
file 1 "sweep.c"
function "sweep" @1:1-5
param n
param m = 8
assume n >= 1
array A[n][m] of 8
array B[m] of 8
for t = 0 to 1 @1:1 { for i = 0 to n - 1 @1:2 { for j = 0 to m - 1 @1:3 {
  do adds 1 @1:3 { load A[i][j] @1:3:40 "A[i][j]" } } } }
for j = 0 to m - 1 @1:4 { for i = 0 to n - 1 @1:5 {
  do adds 1 @1:5 { load B[j] @1:5:31 "B[j]" load A[i][j] @1:5:39 "A[i][j]" store B[j] @1:5:31 "B[j]" } } }
""",
    "wave.fir": """fathom-region 1
file 1 "wave.c"
array A[20][30] of 8
array B[20] of 8
for i = 1 to 19 @1:1 { for j = 0 to 28 @1:2 {
  do @1:3 { load A[i - 1][j + 1] "A[i-1][j+1]" store A[i][j] "A[i][j]" } } }
for i = 0 to 18 @1:4 { do @1:5 { store B[i] "B[i]" } }
for i = 0 to 18 @1:6 { do @1:7 { load B[i + 1] "B[i+1]" } }
""",
    "assumed.c": """void f(int n, double *x, const int *idx, const double *s, double stop)
{
    for (int i = 0; i < n; i++) {
        if (s[i] > stop) x[i] = s[i];
        x[idx[i]] += 1.0;
        double e = s[i];
        while (e > stop) e *= x[i];
    }
}
"""}
# Their parameters.
SIZES = {"2mm.c": "ni=16,nj=18,nk=22,nl=24", "adi.f90": "tsteps=5,n=20", "cholesky.c": "n=40", "durbin.c": "n=40",
         "floyd-warshall.c": "n=30", "gemver.f": "n=40", "heat-3d.c": "tsteps=5,n=10", "jacobi-1d.c": "tsteps=20,n=30",
         "jacobi-2d.c": "tsteps=10,n=30", "jacobi-2d.f90": "tsteps=10,n=30", "lu.c": "n=40", "nussinov.c": "n=40",
         "seidel-2d.c": "tsteps=5,n=30", "syr2k.f90": "m=20,n=30", "complex.c": "n=9", "guards.c": "n=12", "members.c": "g.n=5,g.m=6",
         "pointers.c": "n=11", "steps.c": "n=29", "swaps.c": "steps=5,n=20", "while.c": "n=13", "containers.cc": "n=7,v.size=10,m.columns_=8",
         "methods.cc": "times=2,this.nx_=9,this.ny_=7", "calls.c": ""}
STATIC = "fathom static"
STATICS = (
    # The default, and all methods that are no walks.
    [f"{STATIC} {name} {'-D ' + sizes if sizes else ''} --size 1K,32K --json p.json --csv pairs.csv --callgrind c.out"
     for name, sizes in SIZES.items()]
    + [f"{STATIC} {name} -D {SIZES[name]} --method {method} --bins exact --pairs --size 1K --limit-time 300 --json p.json"
       for name in ("2mm.c", "adi.f90", "cholesky.c", "seidel-2d.c", "gemver.f") for method in ("walk", "count", "reconstruct", "sample")]
    + [f"{STATIC} {name} -D {SIZES[name]} --emit-ir region.fir" for name in SIZES if SIZES[name]]
    + [f"{STATIC} {name} --counts" for name in ("gemm.c", "cholesky.c", "jacobi-2d.f90", "guards.c", "sweep.fir")]
    + [f"{STATIC} {name}.f90 --function {name} -D {sizes} --json p.json" for name, sizes in (
        ("sections", "n=7,m=5"), ("matmuls", "n=7,m=5,l=6"), ("control", "n=7,m=5,k=3"), ("calls", "n=7,m=5"), ("shapes", "n=7,m=5,k=3"))]
    + [f"{STATIC} gemm.c -D n={n} --layout {layout} --granularity {granularity} --method count --bins {bins} --json p.json"
       for n, layout, granularity, bins in ((40, "contiguous", 64, "exact"), (37, "aligned", 64, "log2"), (24, "contiguous", 8, "loglinear"))]
    + [f"{STATIC} gemm.c -D n=100000 --method {method} --size 32K,1M --limit-time 300 --json p.json" for method in ("count", "sample --draws 500")]
    + [f"{STATIC} cholesky.c -D n=20 --scalars --size 1K --verify --json p.json", f"{STATIC} lu.c -D n=24 --method count --verify --histogram",
       f"{STATIC} syr2k.f90 -D m=20,n=30 --scalars --by object --top 0 --size 1K --embed-source --json p.json",
       f"{STATIC} gemm.c -D n=20 --size 1K --report page.html --quiet && rm page.html"]
    # Machines, sets.
    + [f"{STATIC} {name} -D {SIZES.get(name, 'n=64')} --machine machines/zen3.machine --json p.json" for name in ("gemm.c", "jacobi-2d.c", "adi.f90")]
    + [f"{STATIC} {name} -D {SIZES.get(name, 'n=64')} --cache 4K:4,8K:8 --size 4K {method} --json p.json" for name, method in (
        ("gemm.c", ""), ("2mm.c", "--method reconstruct"), ("lu.c", "--method sample"), ("lu.c", "--method count"))]
    # Formulas.
    + [f"{STATIC} {name} --symbolic --size {size} {more} --limit-time 300 --json formulas.json --emit-c formulas.c" for name, size, more in (
        ("gemm.c", "32K,1M", ""), ("gemm.c", "64", "-D n=1000"), ("sweep.fir", "4K,64K", ""), ("jacobi-1d.c", "1K", ""),
        ("jacobi-1d.c", "1K", "--open n -D tsteps=10"), ("syr2k.f90", "1K", "--layout aligned"), ("durbin.c", "1K", ""))]
    + [f"{STATIC} gemm.c --symbolic --size 32K --json f.json --quiet && {STATIC} f.json -D n=1000",
       f"{STATIC} jacobi-1d.c --symbolic --size 1K --json f.json -q && {STATIC} f.json -D n=200,tsteps=10"]
    # Changes.
    + [f"{STATIC} gemm.c -D n=48 --size 1K,32K --what-if '{change}' --json p.json --emit-ir changed.fir; cat changed.fir" for change in (
        "interchange:j,k", "tile:i,j,k=16,16,8", "pad:B=+8", "interchange:j,k;tile:i=8", "fuse:i", "tile:k")]
    + [f"{STATIC} gemm.c -D n=48 --size 1K --what-if 'interchange:j,k' --json p.json", f"{STATIC} 2mm.c -D {SIZES['2mm.c']} --size 1K --what-if fuse:i#1",
       f"{STATIC} lu.c -D n=24 --size 1K --what-if interchange:i,j", f"{STATIC} cholesky.c -D n=24 --size 1K --what-if distribute:j#1"]
    + [f"{STATIC} wave.fir --size 8K --what-if {change}" for change in (
        "interchange:i,j", "fuse:i@4", "tile:i=8", "tile:j=8", "distribute:i@6", "pad:B=8", "unroll:i")]
    + [f"{STATIC} {name} -D {SIZES.get(name, 'n=40')} --size 1K --suggest --json p.json" for name in ("gemm.c", "jacobi-2d.f90", "seidel-2d.c")]
    # What is assumed, and what is refused.
    + [f"{STATIC} assumed.c -D n=20 --size 1K {more} --json p.json" for more in (
        "", "--assume 'if at 4 holds' --assume 'idx is identity' --assume 'while runs 3 times'",
        "--assume 'if at 4 fails' --assume 'idx is permutation of 0..19' --assume 'while runs 2 times'",
        "--assume 'if at 4 both' --assume 'idx is identity' --assume 'loop at 7 runs n times'", "--assume 'idx is round'")]
    + [f"{STATIC} gemm.c", f"{STATIC} gemm.c -D n=0", f"{STATIC} wave.fir --method guess", f"{STATIC} sweep.fir -D n=4 --granularity 48",
       f"{STATIC} gemm.c --function none"]
)

# Inputs, made once by the old build.
INPUTS = """
fathom gen zipf --keys 20K --references 400K -o zipf.fathom
fathom gen zipf --keys 20K --references 400K -o zipf.u64
fathom gen zipf --keys 3K --references 20K -o small.u64
fathom gen uniform --keys 30K --references 300K --seed 5 -o uniform.fathom
fathom gen cyclic --keys 1K --references 50K -o cyclic.txt
fathom gen sawtooth --keys 500 --references 20K -o sawtooth.csv
fathom gen loguniform --keys 5K --references 50K -o log.din
fathom gen zipf --keys 2K --references 30K -o keys.lackey
setarch -R fathom record -o prog.fathom -- ./plain 1000
setarch -R fathom record -o prog2.fathom -- ./plain 3000
zstd -qf zipf.u64 -o zipf.u64.zst
gzip -kf cyclic.txt
head -c 200000 prog.fathom >cut.fathom
head -c 100001 zipf.u64 >cut.u64
""".strip().splitlines()

ENGINES = ["exact", "tree", "list", "parda", "approx", "shards --rate 0.1", "aet", "hp-rda", "auto"]
COMMANDS = (
    [f"fathom analyze small.u64 --engine {engine} --json p.json" for engine in ENGINES]
    + [f"fathom analyze {name} --threads {threads} --json p.json" for name in ("zipf.fathom", "uniform.fathom", "prog.fathom", "zipf.u64")
       for threads in (1, 2, 3)]
    + [f"fathom analyze {name} --json p.json" for name in ("cyclic.txt", "sawtooth.csv --key 1", "log.din", "keys.lackey", "zipf.u64.zst",
                                                            "cyclic.txt.gz", "cut.fathom", "cut.u64")]
    + [f"fathom analyze prog.fathom --granularity 8,64,4096 --threads {threads} --json p.json" for threads in (1, 2)]
    + [f"fathom analyze prog.fathom --time --no-sites --threads {threads} --json p.json" for threads in (1, 2)]
    + [f"fathom analyze prog.fathom --distances d.u64 --threads {threads} --json p.json" for threads in (1, 2)]
    + [f"fathom analyze prog.fathom --no-sites --threads {threads} --json p.json" for threads in (1, 2, 4)]
    + [f"fathom analyze prog.fathom --threads {threads} --csv pairs.csv --callgrind c.out --size 4K,32K --json p.json" for threads in (1, 2)]
    + [f"fathom analyze {name} --bound 500 --threads {threads} --json p.json" for name in ("zipf.fathom", "prog.fathom") for threads in (1, 2)]
    + [f"fathom analyze zipf.u64 --bins {bins} --json p.json" for bins in ("exact", "log2", "loglinear")]
    + [f"fathom analyze zipf.u64 --isa {isa} --json p.json" for isa in ("portable", "avx2")]
    + ["fathom analyze zipf.u64 --max-memory 16M --json p.json", "fathom analyze - --format u64 --json p.json <zipf.u64",
       "fathom analyze small.u64 --engine approx --error 0.1 --json p.json",
       "fathom analyze small.u64 --engine approx --abs-error 10 --cutoff 100 --json p.json",
       "fathom analyze zipf.u64 --engine shards --samples 2000 --hashes 2 --exact-below 0 --json p.json",
       "fathom analyze small.u64 --engine hp-rda --trace-size 4K --thread-trace-size 256 --json p.json",
       "fathom analyze small.u64 --engine parda --bound 300 --threads 3 --json p.json"]
    + ["fathom analyze zipf.u64 --json a.json --quiet && fathom mrc a.json --size 32K,1M",
       "fathom analyze zipf.u64 --json a.json --quiet && fathom analyze uniform.fathom --json b.json --quiet && fathom compare a.json b.json",
       "fathom analyze prog.fathom --json a.json --quiet && fathom report a.json -o page.html",
       "fathom analyze prog.fathom --granularity 8,64 --json a.json --quiet && fathom report a.json --size 4K,32K,1M -o page.html",
       "fathom analyze zipf.u64 --json a.json --quiet && fathom report a.json -o page.html",
       "fathom analyze zipf.u64 --engine shards --rate 0.1 --json a.json --quiet && fathom report a.json --size 1K,10K -o page.html",
       "fathom analyze zipf.u64 --json a.json --quiet && fathom mrc a.json --csv c.csv --json m.json",
       "fathom phases prog.fathom --json a.json --quiet && fathom report a.json -o page.html",
       "fathom sample --simulate prog.fathom --period 100 --json a.json --quiet; fathom report a.json -o page.html; fathom mrc a.json --size 32K"]
    + [f"fathom analyze prog.fathom --by {by} {options} >text.txt" for by in ("line", "function", "object")
       for options in ("", "--pairs --top 3 --size 4K,32K,1M", "--bound 300 --histogram")]
    + [f"fathom analyze prog.fathom {options} --json a.json --quiet && fathom analyze prog2.fathom {options} --json b.json --quiet && "
       f"fathom diff a.json b.json {show}" for options in ("", "--bound 500")
       for show in ("--report page.html", "--by function --json d.json --markdown text.md", "--by object --size 4K,32K,1M --fail-if 'misses@4K > +0'")]
    + [
       "fathom analyze prog.fathom --json a.json --quiet && fathom analyze prog2.fathom --json b.json --quiet && "
       "fathom train -o m.json a.json b.json && fathom predict m.json --data-size 100000 --json p.json",
       "fathom phases prog.fathom --json p.json", "fathom phases zipf.u64", "fathom check prog.fathom", "fathom check cut.fathom"]
    + [f"fathom convert prog.fathom -o out.{ending}" for ending in ("u64", "txt", "csv", "lackey", "din", "fathom")]
    + [f"setarch -R fathom run --collector {collector} {options} --json p.json -o text.txt -- {program}"
       for collector, program in (("valgrind", "./plain 300"), ("compiler", "./built 3000"))
       for options in ("", "--no-sites", "--threads 3", "--call-paths", "--granularity 8,64", "--function touch --no-stack",
                       "--engine tree --no-sites", "--bound 100", "--threads-private", "--size 4K,32K", "--time --no-sites")]
    + ["setarch -R fathom run --collector valgrind --call-paths --callgrind c.out --csv pairs.csv --size 4K,32K,1M -o /dev/null -- ./plain 300",
       "setarch -R fathom run --follow-children --json p.json -o /dev/null -- sh -c './plain 10; exit 3'",
       "setarch -R fathom record -o r.fathom -- ./plain 100 && fathom check r.fathom && rm r.fathom",
       "setarch -R fathom record -o r.u64 -- ./built 100",
       "setarch -R fathom run --follow-children --call-paths --json p.json -o /dev/null -- ./family 500",
       "setarch -R fathom run --follow-children --csv pairs.csv --json p.json -o /dev/null -- ./family 500",
       "setarch -R fathom run --isa portable --json p.json -o text.txt -- ./family 100",
       "setarch -R fathom record -o r.fathom -- ./family 300; fathom analyze r.fathom --json p.json && rm -f r.fathom"]
    + [f"fathom sample --simulate prog.fathom --period {period} {options} --json p.json" for period in (50, 500)
       for options in ("", "--bursts 64:2", "--estimator kaplan-meier", "--estimator rdx", "--by object --pairs", "--no-sites", "--even")]
    + ["setarch -R fathom run --collector compiler --follow-children --call-paths --json p.json -o text.txt -- ./built 300",
       "mpirun --allow-run-as-root --oversubscribe -np 2 fathom analyze --mpi zipf.fathom --json p.json",
       "mpirun --allow-run-as-root --oversubscribe -np 3 fathom analyze --mpi prog.fathom --engine parda --no-sites --json p.json"]
    + STATICS
)

PROGRAM = """
#include <stdlib.h>
#include <stdio.h>
static volatile int sink;
__attribute__((noinline)) static void touch(volatile char *p, size_t n, int passes)
{ for (int k = 0; k < passes; k++) for (size_t i = 0; i < n; i++) sink += p[i * 64]; }
static int table[5000];
int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], 0, 10) : 100;
    char *heap = calloc(n, 64);
    touch(heap, n, 3);
    for (int r = 0; r < 4; r++) { for (int i = 0; i < 5000; i++) table[i] += i; touch(heap, n / 2, 2); }
    return sink == 12345;
}
"""


# Thread-local and shared variables, a library that comes and goes, a child, allocations on several paths.
FAMILY = """
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static __thread int local[3000];
static int shared[4000];
static volatile long sink;
__attribute__((noinline)) static char *small(size_t n) { return malloc(n); }
__attribute__((noinline)) static char *large(size_t n) { return small(n * 16); }
static void walk(char *p, size_t n) { for (size_t i = 0; i < n; i += 64) sink += p[i]++; }
static void deep(int n, char *p) { if (n) deep(n - 1, p); else walk(p, 20000); }
static void work(size_t n)
{
    for (int r = 0; r < 3; r++)
        for (size_t i = 0; i < 3000; i++) { local[i]++; shared[(i * 7) % 4000] += local[i]; }
    char *p[20];
    for (int i = 0; i < 20; i++) memset(p[i] = i % 2 ? small(n) : large(n), i, n);
    for (int i = 0; i < 20; i++) walk(p[i], n);
    for (int i = 0; i < 20; i++) free(p[i]);
}
int main(int argc, char **argv)
{
    size_t n = strtoul(argv[1], 0, 10);
    char *p = large(20000 / 16 + 64);
    for (int i = 0; i < 4; i++) deep(i, p);
    void *library = dlopen("libz.so.1", RTLD_NOW);
    if (library) dlclose(library);
    for (int i = 0; i < 2; i++) {
        if (fork() == 0) {
            work(n);
            if (i) execlp("true", "true", (char *)0);
            walk(p, 20000);
            _exit(0);
        }
        wait(0);
    }
    work(n);
    return 0;
}
"""


def without_moment(value):
    if isinstance(value, dict):
        return {key: without_moment(item) for key, item in value.items() if key not in MOMENT}
    if isinstance(value, list):
        return [without_moment(item) for item in value]
    if isinstance(value, str):
        return re.sub(r"\d+\.\d+ m?s\b", "T s", value)
    return value


def plain_text(text, directory):
    text = text.replace(directory, "DIR")
    text = re.sub(r"(?m)^process .*$", "process N", text)
    text = re.sub(r"(?m)^pid: \d+$", "pid: N", text)
    text = re.sub(r"process \d+", "process N", text)
    text = re.sub(r"after \d[\d.]* s", "after T s", text)
    text = re.sub(r"\d[\d.,]* (M |G |k )?references/s", "N references/s", text)
    return re.sub(r"\d+\.\d+ m?s\b", "T s", text)


PAGE = ".page.html"  # what it draws may be more or less; what both draw is the same


def differences(old, new, path=""):
    if type(old) is not type(new):
        return [f"{path}: {old!r} and {new!r}"]
    if isinstance(old, dict):
        found = [f"{path}.{key}: only in one" for key in old.keys() ^ new.keys() if not path.startswith(PAGE)]
        for key in old.keys() & new.keys():
            found += differences(old[key], new[key], f"{path}.{key}")
        return found
    if isinstance(old, list):
        if len(old) != len(new):
            return [f"{path}: {len(old)} and {len(new)} entries"]
        return [line for i, pair in enumerate(zip(old, new)) for line in differences(*pair, f"{path}[{i}]")]
    return [] if old == new else [f"{path}: {old!r} and {new!r}"]


def page_data(page):
    """What a page draws: its data, not its script."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return without_moment(json.loads(found.group(1))) if found else {}


def run(command, fathom, directory):
    """What a command printed, and what it left: name to content."""
    environment = {**os.environ, "PATH": f"{fathom}:{os.environ['PATH']}", "LC_ALL": "C", "COLUMNS": "100"}
    before = set(os.listdir(directory))
    done = subprocess.run(command, shell=True, cwd=directory, env=environment, capture_output=True, text=True, errors="replace",
                          executable="/bin/bash", timeout=300)
    left = {"exit code": done.returncode, "standard output": plain_text(done.stdout, directory),
            "standard error": plain_text(done.stderr, directory)}
    for name in sorted(set(os.listdir(directory)) - before):
        path = os.path.join(directory, name)
        with open(path, "rb") as file:
            content = file.read()
        os.unlink(path)
        if name.endswith(".json"):
            content = without_moment(json.loads(content.decode(errors="replace").replace(directory, "DIR")))
        elif name.endswith(".html"):
            content = page_data(content.decode(errors="replace").replace(directory, "DIR"))
        elif name == "c.out" or (name.endswith(".txt") and name.startswith("text")):
            content = plain_text(content.decode(errors="replace"), directory)
        left[name] = content
    return left


def place(build, to):
    os.mkdir(to)
    shutil.copy2(os.path.join(build, "fathom"), to)
    shutil.copytree(os.path.join(build, "lib"), os.path.join(to, "lib"))
    return to


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    old, new, words = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="fathom-compare-") as top:
        # In places whose names are of one length: what a program finds on its stack depends on that.
        old, new = place(old, os.path.join(top, "old")), place(new, os.path.join(top, "new"))
        inputs = os.path.join(top, "work")  # one place for both: paths are in the results
        os.mkdir(inputs)
        with open(os.path.join(inputs, "plain.c"), "w") as file:
            file.write(PROGRAM)
        subprocess.run(["gcc", "-O1", "-g", "plain.c", "-o", "plain"], cwd=inputs, check=True)
        with open(os.path.join(inputs, "family.c"), "w") as file:
            file.write(FAMILY)
        subprocess.run(["gcc", "-O1", "-g", "family.c", "-o", "family"], cwd=inputs, check=True)
        for name in SOURCES:
            path = os.path.join(ROOT, name)
            (shutil.copytree if os.path.isdir(path) else shutil.copy)(path, os.path.join(inputs, os.path.basename(name)))
        for name, text in REGIONS.items():
            with open(os.path.join(inputs, name), "w") as file:
                file.write(text)
        for command in INPUTS:
            run_input = subprocess.run(command, shell=True, cwd=inputs, capture_output=True, text=True,
                                       env={**os.environ, "PATH": f"{old}:{os.environ['PATH']}"})
            if run_input.returncode:
                print(f"{command}:\n{run_input.stderr}")
                return 1
        chosen = [command for command in COMMANDS if not words or any(word in command for word in words)]
        for command in chosen:
            results = []
            for build in (old, new):
                if "./built" in command:
                    subprocess.run([os.path.join(build, "fathom"), "cc", "-O1", "-g", "-Wl,--build-id=0xfa", "plain.c", "-o",
                                    "built"], cwd=inputs, check=True)
                results.append(run(command, build, inputs))
            found = differences(*results)
            print(f"{'DIFFERENT' if found else 'same':9} {command}", flush=True)
            for line in found[:8]:
                print("          ", line[:300])
            failed += bool(found)
    print(f"{len(chosen) - failed} same, {failed} different")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
