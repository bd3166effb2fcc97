#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One name for one thing: no two source files have the same name, and no type is defined in two places. Where references
are worked off, "some references" are a batch, a chunk or a range (docs/ARCHITECTURE.md). No static function has a name of
one word.

  unique-names.py [ROOT]

Prints what is there twice; exit 1 when anything is.
"""
import os
import re
import sys

root = sys.argv[1] if len(sys.argv) > 1 else "."
# Opaque types of an interface, which whoever implements it defines for itself, and sizes that tests change, which
# are compiled for the tests by the name of their files.
EACH_ITS_OWN = {"fm_engine", "fm_team"}
SAME_FILE_NAMES = {"tunables.c"}
DEFINITION = re.compile(r"^(?:typedef )?(?:struct|union|enum) (fm_\w+) *\{", re.M)

files = [os.path.join(folder, name)
         for room in ("src", "collect", "modules", "include")
         for folder, _, names in os.walk(os.path.join(root, room))
         for name in names if name.endswith((".c", ".h", ".cu", ".cuh", ".S", ".s"))]
by_name, types = {}, {}
for file in sorted(files):
    short = os.path.relpath(file, root)
    by_name.setdefault(os.path.basename(file), []).append(short)
    with open(file, encoding="utf-8") as source:
        text = source.read()
    for name in DEFINITION.findall(text):
        types.setdefault(name, []).append(short)
trouble = [f"{name}: {', '.join(places)}" for name, places in sorted(by_name.items())
           if len(places) > 1 and name not in SAME_FILE_NAMES]
trouble += [f"{name} is defined in {', '.join(places)}" for name, places in sorted(types.items())
            if len(places) > 1 and name not in EACH_ITS_OWN]
# A name of one word stands in many files, and does not say whose it is.
ONE_WORD = re.compile(r"^static\s+(?!.*=)(?:[\w*]+[\s*]+)+?\**([a-z0-9]+)\((?!\*)[^;{]*\)\s*\{", re.M)
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
for file in files:
    if file.endswith((".c", ".h", ".cu", ".cuh")):
        with open(file, encoding="utf-8") as source:
            text = NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source.read())
        trouble += [f"{os.path.relpath(file, root)}: {name}(): a static function has a name of two words or more"
                    for name in sorted(set(ONE_WORD.findall(text)) - {"main"})]
# Other words for some references, in code and comments; strings are for people, and may say "a piece of the trace".
OTHER_WORDS = re.compile(r'"[^"\n]*"|(?<![A-Za-z])(stretch(?:es)?|bundles?|pieces?)(?![A-Za-z])', re.I)
for file in files:
    short = os.path.relpath(file, root)
    if not short.startswith(("src/engine/exact/", "src/engine/parallel/", "src/analyzer/", "src/cluster/")):
        continue
    with open(file, encoding="utf-8") as source:
        for number, line in enumerate(source, 1):
            trouble += [f"{short}:{number}: {found[1]} is a batch, a chunk or a range"
                        for found in OTHER_WORDS.finditer(line) if found[1]]
if len(files) < 300 or len(types) < 200:
    trouble.append(f"only {len(files)} files and {len(types)} types found: has the layout changed?")
print("\n".join(trouble))
sys.exit(1 if trouble else 0)
