#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that change what they may do, or which file they are, and go on: executing /proc/self/exe, code in files that
changes, rights given up, other root directories, filters of system calls. Each does under fathom what it does alone, and
its profile is complete only where everything was seen."""
import json
import os
import shutil
import subprocess

from collect_support import *

WITH_SITES = ["--function", "touch", "--no-stack"]
WATCH = [*WITH_SITES, "--no-sites"]
FOLLOW = [*WATCH, "--follow-children"]
COLLECTORS = {"valgrind": "gcc", "compiler": "fathom"}
cases = []


def case(*collectors):
    def register(function):
        for collector in collectors or COLLECTORS:
            cases.append((f"{collector}: {function.__name__.replace('_', ' ')}", lambda c=collector: function(c, COLLECTORS[c])))
        return function

    return register


def alone(command, env=None):
    """What a program does without fathom: its output, what it says, and its status."""
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(env or {})}, timeout=60)
    return done.stdout, done.stderr, done.returncode


def status_of(profile):
    """The exit status; of a signal, below zero."""
    told = profile["run"]
    return -told["signal"] if "signal" in told else told.get("exit_code")


def as_alone(options, command, env=None, code=0):
    """Runs it with and without fathom: output and status are the same."""
    wanted = alone(command, env)
    result = run(["--output", "/dev/null", *options], command, env=env, code=code)
    expect(result.out, wanted[0], f"output of {command}")
    expect(status_of(result.profile), wanted[2], f"status of {command}: {result.err}")
    return result


def processes(profile):
    """Of all parts that were watched: how many references."""
    return sorted(part["references"] for part in profile["parts"] if part["references"])


OWN_NAMES = ["self", "pid", "thread", "task", "open", "place", "descriptor", "memory", "beside"]


@case()
def its_own_file_executed(collector, how):
    program = build("own_file.c", how)
    env = {"SELF": program}
    for name in OWN_NAMES:
        result = as_alone(WATCH, [program, name], env)
        cyclic(result.profile, 100, 3, name)
        expect(result.profile["complete"], True, f"{name}: complete")


@case()
def its_own_file_followed(collector, how):
    program = build("own_file.c", how)
    env = {"SELF": program}
    for name in OWN_NAMES:
        result = as_alone(FOLLOW, [program, name], env)
        # A memfd is gone with its process, and the names in it.
        expect(processes(result.profile), [300] if name == "memory" else [100, 300],
               f"{name}: references of both programs: {result.err}")
        expect(len(result.profile["parts"]), 2, f"{name}: programs")
        expect(result.profile["complete"], True, f"{name}: complete")


@case("valgrind")
def names_of_a_program_with_many(collector, how):
    """busybox is what its 0th argument says."""
    busybox = shutil.which("busybox")
    if not busybox:
        return "no busybox here"
    names = os.path.join(work, "names")
    os.makedirs(names, exist_ok=True)
    for name in ("sh", "expr"):
        os.symlink(busybox, os.path.join(names, name))
    script = f"echo one; expr 3 + 4; exec -a echo {busybox} two"
    result = as_alone(["--no-sites", "--follow-children"], [os.path.join(names, "sh"), "-c", script],
                      {"PATH": names})
    expect(result.out, "one\n7\ntwo\n", "output")
    expect(result.profile["complete"], True, "complete")


@case("valgrind")
def variables_of_many_processes(collector, how):
    """Each process has libc's variables for itself: their sum has more blocks than one has room for."""
    script = "for i in 1 2 3 4 5 6; do (exec perl -e 1); done; exec perl -e 1"
    result = run(["--output", "/dev/null", "--follow-children"], ["/bin/sh", "-c", script])
    expect(result.profile["complete"], True, "complete")
    expect(len(result.profile["parts"]), 14, "programs")


@case("valgrind")
def code_in_files_that_changes(collector, how):
    program = build("mapped_twice.c", how)
    for way in ("shared", "private", "file", "late", "both", "patched"):
        result = as_alone(["--function", "call_made_code", "--no-stack", "--no-sites"],
                          [program, way, os.path.join(work, "code")])
        expect(result.out, "0 wrong\n", way)
        expect((result.profile["references"], result.profile["distinct"]), (5050, 100), f"{way}: references, blocks")


