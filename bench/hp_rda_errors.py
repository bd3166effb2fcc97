#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far HP-RDA is from exact, by its paper's formula (fathom compare: average error), for thread-level traces of 256 to
16384 references, with and without adjusting: the paper's figures 14 and 16.

    hp_rda_errors.py --build DIRECTORY [--engine hp-rda|hp-rda-gpu] TRACE...
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

SIZES = [256, 512, 1024, 2048, 4096, 8192, 16384]


def profile(options, path, trace, fathom):
    command = [fathom, "analyze", "-q", "--no-sites", "--granularity", "64", "--json", path, "--force", *options, trace]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--engine", default="hp-rda")
    parser.add_argument("traces", nargs="+")
    arguments = parser.parse_args()
    fathom = os.path.join(arguments.build, "fathom")
    sums = {}
    print("| trace | adjusted | " + " | ".join(str(size) for size in SIZES) + " |")
    print("|---|---|" + "---|" * len(SIZES))
    with tempfile.TemporaryDirectory() as work:
        exact, estimate, result = (os.path.join(work, name) for name in ("exact", "estimate", "result"))
        for trace in arguments.traces:
            profile(["--engine", "exact"], exact, trace, fathom)
            for adjusted in (True, False):
                errors = []
                for size in SIZES:
                    options = ["--engine", arguments.engine, "--thread-trace-size", str(size)]
                    profile(options + ([] if adjusted else ["--disable-adjusting"]), estimate, trace, fathom)
                    subprocess.run([fathom, "compare", "-q", "--json", result, "--force", exact, estimate], check=True,
                                   stdout=subprocess.DEVNULL)
                    with open(result, encoding="utf-8") as stream:
                        errors.append(100 * json.load(stream)["average_error"])
                sums.setdefault(adjusted, []).append(errors)
                name = os.path.splitext(os.path.basename(trace))[0]
                cells = " | ".join(f"{error:.3f} %" for error in errors)
                print(f"| {name} | {'yes' if adjusted else 'no'} | {cells} |", flush=True)
    for adjusted, rows in sums.items():
        means = [sum(column) / len(rows) for column in zip(*rows)]
        cells = " | ".join(f"{mean:.3f} %" for mean in means)
        print(f"| *mean* | {'yes' if adjusted else 'no'} | {cells} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
