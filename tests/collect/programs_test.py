#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tiny programs with odd behaviour (tests/programs), each with its expected answer, under both collectors.

Almost all of them are watched in the function touch, whose references are known to the last one."""
import contextlib
import ctypes
import hashlib
import json
import os
import shutil
import subprocess

from collect_support import *

# Code sites are looked for where a case looks at them: libc's debug information is most of the time of a short run.
WITH_SITES = ["--function", "touch", "--no-stack"]
WATCH = [*WITH_SITES, "--no-sites"]
COLLECTORS = {"valgrind": "gcc", "compiler": "fathom"}
cases = []


def case(*collectors):
    """A case for each collector; the function gets the collector's name and how to build for it."""

    def register(function):
        for collector in collectors or COLLECTORS:
            name = f"{collector}: {function.__name__.replace('_', ' ')}"
            cases.append((name, lambda f=function, c=collector: f(c, COLLECTORS[c])))
        return function

    return register


@contextlib.contextmanager
def fixed_addresses():
    """Programs that are started within have no random addresses: two runs of one are alike."""
    no_randomization = 0x0040000
    before = ctypes.CDLL(None).personality(0xFFFFFFFF)
    ctypes.CDLL(None).personality(before | no_randomization)
    try:
        yield
    finally:
        ctypes.CDLL(None).personality(before)


def ending(result):
    return result.profile["run"]["ending"]


@case()
def reproducible_runs_are_equal(collector, how):
    """Another length of the environment moves the stack and all that is on it; ids and times always differ."""
    program, texts = build("plain.c", how), []
    for number, variables in enumerate(({}, {"FILLER": "x" * 77, "LANG": "C.UTF-8"})):
        path = os.path.join(work, f"reproducible-{collector}-{number}.json")
        subprocess.run([FATHOM, "run", "--quiet", "--reproducible", "--size", "32K", "--json", path, "--force", "-o", os.devnull,
                        "--", program],
                       check=True, stdout=subprocess.DEVNULL, env={**os.environ, **variables})
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    expect(texts[1] == texts[0], True, "equal byte for byte")
    told = json.loads(texts[0])["run"]
    expect((told["process"], told["seconds"]), (1, 0), "process and seconds")


@case()
def on_one_processor(collector, how):
    """Nobody else analyses than the thread that receives; the profile is that of several threads."""
    program, texts = build("plain.c", how), []
    processor = min(os.sched_getaffinity(0))
    for number, most in enumerate((["--threads", "3"], [])):
        path = os.path.join(work, f"one-processor-{collector}-{number}.json")
        subprocess.run([FATHOM, "run", "--quiet", "--reproducible", "--size", "32K", *most, "--json", path, "--force", "-o",
                        os.devnull, "--", program],
                       check=True, stdout=subprocess.DEVNULL,
                       preexec_fn=None if most else lambda: os.sched_setaffinity(0, {processor}))
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    expect(texts[1] == texts[0], True, "equal byte for byte")
    if collector != "valgrind":
        return
    count = subprocess.run([FATHOM, "run", "--quiet", "--no-sites", "--output", "/dev/null", "--", "sh", "-c",
                            "sleep 0.1; set -- /proc/$PPID/task/*; echo $#"], check=True, stdout=subprocess.PIPE,
                           preexec_fn=lambda: os.sched_setaffinity(0, {processor}), text=True)
    expect(count.stdout.strip(), "1", "threads of fathom")


@case()
def plain_program(collector, how):
    result = run(WITH_SITES, [build("plain.c", how)])
    cyclic(result.profile, 100, 3)
    expect(result.profile["run"]["collector"], collector, "collector")
    expect(ending(result), "exited with 0", "ending")
    result = run(WATCH, [build("plain.c", how), "42"])
    cyclic(result.profile, 100, 3, "without sites")
    expect(ending(result), "exited with 42", "ending")
    expect(result.profile["run"]["exit_code"], 42, "exit code")


@case()
def kinds_of_executables(collector, how):
    for flags in (["-no-pie"], ["-static"], ["-pie", "-fPIE"]):
        cyclic(run(WATCH, [build("plain.c", how, *flags)]).profile, 100, 3, str(flags))


@case("compiler")
def what_was_not_seen(collector, how):
    for flags, missing in (([], "libc.so.6"), (["-static"], "libc and other libraries that are linked into"),
                           (["-static-pie"], "libc and other libraries that are linked into")):
        result = run(WATCH, [build("plain.c", how, *flags)])
        for where in (result.err, str(result.profile["run"].get("notes"))):
            expect_in("not seen, because not built by `fathom cc`: ", where, f"note, {flags}")
            expect_in(missing, where, f"what the note names, {flags}")


