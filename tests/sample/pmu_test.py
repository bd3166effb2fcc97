#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom sample --method pmu, from end to end, on processors that are not here: files of /proc and /sys of another
machine, libpfm4 told to believe in it, and a program that brings counters of its own (fake_pmu.h). Judge: the closed
forms of what the program does (pmu_program.c)."""
import errno
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "collect"))
from collect_support import *

cases = []
BUILD = os.path.dirname(FATHOM)
RUNTIME = os.path.join(BUILD, "lib", "fathom", "libfathom-sample.so")
PROGRAM = os.path.join(BUILD, "tests", "sample", "pmu_program")
KERNEL = os.path.join(BUILD, "tests", "sample", "pmu_kernel_preload.so")
DEVICES = "sys/bus/event_source/devices"


def case(function):
    cases.append((function.__name__.replace("_", " "), function))
    return function


def machine(name, files):
    """A directory with these files of a machine."""
    root = os.path.join(work, name)
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), "w") as file:
            file.write(text + "\n")
    return root


def processor(vendor, family, flags="fpu"):
    return f"processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\nflags\t\t: {flags}\n"


COMMON = {"proc/sys/kernel/perf_event_paranoid": "2", "proc/self/status": "CapEff:\t0000000000000000",
          f"{DEVICES}/cpu/type": "4", f"{DEVICES}/cpu/rdpmc": "1"}
SKYLAKE = {**COMMON, "proc/cpuinfo": processor("GenuineIntel", 6), f"{DEVICES}/cpu/caps/max_precise": "3",
           f"{DEVICES}/cpu/caps/pmu_name": "skylake"}
LATENCY = {**SKYLAKE, f"{DEVICES}/cpu/format/event": "config:0-7", f"{DEVICES}/cpu/format/umask": "config:8-15",
           f"{DEVICES}/cpu/format/ldlat": "config1:0-15", f"{DEVICES}/cpu/events/mem-loads": "event=0xcd,umask=0x1,ldlat=3"}
ZEN = {**COMMON, "proc/cpuinfo": processor("AuthenticAMD", 25), f"{DEVICES}/ibs_op/type": "11",
       f"{DEVICES}/ibs_op/format/cnt_ctl": "config:19", f"{DEVICES}/ibs_op/format/swfilt": "config2:0"}


def sample(word, *options, on=SKYLAKE, code=0, env=None, method="pmu", kernel=True):
    """The profile of the program, sampled by the counters of that machine, and what was said."""
    path, text = os.path.join(work, "pmu.json"), os.path.join(work, "pmu.txt")
    for old in (path, text):
        if os.path.exists(old):
            os.unlink(old)
    root = machine(f"machine-{len(os.listdir(work))}", on)
    forced = {"LIBPFM_FORCE_PMU": "amd64_fam19h_zen3" if on is ZEN else "skl", "FAKE_PMU_IBS": "11",
              "FATHOM_TEST_MACHINE": root, **({"LD_PRELOAD": KERNEL} if kernel else {}), **(env or {})}
    full = [FATHOM, "sample", *(["--method", method] if method else []), "--json", path, "--force", "-o", text, *options, "--",
            PROGRAM, word]
    done = subprocess.run(full, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                          env={**os.environ, **forced})
    if done.returncode != code:
        raise Failure(f"{' '.join(full)}\nexit code {done.returncode}, expected {code}\n{done.stdout}\n{done.stderr}")
    profile = None
    if os.path.exists(path):
        with open(path) as file:
            profile = json.load(file)
        check_sums(profile)
    result = Result(done, profile)
    result.text = open(text).read() if os.path.exists(text) else ""
    return result


def samples(profile):
    return sum(profile["sampling"][name] for name in ("used", "replaced", "never", "not_armed"))


def share(profile, low, high):
    """Of all references, those with time distances in a range."""
    return sum(count for a, b, count in profile["times"] if a >= low and b <= high) / profile["references"]


def close(found, wanted, within, what):
    if abs(found - wanted) > within:
        raise Failure(f"{what}: expected {wanted} ± {within}, found {found}")


@case
def a_cycle_has_one_distance():
    result = sample("cycle", "-g", "8", "--period", "500", "--estimator", "rdx")
    profile = result.profile
    expect(result.out, "300000\n", "the program's output")
    expect(profile["references"], 300000, "references, counted")
    expect(profile["times"], [[1000, 1000, 300000]], "time distances")
    expect(profile["histogram"], [[999, 999, 300000]], "distances")
    expect([profile["sampling"][key] for key in ("method", "estimator", "conversion")], ["pmu", "rdx", "shen"], "how")
    expect(profile["sampling"]["again"], 0, "the paper watches each sample once")
    expect(profile["run"]["collector"], "sampling (counters)", "collector")
    expect_in("Intel PEBS of skl (MEM_INST_RETIRED:ALL_LOADS)", " ".join(result.text.split()), "first screen")
    # A third are stores; periods are the primes from 500 on.
    if "left out" not in result.err:
        expect(samples(profile), 200000 // 503 + 100000 // 509, "samples")


@case
def the_same_by_the_default_estimator_and_method():
    profile = sample("cycle", "-g", "8", "--period", "500", method=None).profile
    expect(profile["sampling"]["method"], "pmu", "method")
    expect(profile["sampling"]["estimator"], "capped", "estimator")
    expect([row[:2] for row in profile["times"]], [[1000, 1000]], "time distances")
    # What was used again is watched once more, until a sample needs the register.
    expect(0 < profile["sampling"]["again"] <= profile["sampling"]["used"], True, f"again: {profile['sampling']}")
    # 1,000 of 300,000 are never used again.
    close(profile["cold"], 1000, 500, "never used again")


@case
def larger_blocks_are_sampled_by_software_unless_asked_otherwise():
    # Too short a program for a clock: exit code 1.
    result = sample("cycle", "-g", "64", method=None, code=1)
    expect_in("without performance counters, which watch single words", result.err, "a note")


@case
def listing_2_of_the_paper():
    # A quarter of all accesses is used again at once.
    best = sample("listing", "-g", "8", "--period", "100").profile
    close(share(best, 1, 1), 0.25, 0.08, "capped: used again at once")
    # Four registers are full most of the time: what traps at once is over-represented, and the paper's proportional
    # attribution is against that.
    trapped = sample("listing", "-g", "8", "--period", "100", "--estimator", "rdx-trapped").profile
    papers = sample("listing", "-g", "8", "--period", "100", "--estimator", "rdx").profile
    if not share(papers, 1, 1) < 0.33 < 0.5 < share(trapped, 1, 1):
        raise Failure(f"used again at once: {share(papers, 1, 1)} by rdx, {share(trapped, 1, 1)} by rdx-trapped")
    expect(papers["sampling"]["not_armed"] > 0, True, "samples found no register")


@case
def registers_watch_as_much_as_a_block():
    for granularity, distance in (("4", 800), ("8", 400), ("4,8", 800)):
        profile = sample("halves", "-g", granularity, "--period", "500", "--estimator", "rdx").profile
        expect([row[:2] for row in profile["times"]], [[distance, distance]], f"time distances at {granularity} bytes")


def callers(attribution, site):
    """The functions that led to a site, outermost last."""
    found, path = [], attribution["sites"][site]["path"]
    while path is not None:
        path = attribution["paths"][path]
        found += [frame["function"] for frame in attribution["sites"][path["call"]]["frames"]]
        path = path["parent"]
    return found


@case
def the_same_code_for_two_callers():
    profile = sample("callers", "-g", "8", "--period", "500", "--estimator", "rdx", "--call-paths").profile
    attribution = profile["attribution"]
    # Within a caller all distances are the same: 100 and 20,000 words.
    edges = attribution["edges"]
    for name, low, high in (("near_caller", 64, 127), ("far_caller", 4096, 20000)):
        known = [pair for pair in attribution["pairs"]
                 if all(site is not None and name in callers(attribution, site) for site in (pair["use"], pair["reuse"]))]
        inside = sum(pair["ranges"][i + 1] for pair in known for i in range(0, len(pair["ranges"]), 2)
                     if low <= edges[pair["ranges"][i]] <= high)
        expect(len(known) > 0, True, f"pairs of {name}")
        close(inside / sum(pair["count"] for pair in known), 1, 0.1, f"share of the distances of {name}")
    expect("table" in [thing.get("name") for thing in attribution["objects"]], True, "the data object")


@case
def threads_are_added():
    result = sample("threads", "-g", "8", "--period", "100")
    expect(result.out, "300000\n", "output")
    expect(result.profile["references"], 300000, "references")
    expect([row[:2] for row in result.profile["times"]], [[500, 500]], "time distances")


@case
def children_have_profiles_of_their_own():
    result = sample("fork", "-g", "8", "--period", "100", "--follow-children")
    expect(sorted(result.out.split()), ["100000", "100000"], "output")
    parts = result.profile["parts"]
    expect([part["references"] for part in parts], [100000, 100000], "references")
    expect(sorted(part["times"][0][:2] for part in parts), [[200, 200], [1000, 1000]], "time distances")
    expect(result.profile["references"], 200000, "references of both")


@case
def amd_tells_latency_and_level():
    result = sample("speeds", "-g", "8", "--period", "100", on=ZEN)
    profile = result.profile
    expect(profile["references"], 200000, "references: neither operations nor the kernel's")
    close(share(profile, 200, 200), 0.5, 0.1, "fast accesses")
    close(share(profile, 9900, 10200), 0.5, 0.1, "slow accesses")
    latencies = profile["attribution"]["latencies"]
    expect(sorted(row[3] / row[2] for row in latencies), [4, 300], "mean latencies of the two sites")
    for row in latencies:
        expect(row[4][1 if row[3] / row[2] == 4 else 6], row[1], "all from L1, all from memory")
    line = 1 + open(os.path.join(ROOT, "tests/sample/pmu_program.c")).read().split("\n").index(
        next(text for text in open(os.path.join(ROOT, "tests/sample/pmu_program.c")).read().split("\n") if "/* slow */" in text))
    expect_in(f"two_speeds (pmu_program.c:{line}) 300 cycles memory 100 %", " ".join(result.text.split()), "text")
    expect_in("AMD IBS of amd64_fam19h_zen3", " ".join(result.text.split()), "first screen")


@case
def amd_on_a_kernel_that_cannot_filter():
    # Its samples of the kernel come too, and are none of the program's.
    on = {path: text for path, text in ZEN.items() if "swfilt" not in path}
    on["proc/self/status"] = "CapEff:\t0000004000000000"
    profile = sample("speeds", "-g", "8", "--period", "100", on=on, env={"LIBPFM_FORCE_PMU": "amd64_fam19h_zen3"}).profile
    expect(profile["references"], 200000, "references")
    expect(sorted(row[3] / row[2] for row in profile["attribution"]["latencies"]), [4, 300], "mean latencies")


@case
def intel_tells_latency_by_an_event_of_its_own():
    with_latency = sample("speeds", "-g", "8", "--period", "200", on=LATENCY)
    profile = with_latency.profile
    expect(sorted(row[3] / row[2] for row in profile["attribution"]["latencies"]), [4, 300], "mean latencies")
    # Of 200,000 loads one in 200 is a use; those that tell latencies are not among them.
    if "left out" not in with_latency.err:
        expect(samples(profile), 200000 // 211, "samples")
    expect("latencies" in sample("cycle", "-g", "8", "--period", "500").profile["attribution"], False, "none otherwise")


@case
def a_region():
    # Outside of it the count stands still, so that all distances are 1,000; words that are used there trap, and do not count.
    result = sample("region", "-g", "8", "--period", "100", "--region", "inside", "--estimator", "rdx")
    profile = result.profile
    expect(profile["references"], 200000, "references, counted")
    expect(profile["times"], [[1000, 1000, 200000]], "time distances")
    if "left out" not in result.err:
        close(samples(profile), 200000 / 103, 150, "samples")
    best = sample("region", "-g", "8", "--period", "100", "--region", "inside").profile
    expect([row[:2] for row in best["times"]], [[1000, 1000]], "time distances, capped")
    none = sample("region", "-g", "8", "--period", "100", "--region", "none", code=2)
    expect_in('never came to a FATHOM_BEGIN("none")', none.err, "message")


@case
def a_function_and_what_it_calls():
    missing = sample("callers", "-g", "8", "--period", "200", "--function", "no_such", code=2)
    expect_in("there is no function 'no_such'", missing.err, "message")
    # calm_far makes 3 times 30,000 accesses, all distances 5,000; the others, 20,000 each time, are inferred not to count.
    def of(*options):
        for _ in range(4):  # where the receiver does not get a processor, there is no room for stacks
            result = sample("calm", "-g", "8", "--period", "1500", *options)
            if "left out" not in result.err:
                return result.profile
        return None

    far, near = of("--function", "calm_far", "--estimator", "rdx"), of("--function", "calm_near")
    if not far or not near:
        return "the machine is too busy to read all samples"
    close(far["references"], 90000, 7000, "references")
    close(share(far, 3000, 7000), 1, 0.05, "share of the distance 5,000")
    close(near["references"], 60000, 7000, "references of the other")
    close(share(near, 90, 110), 1, 0.15, "share of the distance 100")


@case
def a_profile_with_latencies_is_read():
    sample("speeds", "-g", "8", "--period", "100", on=ZEN)
    path = os.path.join(work, "pmu.json")
    done = subprocess.run([FATHOM, "compare", path, path], capture_output=True, text=True, timeout=60)
    expect(done.returncode, 0, f"exit code\n{done.stderr}")


@case
def what_is_watched_when_sampling_ends_was_cut_off():
    # It goes on for five rounds of 20,000 accesses, or a little less. On a busy machine it takes longer until there were three.
    for duration in ("0.3", "2", "8"):
        try:
            result = sample("long", "-g", "8", "--period", "1000", "--duration", duration)
            if result.profile["references"] > 3 * 20000:
                break
        except Failure as failure:
            if "before a sample was taken" not in str(failure) or duration == "8":
                raise
    found = result.profile["sampling"]
    expect(found["used"] > 0 and found["replaced"] > 0, True, f"watches: {found}")
    expect(found["never"], 0, "never used again")
    if not 3 * 20000 < result.profile["references"] < int(result.out) - 3 * 20000:
        raise Failure(f"references until sampling ended: {result.profile['references']} of {result.out}")


@case
def a_program_that_runs_already():
    env = {**os.environ, "FAKE_PMU_ATTACHED": "1"}
    with subprocess.Popen([PROGRAM, "endless"], env=env, stdin=subprocess.DEVNULL) as program:
        try:
            path, root = os.path.join(work, "attached.json"), machine("machine-attached", SKYLAKE)
            for duration in ("0.5", "3", "12"):
                done = subprocess.run([FATHOM, "sample", "--pid", str(program.pid), "--method", "pmu", "--period", "500", "-g",
                                       "8", "--estimator", "rdx", "--duration", duration, "--json", path, "--force", "-q"],
                                      capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                                      env={**os.environ, "LIBPFM_FORCE_PMU": "skl", "FATHOM_TEST_MACHINE": root,
                                           "LD_PRELOAD": KERNEL, "FAKE_KERNEL_CLOCK": "real"})
                if "no sample was taken" not in done.stderr:
                    break
            if "ptrace" in done.stderr or "perf events were refused" in done.stderr:
                return "nothing can be attached to here"
            expect(done.returncode, 0, f"exit code\n{done.stdout}{done.stderr}")
            with open(path) as file:
                profile = json.load(file)
            # 1,000; what the handler of the clock does is not counted here, as that comes from the real kernel.
            if not all(900 <= row[0] and row[1] <= 1000 for row in profile["times"]):
                raise Failure(f"time distances: {profile['times']}")
            expect(profile["sampling"]["used"] > 0, True, "traps")
            time.sleep(0.1)
            expect(program.poll(), None, "the program runs on")
        finally:
            program.kill()


@case
def lost_samples_and_throttling_are_told():
    result = sample("losses", "-g", "8", "--period", "500")
    expect_in("7 samples of the counters were lost", result.err, "note")
    expect_in("the kernel took fewer samples than were asked for, 1 times", result.err, "note")
    expect([row[:2] for row in result.profile["times"]], [[1000, 1000]], "time distances")


@case
def counters_are_refused_in_the_program():
    result = sample("cycle", "--period", "500", code=1, env={"FAKE_PMU_REFUSES": str(errno.EPERM)})
    expect_in("threads could not have counters (Operation not permitted)", result.err, "note")
    expect_in("kernel.perf_event_mlock_kb", result.err, "remedy")
    expect(result.out, "300000\n", "the program ran")


@case
def the_kernel_refuses_counters():
    result = sample("cycle", code=1, env={"FAKE_KERNEL_REFUSES": str(errno.EACCES)})
    expect_in("performance counters cannot be used: the kernel does not allow it (Permission denied", result.err, "why")
    expect_in("--cap-add=PERFMON", result.err, "remedy")
    expect(result.out, "", "the program was not started")


@case
def where_there_are_none_a_clock_takes_their_place():
    on = {**SKYLAKE, "proc/sys/kernel/perf_event_paranoid": "3"}
    result = sample("cycle", "-g", "8", "--rate", "1000", on=on, method=None, kernel=False)
    expect(result.profile["sampling"]["method"], "software", "method")
    expect_in("sampled without performance counters: kernel.perf_event_paranoid is 3", result.err, "note")
    expect_in("kernel.perf_event_paranoid is 3", result.profile["run"]["notes"], "the profile says it, too")
    quiet = sample("cycle", "-g", "8", "--rate", "1000", on=on, method="software", kernel=False)
    expect("without performance counters" in quiet.err, False, "nothing is said where it was asked for")


@case
def whole_blocks_are_warned_about():
    note = "uses of a word's neighbours in its block are missed"
    expect_in(note, sample("cycle", "--period", "500").err, "note at 64 bytes")
    expect(note in sample("cycle", "-g", "8", "--period", "500").err, False, "note at 8 bytes")


@case
def real_debug_registers():
    result = sample("cycle", "-g", "8", "--period", "2000", "--estimator", "rdx", env={"FAKE_PMU_REGISTERS": "real"})
    if "debug registers could not be had" in result.err:
        return "perf events are refused here"
    expect(result.profile["references"], 300000, "references")
    expect(result.profile["times"], [[1000, 1000, 300000]], "time distances")
    expect(result.profile["sampling"]["used"] > 50, True, "traps")


if not os.path.exists(RUNTIME):
    cases = [("all cases", lambda: "this build has no sampling runtime (it was built without Zydis)")]
main(cases)
