#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Options of engines in four places must be the same ones.

  compare-engines.py TABLES HELP PAGE.scd COMPLETION

TABLES: what the library says, a line "engine option least most type default" for each, "-" for no default. HELP: the
output of `fathom help engines`. Prints every difference; exit 1 when there is one.
"""
import re
import subprocess
import sys

tables, help_text, page, completion = sys.argv[1:]
RANGES = {
    "share": "a number over 0 and up to 1",
    "open-share": "a number between 0 and 1, both excluded",
    "flag": "yes or no",
}
PAGE_RANGES = {"share": "over 0 and up to 1", "open-share": "between 0 and 1, both excluded", "flag": ""}


def as_people_write(number):
    for shift, suffix in ((40, "T"), (30, "G"), (20, "M"), (10, "K")):
        if number and number % (1 << shift) == 0:
            return f"{number >> shift}{suffix}"
    return str(number)


engines = []  # all of them, in order, for HELP and PAGE
wanted = {}  # (engine, option): range in HELP, range in PAGE, default
for line in open(tables, encoding="utf-8"):
    engine, *rest = line.split()
    if engine not in engines:
        engines.append(engine)
    if not rest:
        continue
    option, least, most, kind, default = rest
    spelled = [as_people_write(int(least)), as_people_write(int(most))]
    if kind == "count" and int(most) < 2**64 - 1:
        ranges = (f"a whole number from {spelled[0]} to {spelled[1]}", f"{spelled[0]} to {spelled[1]}")
    elif kind == "count" and int(least):
        ranges = (f"a whole number, at least {spelled[0]}", f"at least {spelled[0]}")
    elif kind == "count":
        ranges = ("a whole number", "")
    else:
        ranges = (RANGES[kind], PAGE_RANGES[kind])
    wanted[engine, option] = (*ranges, None if default == "-" else default)

trouble = []


def compare(where, found, names, which):
    if names != engines + ["auto"]:
        trouble.append(f"{where} has the engines {names}, expected {engines + ['auto']}")
    trouble.extend(f"{where}: no {option} of {engine}" for engine, option in wanted if (engine, option) not in found)
    for (engine, option), text in found.items():
        if (engine, option) not in wanted:
            trouble.append(f"{where}: {engine} has no option {option}")
            continue
        values, default = wanted[engine, option][which], wanted[engine, option][2]
        parts = [part.strip() for part in re.split(r"[;.]( |$)", text) if part]
        if values and values not in parts:
            trouble.append(f"{where}: {engine} {option}: expected '{values}' in '{text}'")
        defaults = re.findall(r"; default ([\w.]*\w)", text)
        if defaults != ([default] if default else []):
            trouble.append(f"{where}: {engine} {option}: expected default {default}, found {defaults}")


found, names, option = {}, [], None
for line in open(help_text, encoding="utf-8"):
    if match := re.match(r"^  ([a-z-]+) +\S", line):
        if names or match[1] == engines[0]:
            names.append(match[1])
    elif match := re.match(r"^      ([a-z-]+) +\S", line):
        option = match[1]
    elif option and re.match(r"^ {20}", line):
        found[names[-1], option] = line.strip()
        option = None
names = [name for name in names if name != "fathom"]  # the example's line
compare("fathom help engines", found, names, 0)

found, names, option = {}, [], None
for line in open(page, encoding="utf-8"):
    if match := re.match(r"^## (\S+)", line):
        names.append(match[1])
    elif match := re.match(r"^\*([a-z-]+)\*=", line):
        option = match[1]
        found[names[-1], option] = ""
    elif line.startswith("\t") and option:
        found[names[-1], option] += " " + line.strip().replace(", but all", "; but all")
    else:
        option = None
compare(page, found, names, 1)

script = f"""
    source {completion}
    COMP_WORDS=(fathom analyze --engine-option '') COMP_CWORD=3
    _fathom
    printf '%s\\n' "${{COMPREPLY[@]}}"
"""
offered = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split()
if sorted(offered) != sorted({option + "=" for _, option in wanted}):
    trouble.append(f"the completion of --engine-option offers {offered}")
if len(wanted) < 10:
    trouble.append("hardly any options in the tables")
print("\n".join(trouble))
sys.exit(1 if trouble else 0)
