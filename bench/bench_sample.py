#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom sample on real programs: how far its profile is from that of fathom run, and how much it slows them down.

    bench/bench_sample.py [--accuracy] [--overhead] [--wall] [--bias] [--memory] [--tradeoff] [--equal N] [--rate HZ] [--times N] [--repeat N] [--build DIRECTORY]
                          [SUBJECT…]

Accuracy: S of the distances in the paper's bins ([0, 4K), [4K, 8K), … words of 8 bytes; RDX, HPCA 2019, section VI), over
the re-uses, and the mean difference of the miss-ratio curves, both from exact profiles of the same input, which are made
once (bench/work/exact-*.json: minutes); for programs with threads, the sum of each thread's by itself, as the sampler
sees them. Of N sampled runs the median is told. Overhead: a native and a sampled run at the same time, on one processor
that they share in slices of milliseconds (the receiver has the other), N times; the median of the ratios within these
pairs, with intervals of 95 %: processor time of the program with the sampler inside, and that of all processes (fathom
until its results are written). Two native runs differ by 1 to 2 % so, and by 20 % one after the other. Wall: runs in
turn with all processors, for programs whose threads wait for each other; the program's wall and processor time. --times makes the
programs do so many times as much: they take 0.2 to 0.5 s otherwise, much of which is starting. Equal: N sampled
runs of the programs in turn, at 1,000 samples a second, whose output and exit status must be those of a run alone.
Bias: the same with one rate of accesses for the whole run (--mean-rate), as the clock takes samples, and with local rates:
long, the share of uses whose time distance is 2,048 words or more, which needs no conversion, and the error of the curve.
Tradeoff: both accuracy and overhead of the same runs, at several budgets and rates, and what `fathom run` takes: lines
"bench=tradeoff …", of which sample_figure.py makes a picture and a table.
Memory: how much more the program's process holds with the sampler inside than alone, at its largest (resident), and how much of
it is its own where pages that are shared with fathom count by half (proportional); and of a program with 1 and with 9 threads,
what a thread adds.
Prints Markdown."""
import argparse
import hashlib
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
work = os.path.join(here, "work")
parser = argparse.ArgumentParser()
parser.add_argument("--accuracy", action="store_true")
parser.add_argument("--overhead", action="store_true")
parser.add_argument("--wall", action="store_true")
parser.add_argument("--bias", action="store_true")
parser.add_argument("--memory", action="store_true")
parser.add_argument("--tradeoff", action="store_true")
parser.add_argument("--equal", type=int, metavar="N")
parser.add_argument("--rate", help="samples a second (default: 500 for accuracy, the budget of 2 %% for overhead)")
parser.add_argument("--repeat", type=int, default=5)
parser.add_argument("--times", type=int, default=1)
parser.add_argument("--build", default=os.path.join(here, "..", "build"))
parser.add_argument("subjects", nargs="*")
arguments = parser.parse_args()
fathom = os.path.abspath(os.path.join(arguments.build, "fathom"))
os.makedirs(work, exist_ok=True)


def compiled(name, text, *flags):
    path = os.path.join(work, "sample-" + name)
    if not os.path.exists(path):
        with open(path + ".c", "w") as file:
            file.write(text)
        subprocess.run(["gcc", "-O2", "-g", *flags, path + ".c", "-o", path], check=True)
    return path


def numbers(count):
    path = os.path.join(work, f"sample-numbers-{count}")
    if not os.path.exists(path):
        with open(path, "w") as file:
            value = 1
            for _ in range(count):
                value = value * 48271 % 2147483647
                file.write(f"{value}\n")
    return path


def changed(count):
    """The same numbers, with every hundredth another one."""
    path = os.path.join(work, f"sample-changed-{count}")
    if not os.path.exists(path):
        with open(numbers(count)) as before, open(path, "w") as file:
            for i, line in enumerate(before):
                file.write(f"{i}\n" if i % 100 == 7 else line)
    return path


def source(count):
    """C for the compiler: so many functions."""
    path = os.path.join(work, f"sample-source-{count}.c")
    if not os.path.exists(path):
        with open(path, "w") as file:
            for i in range(count):
                file.write(f"int f{i}(int *a, int n) {{ int s = {i}; for (int i = 0; i < n; i++) if (a[i] % {i + 2} == 1) "
                           f"s += a[i] * {i % 7 + 1}; else s ^= a[n - i - 1] >> {i % 5}; return s; }}\n")
    return path


def compiler():
    return subprocess.run(["gcc", "-print-prog-name=cc1"], check=True, capture_output=True, text=True).stdout.strip()


MATMUL = """#include <stdio.h>
#include <stdlib.h>
static double a[260][260], b[260][260], c[260][260];
int main(int count, char **words) { int rounds = count > 1 ? atoi(words[1]) : 1;
for (int i = 0; i < 260; i++) for (int j = 0; j < 260; j++) a[i][j] = i + j, b[i][j] = i - j;
for (int r = 0; r < rounds; r++) for (int i = 0; i < 260; i++) for (int j = 0; j < 260; j++) { double s = 0;
for (int k = 0; k < 260; k++) s += a[i][k] * b[k][j]; c[i][j] += s; } printf("%g\\n", c[7][9]); }"""
STENCIL = """#include <stdio.h>
#include <stdlib.h>
static double a[600][600], b[600][600];
int main(int count, char **words) { int rounds = count > 1 ? atoi(words[1]) : 1;
for (int i = 0; i < 600; i++) for (int j = 0; j < 600; j++) a[i][j] = i * j % 7;
for (int t = 0; t < rounds; t++) {
_Pragma("omp parallel for") for (int i = 1; i < 599; i++) for (int j = 1; j < 599; j++)
b[i][j] = 0.25 * (a[i-1][j] + a[i+1][j] + a[i][j-1] + a[i][j+1]);
_Pragma("omp parallel for") for (int i = 1; i < 599; i++) for (int j = 1; j < 599; j++)
a[i][j] = b[i][j]; } printf("%g\\n", a[300][300]); }"""
LIST = """#include <stdio.h>
#include <stdlib.h>
struct node { struct node *next; long value[3]; };
int main(int count, char **words) { enum { N = 60000 }; long steps = count > 1 ? atol(words[1]) : 1;
struct node *all = malloc(N * sizeof *all); unsigned *order = malloc(N * sizeof *order);
unsigned x = 1; for (unsigned i = 0; i < N; i++) order[i] = i; for (unsigned i = N - 1; i > 0; i--) { x = x * 1664525u + 1013904223u;
unsigned k = (x >> 8) % (i + 1), t = order[i]; order[i] = order[k]; order[k] = t; }
for (unsigned i = 0; i < N; i++) { all[order[i]].next = &all[order[(i + 1) % N]]; all[i].value[0] = i; }
long sum = 0; struct node *at = all; for (long i = 0; i < steps; i++) { sum += at->value[0]++; at = at->next; }
printf("%ld\\n", sum); }"""
THREADS = """#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static long rounds;
static void *work(void *of) { static _Thread_local long data[4096]; unsigned x = 1; for (long r = 0; r < rounds; r++)
for (int i = 0; i < 4096; i++) { x = x * 1664525u + 1013904223u; data[i] += data[x >> 20] + r; } *(long *)of = data[7]; return NULL; }
int main(int count, char **words) { int threads = count > 1 ? atoi(words[1]) : 1; rounds = count > 2 ? atol(words[2]) : 1;
pthread_t all[64]; long found[64], sum = 0; for (int i = 1; i < threads; i++) pthread_create(&all[i], NULL, work, &found[i]);
work(&found[0]); for (int i = 1; i < threads; i++) pthread_join(all[i], NULL); for (int i = 0; i < threads; i++) sum += found[i];
printf("%ld\\n", sum); }"""
n = arguments.times
SQL = (f"create table t(a integer primary key, b); with recursive c(x) as (values(1) union all select x+1 from c where x<{120000 * n}) "
       "insert into t select x, x*7919%10007 from c; create index i on t(b); select count(*), sum(a) from t where b>500; "
       "select b, count(*) from t group by b order by 2 desc, 1 limit 5; select sum(t.a) from t join t u on t.b = u.a;")
PERL = ('my %h; my $s = 0; for my $i (1..' + str(400000 * n) + ') { $h{$i*7919%20011} .= "x"; '
        '$s += length $h{$i%20011} if exists $h{$i%20011}; } print "$s\\n"')
PYTHON = f"d={{}}\nfor i in range({250000 * n}):\n    d[i*7919%20011]=d.get(i*7919%20011,0)+i\nprint(sum(d.values()))"
AWK = "{ s += $1 % 1000; h[$1 % 5003]++ } END { print s; n = 0; for (k in h) n += h[k]; print n }"


def python():
    real = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    return real or os.path.realpath(sys.executable)


SUBJECTS = {
    "gzip": lambda: ["gzip", "-c", numbers(250000 * n)],
    "xz": lambda: ["xz", "-T1", "-1", "-c", numbers(100000 * n)],
    "sort": lambda: ["sort", "--parallel=1", numbers(250000 * n)],
    "sqlite": lambda: ["sqlite3", ":memory:", SQL],
    "perl": lambda: ["perl", "-e", PERL],
    "python": lambda: [python(), "-c", PYTHON],
    "awk": lambda: ["awk", AWK, numbers(250000 * n)],
    "cc1": lambda: [compiler(), "-quiet", "-O1", source(250 * n), "-o", "/dev/null"],
    "git": lambda: ["git", "--no-pager", "diff", "--no-index", "--stat", numbers(150000 * n), changed(150000 * n)],
    "matmul": lambda: [compiled("matmul", MATMUL), str(12 * n)],
    "stencil": lambda: [compiled("stencil", STENCIL), str(120 * n)],
    "list": lambda: [compiled("list", LIST), str(12000000 * n)],
}
# One with phases of two rates, for --bias: 1 of 51 accesses has the time distance 4,096, half of the time and more.
TWO_RATES = {"two rates": lambda: [compiled("two-rates", open(os.path.join(here, "..", "tests", "programs", "two_rates.c")).read()), str(4 * n)]}
# Two threads each.
os.environ.update(OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive")
THREADED = {
    "pigz -p 2": lambda: ["pigz", "-p", "2", "-c", numbers(400000 * n)],
    "xz -T2": lambda: ["xz", "-T2", "--block-size=262144", "-1", "-c", numbers(200000 * n)],
    "sort, 2 threads": lambda: ["sort", "--parallel=2", "-S", "256M", numbers(250000 * n)],
    "OpenMP stencil": lambda: [compiled("stencil-omp", STENCIL, "-fopenmp"), str(120 * n)],
}


def distances(profile):
    """Shares of the re-uses in the paper's bins."""
    shares = [0.0] * 20
    for low, high, count in profile["histogram"]:
        middle = (low + high) // 2
        shares[min(19, max(0, middle.bit_length() - 12))] += count
    whole = sum(shares) or 1
    return [share / whole for share in shares]


