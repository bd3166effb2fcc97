#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far profiles from samples are from the truth: estimators, numbers of samples and registers, on recorded programs.

  bench_sample_accuracy.py [--build DIR] [--work DIR] [--seeds N] [--first N] [--references N] [--jobs N]
                           [--quick] [--figures DIR] [NAME...]

Records the programs (Valgrind, or `fathom cc` for the kernels of bench/programs), each up to --references accesses,
adds the paper's listings 1 and 2 and a stream with phases, and shows each to the virtual sampler (bench_sample) with
every seed, from --first on (5,000 samples and more, and other numbers of registers, with the first three). Prints the tables of bench/RESULTS.md; with --figures, draws figures 4, 6 and 7 of the paper (Wang et al.,
HPCA 2019) for these programs: sample-time.svg, sample-registers.svg, sample-stack.svg. Blocks are 8-byte words.
Traces and results are kept in the work directory and used again.
"""
import argparse
import concurrent.futures
import os
import statistics
import subprocess
import sys

from predict_programs import Inputs, programs

here = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser()
parser.add_argument("--build", default=os.path.join(here, "..", "build"))
parser.add_argument("--work", default=os.path.join(here, "work", "sample"))
parser.add_argument("--seeds", type=int, default=10)
parser.add_argument("--first", type=int, default=1, help="the first seed")
parser.add_argument("--references", type=int, default=42000000)
parser.add_argument("--jobs", type=int, default=2, help="programs at the same time")
parser.add_argument("--quick", action="store_true", help="1,000 samples and no bands, for many seeds: one table")
parser.add_argument("--figures", help="folder for the pictures")
parser.add_argument("names", nargs="*")
options = parser.parse_args()
build, work = os.path.abspath(options.build), os.path.abspath(options.work)
fathom = os.path.join(build, "fathom")
os.makedirs(work, exist_ok=True)

# Sizes with 25 to 42 M references, or cut off there.
KERNELS = {"matmul": 240, "stencil_2d": 800, "stencil_3d": 100, "fft": 262144, "list_walk": 1000000,
           "hash_join": 1400000, "lu": 330, "mergesort": 600000}
SYNTHETIC = ("listing1", "listing2", "phases")
REAL = {"gzip": 900, "xz": 400, "bzip2": 500, "zstd": 3000, "sort": 30000, "sqlite3": 12000, "perl": 20000,
        "python3": 40000, "cc1": 400}
GIT = ["git", "--no-pager", "-C", os.path.join(here, ".."), "log", "--stat", "-n", "120"]
COUNTS = (200, 1000, 5000, 20000)


def run(*arguments, **keywords):
    return subprocess.run(arguments, check=True, **keywords)


def build_kernel(name):
    program = os.path.join(work, name)
    if not os.path.exists(program):
        run(fathom, "cc", "-O2", "-g", os.path.join(here, "programs", name + ".c"), "-o", program, "-lm")
    return [program, str(KERNELS[name])]


def record(name):
    """The trace of a program, made once."""
    trace = os.path.join(work, name + ".fathom")
    if os.path.exists(trace):
        return trace
    stdin = None
    if name in KERNELS:
        command = build_kernel(name)
    elif name == "git":
        command = GIT
    else:
        inputs = Inputs(work)
        _, _, make, feed = programs(inputs)[name]
        command = make(REAL[name])
        stdin = feed(REAL[name]) if feed else None
    with open(stdin or os.devnull, "rb") as given:
        done = subprocess.run([fathom, "record", "-q", "--limit", str(options.references), "--at-limit", "stop", "-o",
                               trace + ".part.fathom", "--force", "--", *command], stdin=given, stdout=subprocess.DEVNULL)
    if done.returncode not in (0, 3):
        sys.exit(f"bench_sample_accuracy: {' '.join(command)}: cannot be recorded")
    os.rename(trace + ".part.fathom", trace)
    return trace


def lines_of(name, seeds):
    """What bench_sample says of it: one dictionary for each estimate."""
    quick = "-quick" if options.quick and seeds else ""
    kept = os.path.join(work, f"{name}-{options.first}-{seeds}-{options.references}{quick}.lines")
    if not os.path.exists(kept):
        source = name if name in SYNTHETIC else record(name)
        with open(kept + ".part", "w", encoding="utf-8") as out:
            run(os.path.join(build, "bench", "bench_sample"), name, source, str(seeds), str(options.references),
                str(options.first), *(["quick"] if options.quick and seeds else []), stdout=out)
        os.rename(kept + ".part", kept)
    with open(kept, encoding="utf-8") as lines:
        return [dict(word.split("=", 1) for word in line.split()) for line in lines]


names = options.names or [*REAL, "git", *KERNELS, *SYNTHETIC]
with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
    everything = dict(zip(names, pool.map(lambda name: lines_of(name, options.seeds) + lines_of(name, 0), names)))


def by_program(value, **wanted):
    """The median over seeds of a number, for each program that has it."""
    found = {}
    for name, lines in everything.items():
        values = [float(line[value]) for line in lines if all(line[key] == str(of) for key, of in wanted.items())]
        if values:
            found[name] = statistics.mean(values) if value == "mae" else statistics.median(values)
    return found


def cell(value, places, **wanted):
    """Median and worst over programs."""
    found = list(by_program(value, **wanted).values())
    if len(found) < len(names) * 0.6:
        return "–"
    worst = max(found) if value == "mae" else min(found)
    return f"{statistics.median(found):.{places}f} / {worst:.{places}f}"


ROWS = (
    ("rdx, each trap once, Shen", dict(design="plain", estimator="rdx-trapped", conversion="shen")),
    ("rdx, the paper's, Shen", dict(design="plain", estimator="rdx", conversion="shen")),
    ("rdx with average eviction time", dict(design="plain", estimator="rdx", conversion="aet")),
    ("Horvitz–Thompson", dict(design="plain", estimator="horvitz-thompson")),
    ("Kaplan–Meier, not weighted", dict(design="plain", estimator="kaplan-meier")),
    ("weighted, the paper's reservoir", dict(design="plain", estimator="capped")),
    ("capped, each sample watched once", dict(design="once", estimator="capped")),
    ("**capped** (default)", dict(design="capped", estimator="capped")),
    ("bursts of 4 Ki, one watch", dict(design="bursts", estimator="capped")),
    ("bursts of 4 to 256 Ki, one watch", dict(design="mixed", estimator="capped")),
    ("bound: every sample resolved", dict(design="bound", estimator="capped")),
)


def table(title, value, places):
    print(f"\n{title}\n\n| | " + " | ".join(f"{count:,}" for count in COUNTS) + " |\n|---|" + "---|" * len(COUNTS))
    for label, wanted in ROWS:
        cells = (cell(value, places, registers=4, samples=count, **wanted) for count in COUNTS)
        print(f"| {label} | " + " | ".join(cells) + " |")


def covered(**wanted):
    """Points within the band, of all; and the worst program."""
    each = []
    for lines in everything.values():
        chosen = [line for line in lines if all(line[key] == str(of) for key, of in wanted.items())]
        points = sum(int(line["of"]) for line in chosen)
        if points:
            each.append((sum(int(line["in"]) for line in chosen), points))
    if len(each) < len(names) * 0.6:
        return "–"
    return f"{sum(x for x, _ in each) / sum(y for _, y in each):.3f} / {min(x / y for x, y in each):.2f}"


def quick_table():
    columns = ("capped", "once", "jitter", "bound")
    print(f"Error of the curve, 1,000 samples, {options.seeds} seeds from {options.first} on\n\n| | "
          + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
    for label, value in (("median / worst", "mae"), ("S of time", "stp"), ("S of distances", "sdp")):
        print(f"| {label} | " + " | ".join(cell(value, 4, design=design) for design in columns) + " |")
    for name in names:
        print(f"| {name} | " + " | ".join(f"{by_program('mae', design=design)[name]:.4f}" for design in columns) + " |")


def conversions():
    print("\nThe conversions alone, from the time distances of all references\n\n"
          "| | error of the curve | S, the paper's bins | S, powers of two |\n|---|---|---|---|")
    for label, wanted in (("average eviction time, in windows", dict(estimator="capped", conversion="aet")),
                          ("average eviction time, of the run", dict(estimator="kaplan-meier", conversion="aet")),
                          ("Shen", dict(conversion="shen"))):
        print(f"| {label} | " + " | ".join(cell(value, places, design="all", **wanted)
                                           for value, places in (("mae", 4), ("sdp", 3), ("sd", 3))) + " |")


if options.quick:
    quick_table()
    sys.exit()
print(f"{len(names)} programs, {options.seeds} seeds ({min(3, options.seeds)} with 5,000 samples and more), 4 registers. "
      "Cells: median over programs / worst program.")
table("Mean absolute error of the miss-ratio curve", "mae", 4)
table("S of time distances, the paper's bins", "stp", 3)
table("S of time distances, power-of-two bins", "st", 3)
table("S of distances, the paper's bins", "sdp", 3)
table("S of distances, power-of-two bins", "sd", 3)
print("\nPoints of the curve within the 95 % band: all / worst program\n\n| | "
      + " | ".join(f"{count:,}" for count in COUNTS) + " |\n|---|" + "---|" * len(COUNTS))
for label, wanted in ROWS:
    print(f"| {label} | " + " | ".join(covered(registers=4, samples=count, **wanted) for count in COUNTS) + " |")
print("\nBy registers, 5,000 samples: error of the curve; S of time distances (the paper's bins)\n\n"
      "| | 1 | 2 | 3 | 4 |\n|---|---|---|---|---|")
for label, wanted in (ROWS[1], ROWS[0], ROWS[7]):
    for value, places in (("mae", 4), ("stp", 3)):
        print(f"| {label}, {'error' if value == 'mae' else 'S'} | "
              + " | ".join(cell(value, places, samples=5000, registers=k, **wanted) for k in (1, 2, 3, 4)) + " |")
print("\nHow samples are drawn, each watched once, 1,000 samples: error of the curve\n\n| | |\n|---|---|")
for label, design in (("periods of a half to three halves", "jitter"), ("one sample in each period", "once")):
    print(f"| {label} | {cell('mae', 4, design=design, samples=1000, registers=4)} |")
conversions()
print("\nEach program, 1,000 samples: error of the curve, S of time and of distances (the paper's bins), band\n\n"
      "| | capped | | | | once | rdx | | | bound | conversion |\n|---|---|---|---|---|---|---|---|---|---|---|")
for name in names:
    row = []
    for _, wanted in (ROWS[7], ROWS[1]):
        for value, places in (("mae", 4), ("stp", 3), ("sdp", 3)):
            row.append(f"{by_program(value, registers=4, samples=1000, **wanted).get(name, float('nan')):.{places}f}")
        if wanted["estimator"] == "capped":
            chosen = [line for line in everything[name] if line["samples"] == "1000" and line["registers"] == "4"
                      and line["design"] == "capped"]
            points = sum(int(line["of"]) for line in chosen)
            row.append(f"{sum(int(line['in']) for line in chosen) / points:.2f}" if points else "–")
            once = by_program("mae", registers=4, samples=1000, **ROWS[6][1])
            row.append(f"{once.get(name, float('nan')):.4f}")
    row.append(f"{by_program('mae', registers=4, samples=1000, **ROWS[10][1]).get(name, float('nan')):.4f}")
    row.append(f"{by_program('mae', design='all', estimator='capped', conversion='aet').get(name, float('nan')):.4f}")
    print(f"| {name} | " + " | ".join(row) + " |")


# ---- the paper's figures ----

COLOURS = ("#0b66c3", "#d1570a", "#0a8a6b", "#a33ea1", "#8a7400", "#c2304f")
WIDE, HIGH, LEFT, TOP, BOTTOM = 1100, 360, 50, 60, 90


def picture(path, title, value, series):
    """Groups of bars: a group for each program, a bar for each of the series (label, what is wanted)."""
    group = (WIDE - LEFT - 10) / len(names)
    bar = group * 0.8 / len(series)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" font-family="sans-serif" '
           'font-size="12">',
           f'<rect width="{WIDE}" height="{HIGH}" fill="#ffffff"/>',
           f'<text x="{LEFT}" y="20" font-size="14" fill="#1f2933">{title}</text>']
    tall = HIGH - TOP - BOTTOM
    for step in range(0, 11, 2):
        up = TOP + tall * (1 - step / 10)
        out.append(f'<line x1="{LEFT}" x2="{WIDE - 10}" y1="{up:.1f}" y2="{up:.1f}" stroke="#dde3ea"/>'
                   f'<text x="{LEFT - 6}" y="{up + 4:.1f}" text-anchor="end" fill="#5b6675">{step / 10:.1f}</text>')
    for k, (label, wanted) in enumerate(series):
        found = by_program(value, **wanted)
        middle = statistics.median(found.values())
        out.append(f'<rect x="{LEFT + k * 175}" y="32" width="12" height="12" fill="{COLOURS[k]}"/>'
                   f'<text x="{LEFT + k * 175 + 17}" y="43" fill="#1f2933">{label} (median {middle:.2f})</text>')
        for i, name in enumerate(names):
            if name not in found:
                continue
            high = tall * max(0, found[name])
            out.append(f'<rect x="{LEFT + i * group + group * 0.1 + k * bar:.1f}" y="{TOP + tall - high:.1f}" '
                       f'width="{bar:.1f}" height="{high:.1f}" fill="{COLOURS[k]}"/>')
    for i, name in enumerate(names):
        at, up = LEFT + (i + 0.5) * group, HIGH - BOTTOM + 14
        out.append(f'<text x="{at:.1f}" y="{up}" text-anchor="end" fill="#1f2933" '
                   f'transform="rotate(-40 {at:.1f} {up})">{name}</text>')
    out.append("</svg>")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


if options.figures:
    os.makedirs(options.figures, exist_ok=True)
    papers = dict(design="plain", estimator="rdx", conversion="shen")
    periods = [(f"1 in {options.references // count:,}", dict(samples=count, registers=4, **papers))
               for count in reversed(COUNTS)]
    ours = ("capped, 1 in {:,}".format(options.references // 5000),
            dict(design="capped", estimator="capped", samples=5000, registers=4))
    picture(os.path.join(options.figures, "sample-time.svg"),
            "Figure 4: S of time distances by period, the paper's estimator", "stp", periods + [ours])
    picture(os.path.join(options.figures, "sample-stack.svg"),
            "Figure 7: S of distances by period, the paper's estimator", "sdp", periods + [ours])
    picture(os.path.join(options.figures, "sample-registers.svg"),
            "Figure 6: S of time distances by registers, and without proportional attribution; 5,000 samples", "stp",
            [(f"{k} register{'s' if k > 1 else ''}", dict(samples=5000, registers=k, **papers)) for k in (1, 2, 3, 4)]
            + [("4, each trap once", dict(samples=5000, registers=4, design="plain", estimator="rdx-trapped"))])
