#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An independent model of what fathom computes: Mattson's stack as a plain list, no cleverness at all.

Makes small traces, lets `fathom analyze` profile each with every engine, resolution and a bound, and computes
everything anew: distances one by one, counts, histograms. Prints one line for each case: that all is as the model
says, or what differs.
"""
import json
import random
import struct
import subprocess
from collections import Counter

COLD = 2**64 - 1
BEYOND = 2**64 - 2


def model(keys):
    """Stack distance and time distance of each reference; COLD for a first touch."""
    stack, last, stack_distances, times = [], {}, [], []
    for now, key in enumerate(keys):
        if key in last:
            depth = stack.index(key)
            stack_distances.append(depth)
            times.append(now - last[key])
            del stack[depth]
        else:
            stack_distances.append(COLD)
            times.append(COLD)
        stack.insert(0, key)
        last[key] = now
    return stack_distances, times


def check_histogram(name, histogram, wanted):
    """Every bin [lo, hi, count] counts exactly the distances in its range, and all are counted."""
    counted, previous = 0, -1
    for low, high, count in histogram:
        if not previous < low <= high:
            return f"{name}: bin {low}..{high} is not ascending"
        inside = sum(n for distance, n in wanted.items() if low <= distance <= high)
        if inside != count or count == 0:
            return f"{name}: bin {low}..{high} has {count}, expected {inside}"
        counted, previous = counted + count, high
    if counted != sum(wanted.values()):
        return f"{name}: counts {counted} distances, expected {sum(wanted.values())}"
    return None


def check(keys, answer, bins, bound):
    """What is wrong with fathom's profile and distances, as a list of sentences."""
    profile = json.load(open("profile.json"))
    delivered = [d for (d,) in struct.iter_unpack("<Q", open("distances", "rb").read())]
    distances, times = answer
    if bound:
        distances = [BEYOND if d != COLD and d >= bound else d for d in distances]
    trouble = []
    if delivered != distances:
        pairs = zip(delivered, distances)
        where = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(delivered), len(distances)))
        trouble.append(f"distance of reference {where}: {delivered[where:where + 1]}, expected {distances[where:where + 1]}")
    wanted = {
        "schema": "fathom-profile-1",
        "granularity": 1,
        "references": len(keys),
        "distinct": len(set(keys)),
        "cold": len(set(keys)),
        "bins": bins,
        "complete": True,
        "lost": 0,
    }
    if bound:
        wanted["beyond"] = distances.count(BEYOND)
    for field, value in wanted.items():
        if profile.get(field) != value:
            trouble.append(f"{field} is {profile.get(field)!r}, expected {value!r}")
    total = profile["cold"] + profile.get("beyond", 0) + sum(count for _, _, count in profile["histogram"])
    if total != profile["references"]:
        trouble.append(f"cold + beyond + histogram is {total}, references {profile['references']}")
    trouble.append(check_histogram("histogram", profile["histogram"], Counter(d for d in distances if d < BEYOND)))
    trouble.append(check_histogram("times", profile["times"], Counter(t for t in times if t != COLD)))
    return [text for text in trouble if text]


def traces():
    """Name and keys; the same in every run."""
    source = random.Random(2026)
    yield "uniform", [source.randrange(700) for _ in range(3000)]
    yield "skewed", [int(2 ** (source.random() * 11)) for _ in range(3000)]
    yield "sawtooth", [min(i % 200, 199 - i % 200) for i in range(2000)]
    yield "phases", [i // 500 * 1000 + source.randrange(40) for i in range(2000)]
    yield "huge keys", [2**64 - 1 - source.randrange(50) for _ in range(1000)]
    yield "far apart", list(range(2500)) + list(range(2500))
    yield "one", [7]


def main():
    for name, keys in traces():
        with open("keys.txt", "w") as out:
            out.writelines(f"{key}\n" for key in keys)
        answer = model(keys)
        for engine in ("exact", "tree", "list"):
            for bins, bound in (("exact", 0), ("log2", 0), ("loglinear", 0), ("exact", 64)):
                command = ["fathom", "analyze", "keys.txt", "--engine", engine, "--bins", bins, "--time", "--quiet"]
                command += ["--json", "profile.json", "--force", "--distances", "distances"] + (["--bound", str(bound)] if bound else [])
                done = subprocess.run(command, stdout=subprocess.DEVNULL)
                trouble = check(keys, answer, bins, bound) if done.returncode == 0 else [f"exit {done.returncode}"]
                print(f"{name}, {engine}, {bins} bins, bound {bound}:", "; ".join(trouble) or "as the model says")


main()