@case("valgrind")
def stripped_program(collector, how):
    # No function names: all references are counted, and attributed to addresses.
    path = build("plain.c", how, "-s")
    result = run([], [path])
    expect(result.profile["complete"], True, "complete")
    expect_in("-g", result.err, "hint about debug information")
    result = run(WATCH, [path], code=2)
    expect_in("touch", result.err, "message about an unknown function")


@case()
def fork_without_following(collector, how):
    result = run(WATCH, [build("forking.c", how)])
    cyclic(result.profile, 100, 3)
    expect(ending(result), "exited with 0", "ending")


@case()
def fork_with_following(collector, how):
    result = run(WITH_SITES + ["--follow-children"], [build("forking.c", how)])
    parts = result.profile["parts"]
    expect(len(parts), 2, "processes")
    cyclic(parts[0], 100, 3, "parent")
    cyclic(parts[1], 50, 2, "child")
    expect(parts[1]["run"]["ending"], "exited with 7", "the child's ending")
    expect(parts[1]["run"]["parent"], parts[0]["run"]["process"], "the child's parent")
    expect(result.profile["references"], 400, "sum")


@case()
def vfork_and_exec(collector, how):
    command = [build("vfork_exec.c", how), build("plain.c", how), "9"]
    cyclic(run(WATCH, command).profile, 100, 3)
    result = run(WATCH + ["--follow-children"], command)
    parts = [part for part in result.profile["parts"] if part["references"]]
    expect(sorted(part["references"] for part in parts), [300, 300], "references of the processes")
    expect_in("exited with 9", str([part["run"]["ending"] for part in result.profile["parts"]]), "endings")


@case()
def posix_spawned(collector, how):
    command = [build("spawning.c", how), build("plain.c", how), "9"]
    cyclic(run(WATCH, command).profile, 100, 3)
    result = run(WATCH + ["--follow-children"], command)
    parts = [part for part in result.profile["parts"] if part["references"]]
    expect(sorted(part["references"] for part in parts), [300, 300], "references of the processes")


@case()
def exec_in_place(collector, how):
    command = [build("exec_self.c", how), build("plain.c", how), "4"]
    result = run(WATCH, command)
    cyclic(result.profile, 100, 3)
    result = run(WITH_SITES + ["--follow-children"], command)
    parts = result.profile["parts"]
    expect([part["references"] for part in parts], [300, 300], "before and after exec")
    expect(parts[0]["run"]["process"], parts[1]["run"]["process"], "process number")


def life(parts):
    """Of each part: references, arguments behind the first, how it ended, by exec, and which part its parent is."""
    pids = [part["run"]["process"] for part in parts]
    return [(part["references"], part["run"]["command"].split(" ")[1:], part["run"].get("exit_code"),
             part["run"].get("by_exec", False), pids.index(part["run"]["parent"]) if "parent" in part["run"] else None)
            for part in parts]


@case()
def lives_over_exec(collector, how):
    program = build("exec_ways.c", how, "-pthread")
    env = {"SELF": program}
    alone = [*WATCH, "--no-sites"]
    follow = [*alone, "--follow-children"]
    # A chain of programs, one of them executed by a thread: the status is that of the last.
    result = run(follow, [program, "exec", "thread", "exec", "7"], env=env)
    expect(result.profile["run"]["exit_code"], 7, "status of the whole")
    expect(result.profile["run"]["ending"], "exited with 7", "end of the whole")
    expect("parent" in result.profile["run"], False, "parent of the first")
    expect(life(result.profile["parts"]),
           [(300, ["exec", "thread", "exec", "7"], None, False, None), (300, ["thread", "exec", "7"], None, True, None),
            (300, ["exec", "7"], None, True, None), (300, ["7"], 7, True, None)], "the chain")
    expect([part["run"]["ending"] for part in result.profile["parts"]],
           [f"became {program} by exec"] * 3 + ["exited with 7"], "endings")
    expect(len({part["run"]["process"] for part in result.profile["parts"]}), 1, "process numbers")
    # In a child, and in a child of what that has become; the command's own status is another.
    result = run(follow, [program, "fork", "exec", "nowhere", "fork", "exec", "9"], env=env)
    expect(result.profile["run"]["exit_code"], 5, "status of the whole")
    rest = ["nowhere", "fork", "exec", "9"]
    expect(sorted(life(result.profile["parts"]), key=str),
           sorted([(300, ["fork", "exec", *rest], 5, False, None), (0, ["fork", "exec", *rest], None, False, 0),
                   (400, rest, 5, True, 0), (0, rest, None, False, 1), (300, ["9"], 9, True, 1)], key=str), "children")
    # An exec that fails, and nothing that is watched afterwards.
    for options in (alone, [*follow, "--stores"]):
        result = run(options, [program, "nowhere", "exec", "nowhere", "6"] if options is not alone else [program, "nowhere", "6"],
                     env=env)
        expect(result.profile["run"]["exit_code"], 6, f"{options}: status")
        expect("/nowhere/program" in result.err, False, f"{options}: no note about it: {result.err}")
    # Not followed: the same process, whose end is known.
    result = run(alone, [program, "thread", "exec", "8"], env=env)
    cyclic(result.profile, 100, 3, "not followed")
    expect(result.profile["run"]["exit_code"], 8, "not followed: status")
    expect_in("which was not traced", result.err, "not followed: note")


