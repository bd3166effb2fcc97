#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom static against running programs: kernels built by `fathom cc -O0`, and what `fathom run` sees of them.

Without optimisation a program makes the accesses of its source. Those to the stack (scalars, arguments) are left out;
what is left must have the same histogram of distances, bin by bin, and each array the same misses. Two things are not
the language's to say (docs/STATIC.md): `x += e` may load x before or behind what e loads, so that the programs here
say `x = x + (e)`; of `c ? a : b` a program makes the accesses of one side, the analysis those of both, so that there
misses are compared and not references.

  run_test.py [WORD…]     only kernels whose name holds a word
"""
import json
import os
import re
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(here))
sys.path.insert(0, os.path.join(root, "tests"))
sys.path.insert(0, here)
from clang_sources import rewrite_compound  # noqa: E402
from tap_cases import case, end  # noqa: E402

fathom = os.environ.get("FATHOM", os.path.join(root, "build/fathom"))
KERNELS = ("atax", "cholesky", "deriche", "floyd-warshall", "gemm", "jacobi-2d", "syrk")
BOTH_SIDES = ("floyd-warshall",)
SIZES = {"2K": 32, "8K": 128, "32K": 512}  # blocks of 64 bytes


def small_sizes():
    with open(os.path.join(here, "sizes.txt")) as table:
        lines = [line.split() for line in table if not line.startswith("#")]
    return {words[0]: words[2:] for words in lines if words[1] == "MINI"}


def program(name, values, folder):
    """The kernel with arrays of its own, each in lines of its own; the path of the program, and the function."""
    with open(os.path.join(here, "kernels", name + ".c")) as file:
        source = rewrite_compound(file.read())
    known = dict(value.split("=") for value in values)
    signature = re.search(r"void (\w+)\(([^)]*)\)", source)
    arrays, call = [], []
    for parameter in signature.group(2).replace("\n", " ").split(","):
        array = re.match(r"\s*(\w+) (\w+)((?:\[[^\]]*\])+)", parameter)
        if array:
            extents = re.findall(r"\[(?:restrict )?([^\]]*)\]", array.group(3))
            arrays.append("%s at_%s[%s] __attribute__((aligned(64)));" % (
                array.group(1), array.group(2), " * ".join(known.get(extent, extent) for extent in extents)))
            call.append("(void *)at_" + array.group(2))
        else:
            call.append(known.get(parameter.split()[-1], "1.5"))
    path = os.path.join(folder, name)
    with open(path + ".c", "w") as out:
        out.write("%s\n%s\nint main(void)\n{\n    %s(%s);\n    return 0;\n}\n" % (
            source, "\n".join(arrays), signature.group(1), ", ".join(call)))
    subprocess.run([fathom, "cc", "-O0", "-g", "-w", path + ".c", "-o", path, "-lm"], check=True, capture_output=True)
    return path, signature.group(1)


def misses(profile, blocks):
    return profile["cold"] + sum(count for low, _, count in profile["histogram"] if low >= blocks)


def misses_by_array(profile, blocks):
    """Of each array: its misses at a size that the profile was asked about."""
    attribution, found = profile["attribution"], {}
    first = attribution["edges"].index(blocks)
    for used, _, _, cold, _, ranges in attribution["object_uses"]:
        name = (attribution["objects"][used].get("name") or "?").replace("at_", "")
        late = sum(ranges[i + 1] for i in range(0, len(ranges), 2) if ranges[i] >= first)
        found[name] = found.get(name, 0) + cold + late
    return {name: count for name, count in found.items() if count}


def differences(name, values, folder):
    path, function = program(name, values, folder)
    common = ["--quiet", "--bins", "exact", "--size", ",".join(SIZES)]
    subprocess.run([fathom, "run", "--function", function, "--no-stack", "-o", "/dev/null", "--json", path + ".run.json", "--force"] +
                   common + ["--", path], check=True, capture_output=True)
    subprocess.run([fathom, "static", os.path.join(here, "kernels", name + ".c"), "--json", path + ".static.json", "--force",
                    "--param", ",".join(values)] + common, check=True, capture_output=True)
    with open(path + ".run.json") as ran, open(path + ".static.json") as read:
        ran, read = json.load(ran), json.load(read)
    problems = []
    if name not in BOTH_SIDES:
        for key in ("references", "cold", "histogram"):
            if ran[key] != read[key]:
                problems.append("%s: %.200s in the run, %.200s from the source" % (key, ran[key], read[key]))
    elif ran["references"] >= read["references"]:
        problems.append("both sides of ?: are counted, yet there are not more references")
    for size, blocks in SIZES.items():
        if misses(ran, blocks) != misses(read, blocks):
            problems.append("misses at %s: %d in the run, %d from the source" % (size, misses(ran, blocks), misses(read, blocks)))
        if misses_by_array(ran, blocks) != misses_by_array(read, blocks):
            problems.append("misses of arrays at %s: %s in the run, %s from the source" % (
                size, misses_by_array(ran, blocks), misses_by_array(read, blocks)))
    return problems


def main():
    sizes = small_sizes()
    with tempfile.TemporaryDirectory(prefix="fathom-run-") as folder:
        for name in KERNELS:
            if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
                continue
            try:
                problems = differences(name, sizes[name], folder)
            except subprocess.CalledProcessError as error:
                words = error.stderr.decode(errors="replace").strip()
                if "built without its front end" in words:
                    print("skip %s: %s" % (name, words))
                    continue
                problems = ["%s: %s" % (" ".join(error.cmd[:2]), words[:400])]
            case("%s: a run makes the accesses that its source has" % name, problems)
    return end()


if __name__ == "__main__":
    sys.exit(main())
