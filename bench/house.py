#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The size of the house, and how often the code changes its room on one reference's way.

  bench/house.py [ROOT]                          lines of code (cloc), files, headers, static functions of one word
  bench/house.py --walk BUILD -- COMMAND...      rooms that COMMAND (arguments of fathom) goes through

The walk: a breakpoint of gdb on every function of the tree, each removed when it is hit, so that functions appear in
the order of their first calls; every step from one room (src/ROOM, or the folder of collect/ and modules/) to another
counts; src/base, on which all of them stand, does not. BUILD wants debug information and no inlining:

  cmake -B build-walk -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS="-O0 -g" -DFATHOM_TESTS=OFF && cmake --build build-walk"""
import json
import os
import re
import subprocess
import sys
import tempfile

ROOMS = ("src", "include", "collect", "modules")
ONE_WORD = re.compile(r"^static\s+(?!.*=)(?:[\w*]+[\s*]+)+?\**([a-z0-9]+)\((?!\*)[^;{]*\)\s*\{", re.M)

GDB = r'''
import gdb, os, json
functions = json.load(open(os.environ["HOUSE_FUNCTIONS"]))
order = []

class Once(gdb.Breakpoint):
    def stop(self):
        order.append(self.where)
        self.enabled = False
        return False

for setting in ("pagination off", "detach-on-fork on", "follow-fork-mode parent", "disable-randomization on"):
    gdb.execute("set " + setting)
gdb.execute("handle all nostop noprint pass", to_string=True)
gdb.execute("handle SIGTRAP nopass", to_string=True)
gdb.execute("starti", to_string=True)
path = gdb.current_progspace().filename
base = min(int(line.split()[0], 16) for line in gdb.execute("info proc mappings", to_string=True).splitlines()
           if line.endswith(path))
for address, file, name in functions:
    point = Once(f"*{base + address:#x}")
    point.silent, point.where = True, (file, name)
for _ in range(100):
    if gdb.selected_inferior().pid:
        gdb.execute("continue", to_string=True)
with open(os.environ["HOUSE_OUT"], "w") as result:
    json.dump(order, result)
'''


def files_of(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", *ROOMS], capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split() if os.path.exists(os.path.join(root, name))]


def measure(root):
    files = files_of(root)
    code = None
    if not subprocess.run(["which", "cloc"], capture_output=True).returncode:
        counted = subprocess.run(["cloc", "--quiet", "--json", *(os.path.join(root, room) for room in ROOMS)],
                                 capture_output=True, text=True, check=True)
        code = json.loads(counted.stdout)["SUM"]["code"]
    words = small = 0
    for name in files:
        with open(os.path.join(root, name), encoding="utf-8", errors="replace") as source:
            text = source.read()
        small += text.count("\n") < 40
        if name.endswith((".c", ".h", ".cu", ".cuh")):
            plain = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)
            words += len(set(ONE_WORD.findall(plain)) - {"main"})
    print(f"lines of code (cloc): {code if code is not None else 'cloc is not installed'}")
    print(f"files: {len(files)}, below 40 lines: {small}")
    print(f"internal headers: {sum(name.endswith('.h') and not name.startswith('include/') for name in files)}")
    print(f"static functions of one word: {words}")


def room_of(file):
    parts = file.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def functions_of(root, program):
    """Address, file and name of each function of the tree: by nm and addr2line."""
    symbols = [line.split() for line in subprocess.run(["nm", "--defined-only", program], capture_output=True, text=True,
                                                       check=True).stdout.splitlines()]
    code = [(int(words[0], 16), words[2]) for words in symbols if words[1] in "tT"]
    places = subprocess.run(["addr2line", "-e", program], input="".join(f"{address:#x}\n" for address, _ in code),
                            capture_output=True, text=True, check=True).stdout.splitlines()
    found = []
    for (address, name), place in zip(code, places):
        file = os.path.relpath(os.path.normpath(place.rsplit(":", 1)[0]), root)
        if file.startswith(tuple(room + "/" for room in ROOMS)) and name != "main":
            found.append((address, file, name))
    return found


def walk(root, build, command):
    with tempfile.TemporaryDirectory() as folder:
        script, out, functions = (os.path.join(folder, name) for name in ("walk.py", "order.json", "functions.json"))
        with open(script, "w") as file:
            file.write(GDB)
        with open(functions, "w") as file:
            json.dump(functions_of(root, os.path.join(build, "fathom")), file)
        done = subprocess.run(["gdb", "-nx", "-batch", "-x", script, "--args", os.path.join(build, "fathom"), *command],
                              env={**os.environ, "HOUSE_FUNCTIONS": functions, "HOUSE_OUT": out, "DEBUGINFOD_URLS": ""},
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if not os.path.exists(out):
            sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
        with open(out) as file:
            order = json.load(file)
    rooms = [room for room in (room_of(file) for file, _ in order) if room != "src/base"]
    changes = sum(a != b for a, b in zip(rooms, rooms[1:]))
    entered = sum(b == "src/cli" and a != b for a, b in zip(rooms, rooms[1:]))
    print(f"{changes} changes of room, {len(order)} functions, {len({file for file, _ in order})} files, "
          f"src/cli entered {entered} times: fathom {' '.join(command)}")


def main():
    words = sys.argv[1:]
    if words[:1] == ["--walk"] and "--" in words:
        cut = words.index("--")
        build = os.path.abspath(words[1])
        walk(os.path.dirname(build), build, words[cut + 1:])
    elif len(words) <= 1 and words[:1] not in (["-h"], ["--help"]):
        measure(words[0] if words else ".")
    else:
        print(__doc__)


main()
