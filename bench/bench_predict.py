#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well profiles of other inputs are predicted, and whether they are as good as the model expects.

  bench_predict.py [--build DIR] [--work DIR] [--quick] [--part PART] [NAME...]

accuracy: the table beside table 2 of Ding & Zhong (PLDI 2003). Every program is run with three sizes of input. Forward:
trained with the two smaller ones, the largest is predicted. Backward: trained with the smallest and the largest, the
middle one is. Accuracy is 1 - E/2 on power-of-two bins, over all references (as the paper's, whose example has 26 bins).
Distances are those of 8-byte elements, as in the paper. Coverage is the share of the largest run that was left when
sampling its trace had found the size of its data; 100 % where all patterns are constant. Programs in C are built by
`fathom cc`, others run under Valgrind.

calibration: five sizes of each program, at 8 and at 64 bytes a block; a model of each choice of two to four of them
predicts each of the others. What the model expects is a limit: it holds when the overlap reached is no lower, and when
the number of references is between the two that it tells. Separately for the programs that the rule was made with, and
for those that it was never shown.
"""
import argparse
import concurrent.futures
import itertools
import json
import math
import os
import subprocess
import sys

from predict_programs import PAPER, TUNED, UNTUNED, Case, run

here = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser()
parser.add_argument("--build", default=os.path.join(here, "..", "build"))
parser.add_argument("--work", default=os.path.join(here, "work", "predict"))
parser.add_argument("--quick", action="store_true", help="four programs only: shows that it works")
parser.add_argument("--part", choices=("accuracy", "calibration"), help="one of the two only")
parser.add_argument("names", nargs="*")
options = parser.parse_args()
fathom = os.path.abspath(os.path.join(options.build, "fathom"))
work = os.path.abspath(options.work)
os.makedirs(work, exist_ok=True)
QUICK = ("matmul", "stencil_2d", "list_walk", "gzip")


def bars(profile):
    """Shares of all references by power-of-two bins; first touches last."""
    found = {}
    for low, _, count in profile["histogram"]:
        # A bin of ours is within one power of two.
        found[low.bit_length()] = found.get(low.bit_length(), 0) + count / profile["references"]
    found["cold"] = profile["cold"] / profile["references"]
    return found


def overlap(a, b):
    x, y = bars(a), bars(b)
    return 1 - sum(abs(x.get(k, 0) - y.get(k, 0)) for k in set(x) | set(y)) / 2


def profiles_of(path):
    """By granularity."""
    return {one["granularity"]: one for one in json.load(open(path))["profiles"]}


def train(training, granularity, model):
    run(fathom, "train", "-q", "-o", model, "--force", "--granularity", str(granularity), *training)


def predict(model, size):
    return json.loads(run(fathom, "predict", "-q", model, "--data-size", str(size), "--json", "-").stdout)


def cases_of(names):
    for name in names:
        case = Case(name, fathom, work)
        if case.there:
            yield case
        else:
            print(f"bench_predict: {name} is left out: it is not installed", file=sys.stderr)


def percent(value):
    return "-" if value is None else f"{100 * value:.1f}"


def mean(values):
    return math.fsum(values) / len(values) if values else None


def add_line(text):
    if "BENCH_LINES" in os.environ:
        with open(os.environ["BENCH_LINES"], "a") as lines:
            lines.write(text + "\n")


# ---- accuracy ----

def coverage_of(case, model, patterns):
    """The share of the trace that is left when its beginning has told the size; None where nothing was found."""
    if set(patterns) == {"constant"}:
        return 1.0
    trace = os.path.join(work, case.name + ".fathom")
    size = case.sizes[2]
    run(fathom, "record", "-q", "-o", trace, "--force", "--", *case.command(size), stdin=case.standard_input(size))
    done = subprocess.run([fathom, "predict", model, "--size-from", trace, "--json", os.devnull],
                          capture_output=True, text=True)
    os.unlink(trace)
    for line in done.stderr.splitlines():
        if "a coverage of" in line:
            return float(line.split("a coverage of")[1].split("%")[0]) / 100
    return None


def reached_and_expected(training, target, model):
    train(training, 8, model)
    actual = profiles_of(target)[8]
    told = predict(model, actual["distinct"])
    return overlap(told, actual), told["accuracy"]["expected_overlap"]


def accuracy(names):
    print("| program | sizes | largest | patterns | forward, % | expected | backward, % | expected "
          "| coverage, % |")
    print("|---|---|--:|---|--:|--:|--:|--:|--:|")
    accuracies, distrusted, coverages, held = [], [], [], []
    for case in cases_of(names):
        paths = [case.profile(size) for size in case.sizes]
        model = os.path.join(work, case.name + ".model")
        backward = reached_and_expected((paths[0], paths[2]), paths[1], model)
        forward = reached_and_expected(paths[:2], paths[2], model)
        patterns = json.load(open(model))["patterns"]
        coverage = coverage_of(case, model, patterns)
        for reached, expected in (forward, backward):
            accuracies.append(reached)
            held.append(reached >= expected)
            if reached < 0.85:
                distrusted.append((case.name, reached, expected))
        if coverage is not None:
            coverages.append(coverage)
        references = json.load(open(paths[2]))["references"]
        found = ", ".join(f"{k} {100 * v:.0f}" for k, v in patterns.items())
        print(f"| {case.name} | {' '.join(map(str, case.sizes))} | {references / 1e6:.1f} M | {found} | {percent(forward[0])} | "
              f"{percent(forward[1])} | {percent(backward[0])} | {percent(backward[1])} | {percent(coverage)} |",
              flush=True)
    print(f"\nMean accuracy {percent(mean(accuracies))} % (paper: 93.7), worst {percent(min(accuracies))} % (paper: 81.8), "
          f"mean coverage {percent(mean(coverages))} % of {len(coverages)} (paper: 98.8). "
          f"The expectation held in {sum(held)} of {len(held)} cases.")
    for name, reached, expected in distrusted:
        print(f"Below 85 %: {name}, {percent(reached)} %, expected {percent(expected)} %"
              f"{'' if expected < 0.85 else ': the model trusted it'}.")
    add_line(f"bench=predict mean_accuracy={mean(accuracies):.4f} worst={min(accuracies):.4f}")


# ---- calibration ----

class Outcome:
    """One prediction: what was expected of it, and what came."""

    def __init__(self, case, chosen, target, told, actual, model_sizes):
        said = told["accuracy"]
        self.name, self.chosen, self.target, self.granularity = case.name, chosen, target, actual["granularity"]
        self.sizes = model_sizes
        self.where = "larger" if target > max(chosen) else "smaller" if target < min(chosen) else "between"
        self.expected, self.reached = said["expected_overlap"], overlap(told, actual)
        self.held = self.reached >= self.expected
        self.factor = said["references_most"] / told["references"]
        self.count_held = said["references_least"] <= actual["references"] <= said["references_most"]


def distinct_sizes(values):
    """Sizes less than a tenth apart are one, as the model counts them."""
    first, count = 0, 0
    for value in sorted(values):
        if value >= first * 1.1:
            first, count = value, count + 1
    return count


def outcomes_of(case):
    model = os.path.join(work, case.name + ".calibration.model")
    sizes = case.all_sizes()
    paths = {size: case.profile(size) for size in sizes}
    profiles = {size: profiles_of(paths[size]) for size in sizes}
    for granularity in (8, 64):
        distinct = {size: profiles[size][granularity]["distinct"] for size in sizes}
        for count in range(2, len(sizes)):
            for chosen in itertools.combinations(sizes, count):
                apart = distinct_sizes(distinct[size] for size in chosen)
                if apart < 2:
                    continue  # fathom train refuses that
                train([paths[size] for size in chosen], granularity, model)
                for target in sizes:
                    if target not in chosen:
                        told = predict(model, distinct[target])
                        yield Outcome(case, chosen, target, told, profiles[target][granularity], apart)


def row(label, found):
    factors = sorted(one.factor for one in found)
    return (f"| {label} | {len(found)} | {percent(mean([one.held for one in found]))} | "
            f"{percent(mean([one.expected for one in found]))} | {percent(mean([one.reached for one in found]))} | "
            f"{percent(mean([one.reached - one.expected for one in found]))} | "
            f"{percent(mean([one.count_held for one in found]))} | {factors[len(factors) // 2]:.2f} |")


HEAD = ("cases | held, % | expected, % | reached, % | difference | counts, % | factor |\n"
        "|---|--:|--:|--:|--:|--:|--:|--:|")


def calibration(names):
    cases = list(cases_of(names))
    for case in cases:  # the runs one after the other, the predictions at once
        for size in case.all_sizes():
            case.profile(size)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        outcomes = dict(zip((case.name for case in cases), pool.map(lambda case: list(outcomes_of(case)), cases)))
    print(f"| programs, sizes known, predicted | {HEAD}")
    for label, group in (("tuned", TUNED), ("untuned", UNTUNED)):
        every = [one for name in group for one in outcomes.get(name, [])]
        if not every:
            continue
        for several in (False, True):
            for where in ("larger", "between", "smaller"):
                found = [one for one in every if (one.sizes > 2) == several and one.where == where]
                if found:
                    print(row(f"{label}, {'three or four' if several else 'two'}, {where}", found))
        print(row(f"**{label}, all**", every))
        add_line(f"bench=predict_expectation set={label} cases={len(every)} held={mean([one.held for one in every]):.4f} "
                 f"gap={mean([one.reached - one.expected for one in every]):.4f} "
                 f"references_held={mean([one.count_held for one in every]):.4f}")
    print(f"\n| program | {HEAD}")
    for name, found in outcomes.items():
        if not found:
            print(f"| {name}: its data does not grow with its input |")
        else:
            print(row(name + ("" if name in TUNED else " (untuned)"), found))
    worst = sorted((one for found in outcomes.values() for one in found), key=lambda one: one.reached - one.expected)
    print("\nFarthest below what was expected:")
    for one in worst[:5]:
        print(f"{one.name} at {one.granularity} bytes, {', '.join(map(str, one.chosen))} to {one.target}: "
              f"{percent(one.reached)} %, expected {percent(one.expected)} %.")


if options.part != "calibration":
    accuracy(options.names or list(QUICK if options.quick else PAPER))
if options.part != "accuracy":
    print("\n### Expected and reached\n")
    calibration(options.names or list(QUICK if options.quick else TUNED + UNTUNED))
