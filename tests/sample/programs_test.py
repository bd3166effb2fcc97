#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom sample on programs with odd behaviour: what they print, how they end and what they leave behind is the same
with and without it. tests/programs/sampled.c says what each word does."""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "collect"))
from collect_support import *

cases = []
RUNTIME = os.path.join(os.path.dirname(BUILDER), "lib", "fathom", "libfathom-sample.so")


def case(function):
    cases.append((function.__name__.replace("_", " "), function))
    return function


def program(*flags):
    return build("sampled.c", "gcc", "-O1", "-pthread", "-Wno-clobbered", *flags)


def native(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, **more)


def sample(command, *options, code=0, env=None, timeout=90):
    """fathom sample at 1,000 Hz; the profile, or None. Code None: any exit code."""
    path, text = os.path.join(work, "sampled.json"), os.path.join(work, "sampled.txt")
    for old in (path, text):
        if os.path.exists(old):
            os.unlink(old)
    full = [FATHOM, "sample", "--rate", "1000", "--json", path, "--force", "-o", text, *options, "--", *command]
    done = subprocess.run(full, capture_output=True, text=True, errors="replace", timeout=timeout, stdin=subprocess.DEVNULL,
                          env={**os.environ, **(env or {})})
    if code is not None and done.returncode != code:
        raise Failure(f"{' '.join(full)}\nexit code {done.returncode}, expected {code}\n{done.stdout}\n{done.stderr}")
    profile = None
    if os.path.exists(path):
        with open(path) as file:
            profile = json.load(file)
        check_sums(profile)
        expect(profile["engine"], "sample", "engine")
        expect(profile["exact"], False, "exact")
    result = Result(done, profile)
    result.text = open(text).read() if os.path.exists(text) else ""
    return result


def launched(command, *options, stdin=subprocess.DEVNULL):
    """fathom sample in the background, and the number of the process that is sampled (or is about to be)."""
    process = subprocess.Popen([FATHOM, "sample", "--rate", "1000", *options, "--", *command], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, stdin=stdin)

    def children():
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            return file.read().split()

    wait_until(children, "fathom has started the program")
    return process, int(children()[0])


def program_of(pid):
    """The file that it executes; None: it is gone."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except (FileNotFoundError, ProcessLookupError):
        return None


def ending(status):
    if status >= 0:
        return f"exited with {status}"
    return f"killed by {signal.Signals(-status).name}"


def same(words, *options, code=0, env=None):
    """The same output and the same end, with samples and without."""
    alone = native([program(), *words])
    result = sample([program(), *words], *options, code=code, env=env)
    expect(result.out, alone.stdout, "output")
    expect_in(ending(alone.returncode), result.profile["run"]["ending"], "ending")
    expect(result.profile["sampling"]["bursts"] > 0, True, "bursts were taken")
    return result


@case
def plain_work():
    result = same(["work"], "--size", "4K")
    clock = "timer" if "perf events were refused" in result.err else "clock"
    expect_in(f"sampled, software {clock}", " ".join(result.text.split()), "first screen")
    expect_in("sampled.c:", result.text, "first screen names the code")
    expect_in("% beside it): sampled", " ".join(result.text.split()), "what the receiver took")


@case
def a_budget_is_kept_to():
    slow = build("two_rates.c", "gcc", "-O2")
    little, much = (sample([slow, "4"], "--no-sites", "--bootstrap", "1", "--method", "software", "--overhead", share,
                           code=code).profile for share, code in (("0.4%", None), ("40%", 0)))
    few, many = (0 if profile is None else profile["sampling"]["bursts"] for profile in (little, much))
    if few * 4 > many:
        raise Failure(f"{few} bursts for 0.4 %, {many} for 40 %")


@case
def a_clocks_bias_is_corrected_by_local_rates():
    # 1 of 51 uses has the time distance 4,096; the clock is there more than a third of the time.
    slow = build("two_rates.c", "gcc", "-O2")

    def far(*options):
        profile = sample([slow, "4"], "--no-sites", "--bootstrap", "1", "--method", "software", *options).profile
        return (sum(count for low, _, count in profile["times"] if low >= 1024) + profile["cold"]) / profile["references"]

    biased, found = far("--mean-rate"), far()
    if not (biased > 0.3 and found < 0.15 and found < biased / 3):
        raise Failure(f"share of far uses: {found} with local rates, {biased} with one rate, expected {1 / 51}")