@case()
def long_command_lines(collector, how):
    program = build("exec_ways.c", how, "-pthread")
    words = ["a b", "", "it's", "é"]
    result = run([*WATCH, "--no-sites", "--follow-children"], [program, "exec", "3", *words], env={"SELF": program})
    command = result.profile["parts"][1]["run"]["command"]
    expect(command.split(" ", 1)[1], "3 'a b' '' 'it'\\''s' 'é'", "arguments quoted")
    result = run([*WATCH, "--no-sites", "--follow-children"], [program, "exec", "3", "x" * 1000, *["y" * 1000] * 40], env={"SELF": program})
    command = result.profile["parts"][1]["run"]["command"]
    expect(command.split(" ")[1:3], ["3", "x" * 1000], "the first arguments")
    expect(command[-2:], " …", "the end of one that is too long")


@case()
def thread_that_outlives_main(collector, how):
    result = run(WITH_SITES + ["--threads-private"], [build("outliving_main.c", how, "-pthread")])
    expect(result.profile["references"], 700, "references")
    threads = sorted(result.profile["parts"], key=lambda part: part["references"])
    cyclic(threads[0], 100, 3, "main")
    cyclic(threads[1], 200, 2, "thread")


@case()
def threads_that_exit(collector, how):
    result = run(WATCH + ["--threads-private"], [build("thread_exits.c", how, "-pthread")])
    cyclic(result.profile, 800, 1)
    expect(sorted(part["references"] for part in result.profile["parts"] if part["references"]), [100] * 8, "threads")


@case()
def sixty_four_threads(collector, how):
    result = run(WATCH + ["--threads-private"], [build("many_threads.c", how, "-pthread")])
    expect(result.profile["references"], 64 * 128 * 50, "references")
    expect(result.profile["cold"], 64 * 128, "cold")
    private = [part for part in result.profile["parts"] if part["references"]]
    expect(len(private), 64, "threads")
    for part in private:
        cyclic(part, 128, 50, "a thread")


@case()
def signal_handlers(collector, how):
    result = run(WATCH, [build("signalling.c", how)])
    expect(result.profile["references"], 10 * 30 + 5 * 20 + 100, "references")
    expect(result.profile["cold"], 100, "cold")


@case()
def leaving_by__exit(collector, how):
    result = run(WATCH, [build("leaving_early.c", how)])
    cyclic(result.profile, 100, 3)
    expect(ending(result), "exited with 5", "ending")


@case()
def aborting(collector, how):
    result = run(WATCH, [build("aborting.c", how)])
    cyclic(result.profile, 100, 3)
    expect_in("SIGABRT", ending(result), "ending")
    expect(result.profile["run"]["signal"], 6, "signal")


@case()
def crashing(collector, how):
    result = run(WITH_SITES, [build("crashing.c", how)])
    cyclic(result.profile, 100, 3)
    expect_in("SIGSEGV", ending(result), "ending")


@case()
def long_copies(collector, how):
    # Whatever way a copy is told, it is done right; and one that faults at once has told little.
    program = build("long_copies.c", how)
    result = run(WATCH, [program])
    expect(ending(result), "exited with 0", "ending")
    cyclic(result.profile, 100, 3)
    for which in "scmn" if collector == "compiler" else "s":
        result = run(["--no-sites"], [program, which], timeout=60)
        expect_in("SIGSEGV", ending(result), f"ending of {which}")
        expect(result.profile["references"] < 20_000_000, True, f"few references of {which}")


@case("compiler")
def children_that_say_the_same(collector, how):
    # They are not built by fathom cc, which is a note for each of them.
    command = [build("starting.c", how), "true", "echo", "echo", "true", "echo"]
    result = run(WATCH + ["--follow-children"], command)
    expect(result.profile["references"], 300, "references")


@case()
def plug_in_loaded_and_unloaded(collector, how):
    plugin = build("plugin.c", how, "-shared", "-fPIC", output=f"plugin-{how}.so")
    result = run(WITH_SITES, [build("loading.c", how, "-ldl", "-rdynamic"), plugin])
    expect(result.profile["references"], 100 + 3 * 40, "references")
    attribution = result.profile["attribution"]
    modules = {os.path.basename(attribution["modules"][site["module"]]["path"])
               for site in attribution["sites"] if site.get("module") is not None}
    expect_in(os.path.basename(plugin), modules, "modules with sites")