@case()
def rights_given_up(collector, how):
    if os.geteuid() != 0:
        return "not root, who alone can give up rights"
    os.chmod(work, 0o755)
    program, other = build("rights.c", how), build("plain.c", how)
    result = as_alone(WATCH, [program, "stay"])
    expect(result.profile["references"], 400, "stays")
    result = as_alone(FOLLOW, [program, "fork"])
    expect(processes(result.profile), [100, 300], "forks")
    for way in ("exec", "spawn"):
        result = as_alone(FOLLOW, [program, way, other, "6"])
        expect(processes(result.profile), [300, 300], f"{way}: references of both programs: {result.err}")
        expect(result.profile["complete"], True, f"{way}: complete")


@case()
def rights_given_up_by_another_program(collector, how):
    """setpriv is not built by fathom cc, and stands between two programs that are."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        return "not root, or no setpriv"
    os.chmod(work, 0o755)
    first, other = build("spawning.c", how), build("plain.c", how)
    script = os.path.join(work, "drop.sh")
    with open(script, "w") as file:
        file.write(f"#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups {other} 9\n")
    os.chmod(script, 0o755)
    result = as_alone(FOLLOW, [first, script])
    expect(processes(result.profile), [300, 300], f"references of both programs: {result.err}")
    expect(result.profile["complete"], True, "complete")


@case()
def another_root_directory(collector, how):
    """Without /proc the new program cannot be traced by Valgrind: it runs all the same, and the profile says so. One of fathom
    cc comes to the memory by what it inherits."""
    if os.geteuid() != 0:
        return "not root, who alone can change the root directory"
    os.chmod(work, 0o755)
    root = os.path.join(work, f"root-{collector}")
    os.makedirs(root, exist_ok=True)
    shutil.copy(build("plain.c", how, "-static"), os.path.join(root, "plain"))
    valgrind = collector == "valgrind"
    result = as_alone(["--no-sites", "--follow-children"], [build("rights.c", how), "root", root, "/plain", "6"],
                      code=3 if valgrind else 0)
    if valgrind:
        expect(result.profile["complete"], False, "complete")
        expect_in("/plain, which could not be traced", result.profile["what_missing"], "what is missing")
    else: # it has no name there, so that its functions have none
        expect(len(processes(result.profile)), 2, f"programs that were seen: {result.err}")
        expect(result.profile["complete"], True, "complete")


@case("compiler")
def descriptors_closed_and_rights_given_up(collector, how):
    """What cannot come to the session runs as it does alone, and the profile says that it is missing."""
    if os.geteuid() != 0:
        return "not root, who alone can give up rights"
    os.chmod(work, 0o755)
    result = as_alone(FOLLOW, [build("rights.c", how), "close", build("plain.c", how), "6"], code=3)
    expect(result.profile["references"], 300, "references of the first")
    expect_in("did not come to the memory", result.profile["what_missing"], "what is missing")


@case("valgrind")
def tool_out_of_reach(collector, how):
    """The tool's directory is root's own: who has given up these rights is traced all the same."""
    if os.geteuid() != 0:
        return "not root, who alone can give up rights"
    os.chmod(work, 0o755)
    parts = os.path.join(work, "parts")
    shutil.copytree(os.path.join(os.path.dirname(FATHOM), "lib", "fathom", "valgrind"), os.path.join(parts, "valgrind"))
    os.chmod(parts, 0o700)
    result = as_alone(FOLLOW, [build("rights.c", how), "exec", build("plain.c", how), "6"], {"FATHOM_PARTS": parts})
    expect(processes(result.profile), [300, 300], f"references of both programs: {result.err}")
    expect(result.profile["complete"], True, "complete")


@case("valgrind")
def set_user_id_of_oneself(collector, how):
    """A set-user-ID bit that gives nothing is no hindrance; one that does is: the program then runs without us."""
    if os.geteuid() != 0:
        return "not root"
    os.chmod(work, 0o755)
    own, others = os.path.join(work, "own"), os.path.join(work, "others")
    for path, owner in ((own, 0), (others, 65534)):
        shutil.copy(build("plain.c", how), path)
        os.chown(path, owner, owner)
        os.chmod(path, 0o4755)
    starter = build("exec_self.c", how)
    result = as_alone(FOLLOW, [starter, own, "6"])
    expect(processes(result.profile), [300, 300], f"own: references of both programs: {result.err}")
    result = as_alone(FOLLOW, [starter, others, "6"], code=3)
    expect(result.profile["complete"], False, "another's: complete")


# ---- filters of system calls ----

@case()
def system_calls_forbidden(collector, how):
    """Neither the runtime nor Valgrind makes any that the program has forbidden itself, and all is seen."""
    for flags in ([], ["-static"]):
        program = build("filtered.c", how, "-pthread", *flags)
        for way in ("strict", "few", "call", "refused", "trapped", "threads"):
            result = as_alone(WATCH, [program, way])
            expect(result.out, "trapped\n" if way == "trapped" else "done\n", f"{way}, {flags}")
            cyclic(result.profile, 1000, 1000, f"{way}, {flags}")
            expect(result.profile["complete"], True, f"{way}, {flags}: complete")


@case("valgrind")
def filters_stay_over_exec(collector, how):
    """A new Valgrind could not live under them: the program is executed without, under the filters of the kernel."""
    program = build("filtered.c", how, "-pthread")
    for options, code in ((WATCH, 0), (FOLLOW, 3)):
        result = as_alone(options, [program, "exec", build("plain.c", how), "6"], code=code)
        cyclic(result.profile, 1000, 1000, "before")
        expect(result.profile["complete"], code == 0, "complete")


@case("compiler")
def forbidden_by_libseccomp(collector, how):
    """openssh, file and others leave it to this library, which is not built by fathom cc."""
    source = os.path.join(work, "library.c")
    with open(source, "w") as file:
        file.write(f"""
