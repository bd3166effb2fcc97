#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tracing and analysing a running program costs: wall time of fathom run against the program alone and against
Valgrind that does nothing (--tool=none), on five programs; the same on one core, beside cachegrind; and the same for
programs built by fathom cc.

    bench/bench_collect.py [--quick] [--repeat N] [--build DIRECTORY] [--threads N]
                           [--only valgrind|one-core|compiler] [SUBJECT…]

All variants of a subject are run in turn, N times, and the least wall time of each counts. Ratios within one run are
what is told; a machine with two free cores is assumed (taskset gives it fewer or more). On one core, processor time is
told too, of the program and all that fathom does: it hardly depends on what else the machine does. --threads is passed
on to fathom run. Prints Markdown; lines for machines go to $BENCH_LINES."""
import argparse
import os
import resource
import shutil
import subprocess
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
work = os.path.join(here, "work")
parser = argparse.ArgumentParser()
parser.add_argument("--quick", action="store_true")
parser.add_argument("--repeat", type=int, default=3)
parser.add_argument("--build", default=os.path.join(here, "..", "build"))
parser.add_argument("--threads")
parser.add_argument("--only", choices=["valgrind", "one-core", "compiler"])
parser.add_argument("subjects", nargs="*")
arguments = parser.parse_args()
fathom = os.path.abspath(os.path.join(arguments.build, "fathom"))
run = [fathom, "run", "-q", *(["--threads", arguments.threads] if arguments.threads else [])]
os.makedirs(work, exist_ok=True)


def made(name, make):
    path = os.path.join(work, name)
    if not os.path.exists(path):
        make(path + ".part")
        os.rename(path + ".part", path)
    return path


def make_text(path):
    """Text like a log: words, numbers, repeats. Deterministic."""
    state = 1
    with open(path, "w") as file:
        for i in range(200000):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            file.write(f"{state >> 40} user{(state >> 33) % 5000} GET /page/{(state >> 50)}/{i % 311} {i}\n")


def make_sql(path):
    with open(path, "w") as file:
        rows = 120000
        file.write("create table t(a integer primary key, b integer, c text);\n"
                   f"with recursive n(x) as (select 1 union all select x+1 from n where x<{rows})"
                   " insert into t select x, (x*7919)%10007, 'row '||x from n;\ncreate index i on t(b);\n"
                   "select count(*), sum(a) from t where b between 100 and 5000;\n"
                   "select t.b, count(*) from t join t u on t.b=u.a group by t.b order by 2 desc limit 5;\n"
                   "update t set c=c||'!' where b%3=0;\nselect max(length(c)) from t;\n")


def make_source(path):
    with open(path, "w") as file:
        for i in range(150):
            file.write(f"static int table{i}[{i % 50 + 5}];\nint f{i}(int a, int b) {{ int s = {i}; for (int i = 0; i < a; i++) "
                       f"{{ s += table{i}[i % {i % 50 + 5}] * b; if (s & {1 << i % 20}) s ^= a << {i % 7}; "
                       f"else s -= b / ({i % 9} + 1); }} switch (b) {{ case 1: return s; case 2: return s * a; "
                       f"default: return f{max(i - 1, 0)}(a - 1, b); }} }}\n")


def native(name, source, *flags):
    def make(path):
        subprocess.run(["gcc", "-O2", "-g", source, *flags, "-o", path], check=True)
    return made(name, make)


def instrumented(name, source, *flags):
    path = os.path.join(work, name)
    subprocess.run([fathom, "cc", "-O2", "-g", source, *flags, "-o", path], check=True)
    return path


text = made("bench-text", make_text)
sql = made("bench-120k.sql", make_sql)
program_source = made("bench-source-150.c", make_source)
matmul_source = os.path.join(here, "subject_matmul.c")
sort_source = os.path.join(here, "subject_sort.c")
size = "320" if arguments.quick else "448"
cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True).stdout.strip()

# name: (native command, standard input)
valgrind_subjects = {
    "gzip": (["gzip", "-6", "-c", text], None),
    "sqlite": (["sqlite3", ":memory:"], sql),
    "matmul": ([native("bench-matmul", matmul_source), size], None),
    "sort": (["sort", "--parallel=1", "-S", "256M", text], None),
    "compiler": ([cc1, "-quiet", "-O1", program_source, "-o", "/dev/null"], None),
}


def compiler_subjects():
    """name: (native command, instrumented command, standard input); those whose sources could be fetched."""
    found = {"matmul": ([native("bench-matmul", matmul_source), size],
                        [instrumented("bench-matmul-fathom", matmul_source), size], None),
             "sort": ([native("bench-sort", sort_source), text],
                      [instrumented("bench-sort-fathom", sort_source), text], None)}
    script = os.path.join(here, "fetch_subjects.sh")
    if subprocess.run([script, fathom], stdout=sys.stderr).returncode == 0:
        base = os.path.join(work, "subjects")
        found["gzip"] = ([f"{base}/gzip-native", "-6", "-c", text], [f"{base}/gzip-fathom", "-6", "-c", text], None)
        found["sqlite"] = ([f"{base}/sqlite-native", ":memory:"], [f"{base}/sqlite-fathom", ":memory:"], sql)
        # Not /dev/null: tcc removes the file it is to write first, which root can do even there.
        output = os.path.join(work, "tcc.o")
        found["compiler"] = ([f"{base}/tcc-native", "-c", program_source, "-o", output],
                             [f"{base}/tcc-fathom", "-c", program_source, "-o", output], None)
    else:
        print("bench: the sources of gzip, sqlite and tcc cannot be fetched here: they are left out", file=sys.stderr)
    return found


def timed(command, stdin):
    with open(stdin or os.devnull) as source:
        begin = time.monotonic()
        done = subprocess.run(command, stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        seconds = time.monotonic() - begin
    if done.returncode:
        sys.exit(f"bench: {' '.join(command)}: exit code {done.returncode}: {done.stderr.decode()[-500:]}")
    return seconds


def processor_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def least_both(variants, stdin):
    """Of wall time, and of processor time."""
    best = [(float("inf"), float("inf"))] * len(variants)
    for _ in range(arguments.repeat):
        for i, command in enumerate(variants):
            before = processor_time()
            wall = timed(command, stdin)
            best[i] = (min(best[i][0], wall), min(best[i][1], processor_time() - before))
    return best


def least(variants, stdin):
    best = [float("inf")] * len(variants)
    for _ in range(arguments.repeat):
        for i, command in enumerate(variants):
            best[i] = min(best[i], timed(command, stdin))
    return best


def references(command, stdin):
    path = os.path.join(work, "collect.json")
    timed([*run, "--no-sites", "--json", path, "--force", "--", *command], stdin)
    import json
    with open(path) as file:
        return json.load(file)["references"]


lines = open(os.environ["BENCH_LINES"], "a") if os.environ.get("BENCH_LINES") else None


def tell(**fields):
    if lines:
        lines.write(" ".join(f"{key}={value}" for key, value in fields.items()) + "\n")


def mean(values):
    return sum(values) / len(values) if values else float("nan")


def measure_valgrind():
    print("Through Valgrind: wall time, seconds, and ratios.\n")
    print("| subject | references | native | `none` | `--no-sites` | `run` | to `none` | to native | "
          "run / no-sites | M refs/s |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    to_none, to_native, sites = [], [], []
    for name, (command, stdin) in valgrind_subjects.items():
        if arguments.subjects and name not in arguments.subjects:
            continue
        count = references(command, stdin)
        alone, none, plain, attributed = least(
            [command, ["valgrind", "--tool=none", "-q", *command], [*run, "--no-sites", "--", *command],
             [*run, "--", *command]], stdin)
        to_none.append(plain / none)
        to_native.append(plain / alone)
        sites.append(attributed / plain)
        print(f"| {name} | {count / 1e6:.0f} M | {alone:.2f} | {none:.2f} | {plain:.2f} | {attributed:.2f} | "
              f"{plain / none:.2f} | {plain / alone:.1f} | {attributed / plain:.2f} | {count / plain / 1e6:.0f} |", flush=True)
        tell(part="collect", collector="valgrind", subject=name, to_none=f"{plain / none:.3f}",
             to_native=f"{plain / alone:.3f}", sites=f"{attributed / plain:.3f}")
    print(f"| mean | | | | | | {mean(to_none):.2f} | {mean(to_native):.1f} | {mean(sites):.2f} | |")


def measure_one_core():
    core = str(min(os.sched_getaffinity(0)))
    print("\nThrough Valgrind, all on one core: wall and processor time, seconds, and ratios of processor time.\n")
    print("| subject | `none` | cachegrind | `--no-sites` | `run` | processor time: `none` | cachegrind | `--no-sites` "
          "| `run` | run to `none` | to cachegrind |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    to_none, to_cachegrind = [], []
    for name, (command, stdin) in valgrind_subjects.items():
        if arguments.subjects and name not in arguments.subjects:
            continue
        pinned = ["taskset", "-c", core]
        found = least_both(
            [[*pinned, "valgrind", "--tool=none", "-q", *command],
             [*pinned, "valgrind", "--tool=cachegrind", "-q", "--cache-sim=yes", "--cachegrind-out-file=/dev/null", *command],
             [*pinned, *run, "--no-sites", "--", *command], [*pinned, *run, "--", *command]], stdin)
        none, cachegrind, _, attributed = (used for _, used in found)
        to_none.append(attributed / none)
        to_cachegrind.append(attributed / cachegrind)
        print(f"| {name} | " + " | ".join(f"{wall:.2f}" for wall, _ in found) + " | " +
              " | ".join(f"{used:.2f}" for _, used in found) +
              f" | {attributed / none:.2f} | {attributed / cachegrind:.2f} |", flush=True)
        tell(part="collect", collector="one-core", subject=name, to_none=f"{attributed / none:.3f}",
             to_cachegrind=f"{attributed / cachegrind:.3f}")
    print(f"| mean | | | | | | | | | {mean(to_none):.2f} | {mean(to_cachegrind):.2f} |")


def measure_compiler():
    print("\nThrough `fathom cc`: wall time, seconds, and ratios. `alone`: the instrumented program without fathom. The last "
          "two: how much longer the ordinary program takes under Valgrind, without sites and with.\n")
    print("| subject | references | native | alone | `run --no-sites` | `run` | no-sites / native | run / no-sites | M refs/s "
          "| Valgrind, no-sites | Valgrind |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    to_native, sites, by_valgrind = [], [], []
    for name, (command, built, stdin) in compiler_subjects().items():
        if arguments.subjects and name not in arguments.subjects:
            continue
        count = references(built, stdin)
        native_time, alone, plain, attributed, valgrind_plain, valgrind = least(
            [command, built, [*run, "--no-sites", "--", *built], [*run, "--", *built],
             [*run, "--no-sites", "--", *command], [*run, "--", *command]], stdin)
        to_native.append(plain / native_time)
        sites.append(attributed / plain)
        print(f"| {name} | {count / 1e6:.0f} M | {native_time:.2f} | {alone:.2f} | {plain:.2f} | {attributed:.2f} | "
              f"{plain / native_time:.1f} | {attributed / plain:.2f} | {count / plain / 1e6:.0f} | "
              f"{valgrind_plain / plain:.2f} | {valgrind / attributed:.2f} |", flush=True)
        tell(part="collect", collector="compiler", subject=name, to_native=f"{plain / native_time:.3f}",
             sites=f"{attributed / plain:.3f}", valgrind_plain=f"{valgrind_plain / plain:.3f}",
             valgrind=f"{valgrind / attributed:.3f}")
        by_valgrind.append((valgrind_plain / plain, valgrind / attributed))
    print(f"| mean | | | | | | {mean(to_native):.1f} | {mean(sites):.2f} | | "
          f"{mean([plain for plain, _ in by_valgrind]):.2f} | {mean([full for _, full in by_valgrind]):.2f} |")


if arguments.only in (None, "valgrind"):
    measure_valgrind()
if arguments.only in (None, "one-core"):
    measure_one_core()
if arguments.only in (None, "compiler"):
    measure_compiler()
