#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The codes of the paper behind `fathom static` (PBound), at the paper's sizes: its figure 9 and its miss rates.

Each code (bench/pbound) is analysed without running it (--method count: proved), and run: compiled by `fathom cc -O0`,
traced by `fathom run`, without the stack. Both histograms, in the figure's bins, and both caches of the paper's
table II: fully associative, lines of 64 bytes, 32 KB and 16 MB. The result is in docs/STATIC.md.

  bench_pbound.py [--no-run] [WORD…]     only codes whose name holds a word; --no-run: without the programs
"""
import json
import os
import subprocess
import sys
import tempfile
import time

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
fathom = os.environ.get("FATHOM", os.path.join(root, "build/fathom"))
CODES = [("mvt", "mvt", {}), ("triad", "triad", {}), ("fission", "fission", {}), ("fusion", "fusion", {}),
         ("mxm, long and skinny", "mxm", {"N": 1024, "M": 32}), ("mxm, short and fat", "mxm", {"N": 32, "M": 1024})]
CACHES = {"32 KB": 512, "16 MB": 262144}


def profiles(name, macros, folder, run):
    """Of elements (8 bytes) and of lines (64 bytes): from the source, and of the run. Seconds of the analysis."""
    source, found, took = os.path.join(root, "bench/pbound", name + ".c"), {}, 0
    defined = ["-D", ",".join("%s=%d" % item for item in macros.items())] if macros else []
    for granularity in (8, 64):
        out = os.path.join(folder, "static.json")
        began = time.monotonic()
        subprocess.run([fathom, "static", source, "--quiet", "--method", "count", "--bins", "exact", "--granularity",
                        str(granularity), "--json", out, "--force"] + defined, check=True, stdout=subprocess.DEVNULL)
        took = max(took, time.monotonic() - began)
        with open(out) as file:
            found["static", granularity] = json.load(file)
    if run:
        program, out = os.path.join(folder, name), os.path.join(folder, "run.json")
        with open(program + ".c", "w") as file:
            file.write('#include "%s"\nint main(void)\n{\n    %s(%s);\n    return 0;\n}\n' % (
                source, name, "3" if name == "triad" else ""))
        flags = ["-D%s=%d" % item for item in macros.items()]
        subprocess.run([fathom, "cc", "-O0", "-g"] + flags + [program + ".c", "-o", program], check=True)
        subprocess.run([fathom, "run", "--quiet", "--function", name, "--no-stack", "--no-sites", "--bins", "exact",
                        "--granularity", "8,64", "-o", "/dev/null", "--json", out, "--force", "--", program], check=True)
        with open(out) as file:
            for profile in json.load(file)["profiles"]:
                found["run", profile["granularity"]] = profile
    return found, took


def figure(profile):
    """Bins of bytes: below 64, 64, 128, 256, …; then those that are not used again."""
    bins = {}
    for low, _, count in profile["histogram"]:
        data = low * profile["granularity"]
        bins[max(data.bit_length(), 6)] = bins.get(max(data.bit_length(), 6), 0) + count
    rows = [("< %d B" % 64 if power == 6 else "%s" % size(1 << (power - 1)), count) for power, count in sorted(bins.items())]
    return rows + [("no reuse", profile["cold"])]


def size(data):
    for unit in ("B", "KB", "MB"):
        if data < 1024:
            return "%d %s" % (data, unit)
        data //= 1024
    return "%d GB" % data


def rate(profile, blocks):
    misses = profile["cold"] + sum(count for low, _, count in profile["histogram"] if low >= blocks)
    return "%.2f %%" % (100 * misses / profile["references"])


def main():
    words = [word for word in sys.argv[1:] if word != "--no-run"]
    run, rates = "--no-run" not in sys.argv, []
    with tempfile.TemporaryDirectory(prefix="fathom-pbound-") as folder:
        for title, name, macros in CODES:
            if words and not any(word in title for word in words):
                continue
            found, took = profiles(name, macros, folder, run)
            source = found["static", 8]
            print("%s: distances of elements, from the source: %s" % (
                title, ", ".join("%s %s" % (where, format(count, ",")) for where, count in figure(source))))
            row = [title, format(source["references"], ","), "%.1f s" % took]
            for cache, blocks in CACHES.items():
                row.append(rate(found["static", 64], blocks))
                if run:
                    row.append(rate(found["run", 64], blocks))
            if run:
                same = all(found["static", g][key] == found["run", g][key] for g in (8, 64)
                           for key in ("references", "cold", "histogram"))
                row.append("equal" if same else "different")
            rates.append(row)
    titles = ["code", "references", "took"]
    for cache in CACHES:
        titles += [cache] + (["run"] if run else [])
    print("\n| %s |\n|%s" % (" | ".join(titles + (["histograms"] if run else [])), "---|" * (len(titles) + run)))
    for row in rates:
        print("| %s |" % " | ".join(row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