def forget(path):
    """So that what an earlier run left is not taken for this one's."""
    if os.path.exists(path):
        os.remove(path)


def profile_of(path, granularity):
    with open(path) as file:
        data = json.load(file)
    return next(p for p in data.get("profiles", [data]) if p["granularity"] == granularity)


def side_by_side(profile):
    """The threads of a profile, each by itself, added up."""
    bins = {}
    for thread in profile["parts"]:
        for low, high, count in thread["histogram"]:
            bins[low, high] = bins.get((low, high), 0) + count
    sums = {key: sum(thread[key] for thread in profile["parts"]) for key in ("references", "distinct", "cold")}
    return {key: value for key, value in profile.items() if key not in ("parts", "attribution", "run", "times")} | sums | {
        "histogram": [[low, high, count] for (low, high), count in sorted(bins.items())]}


def used():
    """Processor time of all that was run so far: fathom and Valgrind included."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def seconds_of(path):
    """Where it stands what making an exact profile took."""
    return path.removesuffix(".json") + ".seconds"


def exact(name, command, times=False):
    path = os.path.join(work, f"exact-{name}-{n}{'-time' if times else ''}.json".replace(" ", "_"))
    if not os.path.exists(path):
        part, begin = path + ".part", used()
        threads = ["--threads-private"] if name in THREADED else []
        done = subprocess.run([fathom, "run", "-q", "--no-sites", *(["--time"] if times else []), *threads, "-g", "8,64", "--json", part, "--force", "-o", os.devnull, "--", *command],
                              stdout=subprocess.DEVNULL)
        if done.returncode not in (0, 1):  # git says 1: there are differences
            sys.exit(f"bench_sample: {' '.join(command)}: cannot be measured")
        if threads:
            with open(part) as file:
                whole = json.load(file)
            with open(part, "w") as file:
                json.dump(whole | {"profiles": [side_by_side(p) if p.get("parts") else p for p in whole["profiles"]]}, file)
        os.rename(part, path)
        with open(seconds_of(path), "w") as file:
            file.write(str(used() - begin))
    return path


def accuracy(names):
    print("| | references, estimated / exact | S, paper's bins | S, log2 | error of the curve (64 B) | bursts | watches |")
    print("|---|---|---|---|---|---|---|")
    overall = []
    for name in names:
        command = EVERY[name]()
        truth = exact(name, command)
        rows = []
        for _ in range(arguments.repeat):
            found = os.path.join(work, f"sampled-{name}.json".replace(" ", "_"))
            forget(found)
            subprocess.run([fathom, "sample", "-q", "--rate", arguments.rate or "500", "-g", "8,64", "--no-sites", "--json", found, "--force", "-o",
                            os.devnull, "--", *command], stdout=subprocess.DEVNULL)
            a, b = profile_of(truth, 8), profile_of(found, 8)
            paper = 1 - sum(abs(x - y) for x, y in zip(distances(a), distances(b))) / 2
            likeness = {}
            for granularity in ("8", "64"):
                told = subprocess.run([fathom, "compare", "-q", "--select", granularity, "--json", "-", truth, found], check=True,
                                      capture_output=True, text=True)
                likeness[granularity] = json.loads(told.stdout)
            sampling = b["sampling"]
            rows.append((b["references"] / a["references"], paper, likeness["8"]["similarity"], likeness["64"]["curve_mean"],
                         sampling["bursts"], sampling.get("used", 0) + sampling.get("replaced", 0) + sampling.get("never", 0)))
        middle = [statistics.median(row[i] for row in rows) for i in range(6)]
        overall.append(middle)
        print(f"| {name} | {middle[0]:.2f} | {middle[1]:.3f} | {middle[2]:.3f} | {middle[3]:.4f} | {middle[4]:.0f} | {middle[5]:.0f} |",
              flush=True)
    if len(overall) > 1:
        median = [statistics.median(row[i] for row in overall) for i in range(6)]
        print(f"| median | {median[0]:.2f} | {median[1]:.3f} | {median[2]:.3f} | {median[3]:.4f} | | |")
        print(f"| worst | | {min(row[1] for row in overall):.3f} | {min(row[2] for row in overall):.3f} | "
              f"{max(row[3] for row in overall):.4f} | | |")


def long_share(profile, from_words=2048):
    """Of all uses, those whose time distance is longer, or that were never used again."""
    if "times" not in profile:
        return None
    return (sum(count for low, _, count in profile["times"] if low >= from_words) + profile["cold"]) / profile["references"]


def bias(names):
    print("| | long: exact | one rate | local rates | error of the curve: one rate | local rates |")
    print("|---|---|---|---|---|---|")
    overall = []
    for name in names:
        command = EVERY[name]()
        truth = exact(name, command, times=True)
        wanted = long_share(profile_of(truth, 8))
        row = {}
        for mode, option in (("mean", ["--mean-rate"]), ("local", [])):
            shares, errors = [], []
            for _ in range(arguments.repeat):
                found = os.path.join(work, f"bias-{name}.json".replace(" ", "_"))
                forget(found)
                subprocess.run([fathom, "sample", "-q", *option, "--method", "software", "--rate", arguments.rate or "500", "-g", "8,64",
                                "--no-sites", "--json", found, "--force", "-o", os.devnull, "--", *command], stdout=subprocess.DEVNULL)
                shares.append(long_share(profile_of(found, 8)))
                told = subprocess.run([fathom, "compare", "-q", "--select", "64", "--json", "-", truth, found], check=True,
                                      capture_output=True, text=True)
                errors.append(json.loads(told.stdout)["curve_mean"])
            row[mode] = statistics.median(shares), statistics.median(errors)
        overall.append((abs(row["mean"][0] - wanted), abs(row["local"][0] - wanted), row["mean"][1], row["local"][1]))
        print(f"| {name} | {wanted:.3f} | {row['mean'][0]:.3f} | {row['local'][0]:.3f} | {row['mean'][1]:.4f} | {row['local'][1]:.4f} |",
              flush=True)
    if len(overall) > 1:
        for word, kind in (("median", statistics.median), ("worst", max)):
            off = [kind(row[i] for row in overall) for i in range(4)]
            print(f"| {word} | off by | {off[0]:.3f} | {off[1]:.3f} | {off[2]:.4f} | {off[3]:.4f} |")


def timer_program():
    """A program's own times are told by a wrapper around it: bash's `times` would count the receiver."""
    return compiled("clock", """#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv) { (void)argc; struct timespec a, b; clock_gettime(CLOCK_MONOTONIC, &a); pid_t p = fork();