@case("valgrind")
def code_made_at_run_time(collector, how):
    result = run(["--function", "call_made_code", "--no-stack"], [build("self_modifying.c", how)])
    expect(result.profile["references"], 60 + 80, "references")
    expect(result.profile["distinct"], 60, "distinct blocks")


@case()
def openmp_pool(collector, how):
    result = run(WATCH, [build("openmp.c", how, "-fopenmp")])
    expect(result.profile["references"], 4 * 100 * 20, "references")
    expect(result.profile["cold"], 400, "cold")


def path_functions(attribution, path):
    """The functions on a call path, innermost first."""
    names = []
    while path is not None:
        node = attribution["paths"][path]
        names += [frame["function"] for frame in attribution["sites"][node["call"]].get("frames", [])]
        path = node.get("parent")
    return names


def builds(collector, how, source, *flags):
    """By gcc; for the compiler's way also without optimization and statically, and by clang."""
    yield "gcc", build(source, how, *flags)
    if collector == "compiler":
        yield "static", build(source, how, *flags, "-O0", "-static")
        yield "clang", build(source, how, *flags, env={"FATHOM_CC": "clang", "FATHOM_CXX": "clang++"})


@case()
def functions_left_by_longjmp(collector, how):
    ways = ["longjmp", "_longjmp", "siglongjmp", "signal", "signal-stack", "deep"]
    for name, program in builds(collector, how, "jumping.c", "-pthread"):
        for way in ways + ["signal-stack in a thread"] if name == "gcc" else ("longjmp", "signal-stack"):
            command = [program, *way.split()[:2]]
            found = run(["--function", "inside", "--no-stack", "--no-sites"], command).profile["references"]
            # libc's own part of it is seen by Valgrind.
            right = found == 1 if collector == "compiler" else found < 500
            expect(right, True, f"{name}, {way}: the one load in inside, found {found}")
    program = build("jumping.c", how, "-pthread", "-D_FORTIFY_SOURCE=2")
    found = run(["--function", "inside_unseen", "--no-stack", "--no-sites"], [program, "builtin"]).profile["references"]
    expect(found < 10, True, f"__builtin_longjmp, found {found}")
    found = run(["--function", "inside", "--no-stack", "--no-sites"], [program]).profile["references"]
    expect(found < 500, True, f"__longjmp_chk, found {found}")
    attribution = run(["--no-stack", "--call-paths"], [program]).profile["attribution"]
    after = 0
    for pair in attribution["pairs"]:
        site = attribution["sites"][pair["reuse"]]
        names = path_functions(attribution, site["path"])
        if "jump" in [frame["function"] for frame in site.get("frames", [])]:
            expect("inside" in names, False, f"the path of what comes after: {names}")
            after += pair["count"]
    expect(after > 0, True, "what comes after the jump has its paths")


@case("compiler")
def functions_left_by_exceptions(collector, how):
    part = os.path.join(PROGRAMS, "through_c.c")
    for name, program in builds(collector, how, "throwing.cc", "-x", "c", part, "-x", "c++"):
        # Of each of three rounds: one load before each of two calls, the exception's own number, ten loads that
        # clean up; a thousand afterwards. (Of a static program copies by libc and the unwinder are seen, too.)
        for function, references in (("through_c", 39), ("twice", 36), ("throws", 3), ("main", 3042)):
            found = run(["--function", function, "--no-stack", "--no-sites"], [program]).profile["references"]
            right = found == references or ("static" in name and references <= found < references + 200)
            expect(right, True, f"{name}: {references} references in {function}, found {found}")
            if name != "gcc":
                break


@case()
def cplusplus_exceptions(collector, how):
    result = run(WATCH, [build("exceptions.cc", how)])
    expect(result.profile["references"], 10 * (50 + 5 + 5) + 100, "references")
    expect(ending(result), "exited with 0", "ending")
    # The call stack is right after exceptions, too.
    result = run(["--function", "inner", "--no-stack", "--no-sites", "--limit", "100M"], [build("exceptions.cc", how)])
    expect(result.profile["cold"] >= 50, True, "blocks of inner")


@case()
def fortran(collector, how):
    result = run(["--function", "add_up", "--no-stack", "--loads"], [build("column_sum.f90", how, "-fno-inline")])
    found = result.profile["references"]
    expect(40000 <= found <= 40010, True, f"40000 loads of the matrix and a few arguments, found {found}")
    names = {frame["function"] for site in result.profile["attribution"]["sites"] for frame in site.get("frames", [])}
    expect_in("add_up", names, "functions")


