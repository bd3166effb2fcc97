#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do two builds make the same regions of the same sources? Every source under tests/, bench/ and examples/ (and below
the directories that are named) is given to `fathom static --emit-ir -`: as it is, with scalars in memory, every function
that a message lists, and with assumptions for what a message says depends on data. Texts and refusals are compared byte
for byte.

    scripts/compare-regions.py OLD NEW [--keep FILE] [DIRECTORY]...

OLD, NEW: directories with a `fathom` in them (build). FILE: what OLD gave is kept there, and is not made again."""
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENDINGS = (".c", ".cc", ".cpp", ".cxx", ".f", ".for", ".f90", ".f95", ".f03", ".f08")
MOST_FUNCTIONS, MOST_ASSUMPTIONS = 24, 5


def sources(directories):
    for directory in directories:
        for place, folders, names in os.walk(directory):
            folders[:] = sorted(set(folders) - {"unit", "oracle", "fuzz"})  # the library's own tests
            for name in sorted(names):
                if name.lower().endswith(ENDINGS):
                    yield os.path.join(place, name)


def cases(directories):
    """Sources of files, and those of tests/static/refused.txt, which are written to a place that stays the same."""
    yield from sources(directories)
    place = "/tmp/fathom-compare-regions"
    os.makedirs(place, exist_ok=True)
    name, text = None, []
    with open(os.path.join(ROOT, "tests/static/refused.txt"), encoding="utf-8") as file:
        for line in list(file) + ["=== end |"]:
            if line.startswith("=== "):
                if name:
                    path = os.path.join(place, name)
                    with open(path, "w", encoding="utf-8") as made:
                        made.write("".join(text))
                    yield path
                name, text = line[4:].split("|")[0].strip(), []
            elif name:
                text.append(line)


def run(build, arguments):
    try:
        done = subprocess.run([os.path.join(build, "fathom"), "static", "--emit-ir", "-"] + arguments, capture_output=True, timeout=120,
                              env={**os.environ, "LC_ALL": "C", "COLUMNS": "100"})
    except subprocess.TimeoutExpired:
        return [-1, "", "timed out"]
    return [done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")]


def assumption_for(message):
    """What would help against this refusal; None: nothing."""
    asked = re.search(r"'((?:loop at|if at) \d+ (?:runs N times|holds))'", message)
    line = re.search(r":(\d+): ", message)
    if asked and "loop" in asked.group(1):
        return asked.group(1)
    if asked:
        number = int(re.search(r"\d+", asked.group(1)).group())
        return f"if at {number} {('holds', 'fails', 'both')[number % 3]}"
    if line and "the condition '" in message and "depends on data" in message:
        return f"if at {line.group(1)} {('holds', 'fails', 'both')[int(line.group(1)) % 3]}"
    asked = re.search(r"'(\w+) is matrix\[ROWS\]\[COLUMNS\]'", message)
    if asked:
        return f"{asked.group(1)} is matrix[ROWS][COLUMNS]"
    asked = re.search(r"'(\w+)[\[(][^']*'.*(?:comes out of an array|which is loaded from)|loaded from '(\w+)\[", message)
    if asked:
        return f"{asked.group(1) or asked.group(2)} is identity"
    return None


def explore(build, path):
    """All commands for a source with what the build gives for them."""
    found = []

    def keep(arguments):
        found.append([arguments, run(build, arguments)])
        return found[-1][1]

    def follow(arguments):
        result = keep(arguments)
        given = []
        while result[0] != 0 and len(given) < MOST_ASSUMPTIONS:
            more = assumption_for(result[2])
            if not more or more in given:
                break
            given.append(more)
            result = keep(arguments + [word for text in given for word in ("--assume", text)])
        if result[0] == 0:
            keep(found[-1][0] + ["--scalars"])
        return found[0][1]

    result = follow([path])
    if "functions" in result[2] or "procedures" in result[2] or "there are" in result[2]:
        names = re.findall(r"([\w:]+) \(line \d+\)", result[2])
        for name in list(dict.fromkeys(names))[:MOST_FUNCTIONS]:
            follow([path, "--function", name])
    return found


def main():
    arguments = sys.argv[1:]
    keep = None
    if "--keep" in arguments:
        at = arguments.index("--keep")
        keep = arguments[at + 1]
        del arguments[at:at + 2]
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    old, new = (os.path.abspath(name) for name in arguments[:2])
    directories = [os.path.join(ROOT, name) for name in ("tests", "bench", "examples")] + arguments[2:]
    known = []
    jobs = int(os.environ.get("JOBS", os.cpu_count() or 1))
    with ThreadPoolExecutor(jobs) as pool:
        if keep and os.path.exists(keep):
            with open(keep, encoding="utf-8") as file:
                known = json.load(file)
        else:
            for one in pool.map(lambda path: explore(old, path), cases(directories)):
                known += one
            if keep:
                with open(keep, "w", encoding="utf-8") as file:
                    json.dump(known, file)
        different = regions = 0
        for (command, before), after in zip(known, pool.map(lambda one: run(new, one[0]), known)):
            regions += before[0] == 0
            if before != after:
                different += 1
                print("DIFFERENT fathom static --emit-ir - " + " ".join(f"'{word}'" if " " in word else word for word in command))
                for what, one, other in zip(("exit code", "standard output", "standard error"), before, after):
                    if one != other:
                        lines = [pair for pair in zip(str(one).splitlines() + [""], str(other).splitlines() + [""]) if pair[0] != pair[1]]
                        for pair in lines[:3]:
                            print(f"    {what}:\n        {pair[0]}\n        {pair[1]}")
    print(f"{len(known) - different} same ({regions} regions), {different} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
