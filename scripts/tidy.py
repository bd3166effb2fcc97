#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over files that CMake compiles; every finding is an error.

    scripts/tidy.py [--notes] [FILE]...

FILE: C sources, others are passed over; without any: all. --notes: how clang's analyzer came to each finding.

What was clean is remembered in build/tidy/ by the contents of the file, of all headers of this tree that it includes, of
its compiler options and of .clang-tidy: it is looked at again when one of these is another. Needs
build/compile_commands.json; a file that was never compiled counts with all headers of the tree.
"""
import concurrent.futures
import glob
import hashlib
import json
import os
import re
import subprocess
import sys

BUILD = "build"
STAMPS = os.path.join(BUILD, "tidy")
NOISE = re.compile(r"^(\d+ warnings?( and \d+ errors?)? (generated|treated)|Suppressed|Use -header-filter)")


def digest_of(path, seen={}):
    if path not in seen:
        with open(path, "rb") as file:
            seen[path] = hashlib.sha256(file.read()).hexdigest()
    return seen[path]


def included():
    """{object: [files of this tree]} as ninja found them when it compiled."""
    said = subprocess.run(["ninja", "-C", BUILD, "-t", "deps"], capture_output=True, text=True).stdout
    found = {}
    for part in said.split("\n\n"):
        lines = part.splitlines()
        if not lines or ":" not in lines[0]:
            continue
        paths = (os.path.relpath(os.path.join(BUILD, line.strip())) for line in lines[1:])
        found[lines[0].split(":")[0]] = sorted(path for path in paths if not path.startswith(".."))
    return found


def commands(entries):
    """{source: [(command, object)]}; one source may be compiled in several ways."""
    found = {}
    for entry in entries:
        source = os.path.relpath(entry["file"])
        if source.endswith(".c") and not source.startswith(("..", BUILD)):
            match = re.search(r" -o (\S+)", entry["command"])
            found.setdefault(source, []).append((entry["command"], match[1] if match else ""))
    return found


def findings(lines, notes):
    shown, kept = True, []
    for line in lines:
        if match := re.match(r"\S+:\d+:\d+: (\w+):", line):
            shown = notes or match[1] != "note"
        if shown and not NOISE.match(line):
            kept.append(line.replace(os.getcwd() + "/", ""))
    return kept


def translated(entries):
    """The commands for clang, which does not know all that gcc does: where they lie."""
    place = os.path.join(STAMPS, "commands")
    os.makedirs(place, exist_ok=True)
    for entry in entries:
        entry["command"] = re.sub(r" -fno-tree-loop-distribute-patterns\b", "", entry["command"])
    with open(os.path.join(place, "compile_commands.json"), "w", encoding="utf-8") as file:
        json.dump(entries, file)
    return place


def main():
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    known, headers, place = commands(entries), None, translated(entries)
    wanted = [os.path.relpath(name) for name in sys.argv[1:] if name != "--notes"] or sorted(known)
    deps, version = included(), subprocess.run(["clang-tidy", "--version"], capture_output=True, text=True).stdout
    stamps = {}
    for source in wanted:
        if source not in known:
            continue
        whole = hashlib.sha256((version + digest_of(".clang-tidy") + digest_of(source)).encode())
        for command, made in known[source]:
            files = deps.get(made)
            if files is None:
                headers = headers or sorted(glob.glob("**/*.h", recursive=True))
                files = headers
            whole.update(command.encode())
            for path in files:
                if os.path.exists(path):
                    whole.update((path + digest_of(path)).encode())
        stamp = os.path.join(STAMPS, whole.hexdigest())
        if not os.path.exists(stamp):
            stamps[source] = stamp
    failed = 0

    def look(source):
        return source, subprocess.run(["clang-tidy", "-p", place, "--quiet", "--warnings-as-errors=*", source],
                                      capture_output=True, text=True)

    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS") or os.cpu_count())) as pool:
        for done, (source, result) in enumerate(pool.map(look, stamps), 1):
            if result.returncode == 0:
                open(stamps[source], "w").close()
            else:
                failed += 1
                print("\n".join(findings((result.stdout + result.stderr).splitlines(), "--notes" in sys.argv)), flush=True)
            if done % 50 == 0:
                print(f"clang-tidy: {done} of {len(stamps)} files", file=sys.stderr, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