@case()
def regions(collector, how):
    program = [build("regions.c", how)]
    for region, blocks, passes in (("first", 100, 2), ("inner", 10, 1)):
        result = run(["--region", region, *(WITH_SITES if region == "inner" else WATCH)], program)
        cyclic(result.profile, blocks, passes, region)
    result = run(["--region", "second", *WATCH], program)
    expect(result.profile["references"], 160, "second, with inner in it")
    result = run(["--region", "no such", "--no-sites"], program, code=2)
    expect_in("no such", result.err, "message about an unknown region")
    expect(subprocess.run(program).returncode, 0, "the program alone")


@case()
def limits(collector, how):
    program = [build("long_run.c", how)]
    result = run(WATCH + ["--limit", "234567"], program)
    expect(result.profile["references"], 234567, "references")
    expect_in("done", result.out, "the program runs on")
    expect(ending(result), "exited with 3", "ending")
    result = run(WATCH + ["--limit", "234567", "--at-limit", "stop"], [build("endless.c", how)], timeout=60)
    expect(result.profile["references"], 234567, "references")
    expect(result.profile["complete"], True, "complete, as asked")
    for seconds in ("0.3", "2", "10"):  # on a busy machine Valgrind takes longer to begin
        result = run(["--limit-time", seconds, "--at-limit", "stop", "--no-sites"], [build("endless.c", how)])
        if result.profile["references"] > 1000:
            break
    expect(result.profile["references"] > 1000, True, "references within that time")


@case()
def loads_and_stores(collector, how):
    program = [build("plain.c", how)]
    cyclic(run(WATCH + ["--loads"], program).profile, 100, 3)
    expect(run(WATCH + ["--stores"], program).profile["references"], 0, "stores")


def late_by_object(profile):
    """Late references by the name of the object: a global's, or that of the function that asked for a heap block."""
    attribution = profile["attribution"]
    found = {}
    for use in attribution["object_uses"]:
        thing = attribution["objects"][use["object"]]
        name = thing.get("name") or thing["kind"]
        if thing["kind"] == "heap":
            frames = attribution["sites"][attribution["paths"][thing["allocation"]]["call"]].get("frames", [])
            name = next((f["function"] for f in frames), "?")
        found[name] = found.get(name, 0) + use["count"]
    return found


@case("valgrind")
def heap_of_a_static_program(collector, how):
    program = build("objects.c", how, "-static", "-fno-builtin", "-fno-optimize-sibling-calls")
    found = late_by_object(run(["--function", "touch", "--size", "32K"], [program]).profile)
    expect((found.get("make_first"), found.get("make_second")), (3 * 4096, 4 * 4096), f"late references, of {found}")
    # Without symbols nobody knows where malloc is; that is said.
    stripped = build("objects.c", how, "-static", "-s")
    expect_in("heap blocks are not known", run(["--size", "32K"], [stripped]).err, "note")


@case("valgrind")
def allocator_of_the_program(collector, how):
    result = run([*WITH_SITES, "--size", "32K"], [build("own_allocator.cc", how, "-std=c++17")])
    expect(result.profile["references"], 3 * 3 * 4096, "references")
    found = late_by_object(result.profile)
    expect(found.get("make_own()"), 2 * 3 * 4096, f"late references to blocks of operator new, of {found}")
    expect(found.get("make_malloc()"), 3 * 4096, f"late references to the block of malloc, of {found}")


@case("valgrind")
def run_and_record_see_the_same(collector, how):
    # Code sites need to know the heap, and nothing of that may be seen in the program: not one reference more.
    trace, profile = os.path.join(work, "same.fathom"), os.path.join(work, "same.json")
    for command in ([build("own_allocator.cc", how, "-std=c++17")],):
        with fixed_addresses():
            found = [run(options, command).profile for options in ([], ["--no-sites"])]
            subprocess.run([FATHOM, "record", "-q", "-o", trace, "--force", "--", *command], capture_output=True, check=True)
        subprocess.run([FATHOM, "analyze", "-q", "--json", profile, "--force", trace], capture_output=True, check=True)
        with open(profile) as file:
            found.append(json.load(file))
        for name in ("references", "distinct", "cold", "histogram"):
            expect([one[name] == found[0][name] for one in found], [True] * 3, f"{command[0]}: {name}")
    expect_in("preload nothing", run([], ["sh", "-c", "echo preload ${LD_PRELOAD:-nothing}; :"]).out, "what is loaded into it")
    os.unlink(trace)
    os.unlink(profile)


@case()
def data_objects(collector, how):
    result = run(["--function", "touch", "--size", "32K"], [build("objects.c", how, "-fno-builtin", "-fno-optimize-sibling-calls")])
    found = late_by_object(result.profile)
    expect(found.get("global_table"), 2 * 4096, f"late references to the global, of {found}")
    expect(found.get("make_first"), 3 * 4096, f"late references to the first heap block, of {found}")
    expect(found.get("make_second"), 4 * 4096, f"late references to the second heap block, of {found}")
    expect(2 * 4095 <= found.get("stack", 0) <= 2 * 4095 + 20, True, f"late references to the stack, of {found}")


