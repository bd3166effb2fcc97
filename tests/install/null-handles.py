#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NULL for a handle, as fathom.h has it: every exported function that returns a status and takes a handle (or a profile,
an attribution, a model, …) fails with FM_E_ARGUMENT and names the argument; every function that ends one does nothing.
Which functions there are is read from abi.txt, which abi-test.py compares with the library. Speaks TAP.

    tests/install/null-handles.py [BUILD]     (build)
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from tap_cases import case, end  # noqa: E402

# Structs that are no handles and are looked into all the same.
VISIBLE = {"fm_profile", "fm_attribution", "fm_model", "fm_phases", "fm_estimate", "fm_machine"}
ENDS = re.compile(r"_(destroy|close|abandon|leave)$")
# What fm_cluster_make fills is no handle of these: its end is a meeting of all ranks.
MEETINGS = {"fm_cluster_leave"}

PROGRAM = """#include <fathom/experimental.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char room[1 << 16] __attribute__((aligned(64))); /* for all other pointers */
static fm_error error;

%s
static const struct { const char *name, *argument; int (*call)(void); } calls[] = {
%s};

int main(void)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            const int status = calls[i].call();
            const bool named = !calls[i].argument[0] || strstr(error.reason, calls[i].name) == error.reason;
            _exit(status != FM_OK && !named ? 99 : status);
        }
        int ended;
        waitpid(child, &ended, 0);
        printf("%%s %%d %%d\\n", calls[i].name, WIFSIGNALED(ended) ? WTERMSIG(ended) : 0, WEXITSTATUS(ended));
    }
    return 0;
}
"""


def functions():
    with open(os.path.join(ROOT, "tests", "install", "abi.txt")) as pinned:
        for line in pinned:
            match = re.match(r"(fm_\w+)\((.*)\) -> (.+)$", line.strip())
            if match:
                yield match.group(1), re.split(r", (?![^()]*\))", match.group(2)), match.group(3)


def value(kind):
    if kind == "fm_error *":
        return "&error"
    if kind == "FILE *":
        return "stderr"
    return "(void *)room" if kind.endswith("*") else "0"


def calls(handles):
    """Name, the place of the argument that is NULL, the call; all places that are handles, one at a time."""
    for name, arguments, result in functions():
        places = [i for i, kind in enumerate(arguments)
                  if re.sub(r"^(const )?(struct )?", "", kind) in {handle + " *" for handle in handles}]
        ending = bool(ENDS.search(name)) and result == "void" and name not in MEETINGS
        for place in places if ending or result == "fm_status" else []:
            given = ["NULL" if i == place else value(kind) for i, kind in enumerate(arguments)]
            yield name, place, ending, "%s(%s)" % (name, ", ".join(given))


def main():
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build"))
    text = "".join(open(path).read() for path in glob.glob(os.path.join(ROOT, "include", "fathom", "**", "*.h"), recursive=True))
    handles = set(re.findall(r"typedef struct (fm_\w+) \1;", text)) | VISIBLE
    every = list(calls(handles))
    bodies, table = "", ""
    for number, (name, place, ending, call) in enumerate(every):
        bodies += "static int call_%d(void) { %s }\n" % (number, call + "; return 0;" if ending else "return %s;" % call)
        short = re.sub("_sized$", "", name)
        table += '    {"%s", "%s", call_%d},\n' % (short, "" if ending else place, number)
    with tempfile.TemporaryDirectory() as work:
        source, program = os.path.join(work, "calls.c"), os.path.join(work, "calls")
        with open(source, "w") as out:
            out.write(PROGRAM % (bodies, table))
        subprocess.run(["cc", "-std=gnu11", "-w", "-I" + os.path.join(ROOT, "include"), source, "-L" + build,
                        "-lfathom", "-Wl,-rpath," + build, "-o", program], check=True)
        lines = subprocess.run([program], check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout.split("\n")
    ends, statuses, counts = [], [], [0, 0]
    for (name, place, ending, _), line in zip(every, lines):
        _, signal, status = line.rsplit(" ", 2)
        counts[ending] += 1
        if ending and (signal, status) != ("0", "0"):
            ends.append("%s: signal %s" % (name, signal))
        if not ending and (signal, status) != ("0", "8"):
            statuses.append("%s, argument %d: signal %s, status %s (99: the reason names another)" %
                            (name, place + 1, signal, status))
    case("handles were found", [] if counts[0] > 80 and counts[1] > 15 else ["found %s" % counts])
    case("to end NULL is to do nothing", ends)
    case("NULL for a handle is FM_E_ARGUMENT", statuses)
    return end()


sys.exit(main())
