#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the comments of the public headers say is true as far as a compiler can tell: their examples compile, and what
they name exists. Speaks TAP.

An example is what a comment shows indented by four blanks more than its text, with a line that ends in a semicolon. It
is the body of a function: a program has what PROGRAM declares, and everything else is in the example.
"""
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from tap_cases import case, end  # noqa: E402
FOLDER = os.path.join(ROOT, "include")
PROGRAM = """#include <fathom/%s>
#include <stdio.h>
%s
static uint64_t blocks[1024];
static size_t count;
bool more_blocks(uint64_t *blocks, size_t *count);
void use_batch(const fm_batch *batch);
void solve(void);
void use_all(void);
void use_all(void) { (void)more_blocks(blocks, &count); }
void example(void);
void example(void)
{
%s
}
"""


def comments_of(text):
    return re.findall(r"/\*.*?\*/", text, re.S)


def examples_of(text):
    """Blocks of lines that are indented, with blank lines between them."""
    for comment in comments_of(text):
        block = []
        for line in comment.splitlines() + [" * end"]:
            match = re.match(r" \*     (.*)", line)
            if match:
                block.append(match.group(1))
            elif line.strip() == "*" and block:
                block.append("")
            else:
                if any(re.search(r";\s*(//.*)?$", of) for of in block):
                    yield "\n".join(block).rstrip()
                block = []


def compile_example(example, header):
    lines = example.splitlines()
    included = [line for line in lines if line.startswith("#include")]
    body = [line for line in lines if not line.startswith("#include")]
    source = PROGRAM % (header, "\n".join(included), "\n".join(body))
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", FOLDER, "-x", "c", "-"]
    return subprocess.run(command, input=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True).stdout


def names_in(text):
    """Functions, types, members' owners and constants of the library; not beginnings of names, as fm_curve_…"""
    return set(re.findall(r"\b(?:fm|FM)_\w+\b(?!…|\*)", text))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


INTERFACE = os.path.join(FOLDER, "fathom")
texts = {os.path.relpath(path, INTERFACE): read(path)
         for path in sorted(glob.glob(os.path.join(INTERFACE, "**", "*.h"), recursive=True))}
declared = set()
for text in texts.values():
    declared |= names_in(re.sub(r"/\*.*?\*/", "", text, flags=re.S))
    declared |= {name + "_sized" for name in re.findall(r"\bFM_SIZED(?:_BY)?\(\w+, (\w+),", text)}
found = 0
for name, text in texts.items():
    for example in examples_of(text):
        found += 1
        said = compile_example(example, "experimental.h" if name.startswith("experimental") else "fathom.h")
        case("the example in %s compiles" % name, [said, example] if said else [])
case("there are examples", [] if found >= 5 else ["only %d" % found])
for name, text in texts.items():
    unknown = sorted(set().union(*map(names_in, comments_of(text))) - declared)
    case("comments of %s name what there is" % name, ["no header declares " + word for word in unknown])
sys.exit(end())
