#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that change what they may do, or which file they are, and go on: executing /proc/self/exe, code in files that
changes, rights given up, other root directories, filters of system calls. Each does under fathom what it does alone, and
its profile is complete only where everything was seen."""
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
        expect(processes(result.profile), [300] if name == "memory" and collector == "valgrind" else [100, 300],
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
    result = as_alone(FOLLOW, [build("rights.c", how), "root", root, "/plain", "6"], code=3 if valgrind else 0)
    if valgrind:
        expect(result.profile["complete"], False, "complete")
        expect_in("/plain, which could not be traced", result.profile["what_missing"], "what is missing")
    else:
        expect(processes(result.profile), [300, 300], f"references of both programs: {result.err}")
        expect(result.profile["complete"], True, "complete")


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


main(cases)