def objects_found(profile):
    """Late references by the name of what they went to, or by its kind."""
    attribution, found = profile["attribution"], {}
    for use in attribution["object_uses"]:
        thing = attribution["objects"][use["object"]]
        name = thing["kind"] + " " + thing.get("name", "?")
        found[name] = found.get(name, 0) + use["count"]
    return found


@case()
def thread_local_variables(collector, how):
    plugin = build("local_plugin.c", how, "-shared", "-fPIC", output=f"local-{how}.so")
    for name, program in builds(collector, how, "thread_locals.c", "-pthread"):
        command = [program] if name == "static" else [program, plugin]
        # They are no part of a stack, which --no-stack leaves out.
        for options in (["--no-stack"], []) if name == "gcc" else (["--no-stack"],):
            wanted = {"thread-local first": 5 * 8192, "thread-local second": 8192}
            if name != "static":
                wanted["thread-local third"] = 2 * 8192
            found = objects_found(run(["--function", "touch", "--size", "32K", *options], command).profile)
            expect({key: found.get(key) for key in wanted}, wanted, f"{name}: late references, of {found}")


@case()
def call_paths(collector, how):
    result = run(WITH_SITES + ["--call-paths"], [build("call_paths.c", how, "-fno-optimize-sibling-calls")])
    attribution = result.profile["attribution"]

    def functions(path):
        names = []
        while path is not None:
            node = attribution["paths"][path]
            names += [frame["function"] for frame in attribution["sites"][node["call"]].get("frames", [])]
            path = node.get("parent")
        return names

    found = {"left": 0, "right": 0}
    for pair in attribution["pairs"]:
        names = functions(attribution["sites"][pair["reuse"]]["path"])
        for side in found:
            if side in names:
                expect_in("main", names, "the outermost caller")
                found[side] += pair["count"]
    expect(found, {"left": 120, "right": 270}, "references by path")


@case("compiler")
def library_in_a_plain_program(collector, how):
    # Told so: by itself, run takes Valgrind for a program that was not built by fathom cc.
    host = os.path.join(work, "host")
    subprocess.run(["gcc", "-O2", os.path.join(ROOT, "tests/collect/cc_host.c"), "-o", host, "-pthread"], check=True)
    library = os.path.join(work, "library.so")
    subprocess.run([BUILDER, "cc", "-O2", "-shared", "-fPIC", "-I" + os.path.join(ROOT, "include"),
                    os.path.join(ROOT, "tests/collect/cc_library.c"), "-o", library], check=True)
    result = run(["--collector", "compiler", "--region", "library"], [host, library])
    expect(result.profile["references"], 10 * 100, "stores of the library")
    expect_in("not built by `fathom cc`: host, ", result.err, "what is not seen")
    result = run(["--collector", "compiler"], ["/bin/true"], code=1)
    expect_in("neither it nor a library that it loaded was built by `fathom cc`", result.err, "nothing was seen")


@case("compiler")
def extension_of_python(collector, how):
    python = shutil.which("python3")
    answer = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_paths()['include'])"], capture_output=True,
                            text=True, check=True).stdout.strip()
    if not os.path.exists(os.path.join(answer, "Python.h")):
        return f"there is no {answer}/Python.h"
    folder = os.path.join(work, "modules")
    os.makedirs(folder, exist_ok=True)
    subprocess.run([BUILDER, "cc", "-O2", "-shared", "-fPIC", "-I" + answer, os.path.join(ROOT, "tests/programs/extension.c"),
                    "-o", os.path.join(folder, "extension.so")], check=True)
    program = "import extension; print(extension.total(10000, 20))"
    script = os.path.join(folder, "script")
    with open(script, "w") as file:
        file.write(f"#!{python}\n{program}\n")
    os.chmod(script, 0o755)
    for command in ([python, "-c", program], [script]):
        result = run(["--collector", "compiler", "--function", "total", "--no-stack", "--size", "32K"], command,
                     env={"PYTHONPATH": folder})
        expect(result.out.splitlines()[0], "999900000.0", "what it prints")
        expect(result.profile["references"], 10000 * 21, "references")
        expect(result.profile["distinct"], 1250, "distinct blocks")


# Left to itself, gcc makes vectors of the matrix product.
KERNEL_FLAGS = ["-mavx2", "-fno-tree-vectorize"]
KERNELS = {  # references at 64 bytes, distinct blocks
    "copy": (2000, 250),
    "strided": (1000, 1000),
    "unaligned": (2000, 1001),
    "rep_movsb": (2000, 32),
    "rep_stosq": (1000, 125),
    "gather": (3000 + 3, 4 + 3),
    "atomics": (8000, 1),
    "vectors": (2000, 1001),
    "matmul": (2 * 64**3 + 64**2, 3 * 512),
}


