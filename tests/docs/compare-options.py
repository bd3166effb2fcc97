#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Options in three places - --help, the manual page, the bash completion - must be the same ones.

  compare-options.py PROGRAM VERB PAGE.scd COMPLETION

--help is made from the parser's own table, so it is what the program really takes. Prints every difference;
exit 1 when there is one.
"""
import re
import subprocess
import sys

program, verb, page, completion = sys.argv[1:]


def words(*arguments, **keywords):
    return subprocess.run(arguments, capture_output=True, text=True, check=True, **keywords).stdout


def help_options():
    """Lines such as '  -o, --output FILE   text' and '      --json FILE'."""
    found = {}
    for line in words(program, verb, "--help").splitlines():
        match = re.match(r"^  (?:-(\w), |    )--([\w-]+)(?: (\S+))?", line)
        if match:
            letter, name, argument = match.groups()
            found["--" + name] = argument
            if letter:
                found["-" + letter] = argument
    return found


def page_options():
    """Paragraphs of the options section that open with '*-o*, *--output* _FILE_'."""
    found = set()
    for line in open(page, encoding="utf-8"):
        if re.match(r"^\*-", line):
            found.update(re.findall(r"\*(--?[\w-]+)\*", line))
    return found


def completion_options():
    """What the completion offers after `fathom VERB -`."""
    script = f"""
        source {completion}
        COMP_WORDS=(fathom {verb} -) COMP_CWORD=2 COMP_LINE='fathom {verb} -' COMP_POINT=${{#COMP_LINE}}
        _fathom
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    return set(re.findall(r"^(--?[\w-]+)=?\s*$", words("bash", "-c", script), re.M))


in_help = help_options()
long_help = {name for name in in_help if name.startswith("--")}
trouble = []
for where, there in (("the manual page", page_options()), ("the completion", completion_options())):
    expected = set(in_help) if where == "the manual page" else long_help
    there = there if where == "the manual page" else {name for name in there if name.startswith("--")}
    trouble += [f"{name} is missing from {where}" for name in sorted(expected - there)]
    trouble += [f"{name} is in {where}, but fathom {verb} does not take it" for name in sorted(there - expected)]
if len(in_help) < 2:
    trouble.append("no options found in --help: has its layout changed?")
print("\n".join(trouble))
sys.exit(1 if trouble else 0)
