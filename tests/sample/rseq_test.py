#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom sample on a program with restartable sequences: none of its increments is lost."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "collect"))
from collect_support import *


def sampled(program):
    full = [FATHOM, "sample", "--rate", "2000", "-q", "-o", os.devnull, "--", program]
    done = subprocess.run(full, capture_output=True, text=True, timeout=90, stdin=subprocess.DEVNULL)
    return done.stdout, done.stderr


def sums_are_right():
    for flags in (("-fPIE", "-pie"), ("-fno-pie", "-no-pie")):
        program = build("rseq_counter.c", "gcc", "-O2", "-pthread", *flags)
        native = subprocess.run([program], capture_output=True, text=True, timeout=60).stdout
        if native == "no rseq\n":
            return "no rseq here"
        expect(native, "right\n", "alone")
        out, err = sampled(program)
        expect(out, "right\n", f"with samples ({err})")


cases = [("sums are right", sums_are_right)]
if not os.path.exists(os.path.join(os.path.dirname(BUILDER), "lib", "fathom", "libfathom-sample.so")):
    cases = [("all cases", lambda: "this build has no sampling runtime (it was built without Zydis)")]
main(cases)