def kernel(name):
    def check(collector, how):
        # The long one with its sites, too: many references of few places.
        options = ["--function", name, "--no-stack", *([] if name == "matmul" else ["--no-sites"])]
        result = run(options, [build("kernels.c", how, *KERNEL_FLAGS), name])
        references, distinct = KERNELS[name]
        expect(result.profile["references"], references, "references")
        expect(result.profile["distinct"], distinct, "distinct blocks")

    return check


for name in KERNELS:
    cases.append((f"valgrind: kernel {name}", lambda n=name: kernel(n)("valgrind", "gcc")))
cases.append(("compiler: kernel matmul", lambda: kernel("matmul")("compiler", "fathom")))


MODIFYING = {  # loads and stores of 1000 rounds, and of what comes before them
    "arithmetic": (10000, 10000),
    "exchanges": (9000, 9000),
    "bits": (5000, 4000),
    "neighbours": (3000, 4001),
    "vectors": (7001, 6000),
    "straddling": (4000, 4000),
}
CHASES = {"chase": (2000, 1000), "chase_atomic": (2000, 1000)}


def modifying(name, loads, stores, how):
    for options, wanted in (([], loads + stores), (["--loads"], loads), (["--stores"], stores)):
        options += ["--function", name, "--no-stack", "--no-sites"]
        result = run(options, [build("modifying.c", how), name])
        expect(result.profile["references"], wanted, " ".join(["references,", *options]))


# What reads and writes the same place is a load and a store, for every collector.
for name, (loads, stores) in {**MODIFYING, **CHASES}.items():
    cases.append((f"valgrind: modifying {name}", lambda n=name, l=loads, s=stores: modifying(n, l, s, "gcc")))
for name, (loads, stores) in CHASES.items():
    cases.append((f"compiler: modifying {name}", lambda n=name, l=loads, s=stores: modifying(n, l, s, "fathom")))


@case("compiler")
def analysed_by_several_threads(collector, how):
    # Two runs are alike, and all that differs is how they were analysed.
    with fixed_addresses():
        objects, product = [build("objects.c", how)], [build("kernels.c", how, *KERNEL_FLAGS), "matmul"]
        for command, ways in ((objects, (["--no-sites"], ["--threads-private"])), (product, ([],))):
            for options in ways:
                found = [run(options + ["--threads", threads], command).profile for threads in ("1", "5")]
                for profile in found:
                    for part in [profile, *profile.get("parts", [])]:
                        part.pop("run", None)
                expect(found[0]["references"] > 40000, True, "enough references for several batches")
                expect(found[1] == found[0], True, f"{options}: five threads agree with one")


@case("compiler")
def other_compilers(collector, how):
    for compiler in ("clang",):
        program = build("plain.c", how, env={"FATHOM_CC": compiler})
        cyclic(run(WATCH, [program]).profile, 100, 3, compiler)
        expect(subprocess.run([program, "3"]).returncode, 3, "the program alone")


@case()
def recorded_and_analysed(collector, how):
    trace, profile = os.path.join(work, "plain.fathom"), os.path.join(work, "analysed.json")
    done = subprocess.run([FATHOM, "record", *WITH_SITES, "-o", trace, "--force", "--", build("plain.c", how)], capture_output=True,
                          text=True)
    expect(done.returncode, 0, f"exit code of record: {done.stderr}")
    expect_in(": 300 accesses of process", done.stderr, "what record says")
    done = subprocess.run([FATHOM, "check", trace], capture_output=True, text=True)
    expect(done.returncode, 0, "check")
    done = subprocess.run([FATHOM, "analyze", trace, "--json", profile, "--force"], capture_output=True, text=True)
    expect(done.returncode, 0, f"exit code of analyze: {done.stderr}")
    with open(profile) as file:
        analysed = json.load(file)
    cyclic(analysed, 100, 3)
    check_sums(analysed)
    names = {frame["function"] for site in analysed["attribution"]["sites"] for frame in site.get("frames", [])}
    expect_in("touch", names, "functions")
    for name in (trace, profile):
        os.unlink(name)


@case("valgrind")
def record_counts_accesses(collector, how):
    # 1000 accesses that touch two blocks each: the one number is of accesses, the other of references.
    trace = os.path.join(work, "unaligned.fathom")
    program = [build("kernels.c", how, *KERNEL_FLAGS), "unaligned"]
    options = ["--function", "unaligned", "--no-stack"]
    done = subprocess.run([FATHOM, "record", *options, "-o", trace, "--force", "--", *program], capture_output=True, text=True)
    expect_in(": 1000 accesses of process", done.stderr, "what record says")
    stored = os.path.join(work, "elements.json")
    done = subprocess.run([FATHOM, "analyze", trace, "-g", "element", "--json", stored], capture_output=True, text=True)
    expect(done.returncode, 0, f"exit code of analyze: {done.stderr}")
    os.unlink(trace)
    # As elements, each is one reference, while it runs and as it was stored.
    result = run([*options, "-g", "element"], program)
    with open(stored) as file:
        for profile in (result.profile, json.load(file)):
            expect([profile[field] for field in ("references", "granularity", "elements")], [1000, 1, True], "elements")
    os.unlink(stored)
    result = run([*options, "--no-sites", "--limit", "10"], program)
    expect(result.profile["references"], 20, "references of ten accesses")
    expect_in("the first 10 accesses", result.profile["run"]["what"], "what was watched")


