#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One word has one meaning: an option that several verbs have, has the same letter everywhere, and those that the
contract or the style guide fixes have the same text or the same default. And where references are worked off, "some
references" are a batch, a chunk or a range, as docs/ARCHITECTURE.md says, and nothing else.

  one-meaning.py PROGRAM VERB...

Prints every difference; exit 1 when there is one.
"""
import os
import re
import subprocess
import sys

program, *verbs = sys.argv[1:]
# The whole text is the same; the default is; only the letter is (all others).
SAME_TEXT = {"level", "to", "format", "select", "engine", "engine-option", "bound", "max-memory", "isa", "key"}
SAME_DEFAULT = {"top"}
# Words of the verb `sample`, which no other verb has for something else.
RESERVED = {"sample", "samples", "rate", "period"}

seen = {}  # option: [(verb, letter, argument, text)]
for verb in verbs:
    text = subprocess.run([program, verb, "--help"], capture_output=True, text=True, check=True).stdout
    text = text[text.index("Options:"):].split("\n\n")[0]
    for part in re.split(r"\n(?=  (?:-|    --))", text)[1:]:
        match = re.match(r"  (?:-(\w), |    )--([\w-]+)(?: (\S+))?\s+(.*)", part, re.S)
        letter, name, argument, words = match.groups()
        seen.setdefault(name, []).append((verb, letter, argument, " ".join(words.split())))

trouble = []
for name, uses in seen.items():
    if name in RESERVED and {use[0] for use in uses} != {"sample"}:
        trouble.append(f"--{name} is shown by {uses[0][0]}")
    if len({letter for _, letter, _, _ in uses}) > 1:
        trouble.append(f"--{name} has different letters: {[use[:2] for use in uses]}")
    if name in SAME_TEXT and len({use[2:] for use in uses}) > 1:
        trouble.append(f"--{name} means different things: {[(use[0], *use[2:]) for use in uses]}")
    if name in SAME_DEFAULT and len({tuple(re.findall(r"default (\w+)", use[3])) for use in uses}) > 1:
        trouble.append(f"--{name} has different defaults: {[(use[0], use[3]) for use in uses]}")
letters = {}
for name, uses in seen.items():
    for verb, letter, _, _ in uses:
        if letter and letters.setdefault(letter, name) != name:
            trouble.append(f"-{letter} is --{letters[letter]} and --{name} ({verb})")
for name, letter in (("json", "j"), ("granularity", "g"), ("quiet", "q"), ("output", "o")):
    if {use[1] for use in seen[name]} != {letter}:
        trouble.append(f"--{name} is not -{letter} everywhere")
# Other words for some references, in code and comments; strings are for people, and may say "a piece of the trace".
OTHER_WORDS = re.compile(r'"[^"\n]*"|(?<![A-Za-z])(stretch(?:es)?|bundles?|pieces?)(?![A-Za-z])', re.I)
looked_at = 0
for room in ("src/engine/exact", "src/engine/parallel", "src/analyzer", "src/cluster"):
    for name in sorted(os.listdir(room)):
        if not name.endswith((".c", ".h")):
            continue
        looked_at += 1
        with open(f"{room}/{name}", encoding="utf-8") as source:
            for number, line in enumerate(source, 1):
                trouble += [f"{room}/{name}:{number}: {found[1]} is a batch, a chunk or a range (docs/ARCHITECTURE.md)"
                            for found in OTHER_WORDS.finditer(line) if found[1]]
if looked_at < 30:
    trouble.append(f"only {looked_at} files with references found: has the layout changed?")
if len(seen) < 30:
    trouble.append("hardly any options found: has the layout of --help changed?")
print("\n".join(trouble))
sys.exit(1 if trouble else 0)
