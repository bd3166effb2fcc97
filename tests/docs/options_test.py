#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Options are told once: --help, the manual and the completions of bash, zsh and fish say what the program's table has
(`fathom help options`), and the program takes it. Speaks TAP.

    tests/docs/options_test.py [VERB]
"""
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from tap_cases import case, end, skip  # noqa: E402

FATHOM = os.path.join(ROOT, "build", "fathom")
COMPLETIONS = os.path.join(ROOT, "build", "completions")
COLUMNS, LINES = 80, 45
TOPICS = ["Report", "Trace that is written", "Caches", "What is measured", "Speed and progress",
          "Research, and special uses"]
COMPILERS = ("cc", "c++", "fc")
# What an option means in one verb it means in all: these have the same letter by being one word; here is what the
# contract fixes, and words that verbs may explain each in its own way.
LETTERS = {"json": "j", "granularity": "g", "quiet": "q", "output": "o", "engine": "e", "param": "D", "pid": "p"}
OWN_WORDS = {"output", "json", "report", "progress", "quiet", "csv", "size", "granularity", "function", "threshold", "top",
             "store", "data-size", "bins", "limit-time", "max-memory", "no-machine"}


def said(*arguments, code=0):
    done = subprocess.run([FATHOM, *arguments], capture_output=True, text=True)
    return done.stdout if done.returncode == code else f"exit {done.returncode}\n{done.stderr}"


class Option:
    def __init__(self, fields):
        self.verb, self.topic, self.letter, self.name, self.argument, self.file, choices, self.usual, self.text, self.own = fields
        self.choices = choices.split()


def read_table():
    verbs, options = [], []
    for line in said("help", "options").splitlines():
        fields = line.split("\t")
        if not fields[3]:
            if fields[0] not in verbs:
                verbs.append(fields[0])
        else:
            options.append(Option(fields))
    return verbs, options


def shown(text):
    """[(topic, letter, name, argument)] of the lines of options."""
    found, topic = [], None
    for line in text.splitlines():
        if match := re.match(r"(\S.*):$", line):
            topic = match[1]
        elif match := re.match(r"  (?:-(\w), |    )--([\w-]+)(?: (\S+))?(?:  +\S.*)$", line):
            found.append((topic, match[1] or "", match[2], match[3] or ""))
    return found


def check_screen(verb, how):
    text = said(verb, how)
    lines = text.splitlines()
    problems = [f"{len(line)} columns: {line}" for line in lines if len(line) > COLUMNS]
    if how == "--help" and len(lines) > LINES:
        problems.append(f"{len(lines)} lines, more than {LINES}")
    topics = list(dict.fromkeys(topic for topic, *_ in shown(text)))
    if topics != [topic for topic in TOPICS if topic in topics]:
        problems.append(f"topics in another order, or others: {topics}")
    return problems


def check_help(verb, options):
    everything = [(o.topic, o.letter, o.name, o.argument) for o in options]
    problems = check_screen(verb, "--help")
    daily = said(verb, "--help")
    wanted = [one for one in everything if one[0] != TOPICS[-1]]
    if shown(daily) != wanted:
        problems.append(f"--help shows {shown(daily)}, the table has {wanted}")
    more = re.search(r"^More \(--help=all\):((?: |\n  )--.*)+", daily, re.M)
    named = re.findall(r"--([\w-]+)", more[0].partition(":")[2]) if more else []
    rest = [one[2] for one in everything if one[0] == TOPICS[-1] and one[2] != "help"]
    if named != rest:
        problems.append(f"--help names {named}, the table has {rest}")
    if verb not in COMPILERS:
        problems += check_screen(verb, "--help=all")
        if shown(said(verb, "--help=all")) != everything:
            problems.append("--help=all has other options than the table")
        if said(verb, "-H") != said(verb, "--help=all"):
            problems.append("-H is not --help=all")
    return problems


def check_taken(verb, options):
    """Each takes a value, or none, as the table says."""
    problems = []
    for option in options:
        if option.name == "help" or verb in COMPILERS:
            continue
        word = f"--{option.name}" if option.argument else f"--{option.name}=x"
        message = f"option '--{option.name}' needs a value: {option.argument}" if option.argument else \
            f"option '--{option.name}' takes no value, found 'x'"
        answer = said(verb, word, code=2) or subprocess.run([FATHOM, verb, word], capture_output=True, text=True).stderr
        if message not in answer:
            problems.append(f"{word}: {answer}")
    return problems


def page_of(verb):
    return "fathom-" + verb.replace("+", "x")


def check_manual(verb, options):
    path = os.path.join(ROOT, "build", "man", page_of(verb) + ".1.scd")
    if not os.path.exists(path):
        return [f"there is no {path}: is scdoc missing?"]
    with open(path, encoding="utf-8") as file:
        section = re.search(r"^# OPTIONS\n(.*?)^# ", file.read(), re.S | re.M)[1]
    found = re.findall(r"^(?:\*-(\w)\*, )?\*--([\w-]+)\*(?: _(.*)_)?\n\t\S", section, re.M)
    wanted = [(o.letter, o.name, o.argument) for o in options]
    topics = re.findall(r"^## (.*)$", section, re.M)
    problems = [] if found == wanted else [f"the page has {found}", f"the table has {wanted}"]
    if topics != [topic for topic in TOPICS if topic in topics]:
        problems.append(f"topics in another order, or others: {topics}")
    return problems


def offered_by_bash(*words):
    script = f"""
        source {COMPLETIONS}/fathom.bash
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _fathom
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    return subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True, check=True).stdout.split()