@case("valgrind")
def a_page_with_and_without_source(collector, how):
    page = os.path.join(work, "page.html")
    program = build("plain.c", how)
    found = []
    for option in ([], ["--no-source"]):
        done = subprocess.run([FATHOM, "run", "-q", "--report", page, *option, "--", program], capture_output=True, text=True)
        if "has no report page" in done.stderr:
            return "this build has no report page"
        expect(done.returncode, 0, f"exit code: {done.stderr}")
        with open(page, encoding="utf-8") as file:
            found.append("for (size_t p = 0; p" in file.read())
    os.unlink(page)
    expect(found, [True, False], "a line of the source, with and without --no-source")


@case("compiler")
def the_source_of_the_run(collector, how):
    # Checksums of what was compiled; hashlib is the judge. A page shows that and nothing else.
    folder = os.path.join(work, f"edited-{collector}")
    os.mkdir(folder)
    for name in ("forking.c", "touch.h"):
        shutil.copy(os.path.join(PROGRAMS, name), folder)
    paths = [os.path.join(folder, name) for name in ("forking.c", "touch.h")]
    program = os.path.join(folder, "forking")
    subprocess.run([*COMPILERS[how][0], "-g", "-O2", "-I" + os.path.join(ROOT, "include"), paths[0], "-o", program],
                   check=True)

    def line_sum(line):
        value = 0x811c9dc5  # FNV-1a, folded to 24 bits
        for byte in line.strip():
            value = (value ^ byte) * 0x01000193 & 0xffffffff
        return f"{value >> 24 ^ value & 0xffffff:06x}"

    def sources(profile):
        return {row["path"]: row for row in profile["attribution"]["sources"] if row["path"] in paths}

    for options in ([], ["--embed-source"], ["--follow-children", "--embed-source"]):
        result = run(["--no-stack", *options], [program])
        found = sources(result.profile)
        expect(paths[1] in found, True, "the file of the code")
        for path, row in found.items():
            with open(path, "rb") as file:
                text = file.read()
            wanted = {"path": path, "sha256": hashlib.sha256(text).hexdigest(), "size": len(text),
                      "lines": "".join(line_sum(line) for line in text.splitlines())}
            if "--embed-source" in options:
                wanted["text"] = text.decode()
            expect(row, wanted, f"source with {options}")
        expect([part for part in result.profile.get("parts", []) if "sources" in part["attribution"]], [], "in parts")
        os.replace(os.path.join(work, "profile.json"), os.path.join(folder, f"{len(options)}.json"))

    def lines_on_page(number):
        page = os.path.join(folder, "page.html")
        done = subprocess.run([FATHOM, "report", os.path.join(folder, f"{number}.json"), "-o", page], capture_output=True,
                              text=True)
        if "has no report page" in done.stderr:
            return None, ""
        expect(done.returncode, 0, f"report: {done.stderr}")
        with open(page, encoding="utf-8") as file:
            return "for (size_t p = 0; p" in file.read(), done.stderr

    shown, said = lines_on_page(0)
    if shown is None:
        return "this build has no report page"
    expect((shown, "not on the page" in said), (True, False), "a line of the source")
    with open(paths[1]) as file:
        text = file.read()
    with open(paths[1], "w") as file:
        file.write("/* a line more */\n" + text)
    shown, said = lines_on_page(0)
    expect(shown, False, "a line of the source after an edit")
    expect_in("touch.h has changed since the run", said, "note")
    for number in (1, 2):
        expect(lines_on_page(number), (True, ""), f"a line of the source in the profile ({number})")
    # The program is older than its source now.
    result = run(["--no-stack"], [program])
    expect_in("touch.h: changed after the program was built", result.err, "note of run")
    expect(sources(result.profile)[paths[1]]["newer"], True, "newer")
    shutil.rmtree(folder)


@case("valgrind")
def a_script(collector, how):
    path = os.path.join(work, "script.sh")
    with open(path, "w") as file:
        file.write("#!/bin/sh\nexit 6\n")
    os.chmod(path, 0o755)
    result = run(["--no-sites"], [path])
    expect(ending(result), "exited with 6", "ending")
    expect(result.profile["references"] > 1000, True, "references of the interpreter")


main(cases)
