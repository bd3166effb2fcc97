#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well profiles of other inputs are predicted: the table beside table 2 of Ding & Zhong (PLDI 2003).

  bench_predict.py [--build DIR] [--work DIR] [--quick] [NAME...]

Every program is run with three sizes of input. Forward: trained with the two smaller ones, the largest is
predicted. Backward: trained with the smallest and the largest, the middle one is. Accuracy is 1 - E/2 on
power-of-two bins, over all references (as the paper's, whose example has 26 bins). Distances are those of 8-byte
elements, as in the paper. Coverage is the share of the largest run that was left when sampling its trace had found
the size of its data; 100 % where all patterns are constant. Programs in C are built by `fathom cc`, others run under
Valgrind.
"""
import argparse
import json
import math
import os
import shutil
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser()
parser.add_argument("--build", default=os.path.join(here, "..", "build"))
parser.add_argument("--work", default=os.path.join(here, "work", "predict"))
parser.add_argument("--quick", action="store_true", help="four programs only: shows that it works")
parser.add_argument("names", nargs="*")
options = parser.parse_args()
fathom = os.path.abspath(os.path.join(options.build, "fathom"))
work = os.path.abspath(options.work)
os.makedirs(work, exist_ok=True)

KERNELS = {  # name: sizes; the data of each is about four times that of the one before
    "matmul": (40, 80, 160),
    "matmul_blocked": (48, 96, 192),
    "stencil_1d": (20000, 80000, 320000),
    "stencil_2d": (100, 200, 400),
    "stencil_3d": (24, 38, 60),
    "fft": (4096, 16384, 65536),
    "lu": (60, 120, 240),
    "mergesort": (8000, 32000, 128000),
    "hashing": (10000, 40000, 160000),
    "tree_walk": (5000, 20000, 80000),
    "list_walk": (10000, 40000, 160000),
    "sparse": (3000, 12000, 48000),
    "edit_distance": (500, 1000, 2000),
}
QUICK = ("matmul", "stencil_2d", "list_walk", "gzip")


def text_file(kilobytes):
    """Some text of that size: the sources of fathom, over and over from other places."""
    path = os.path.join(work, f"text-{kilobytes}")
    if not os.path.exists(path):
        source = b"".join(
            open(os.path.join(root, name), "rb").read()
            for root, _, names in sorted(os.walk(os.path.join(here, "..", "src")))
            for name in sorted(names)
        )
        with open(path, "wb") as out:
            out.write(source[: kilobytes * 1024])
    return path


def c_file(functions):
    """C code of so many functions, all different."""
    path = os.path.join(work, f"code-{functions}.c")
    with open(path, "w") as out:
        for i in range(functions):
            out.write(f"int f{i}(int x, int *v) {{ int s = {i}; for (int k = 0; k < x; k++) "
                      f"{{ if (v[k] > {i % 13}) s += v[k] * {i % 7 + 1}; else s ^= v[k] >> {i % 5}; }} "
                      f"return s + (x % {i % 11 + 2}); }}\n")
    return path


def sql_file(rows):
    path = os.path.join(work, f"rows-{rows}.sql")
    with open(path, "w") as out:
        out.write("create table t(a integer primary key, b text, c integer); begin;\n")
        for i in range(rows):
            out.write(f"insert into t values({i}, 'name {i * 7919 % rows}', {i * 104729 % 1000});\n")
        out.write("commit; create index i on t(c);\n")
        for i in range(0, 1000, 20):
            out.write(f"select count(*), max(b) from t where c = {i};\n")
        out.write("select c, count(*) from t group by c order by 2 limit 3;\n")
    return path


PERL = "my %h; for my $i (1..$ARGV[0]) { $h{$i * 7919 % 65537} .= $i; } my $n = 0; for (1..3) { for my $k (sort keys %h) { $n += length $h{$k}; } } print $n;"
PROGRAMS = {  # name: (sizes, size -> command, standard input)
    "gzip": ((64, 128, 256), lambda n: ["gzip", "-c", text_file(n)], None),
    "zstd": ((64, 128, 256), lambda n: ["zstd", "-q", "-c", "--single-thread", text_file(n)], None),
    "perl": ((1000, 3000, 9000), lambda n: ["perl", "-e", PERL, str(n)], None),
    "sqlite3": ((500, 1500, 4500), lambda n: ["sqlite3", ":memory:"], sql_file),
    "cc1": ((20, 60, 180), lambda n: [cc1, "-quiet", "-O1", c_file(n), "-o", os.devnull], None),
}
cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True).stdout.strip()


def run(*arguments, **keywords):
    done = subprocess.run(arguments, capture_output=True, text=True, errors="replace", **keywords)
    if done.returncode:
        sys.exit(f"bench_predict: {' '.join(arguments)}: {done.stderr}")
    return done


def commands_of(name):
    """(size, command, standard input) of each input; None where the program is not there."""
    if name in KERNELS:
        binary = os.path.join(work, name)
        run(fathom, "cc", "-O2", "-I", os.path.join(here, "programs"), "-o", binary,
            os.path.join(here, "programs", name + ".c"))
        return [(n, [binary, str(n)], None) for n in KERNELS[name]]
    sizes, command, standard_input = PROGRAMS[name]
    if not shutil.which(command(sizes[0])[0]):
        return None
    return [(n, command(n), standard_input(n) if standard_input else None) for n in sizes]


def bars(profile):
    """Shares of all references by power-of-two bins; first touches last."""
    found = {}
    for low, high, count in profile["histogram"]:
        # A bin of ours is within one power of two.
        found[low.bit_length()] = found.get(low.bit_length(), 0) + count / profile["references"]
    found["cold"] = profile["cold"] / profile["references"]
    return found


def overlap(a, b):
    x, y = bars(a), bars(b)
    return 1 - sum(abs(x.get(k, 0) - y.get(k, 0)) for k in set(x) | set(y)) / 2


def predict(training, target, model):
    """Accuracy, expected accuracy and the patterns found."""
    run(fathom, "train", "-q", "-o", model, *training)
    actual = json.load(open(target))
    told = json.loads(run(fathom, "predict", "-q", model, "--data-size", str(actual["distinct"]), "--json", "-").stdout)
    patterns = json.load(open(model))["patterns"]
    return overlap(told, actual), told["accuracy"]["expected_overlap"], patterns


def coverage_of(name, command, standard_input, model, patterns):
    """The share of the trace that is left when its beginning has told the size; None where nothing was found."""
    if set(patterns) == {"constant"}:
        return 1.0
    trace = os.path.join(work, name + ".fathom")
    run(fathom, "record", "-q", "-o", trace, "--", *command,
        stdin=open(standard_input) if standard_input else subprocess.DEVNULL)
    done = subprocess.run([fathom, "predict", model, "--sample", trace, "--json", os.devnull],
                          capture_output=True, text=True)
    os.unlink(trace)
    for line in done.stderr.splitlines():
        if "a coverage of" in line:
            return float(line.split("a coverage of")[1].split("%")[0]) / 100
    return None


def profile_of(name, size, command, standard_input):
    path = os.path.join(work, f"{name}-{size}.json")
    if not os.path.exists(path):
        run(fathom, "run", "-q", "--no-sites", "--granularity", "8", "--json", path, "--output", os.devnull, "--", *command,
            stdin=open(standard_input) if standard_input else subprocess.DEVNULL)
    return path


def percent(value):
    return "-" if value is None else f"{100 * value:.1f}"


names = options.names or list(QUICK if options.quick else [*KERNELS, *PROGRAMS])
print("| program | sizes | references of the largest | patterns | forward, % | expected | backward, % | expected | coverage, % |")
print("|---|---|--:|---|--:|--:|--:|--:|--:|")
accuracies, distrusted, coverages = [], [], []
for name in names:
    inputs = commands_of(name)
    if not inputs:
        print(f"bench_predict: {name} is left out: it is not installed", file=sys.stderr)
        continue
    paths = [profile_of(name, *one) for one in inputs]
    model = os.path.join(work, name + ".model")
    backward = predict((paths[0], paths[2]), paths[1], model)
    forward = predict(paths[:2], paths[2], model)
    coverage = coverage_of(name, inputs[2][1], inputs[2][2], model, forward[2])
    for accuracy, expected, _ in (forward, backward):
        accuracies.append(accuracy)
        if accuracy < 0.85:
            distrusted.append((name, accuracy, expected))
    if coverage is not None:
        coverages.append(coverage)
    references = json.load(open(paths[2]))["references"]
    patterns = ", ".join(f"{k} {100 * v:.0f}" for k, v in forward[2].items())
    print(f"| {name} | {', '.join(str(n) for n, _, _ in inputs)} | {references} | {patterns} | {percent(forward[0])} | "
          f"{percent(forward[1])} | {percent(backward[0])} | {percent(backward[1])} | {percent(coverage)} |", flush=True)
mean = math.fsum(accuracies) / len(accuracies)
print(f"\nMean accuracy {100 * mean:.1f} % (paper: 93.7), worst {100 * min(accuracies):.1f} % (paper: 81.8), mean coverage "
      f"{percent(math.fsum(coverages) / len(coverages) if coverages else None)} % of {len(coverages)} (paper: 98.8).")
for name, accuracy, expected in distrusted:
    print(f"Below 85 %: {name}, {100 * accuracy:.1f} %, expected {100 * expected:.1f} %"
          f"{'' if expected < 0.85 else ': the model trusted it'}.")
if "BENCH_LINES" in os.environ:
    with open(os.environ["BENCH_LINES"], "a") as lines:
        lines.write(f"bench=predict mean_accuracy={mean:.4f} worst={min(accuracies):.4f}\n")