if (p == 0) { execvp(argv[2], argv + 2); _exit(127); } int s; struct rusage u; wait4(p, &s, 0, &u); clock_gettime(CLOCK_MONOTONIC, &b);
FILE *f = fopen(argv[1], "w"); fprintf(f, "%.6f %.6f", (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec),
(double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec)); fclose(f);
return WIFEXITED(s) ? WEXITSTATUS(s) : 128; }""")


def timer():
    clock = timer_program()
    told = os.path.join(work, "sample-times")

    def measure(prefix, command):
        full = [*prefix, clock, told, *command]
        subprocess.run(full, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(told) as file:
            return [float(x) for x in file.read().split()]

    return measure


SETTINGS = {"1 %": ["--overhead", "1%"], "2 %": [], "5 %": ["--overhead", "5%"], "10 %": ["--overhead", "10%"],
            "500 Hz": ["--rate", "500"], "1,000 Hz": ["--rate", "1000"]}


def tradeoff(names):
    measure = timer()
    for name in names:
        command = EVERY[name]()
        truth = profile_of(exact(name, command), 8)
        alone = [measure([], command) for _ in range(arguments.repeat)]
        cpu = statistics.median(row[1] for row in alone)
        word = name.replace(" ", "_")
        kept = seconds_of(exact(name, command))
        if os.path.exists(kept):
            with open(kept) as file:
                print(f"bench=tradeoff program={word} setting=run overhead={float(file.read()) / cpu - 1:.4f} s=1 bursts=0", flush=True)
        for setting, options in SETTINGS.items():
            rows = []
            for _ in range(arguments.repeat):
                found = os.path.join(work, f"tradeoff-{word}.json")
                forget(found)
                took = measure([fathom, "sample", "-q", "--method", "software", "--follow-children", *options, "-g", "8", "--no-sites",
                                "--json", found, "--force", "-o", os.devnull, "--"], command)
                if not os.path.exists(found):  # it was too short for a sample
                    continue
                whole = profile_of(found, 8)
                part = max(whole.get("parts", [whole]), key=lambda one: one["references"])  # not the wrapper
                likeness = 1 - sum(abs(x - y) for x, y in zip(distances(truth), distances(part))) / 2
                rows.append((took[1] / cpu - 1, likeness, whole["sampling"]["bursts"]))
            if not rows:
                continue
            middle = [statistics.median(row[i] for row in rows) for i in range(3)]
            print(f"bench=tradeoff program={word} setting={setting.replace(' ', '_')} overhead={middle[0]:.4f} s={middle[1]:.4f} "
                  f"bursts={middle[2]:.0f}", flush=True)


def interval(pairs):
    """By how much the second of each pair is larger, in the middle, and the bounds of 95 % of what other choices of as many of these pairs give."""
    chance = random.Random(1)

    def middle(some):
        return statistics.median(b / a for a, b in some) - 1

    drawn = sorted(middle(chance.choices(pairs, k=len(pairs))) for _ in range(1000))
    return middle(pairs), drawn[25], drawn[974]


def side_by_side_times(prefix, command):
    """Processor seconds of a run alone and of one behind `prefix`, both at the same time on the last processor: that of
    the program, and that of all processes. What else goes on in the machine meets both alike."""
    clock = timer_program()
    processor = str(max(os.sched_getaffinity(0)))
    told = [os.path.join(work, f"sample-times-{i}") for i in range(2)]
    runs = [subprocess.Popen([*before, "taskset", "-c", processor, clock, path, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for before, path in zip(([], prefix), told)]
    whole = []
    for run in runs:
        _, status, spent = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
        whole.append(spent.ru_utime + spent.ru_stime)
    own = [float(open(path).read().split()[1]) for path in told]
    return own, whole


def sampled():
    """What comes before a program whose overhead is measured."""
    rate = ["--rate", arguments.rate] if arguments.rate else []
    return [fathom, "sample", "-q", "--method", "software", "--follow-children", *rate, "-o", os.devnull, "--"]


def print_line(name, rows, found):
    """Of a program: the seconds of its run alone, and by how much the other one takes more, with intervals."""
    cells = " | ".join(f"{100 * one:+.1f} % ({100 * low:+.1f} to {100 * high:+.1f})" for one, low, high in found)
    print(f"| {name} | {statistics.median(row[0][0] for row in rows):.2f} s | {cells} |", flush=True)


def times_in_turn(prefix, command):
    """Wall and processor seconds of the program, in a run alone and in one behind `prefix`, one after the other."""
    path = os.path.join(work, "sample-times-0")
    told = []
    for before in random.sample(([], prefix), 2):
        subprocess.run([*before, timer_program(), path, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        told.append((before, [float(word) for word in open(path).read().split()]))
    told.sort(key=lambda one: len(one[0]))
    return tuple(zip(told[0][1], told[1][1]))


def wall(names):
    print("| | native | wall time | processor time of the program |")
    print("|---|---|---|---|")
    prefix = sampled()
    for name in names:
        rows = [times_in_turn(prefix, EVERY[name]()) for _ in range(arguments.repeat)]
        found = [interval([row[i] for row in rows]) for i in range(2)]
        print_line(name, rows, found)


def overhead(names):
    """The program's own processor time, and that of all processes (fathom until its results are written)."""
    print("| | native | processor time of the program | of all processes |")
    print("|---|---|---|---|")
    every = []
    prefix = sampled()
    for name in names:
        command = EVERY[name]()
        rows = [side_by_side_times(prefix, command) for _ in range(arguments.repeat)]
        found = [interval([row[i] for row in rows]) for i in range(2)]
        every.append([one[0] for one in found])
        print_line(name, rows, found)
    if len(every) > 1:
        print("| median | | " + " | ".join(f"{100 * statistics.median(one[i] for one in every):+.1f} %" for i in range(2)) + " |")
        print("| worst | | " + " | ".join(f"{100 * max(one[i] for one in every):+.1f} %" for i in range(2)) + " |")