def check_bash(verb, options):
    offered = offered_by_bash("fathom", verb, "-")
    wanted = [f"--{o.name}" for o in options]
    problems = [] if offered == wanted else [f"offers {offered}, the table has {wanted}"]
    for option in options:
        if option.choices and offered_by_bash("fathom", verb, f"--{option.name}", "") != option.choices:
            problems.append(f"--{option.name}: other choices than {option.choices}")
    return problems


def check_zsh(verbs, options):
    path = f"{COMPLETIONS}/fathom.zsh"
    parsed = subprocess.run(["zsh", "-n", path], capture_output=True, text=True)
    problems = [parsed.stderr] if parsed.returncode else []
    with open(path, encoding="utf-8") as file:
        parts = dict(re.findall(r"^    (\S+)\)\n        _arguments(.*?);;$", file.read(), re.S | re.M))
    for verb in verbs:
        # Each specification as zsh has it: quotes taken off, {-j+,--json=} as two.
        words = subprocess.run(["zsh", "-f", "-c", f"print -rl -- {parts.get(verb, '')}"], capture_output=True, text=True).stdout
        found = re.findall(r"^(?:\([^)]*\))?--([\w-]+)=?\[", words, re.M)
        wanted = [o.name for o in options if o.verb == verb]
        if found != wanted:
            problems.append(f"{verb}: {found}, the table has {wanted}")
    return problems


def check_fish(verbs, options):
    script = [f"source {COMPLETIONS}/fathom.fish"]
    script += [f"echo @{verb}; complete -C 'fathom {verb} --'" for verb in verbs]
    done = subprocess.run(["fish", "-c", "\n".join(script)], capture_output=True, text=True)
    problems = [done.stderr] if done.returncode or done.stderr else []
    parts = dict(re.findall(r"^@(\S+)\n((?:--.*\n)*)", done.stdout, re.M))
    for verb in verbs:
        found = sorted(re.findall(r"^--([\w-]+)", parts.get(verb, ""), re.M))
        wanted = sorted(o.name for o in options if o.verb == verb)
        if found != wanted:
            problems.append(f"{verb}: {found}, the table has {wanted}")
    return problems


def check_words(options):
    """One word has one meaning: one letter, one kind of value, one text, unless it is known to vary."""
    problems, seen = [], {}
    for option in options:
        seen.setdefault(option.name, []).append(option)
    for name, uses in seen.items():
        if len({(o.letter, o.argument == "", o.file, tuple(o.choices)) for o in uses}) > 1:
            problems.append(f"--{name} has different letters, values or choices")
        if name not in OWN_WORDS and len({o.text for o in uses}) > 1:
            problems.append(f"--{name} means different things: {[(o.verb, o.text) for o in uses]}")
        if name in LETTERS and {o.letter for o in uses} != {LETTERS[name]}:
            problems.append(f"--{name} is not -{LETTERS[name]}")
    letters = {}
    for option in options:
        if option.letter and letters.setdefault(option.letter, option.name) != option.name:
            problems.append(f"-{option.letter} is --{option.name} and --{letters[option.letter]}")
    unused = OWN_WORDS - {name for name, uses in seen.items() if len({o.text for o in uses}) > 1}
    return problems + [f"--{name} means one thing: it needs no exception" for name in sorted(unused)]


def shell_case(name, check, shell):
    if shutil.which(shell):
        case(name, check())
    else:
        skip(name, f"there is no {shell}")


def main():
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    verbs, options = read_table()
    case(f"{len(options)} options of {len(verbs)} verbs, {len({o.name for o in options})} different",
         [] if len(options) > 200 and len(verbs) > 15 else ["hardly any"])
    case("one word has one meaning", check_words(options))
    for verb in verbs:
        if only not in verb:
            continue
        its = [o for o in options if o.verb == verb]
        case(f"{verb}: --help fits {COLUMNS} columns and {LINES} lines, and has what the table has", check_help(verb, its))
        case(f"{verb}: the program takes what the table has", check_taken(verb, its))
        case(f"{verb}: the manual has what the table has", check_manual(verb, its))
        case(f"{verb}: bash is offered what the table has", check_bash(verb, its))
    case("bash is offered every verb", [] if offered_by_bash("fathom", "") == [*verbs, "help", "version", "--help", "--version"]
         else [str(offered_by_bash("fathom", ""))])
    shell_case("zsh parses its completion, which has what the table has", lambda: check_zsh(verbs, options), "zsh")
    shell_case("fish offers what the table has", lambda: check_fish(verbs, options), "fish")
    return end()


if __name__ == "__main__":
    sys.exit(main())