#include <seccomp.h>
#include <stdio.h>
#include <unistd.h>
#include "{PROGRAMS}/touch.h"
static char data[1000 * BLOCK] __attribute__((aligned(BLOCK)));
int main(void)
{{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    if (!filter || seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 0) ||
        seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(exit_group), 0) || seccomp_load(filter))
        return 1;
    touch(data, 1000, 1000);
    (void)!write(1, "done\\n", 5);
    _exit(0);
}}
""")
    program = os.path.join(work, "library")
    made = subprocess.run([BUILDER, "cc", "-g", "-O2", source, "-o", program, "-lseccomp"], capture_output=True, text=True)
    if made.returncode:
        return "libseccomp is not installed (package libseccomp-dev)"
    result = as_alone(WATCH, [program])
    cyclic(result.profile, 1000, 1000)
    expect(result.profile["complete"], True, "complete")


@case("compiler")
def forbidden_while_signals_come(collector, how):
    """Signals cannot be blocked: a handler that comes at a wrong moment is not seen, which the profile says then."""
    program = build("filtered.c", how, "-pthread")
    for _ in range(3):
        path = os.path.join(work, "signals.json")
        if os.path.exists(path):
            os.unlink(path)
        done = subprocess.run([FATHOM, "run", "--json", path, "--output", "/dev/null", *WATCH, "--", program, "signals", "2000"],
                              capture_output=True, text=True, timeout=120)
        with open(path) as file:
            profile = json.load(file)
        expect(done.stdout, "done\n", f"output: {done.stderr}")
        loops, rest = divmod(profile["references"], 100 * 1000)
        if profile["complete"]:
            expect((done.returncode, rest), (0, 20000), f"handlers that were seen, {loops} turns")
        else:
            expect(done.returncode, 3, "exit status")
            expect_in("lost", profile["what_missing"], "what is missing")


@case("compiler")
def forbidden_behind_our_back(collector, how):
    """A filter that libc knows nothing of: the program is killed for a call of ours, and the profile does not hide it."""
    result = run(["--output", "/dev/null", *WATCH], [build("filtered.c", how, "-pthread"), "hidden"], code=3)
    expect(result.profile["complete"], False, "complete")
    expect_in("system call of fathom's own", result.profile["what_missing"], "what is missing")


@case()
def killed_for_its_own_call(collector, how):
    result = as_alone(WATCH, [build("filtered.c", how, "-pthread"), "guilty"])
    cyclic(result.profile, 1000, 1000)
    expect(result.profile["complete"], True, "complete")


main(cases)