def shares(profile, edges):
    """Of the re-uses, by distance."""
    found = [0] * (len(edges) + 1)
    for low, high, count in profile["histogram"]:
        found[sum(edge <= (low + high) // 2 for edge in edges)] += count
    return [count / sum(found) for count in found]


@case
def distances_are_those_of_fathom_run():
    # The same rounds over and over: some hundred of them, exactly, are like thirty thousand.
    exact = run(["-g", "8", "--no-sites"], [program(), "little"]).profile
    profile = sample([program(), "work"], "-g", "8").profile
    edges = [2 ** k for k in range(4, 20)]
    likeness = 1 - sum(abs(a - b) for a, b in zip(shares(exact, edges), shares(profile, edges))) / 2
    if likeness < 0.9:
        raise Failure(f"S of the distances is {likeness}:\n{shares(exact, edges)}\n{shares(profile, edges)}")


@case
def own_trap_and_profiling_signals():
    same(["signals"])


@case
def faults_that_the_program_handles():
    same(["faults"])


@case
def a_crash_is_the_programs_own():
    same(["crash"])


@case
def many_short_threads_and_one_that_blocks_signals():
    same(["threads"])


@case
def a_thread_that_blocks_the_signals_of_faults():
    # A burst looks at addresses in registers, which may not be mapped: its own faults must reach it.
    path = build("attached.c", "gcc", "-O1", "-pthread")
    for _ in range(2):
        result = sample([path, "blocks", "briefly"])
        expect_in("right", result.out, "output")
        expect(result.profile["run"]["ending"], "exited with 0", "ending")


# What sampled_odd.c does, but for what has cases of its own.
ODD = ["vfork", "clone", "cancel", "exit-among-threads", "exec-among-threads", "overflow", "contexts", "red-zone",
       "changing-code", "timers", "traps", "mended-faults", "faulting-gather", "wide-vectors"]


def odd(*words, code=0, options=()):
    command = [build("sampled_odd.c", "gcc", "-O1", "-pthread"), *words]
    alone = native(command)
    result = sample(command, "--bootstrap", "1", *options, code=code)
    expect(result.out, alone.stdout, f"output of {words}")
    if result.profile:
        expect_in(ending(alone.returncode), result.profile["run"]["ending"], f"ending of {words}")
    return result


@case
def stacks_code_and_vectors_of_all_kinds():
    for word in ODD:
        odd(word, code=None)
    odd("cancel", code=None, options=["--follow-children", "--call-paths"])
    odd("exec-among-threads", code=None, options=["--follow-children", "--call-paths"])


@case
def programs_that_cannot_open_anything_are_sampled():
    # Where code lies is known from the beginning.
    for word in ("no-descriptors", "other-root", "little-memory"):
        expect(odd(word).profile["sampling"]["bursts"] > 0, True, f"{word}: bursts were taken")


@case
def a_program_that_blocks_our_signals_is_told():
    result = odd("blocked", code=1)
    expect_in("blocks SIGTRAP, by which its clock is heard, by a system call of its own", result.err, "note")
    expect_in("did not let its clock's signal through", result.err, "message")


@case
def threads_that_no_tick_met_are_told():
    result = odd("brief", code=None)
    expect_in("% of the processor time went into threads that ended before the clock met them", result.err, "note")


@case
def a_thousand_threads_at_once():
    same(["crowd"])


@case
def descriptors_are_the_programs_own():
    same(["descriptors"])


@case
def environment_is_put_back():
    same(["environment"])
    result = sample([program(), "environment"], env={"LD_TEST": "kept", "LD_PRELOAD": "libm.so.6"})
    expect(sorted(result.out.split()), ["LD_PRELOAD=libm.so.6", "LD_TEST=kept"], "environment")


@case
def children_are_not_disturbed():
    same(["children"])


@case
def children_are_followed():
    if "perf events were refused" in sample([program(), "environment"]).err:
        return "perf events are refused here, and a timer is not passed on to children"
    result = same(["children"], "--follow-children")
    expect(len(result.profile.get("parts", [])) >= 1, True, "parts")


@case
def exec_in_place():
    same(["exec"])
    result = same(["exec"], "--follow-children")
    expect(any(part["run"].get("by_exec") for part in result.profile["parts"]), True, "a part by exec")


@case
def exec_that_is_not_followed_is_said():
    process, child = launched(["sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; exec cat"], stdin=subprocess.PIPE)
    cat = os.path.realpath(shutil.which("cat"))
    wait_until(lambda: program_of(child) == cat, "it executes another program")
    time.sleep(0.06)  # fathom does not look more often
    wait_for_looks(process.pid)
    _, err = process.communicate(timeout=60)
    expect(process.returncode, 0, f"exit code\n{err}")
    expect_in("which was not sampled: only children that are followed are", err, "note")


@case
def seccomp_ends_sampling_and_nothing_else():
    for word in ("strict", "filter", "filter-exit"):
        result = same([word], code=3)
        expect_in("it gave up system calls (seccomp)", result.err, "message")


@case
def a_program_that_is_executed_under_a_filter_is_left_alone():
    # A call that its filter kills for is one that the sampler would make.
    command = [build("without_perf.c", "gcc"), "kill", program(), "work"]
    result = sample(command, "--follow-children", code=1)
    expect(result.out, native(command).stdout, "output")
    expect_in("it gave up system calls (seccomp)", result.err, "message")
    # One that fathom is under, too, is no reason.
    command = [build("without_perf.c", "gcc"), FATHOM, "sample", "--rate", "1000", "-o", os.devnull, "--", program(), "work"]
    done = native(command)
    expect((done.returncode, done.stdout), (0, native([program(), "work"]).stdout), "under the same filter\n" + done.stderr)


@case
def a_full_disk_takes_no_other_result_with_it():
    page, text = os.path.join(work, "full.html"), os.path.join(work, "full.txt")
    done = native([FATHOM, "sample", "--rate", "1000", "--json", "/dev/full", "--report", page, "-o", text, "--", program(), "work"])
    expect((done.returncode, done.stdout), (1, native([program(), "work"]).stdout), "exit code and output\n" + done.stderr)
    expect_in("/dev/full: cannot write: No space left on device", done.stderr, "message")
    expect_in("sampled, software", " ".join(open(text).read().split()), "the text")
    if "no report page" not in done.stderr:
        expect(os.path.getsize(page) > 1000, True, "the page is there")


@case
def more_processes_than_there_is_room_for():
    # 300 at a time, of which 256 are sampled; all of them work.
    result = sample([program(), "swarm"], "--follow-children", "--no-sites", "--bootstrap", "1")
    expect(result.out, native([program(), "swarm"]).stdout, "output")
    expect_in("processes were not sampled: there is room for 256 at a time", result.err, "note")
    expect_in("processes were not sampled", result.profile["run"]["notes"], "in the profile, too")


@case
def without_perf_events_a_timer_takes_their_place():
    result = same(["work"], env={"FATHOM_TEST_NO_PERF": "1"})
    expect_in("perf events were refused (Permission denied)", result.err, "note")
    expect_in("--cap-add=PERFMON", result.err, "remedy")
    expect_in("software timer", " ".join(result.text.split()), "first screen")
    expect(result.profile["sampling"].get("used", 0), 0, "watches")


@case
def static_programs_are_refused():
    result = sample([program("-static"), "work"], code=1)
    expect_in("is linked statically: the sampling runtime cannot be loaded into it", result.err, "message")


@case
def setuid_programs_are_refused():
    path = os.path.join(work, "setuid")
    shutil.copy(program(), path)
    os.chmod(path, 0o4755)
    result = sample([path, "work"], code=1)
    expect_in("is setuid (set-user-ID): the loader preloads nothing into such programs", result.err, "message")


@case
def a_build_without_the_runtime_says_so():
    result = sample([program(), "work"], code=1, env={"FATHOM_PARTS": work})
    expect_in("there is no sampling runtime here", result.err, "message")


@case
def runs_that_are_too_short_are_said_to_be():
    result = sample(["true"], code=1)
    expect_in("too short to tell anything", result.err, "message")


@case
def duration_ends_sampling_and_not_the_program():
    # Long enough for a sample, which depends on what else the machine does.
    for seconds in ("0.05", "0.1", "0.2", "0.4", "1.6", "6.4"):
        try:
            result = sample([program(), "descriptors"], "--duration", seconds)
            break
        except Failure:
            if seconds == "6.4":
                raise
    expect_in("next 3", result.out, "output")
    expect(result.profile["run"]["ending"], "exited with 5", "ending")


def near_and_far(profile):
    """Shares of the re-uses below 1,024 words, and from 32,768 on."""
    total = sum(count for _, _, count in profile["histogram"])
    return [round(sum(count for low, high, count in profile["histogram"] if inside(low, high)) / total, 2)
            for inside in (lambda low, high: high < 1024, lambda low, high: low >= 32768)]


# Wide enough for few samples, on a machine that others use, and far from what the other part of the program would give.
def expect_shares(profile, wanted, what):
    found = near_and_far(profile)
    if any(abs(a - b) > 0.12 for a, b in zip(found, wanted)):
        raise Failure(f"{what}: expected {wanted}, found {found}")


@case
def only_a_region_is_sampled():
    path = build("region.c", "gcc", "-O1")
    small = sample([path, "200"], "-g", "8", "--region", "small").profile
    expect_shares(small, [1, 0], "the small region")
    expect(small["run"]["what"], 'samples of references, in region "small"', "what")
    large = sample([path, "200"], "-g", "8", "--region", "large").profile
    expect_shares(large, [0.5, 0.5], "the large region: each word is read, and written at once")
    # Closed form: 512 x 400 and 65,536 x 8 words, each read and written. Rates are good to a factor of two.
    for profile, words in ((small, 512 * 400), (large, 65536 * 8)):
        expect(0.4 < profile["references"] / (200 * 2 * words) < 2.5, True, f"{profile['references']} references")


@case
def only_a_function_is_sampled():
    path = build("region.c", "gcc", "-O1")
    for name, wanted in (("small_work", [1, 0]), ("large_work", [0.5, 0.5])):
        profile = sample([path, "200"], "-g", "8", "--function", name).profile
        expect_shares(profile, wanted, name)
        expect(profile["run"]["what"], f"samples of references, in function {name} and what it calls", "what")
    result = sample([path, "20"], "--function", "medium_work", code=2)
    expect_in("there is no function 'medium_work' in the program or in any library it used", result.err, "message")


@case
def a_region_that_is_not_there():
    result = sample([build("region.c", "gcc", "-O1"), "20"], "--region", "medium", code=2)
    expect_in('the program never came to a FATHOM_BEGIN("medium")', result.err, "message")
    result = sample(["true"], "--region", "x" * 300, code=2)
    expect_in("the name of a region has at most 255 bytes", result.err, "message")


def started():
    """An endless program, with some samples already."""
    path = os.path.join(work, "killed.json")
    if os.path.exists(path):
        os.unlink(path)
    process, child = launched([program(), "endless"], "--json", path, "--force")
    wait_until(lambda: program_of(child) == program(), "the program runs")
    wait_for_work(child, 0.3)
    return process, child, path


def alive(pid):
    return process_state(pid) not in ("Z", "X", None)


@case
def an_interrupt_gives_the_profile_so_far():
    process, child, path = started()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    expect(process.returncode, 3, f"exit code\n{err}")
    expect_in("it was interrupted before its end", err, "message")
    with open(path) as file:
        expect(json.load(file)["sampling"]["bursts"] > 0, True, "bursts")
    expect(alive(child), False, "the program is gone")


@case
def a_program_waits_for_a_fathom_that_is_late():
    # It asks for its clock when it begins, and is over soon.
    path = os.path.join(work, "late.json")
    process, _ = launched([program(), "environment"], "--json", path, "--force", "-o", os.devnull)
    process.send_signal(signal.SIGSTOP)
    time.sleep(2.4)
    process.send_signal(signal.SIGCONT)
    _, err = process.communicate(timeout=60)
    expect(process.returncode, 0, f"exit code\n{err}")
    with open(path) as file:
        expect(json.load(file)["sampling"]["bursts"] > 0, True, "bursts")


@case
def the_program_is_killed():
    process, child, path = started()
    os.kill(child, signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    expect(process.returncode, 3, f"exit code\n{err}")
    expect_in("it was killed before its end", err, "message")


@case
def fathom_is_killed_and_the_program_runs_on():
    process, child, path = started()
    process.kill()
    process.wait()
    try:
        wait_for_work(child, 0.3)
        runs_on = alive(child)
    except (FileNotFoundError, ProcessLookupError):
        runs_on = False
    # No clock any more: the signals that it would send are counted there.
    if runs_on:
        os.kill(child, signal.SIGKILL)
    expect(runs_on, True, "the program runs on")
    expect(os.path.exists(path), False, "a profile")


@case
def killed_at_any_moment():
    for delay in (0, 0.002, 0.01, 0.03, 0.06):
        process = subprocess.Popen([FATHOM, "sample", "--rate", "1000", "-q", "--", program(), "endless"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        time.sleep(delay)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
    gone_within(program() + "\0endless", 60)


if not os.path.exists(RUNTIME):
    cases = [("all cases", lambda: "this build has no sampling runtime (it was built without Zydis)")]
main(cases)