def field(path, name):
    """Kilobytes of a line of a file of /proc; 0: the process is gone."""
    try:
        with open(path) as file:
            return next((int(line.split()[1]) for line in file if line.startswith(name + ":")), 0)
    except (OSError, IndexError):
        return 0


def child_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return next(iter(file.read().split()), None)
    except OSError:
        return None


def largest(prefix, command):
    """Kilobytes that the program holds at most: resident, and proportional. It is looked at each 3 ms."""
    most = [0, 0]
    process = subprocess.Popen([*prefix, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        pid = child_of(process.pid) if prefix else process.pid
        if pid:
            most = [max(most[0], field(f"/proc/{pid}/status", "VmHWM")), max(most[1], field(f"/proc/{pid}/smaps_rollup", "Pss"))]
        time.sleep(0.003)
    return most


def memory(names):
    settings = {"2 %": [], "1,000 Hz": ["--rate", "1000"]}
    print("| | alone, resident | " + " | ".join(f"more at {word}: resident | proportional" for word in settings) + " |")
    print("|---|---|" + "---|" * 2 * len(settings))
    programs = {name: EVERY[name]() for name in names}
    for threads in (1, 9):
        programs[f"{threads} thread{'s' if threads > 1 else ''}"] = [compiled("threads", THREADS, "-pthread"), str(threads),
                                                                   str((60000 if threads == 1 else 8000) * n)]
    found = {}
    for name, command in programs.items():
        rows = []
        for _ in range(arguments.repeat):
            alone = largest([], command)
            row = [alone[0]]
            for words in settings.values():
                sampled = largest([fathom, "sample", "-q", "--method", "software", *words, "-o", os.devnull, "--"], command)
                row += [sampled[0] - alone[0], sampled[1] - alone[1]]
            rows.append(row)
        found[name] = [statistics.median(row[i] for row in rows) / 1024 for i in range(1 + 2 * len(settings))]
        print(f"| {name} | {found[name][0]:.1f} MiB | " + " | ".join(f"{one:.1f} MiB" for one in found[name][1:]) + " |", flush=True)
    print("| each further thread | | " + " | ".join(f"{(many - one) / 8:.2f} MiB" for one, many in
                                                    zip(found["1 thread"][1:], found["9 threads"][1:])) + " |")


def equal(names, runs):
    """Sampled runs give what a run alone gives."""
    profile = os.path.join(work, f"equal-{os.getpid()}.json")

    def outcome(prefix, command):
        done = subprocess.run([*prefix, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        status = done.returncode
        if prefix and status in (0, 3):  # the program's own is in the profile
            with open(profile) as file:
                told = json.load(file)["run"]
            status = told["exit_code"] if told["ending"].startswith("exited") else told["ending"]
            os.remove(profile)
        return status, hashlib.sha256(done.stdout).hexdigest(), done.stderr

    alone = {name: outcome([], EVERY[name]()) for name in names}
    prefix = [fathom, "sample", "-q", "--rate", "1000", "--no-sites", "--json", profile, "--force", "-o", os.devnull, "--"]
    different = []
    for i in range(runs):
        name = names[i % len(names)]
        found = outcome(prefix, EVERY[name]())
        if found != alone[name]:
            different.append((name, found, alone[name]))
        if (i + 1) % 50 == 0:
            print(f"{i + 1} runs, {len(different)} differ", file=sys.stderr, flush=True)
    print(f"{runs} runs of {len(names)} programs at 1,000 samples a second: {len(different)} not equal to a run alone")
    for name, found, wanted in different[:5]:
        print(f"  {name}: {found} instead of {wanted}")
    return not different


EVERY = {**SUBJECTS, **THREADED, **TWO_RATES}
absent = [name for name in arguments.subjects or [*SUBJECTS, *THREADED] if not shutil.which(EVERY[name]()[0])]
if absent:
    print("not here: " + ", ".join(absent), file=sys.stderr)
if arguments.equal:
    sys.exit(0 if equal([name for name in arguments.subjects or [*SUBJECTS, *THREADED] if name not in absent], arguments.equal) else 1)
if arguments.memory:
    memory(arguments.subjects or [name for name in SUBJECTS if name not in absent])
    sys.exit(0)
if arguments.wall:
    wall(arguments.subjects or [name for name in THREADED if name not in absent])
    sys.exit(0)
if arguments.tradeoff:
    tradeoff(arguments.subjects or [name for name in SUBJECTS if name not in absent])
    sys.exit(0)
if arguments.bias:
    bias(arguments.subjects or [name for name in [*TWO_RATES, *SUBJECTS] if name not in absent])
    sys.exit(0)
for chosen in [arguments.subjects] if arguments.subjects else [list(SUBJECTS), list(THREADED)]:
    chosen = [name for name in chosen if name not in absent]
    if arguments.accuracy or not arguments.overhead:
        accuracy(chosen)
    if arguments.overhead:
        overhead(chosen)
    print()
