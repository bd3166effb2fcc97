#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom sample --pid: a program that runs already is sampled, and is as it was afterwards. tests/programs/attached.c says
what each word does; it checks itself, and prints its state at the end."""
import concurrent.futures
import ctypes
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "collect"))
from collect_support import *

cases = []
RUNTIME = os.path.join(os.path.dirname(BUILDER), "lib", "fathom", "libfathom-sample.so")
NO_PERF = {"FATHOM_TEST_NO_PERF": "1"}
running = []


def case(function):
    cases.append((function.__name__.replace("_", " "), function))
    return function


class Program:
    """tests/programs/attached.c, ready. end() gives what it printed."""

    def __init__(self, *words, flags=(), prefix=(), path=None):
        path = path or build("attached.c", "gcc", "-O1", "-pthread", *flags)
        self.process = subprocess.Popen([*prefix, path, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        running.append(self.process)
        expect(self.process.stdout.readline(), "ready\n", "the program's first line")
        self.pid = self.process.pid

    def end(self):
        out, _ = self.process.communicate("x\n", timeout=60)
        expect((self.process.returncode, (out.splitlines() or [""])[-1]), (0, "right"), f"the program's end\n{out}")
        return out


def attach(pid, *options, code=0, env=None, duration="0.15", prefix=(), sites=False, bursts=1):
    """fathom sample --pid; the profile is in .profile, or None. On a busy machine it takes longer until there are so many
    bursts."""
    for tries in range(5):
        try:
            result = attach_once(pid, *options, *([] if sites else ["--no-sites"]), code=code, env=env, duration=duration, prefix=prefix)
            if code != 0 or tries == 4 or result.profile["sampling"]["bursts"] >= bursts:
                return result
        except Failure as failure:
            if "no sample was taken" not in str(failure) or tries == 4:
                raise
        duration = str(3 * float(duration))


def attach_once(pid, *options, code, env, duration, prefix):
    path = os.path.join(work, "attached.json")
    if os.path.exists(path):
        os.unlink(path)
    full = [*prefix, FATHOM, "sample", "--pid", str(pid), "--duration", duration, "--rate", "1000", "--json", path, "--force", "-o", "/dev/null",
            "--bootstrap", "1", *options]
    done = subprocess.run(full, capture_output=True, text=True, errors="replace", timeout=90, stdin=subprocess.DEVNULL,
                          env={**os.environ, **(env or {})})
    if done.returncode != code:
        raise Failure(f"{' '.join(full)}\nexit code {done.returncode}, expected {code}\n{done.stdout}\n{done.stderr}")
    profile = None
    if os.path.exists(path):
        with open(path) as file:
            profile = json.load(file)
        check_sums(profile)
    return Result(done, profile)


def refused(pid, part, code=1, **more):
    result = attach(pid, code=code, **more)
    expect_in(part, result.err, "message")
    expect(result.profile, None, "profile")


state_alone = {}


def same(*words, env=None, program_prefix=(), **more):
    """Right, and in the same state, as without us."""
    if words not in state_alone:
        state_alone[words] = Program(*words).end()
    program = Program(*words, prefix=program_prefix)
    before = sorted(os.listdir(f"/proc/{program.pid}/fd"))
    result = attach(program.pid, env=env, **more)
    if "loads" not in words:
        expect(sorted(os.listdir(f"/proc/{program.pid}/fd")), before, "descriptors")
    with open(f"/proc/{program.pid}/maps") as maps:
        text = maps.read()
    for part in ("memfd:fathom", "perf_event", "rwxp"):
        expect(part in text, False, f"{part} is mapped")
    expect(program.end(), state_alone[words], "state")
    return result


# ---- what it may be doing ----

@case
def a_program_with_one_thread():
    profile = same("alone").profile
    expect(profile["sampling"]["bursts"] > 0, True, "bursts")
    expect(profile["run"]["ending"], "runs on", "ending")
    expect_in("attached-gcc", profile["run"]["command"], "command")
    expect(profile["complete"], True, "complete")


@case
def threads_that_work_and_allocate():
    expect(same("work", "allocates").profile["sampling"]["bursts"] > 0, True, "bursts")


def heap_blocks(profile):
    """Of objects whose place of allocation is known."""
    return sum(it.get("blocks", 0) for it in profile["attribution"]["objects"] if it["kind"] == "heap" and "allocation" in it)


def expect_blocks(*words, **more):
    # Those of blocks that were allocated since, and then used in a burst: where others have the processors, there may be none.
    for duration in ("0.4", "0.8", "1.6", "3.2"):
        if heap_blocks(same(*words, sites=True, duration=duration, **more).profile) > 0:
            return
    raise Failure("no block of the heap is known")


@case
def blocks_of_the_heap_are_told():
    expect_blocks("work", "allocates", "forks", "handles")


@case
def blocks_come_from_the_allocator_that_the_program_has():
    library = build("checking_allocator.c", "gcc", "-shared", "-fPIC", "-fno-builtin", output="checking_allocator.so")
    # Some were told; that one of these is used in a burst too is rare, since they are freed soon. Where others have the
    # processors, the thread that allocates may not have had its turn.
    none = "no allocation came through the sampler"
    for duration in ("0.4", "1.6", "6.4"):
        profile = same("work", "allocates", program_prefix=["env", f"LD_PRELOAD={library}"], sites=True, duration=duration).profile
        if none not in profile["run"].get("notes", ""):
            return
    raise Failure(f"no block was told: {profile['run']['notes']}")


@case
def system_calls_are_not_interrupted():
    same("waits", "waits", "for-ever", "work")


@case
def libraries_come_and_go():
    same("loads", "work")


@case
def threads_begin_and_end():
    same("threads", "work")


@case
def threads_that_block_all_signals_are_sampled():
    expect(same("blocks").profile["sampling"]["bursts"] > 0, True, "bursts")


@case
def forks_are_not_disturbed():
    same("forks", "work")


@case
def actions_of_signals_are_the_programs_own():
    same("handles", "work")


@case
def all_of_it_again_and_again():
    program = Program("work", "waits", "for-ever", "allocates", "loads", "threads", "blocks", "forks", "handles")
    for round_number in range(3):
        try:
            attach(program.pid, duration="0.1", sites=round_number > 0)
        except Failure as failure:
            raise Failure(f"round {round_number}, the program's status is {program.process.poll()}: {failure}")
    program.end()


@case
def without_perf_events():
    result = same("work", "blocks", env=NO_PERF, duration="0.6")
    expect_in("perf events were refused", result.err, "note")
    expect(result.profile["sampling"]["bursts"] > 0, True, "bursts")
    expect(result.profile["sampling"].get("used", 0), 0, "watches")


@case
def perf_event_open_refused_by_seccomp():
    launcher = build("without_perf.c", "gcc")
    program = Program("work")
    result = attach(program.pid, prefix=[launcher])
    expect_in("perf events were refused (Operation not permitted)", result.err, "note")
    program.end()


@case
def a_program_that_sleeps_has_no_samples():
    program = Program("for-ever")
    result = attach(program.pid, code=1, duration="0.1")
    expect_in("no sample was taken in ", result.err, "message")
    expect_in("used too little processor time", result.err, "message")
    program.end()


@case
def distances_are_those_of_fathom_run():
    exact = run(["-g", "8", "--no-sites"], [build("attached.c", "gcc", "-O1", "-pthread"), "once"]).profile
    program = Program("alone")
    profile = attach(program.pid, "-g", "8", duration="0.5", bursts=50).profile
    program.end()
    edges = [3 * 2 ** k for k in range(3, 18)]  # the table has 8,192 words

    def shares(profile):
        found = [0] * (len(edges) + 1)
        for low, high, count in profile["histogram"]:
            found[sum(edge <= (low + high) // 2 for edge in edges)] += count
        return [count / sum(found) for count in found]

    likeness = 1 - sum(abs(a - b) for a, b in zip(shares(exact), shares(profile))) / 2
    if likeness < 0.9:
        raise Failure(f"S of the distances is {likeness}:\n{shares(exact)}\n{shares(profile)}")


@case
def a_region_of_a_program_that_runs():
    program = Program(path=build("region.c", "gcc", "-O1"))
    for region, wanted in (("large", (0.5, 0.5)), ("small", (1, 0)), ("large_work", (0.5, 0.5))):
        option = "--function" if region == "large_work" else "--region"
        profile = attach(program.pid, "-g", "8", option, region, duration="0.5", bursts=20).profile
        total = sum(count for _, _, count in profile["histogram"])
        near = sum(count for low, high, count in profile["histogram"] if high < 1024) / total
        far = sum(count for low, high, count in profile["histogram"] if low >= 32768) / total
        if abs(near - wanted[0]) > 0.05 or abs(far - wanted[1]) > 0.05:
            raise Failure(f"{region}: expected {wanted} near and far, found {near}, {far}")
    program.end()


# ---- ends ----

def started(pid, *options, env=None):
    return subprocess.Popen([FATHOM, "sample", "--pid", str(pid), "--rate", "1000", "-o", "/dev/null", "--bootstrap", "1", *options], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})


def is_sampled(pid):
    """Waits until the sampler is inside, and fathom no longer holds a thread of the program by ptrace."""
    def inside(thread):
        try:
            with open(f"/proc/{pid}/task/{thread}/status") as file:
                status = dict(line.split(":", 1) for line in file)
        except (FileNotFoundError, ProcessLookupError):
            return True  # it has ended
        return int(status["SigCgt"], 16) >> (signal.SIGILL - 1) & 1 and int(status["TracerPid"]) == 0

    wait_until(lambda: all(inside(thread) for thread in os.listdir(f"/proc/{pid}/task")), f"process {pid} is sampled")


@case
def an_interrupt_gives_the_profile_and_the_program_runs_on():
    for number in (signal.SIGINT, signal.SIGTERM):
        program, path = Program("work"), os.path.join(work, "interrupted.json")
        fathom = started(program.pid, "--json", path, "--force")
        is_sampled(program.pid)
        wait_for_work(program.pid, 0.3)
        fathom.send_signal(number)
        _, err = fathom.communicate(timeout=60)
        expect(fathom.returncode, 0, f"exit code\n{err}")
        with open(path) as file:
            expect(json.load(file)["sampling"]["bursts"] > 0, True, "bursts")
        program.end()


@case
def the_program_ends_first():
    program, path = Program("work"), os.path.join(work, "ended.json")
    fathom = started(program.pid, "--json", path, "--force")
    is_sampled(program.pid)
    wait_for_work(program.pid, 0.3)
    program.end()
    _, err = fathom.communicate(timeout=60)
    expect(fathom.returncode, 0, f"exit code\n{err}")
    with open(path) as file:
        profile = json.load(file)
    expect(profile["sampling"]["bursts"] > 0, True, "bursts")
    expect(profile["run"]["ending"] in ("exited with 0", "not known"), True, profile["run"]["ending"])


@case
def fathom_is_killed_and_the_program_can_be_sampled_again():
    for env in ({}, NO_PERF):
        program = Program("work", "handles", "blocks", "allocates")
        fathom = started(program.pid, env=env)
        is_sampled(program.pid)
        wait_for_work(program.pid, 0.2)
        fathom.kill()
        fathom.communicate()
        time.sleep(0.1)
        attach(program.pid)
        program.end()


@case
def fathom_is_ended_at_any_moment():
    # SIGKILL while it holds the program in its hands is another matter (docs/SAMPLE.md).
    program = Program("work", "waits", "allocates")
    for delay in (0, 0.003, 0.006, 0.01, 0.02, 0.04):
        fathom = started(program.pid, "-q")
        time.sleep(delay)
        fathom.terminate()
        fathom.communicate()
    attach(program.pid)
    program.end()


@case
def a_timer_that_nobody_hears_stops():
    program = Program("work")
    fathom = started(program.pid, env=NO_PERF)
    is_sampled(program.pid)
    wait_for_work(program.pid, 0.1)

    def timers():
        with open(f"/proc/{program.pid}/timers") as file:
            return file.read()

    expect(timers() != "", True, "there is a timer")
    fathom.kill()
    fathom.communicate()
    wait_until(lambda: timers() == "", "it has no timer")
    program.end()


@case
def programs_that_end_while_they_are_attached_to():
    for delay in (0, 0.001, 0.002, 0.004, 0.008, 0.012):
        process = subprocess.Popen(["sh", "-c", f"i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; sleep {delay}"])
        done = subprocess.run([FATHOM, "sample", "-p", str(process.pid), "-o", "/dev/null"], capture_output=True, text=True,
                              timeout=60)
        process.wait()
        expect(done.returncode in (0, 1), True, f"exit code {done.returncode}\n{done.stderr}")
        expect(process.returncode, 0, "the program's exit code")


@case
def two_at_a_time():
    program = Program("work")
    fathom = started(program.pid)
    is_sampled(program.pid)
    refused(program.pid, f"is being sampled already, by process {fathom.pid}")
    wait_for_work(program.pid, 0.1)
    fathom.send_signal(signal.SIGINT)
    fathom.communicate(timeout=60)
    expect(fathom.returncode, 0, "exit code of the first")
    program.end()


@case
def an_exec_ends_it():
    told, shell = os.path.join(work, "told"), os.path.realpath(shutil.which("sh"))
    program = subprocess.Popen(["sh", "-c", f"while [ ! -e {told} ]; do :; done; exec cat"], stdin=subprocess.PIPE)
    running.append(program)
    wait_until(lambda: os.readlink(f"/proc/{program.pid}/exe") == shell, "the shell runs")
    fathom = started(program.pid)
    is_sampled(program.pid)
    wait_for_work(program.pid, 0.2)
    open(told, "w").close()
    wait_until(lambda: os.readlink(f"/proc/{program.pid}/exe") != shell, "it executes another program")
    time.sleep(0.06)  # it does not look more often
    wait_for_looks(fathom.pid)
    program.stdin.close()
    _, err = fathom.communicate(timeout=60)
    expect(fathom.returncode, 0, f"exit code\n{err}")
    expect_in("which was not sampled", err, "note")
    expect(program.wait(timeout=60), 0, "the program's exit code")


# ---- a program that samples itself ----

def self_sampled(env=None, prefix=()):
    library = os.path.dirname(BUILDER)
    path = build("self_sampled.c", "gcc", "-O1", "-pthread", "-L" + library, "-Wl,--no-as-needed", "-lfathom",
                 "-Wl,-rpath," + library)
    done = subprocess.run([*prefix, path], capture_output=True, text=True, timeout=90, env={**os.environ, **(env or {})})
    expect(done.returncode, 0, f"exit code\n{done.stdout}{done.stderr}")
    return dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line), done.stdout


@case
def a_program_samples_itself():
    # Every other re-use is of the word that was just read, the others come a sweep later.
    lines, text = self_sampled()
    for name in ("small", "large", "threads"):
        expect_in("exact 0, bursts 1, far 0.", lines[name], name)
    expect(lines["small"], "exact 0, bursts 1, far 0.50", "small")
    expect(lines["two at a time"], "refused", "two at a time")
    expect(lines["stopped without a profile"], "0", "stopped without a profile")
    expect_in("no profile: no sample was taken in ", lines["nothing"], "nothing")
    expect_in("not started: cannot execute: No such file or directory", lines["no fathom"], "no fathom")
    expect_in("children 0, signals 0, files 0", text, "what is left")


@case
def a_program_samples_itself_without_perf_events():
    lines, text = self_sampled(NO_PERF)
    expect(lines["small"], "exact 0, bursts 1, far 0.50", "small")
    expect_in("children 0, signals 0, files 0", text, "what is left")


# ---- who cannot be attached to ----

@case
def no_process():
    process = subprocess.Popen(["true"])
    process.wait()
    refused(process.pid, f"there is no process {process.pid}")
    for wrong in ("0", "-5", "abc", "12x", "", "99999999999"):
        result = subprocess.run([FATHOM, "sample", f"--pid={wrong}"], capture_output=True, text=True)
        expect(result.returncode, 2, "exit code")
        expect_in(f"--pid: expected the number of a process such as 4711, found '{wrong}'", result.stderr, "message")


@case
def fathom_itself_and_process_1():
    result = subprocess.run(["sh", "-c", f"exec {FATHOM} sample -p $$"], capture_output=True, text=True)
    expect(result.returncode, 2, "exit code")
    expect_in("is fathom itself", result.stderr, "message")
    refused(1, "process 1 is the one that everything else depends on")


@case
def threads_of_the_kernel():
    for pid in range(2, 100):
        try:
            flags = int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[6])
        except FileNotFoundError:
            continue
        if flags & 0x200000:
            return refused(pid, "is a thread of the kernel" if os.geteuid() == 0 else f"process {pid}")
    return "no thread of the kernel can be seen here"


@case
def zombies_and_stopped_programs():
    process = subprocess.Popen(["true"])
    wait_until(lambda: process_state(process.pid) == "Z", "it has ended")
    refused(process.pid, "has ended (a zombie")
    process.wait()
    program = Program("work")
    os.kill(program.pid, signal.SIGSTOP)
    wait_until(lambda: process_state(program.pid) == "T", "it is stopped")
    refused(program.pid, f"is stopped: it has to run to be sampled (kill -CONT {program.pid})")
    os.kill(program.pid, signal.SIGCONT)
    program.end()


@case
def a_program_that_is_traced_already():
    program = Program("work")
    libc = ctypes.CDLL(None, use_errno=True)

    def trace():
        """By a thread that is not the first: the message names its process."""
        if libc.ptrace(0x4206, program.pid, None, None) != 0:
            return "ptrace is refused here"
        try:
            refused(program.pid, f"is traced by process {os.getpid()}")
        finally:
            libc.ptrace(0x4207, program.pid, None, None)
            os.waitpid(program.pid, 0x40000000)
            libc.ptrace(17, program.pid, None, None)
        return None

    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        skipped = threads.submit(trace).result()
    program.end()
    return skipped


@case
def one_of_its_threads():
    program = Program("work")
    thread = [tid for tid in os.listdir(f"/proc/{program.pid}/task") if int(tid) != program.pid][0]
    refused(thread, f"{thread} is a thread of process {program.pid}", code=2)
    program.end()


@case
def static_programs():
    program = Program("work", flags=["-static"])
    refused(program.pid, "is linked statically: the sampling runtime cannot be loaded into it")
    program.end()


@case
def another_c_library():
    loader = os.path.join(work, "ld-musl-x86_64.so.1")  # it is not, but has its name
    shutil.copy("/lib64/ld-linux-x86-64.so.2", loader)
    program = Program("work", flags=[f"-Wl,--dynamic-linker={loader}"])
    refused(program.pid, "is linked with musl")
    program.end()


@case
def programs_of_32_bits():
    try:
        program = Program("work", flags=["-m32"])
    except Failure:
        return "no compiler for 32-bit programs"
    refused(program.pid, "is a 32-bit program")
    program.end()


@case
def programs_that_gave_up_system_calls():
    program = Program("work", prefix=[build("without_perf.c", "gcc")])
    refused(program.pid, "has given up system calls (seccomp)")
    program.end()


def unshare(*options):
    if subprocess.run(["unshare", *options, "true"], capture_output=True).returncode:
        return None
    return ["unshare", *options]


@case
def another_mount_namespace():
    prefix = unshare("-m")
    if not prefix:
        return "namespaces cannot be made here"
    hidden = os.path.dirname(os.path.realpath(RUNTIME))
    program = Program("work", prefix=[*prefix, "sh", "-c", f"mount -t tmpfs none {hidden} && exec \"$0\" \"$@\""])
    refused(program.pid, "sees other files (a container, chroot)")
    program.end()


@case
def another_pid_namespace():
    prefix = unshare("-p", "-f")
    if not prefix:
        return "namespaces cannot be made here"
    program = Program("work", prefix=prefix)
    with open(f"/proc/{program.pid}/task/{program.pid}/children") as file:
        child = int(file.read().split()[0])
    refused(child, "is in another PID namespace")
    program.end()


@case
def other_users():
    prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if os.geteuid() != 0 or subprocess.run([*prefix, FATHOM, "--version"], capture_output=True).returncode:
        return "there is no other user here who can run fathom"
    mine = Program("work")
    result = subprocess.run([*prefix, FATHOM, "sample", "-p", str(mine.pid)], capture_output=True, text=True)
    expect(result.returncode, 1, f"exit code\n{result.stderr}")
    expect_in("belongs to another user (0): run fathom as that user, or as root", result.stderr, "message")
    mine.end()
    path = build("attached.c", "gcc", "-O1", "-pthread")
    os.chmod(work, 0o755)
    theirs = Program("work", prefix=prefix, path=path)
    for duration in ("0.3", "2", "8"):
        result = subprocess.run([*prefix, FATHOM, "sample", "-p", str(theirs.pid), "--duration", duration, "--rate", "1000"],
                                capture_output=True, text=True)
        if "no sample was taken" not in result.stderr:
            break
    expect(result.returncode, 0, f"exit code, as the same user\n{result.stderr}")
    attach(theirs.pid)  # root may
    theirs.end()


@case
def options_that_do_not_fit():
    for options, part in ((["-p", "5", "--", "true"], "a process that runs is sampled, or a program is run, not both"),
                          (["-p", "5", "--follow-children"], "children of a process that runs already are not sampled"),
                          (["-p", "5", "--simulate", "x.fathom"], "a trace is sampled, or a process is, not both")):
        done = subprocess.run([FATHOM, "sample", *options], capture_output=True, text=True)
        expect(done.returncode, 2, "exit code")
        expect_in(part, done.stderr, "message")


@case
def a_build_without_the_runtime_says_so():
    program = Program("work")
    refused(program.pid, "there is no sampling runtime here", env={"FATHOM_PARTS": work})
    program.end()


if not os.path.exists(RUNTIME):
    cases = [("all cases", lambda: "this build has no sampling runtime (it was built without Zydis)")]
try:
    main(cases)
finally:
    for process in running:
        if process.poll() is None:
            process.kill()
