#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The part of docs/TUTORIAL.md about a program that keeps running: its commands are typed, and find its two lines. What
they print varies from run to run."""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "collect"))
from collect_support import *

SECTION = "## A program that keeps running"


def section():
    with open(os.path.join(ROOT, "docs", "TUTORIAL.md"), encoding="utf-8") as page:
        return page.read().split(SECTION)[1].split("\n## ")[0]


def the_lines_are_found():
    text = section()
    commands = re.findall(r"^\$ (.*)$", text, re.MULTILINE)
    expect(len(commands), 2, "commands of the tutorial")
    where = os.path.join(work, "blur-tutorial")
    shutil.copytree(os.path.join(ROOT, "examples", "tutorial"), where)
    path = os.path.dirname(FATHOM) + ":" + os.environ["PATH"]
    # Fewer frames than the page has, as they take their time, and more samples of each: forty bursts are too few.
    typed = " && ".join(commands).replace("blur_stream 12", "blur_stream 10").replace("--rate 100", "--rate 400")
    done = subprocess.run(["bash", "-c", typed], cwd=where, env={**os.environ, "PATH": path}, capture_output=True,
                          text=True, timeout=120)
    expect(done.returncode, 0, f"exit code: {done.stderr}")
    expect(done.stdout, "10 frames\n", "the program's own output")
    found = done.stderr.split("most of them at")[1]
    for line in ("blur_stream.c:22", "blur_stream.c:23"):
        expect_in(line, text, "the page")
        expect_in(line, found, "the first screen")
    expect_in("on heap block from main (blur_stream.c:3", found, "its data")
    # By columns, all ten accesses of a round go to other lines than those before: two of them miss.
    share = float(re.search(r"48 KiB\s+\S+ \S\s+([\d.]+) %", done.stderr)[1])
    expect(10 < share < 28, True, f"miss ratio ({share} %) is that of two of some eleven accesses")


cases = [("the lines are found", the_lines_are_found)]
if not os.path.exists(os.path.join(os.path.dirname(BUILDER), "lib", "fathom", "libfathom-sample.so")):
    cases = [("all cases", lambda: "this build has no sampling runtime (it was built without Zydis)")]
main(cases)
