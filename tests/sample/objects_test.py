#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom sample: data objects and call paths. The shares of tests/programs/sampled_objects.c are known."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "collect"))
from collect_support import *

cases = []


def case(function):
    cases.append((function.__name__.replace("_", " "), function))
    return function


def program(*flags):
    return build("sampled_objects.c", "gcc", "-O2", "-pthread", *flags)


def sample(words, *options, flags=(), rate="1000"):
    path = os.path.join(work, "objects.json")
    full = [FATHOM, "sample", "--rate", rate, "--size", "4K", "--json", path, "--force", "-o", path + ".txt", *options, "--",
            program(*flags), *words]
    done = subprocess.run(full, capture_output=True, text=True, timeout=90, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Failure(f"{' '.join(full)}\nexit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    with open(path) as file:
        text = file.read()
    check_sums(json.loads(text))
    profile = json.loads(text)
    result = Result(done, profile)
    result.text = open(path + ".txt").read()
    return result


def frames(attribution, site):
    row = attribution["sites"][site]
    return [attribution["strings"][name] for name in row[5][::4] if name is not None]


def functions(attribution, path):
    """Of a path, innermost first."""
    found = []
    while path is not None:
        path, call = attribution["paths"][path]
        found += frames(attribution, call)
    return found


def name(attribution, index):
    it = attribution["objects"][index]
    if it["kind"] == "heap":
        known = [f for f in functions(attribution, it.get("allocation")) if f.startswith("make_")]
        return known[0] if known else "heap"
    return it.get("name", it["kind"])


def shares(profile):
    """Of late uses, by the names of objects."""
    attribution = profile["attribution"]
    found = {}
    for index, _, count, *_ in attribution["object_uses"]:
        found[name(attribution, index)] = found.get(name(attribution, index), 0) + count
    total = sum(found.values())
    return {key: count / total for key, count in found.items()}


def expect_share(found, key, wanted, off, of):
    if abs(found.get(key, 0) - wanted) > off:
        raise Failure(f"share of {key}: {found.get(key, 0):.3f}, expected {wanted:.3f}; all: {of}")


@case
def misses_are_those_of_their_objects():
    # Where the receiver does not get a processor, records of small blocks are lost, and these are "other": once more.
    for _ in range(3):
        result = sample(["objects"], "--by", "object")
        found = shares(result.profile)
        if found.get("make_small", 0) > 0.3:
            break
    for key, wanted in (("global_table", 2 / 9), ("make_large", 1 / 9), ("stack", 1 / 9), ("local_table", 1 / 9),
                        ("make_small", 4 / 9)):
        expect_share(found, key, wanted, 0.12, found)
    expect_in("global `global_table`", result.text, "first screen")
    expect_in("samples", result.text.split("global `global_table`")[1], "their error")
    expect_in("one in", result.err, "small blocks are said to stand for others")
    expect_in("one in", result.profile["run"]["notes"], "in the profile, too")
    for it in result.profile["attribution"]["objects"]:
        if name(result.profile["attribution"], result.profile["attribution"]["objects"].index(it)) == "global_table":
            expect(it["error"] > 0 and it["samples"] > 10, True, "error and samples of a large object")


def attach_to_renews(path, seconds, *prefix):
    """Samples sampled_objects renews: the profile, and what was said."""
    table = os.path.join(work, "table.bin")
    with open(table, "wb") as file:
        file.write(bytes(1 << 16))
    process = subprocess.Popen([*prefix, program(), "renews", table], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        expect(process.stdout.readline(), "ready\n", "the program's first line")
        full = [FATHOM, "sample", "--pid", str(process.pid), "--duration", seconds, "--rate", "1000", "--size", "4K", "--json",
                path, "--force", "-o", path + ".txt", "--by", "object"]
        done = subprocess.run(full, capture_output=True, text=True, timeout=90, stdin=subprocess.DEVNULL)
        expect(done.returncode, 0, f"exit code\n{done.stderr}")
        out, _ = process.communicate("x\n", timeout=60)
    finally:
        process.kill()
    expect((process.returncode, out), (0, "malloc is what it was\n"), "the program")
    with open(path) as file:
        profile = json.load(file)
    check_sums(json.loads(json.dumps(profile)))
    return profile, done.stderr


@case
def objects_of_a_program_that_runs_already():
    wanted = {"global_table": 1 / 8, "make_large": 1 / 8, "module": 1 / 8, "heap": 1 / 8, "make_small": 4 / 8}
    for seconds in ("0.6", "1", "2", "4", "12"):  # on a busy machine bursts are few, and records of blocks get lost
        profile, said = attach_to_renews(os.path.join(work, "attached.json"), seconds)
        found = shares(profile)
        if all(abs(found.get(key, 0) - share) < 0.1 for key, share in wanted.items()):
            break
    for key, share in wanted.items():
        expect_share(found, key, share, 0.1, found)
    text = open(os.path.join(work, "attached.json.txt")).read()
    expect_in("data of table.bin", text, "the file that is mapped")
    expect_in("allocated before sampling began", said, "what cannot be known")


@case
def large_blocks_are_all_known():
    for seconds in ("0.3", "1", "3"):  # on a busy machine bursts are few, and may all be elsewhere
        attribution = sample(["objects", seconds]).profile["attribution"]
        large = [it for i, it in enumerate(attribution["objects"]) if name(attribution, i) == "make_large"]
        if large:
            break
    expect([(it["blocks"], it["size"]) for it in large], [(1, 65536)], "the large block")


@case
def an_allocator_of_its_own_is_one_variable():
    found = shares(sample(["own", "0.3"]).profile)
    expect_share(found, "own_memory", 5 / 9, 0.15, found)


@case
def blocks_of_many_threads_keep_their_contents():
    result = sample(["threads"], rate="500")
    expect(result.profile["run"]["ending"], "exited with 0", "end")
    expect(result.out, native_output("threads"), "output")


@case
def the_samplers_own_data_is_never_watched():
    # Two runs of five died of it: the handler used what was watched, and trapped in itself for ever.
    for _ in range(4):
        expect(sample(["seldom", "0.4"]).profile["run"]["ending"], "exited with 0", "end")


def native_output(*words):
    return subprocess.run([program(), *words], capture_output=True, text=True, timeout=60).stdout


def path_shares(profile):
    attribution = profile["attribution"]
    found = {"left": 0, "right": 0, "other": 0}
    for _, reuse, count, *_ in attribution["pairs"]:
        if "middle" not in frames(attribution, reuse):
            continue
        way = functions(attribution, attribution["sites"][reuse][2])
        found[way[0] if way and way[0] in ("left", "right") and "main" in way else "other"] += count
    total = sum(found.values())
    return {key: count / total for key, count in found.items()}


@case
def call_paths_lead_to_the_outermost_function():
    for flags in ((), ("-fno-asynchronous-unwind-tables", "-fno-omit-frame-pointer")):
        found = path_shares(sample(["paths"], "--call-paths", flags=flags).profile)
        expect_share(found, "left", 4 / 5, 0.06, (flags, found))
        expect_share(found, "right", 1 / 5, 0.06, (flags, found))


@case
def without_call_paths_there_are_none():
    attribution = sample(["paths", "0.3"]).profile["attribution"]
    expect({site[2] for site in attribution["sites"]}, {None}, "paths of sites")


if not os.path.exists(os.path.join(os.path.dirname(BUILDER), "lib", "fathom", "libfathom-sample.so")):
    cases = [("all cases", lambda: "this build has no sampling runtime (it was built without Zydis)")]
main(cases)
