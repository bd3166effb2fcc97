#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What can go wrong around a traced program: killed, crashed, out of memory, the analyser killed, Ctrl-C, full disk,
instructions that Valgrind does not know, no Valgrind, setuid, not found, no permission. Each has its message, exit
code and result, and nothing is left behind (collect_support looks after every case)."""
import fcntl
import filecmp
import json
import os
import pty
import shutil
import signal
import struct
import subprocess
import termios
import time

from collect_support import *

# With code sites where they are looked at, or where the program is gone when they are looked for.
WITH_SITES = ["--function", "touch", "--no-stack"]
WATCH = [*WITH_SITES, "--no-sites"]
HOW = {"valgrind": "gcc", "compiler": "fathom"}
cases = []


def both(function):
    for collector in HOW:
        name = f"{collector}: {function.__name__.replace('_', ' ')}"
        cases.append((name, lambda f=function, c=collector: f(HOW[c])))
    return function


def once(function):
    cases.append((function.__name__.replace("_", " "), function))
    return function


def works(program, but):
    """The processes that run a program and have done so for a while, without fathom."""
    found = [pid for pid in processes_named(program) if pid != but]
    for pid in found:
        wait_for_work(pid, 0.3)
    return found


@both
def program_killed_from_outside(how):
    program = build("sleeping.c", how)
    process, path = start(WITH_SITES, [program])
    wait_for_line(process, "ready")
    for pid in processes_named(program):
        if pid != process.pid:
            os.kill(pid, signal.SIGKILL)
    result = finish(process, path)
    expect(result.code, 3, f"exit code: {result.err}")
    expect(result.profile["references"], 300, "references until then")
    expect(result.profile["complete"], False, "complete")
    expect_in("SIGKILL", result.profile["what_missing"], "what is missing")
    expect_in("SIGKILL", result.err, "message")


@both
def program_that_stops_its_parent(how):
    """fathom stands still, as a shell or strace would; let on again it misses nothing."""
    process, path = start(WATCH, [build("stopping_parent.c", how)])
    wait_until(lambda: process_state(process.pid) == "T", "stopped")
    process.send_signal(signal.SIGCONT)
    result = finish(process, path)
    expect(result.code, 0, f"exit code: {result.err}")
    cyclic(result.profile, 100, 3)


@both
def busy_program_killed(how):
    program = build("endless.c", how)
    process, path = start(WATCH, [program])
    wait_for_line(process, "ready")
    for pid in works(program, process.pid):
        os.kill(pid, signal.SIGKILL)
    result = finish(process, path)
    expect(result.code, 3, f"exit code: {result.err}")
    expect(result.profile["references"] > 1000, True, "references until then")
    expect(result.profile["cold"], 1000, "blocks")


@both
def analyser_killed_while_the_program_works(how):
    program = build("long_run.c", how)
    process, path = start(WATCH, [program, "1000000"])
    time.sleep(0.7)
    process.kill()
    process.wait()
    # The program runs on, to its own end, and no one waits for anyone.
    gone_within(program, 150)
    process.stdout.close()
    process.stderr.close()
    expect(os.path.exists(path), False, "a result of a killed analyser")


@both
def analyser_killed_and_left_a_zombie(how):
    program = build("long_run.c", how)
    process, path = start(WATCH, [program, "1000000"])
    time.sleep(0.7)
    process.kill()  # not waited for: a zombie until the program is gone
    deadline = time.monotonic() + 150
    while [pid for pid in processes_named(program)]:
        if time.monotonic() > deadline:
            raise Failure("the program hangs")
        time.sleep(0.1)
    process.communicate()


@both
def control_c_in_a_terminal(how):
    program = build("endless.c", how)
    path = os.path.join(work, "profile.json")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(FATHOM, [FATHOM, "run", "--json", path, "--force", *WATCH, "--", program])
    seen = b""
    while b"ready" not in seen:
        seen += os.read(terminal, 1000)
    works(program, pid)
    os.write(terminal, b"\x03")
    try:
        while True:
            more = os.read(terminal, 10000)
            if not more:
                break
            seen += more
    except OSError:
        pass
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    expect(os.waitstatus_to_exitcode(status), 3, f"exit code: {seen.decode(errors='replace')}")
    with open(path) as file:
        profile = json.load(file)
    os.unlink(path)
    expect(profile["complete"], False, "complete")
    expect(profile["cold"], 1000, "blocks so far")
    gone_within(program, 60)


@both
def interrupt_sent_to_fathom_alone(how):
    program = build("sleeping.c", how)
    for number in (signal.SIGINT, signal.SIGTERM):
        process, path = start(WATCH, [program], start_new_session=True)
        wait_for_line(process, "ready")
        process.send_signal(number)
        result = finish(process, path)
        expect(result.code, 3, f"exit code: {result.err}")
        expect(result.profile["references"], 300, "references until then")
        gone_within(program, 60)


@both
def program_that_ignores_the_interrupt(how):
    program = build("sleeping.c", how)
    process, path = start(WATCH, [program, "stubborn"], start_new_session=True)
    wait_for_line(process, "ready")
    process.send_signal(signal.SIGINT)
    wait_for_signal(process.pid, signal.SIGINT)
    process.send_signal(signal.SIGINT)  # the second one means it
    result = finish(process, path)
    expect(result.code, 3, f"exit code: {result.err}")
    expect(result.profile["references"], 300, "references until then")
    gone_within(program, 60)


@both
def program_out_of_memory(how):
    # Valgrind itself needs room, so the limit is on the program's own big request, which fails.
    program = build("plain.c", how)
    done = subprocess.run(["bash", "-c", f"ulimit -v 150000; exec {FATHOM} run --no-sites -- {program}"],
                          capture_output=True, text=True, timeout=60)
    if done.returncode not in (0, 1, 3):
        raise Failure(f"exit code {done.returncode}: {done.stderr}")
    if done.returncode != 0 and not done.stderr.strip():
        raise Failure("no message")


def limited(limit, options, command):
    """fathom run under a limit of the shell's; the profile is None where there is none."""
    path = os.path.join(work, "profile.json")
    if os.path.exists(path):
        os.unlink(path)
    done = subprocess.run(["bash", "-c", f'ulimit {limit}; exec "$@"', "bash", FATHOM, "run", "--json", path, "--force", *options, "--",
                           *command], capture_output=True, text=True, errors="replace", timeout=60)
    profile = None
    if os.path.exists(path):
        with open(path) as file:
            profile = json.load(file)
    return Result(done, profile)


@both
def small_stack(how):
    program = build("plain.c", how)
    result = limited("-s 64", WITH_SITES, [program])
    expect(result.code, 0, f"exit code: {result.err}")
    cyclic(result.profile, 100, 3, "profile")
    expect_in("touch.h", json.dumps(result.profile["attribution"]), "lines of the program")


@once
def valgrind_out_of_memory():
    """Whatever the limit: a complete profile is that of a program that came to its own end, 300 references."""
    program = build("plain.c", "gcc", "-static")
    seen = set()
    for limit in (12000, 24000, 40000, 48000, 56000, 64000, 400000):
        for options in (WITH_SITES, WATCH):
            result = limited(f"-v {limit}", options, [program, "4"])
            what = f"-v {limit} {options}: exit code {result.code}\n{result.err[-1000:]}"
            expect(result.code in (0, 1, 3), True, what)
            expect(result.code == 1, result.profile is None, what)
            seen.add(result.code)
            if result.code == 0:
                expect(result.profile["run"].get("exit_code"), 4, what)
                cyclic(result.profile, 100, 3, what)
            else:
                expect_in("algrind" if "Valgrind" in result.err else "memory", result.err, what)
            if result.code == 3:
                expect_in("Valgrind ended it", result.profile["what_missing"], what)
                expect("exit_code" in result.profile["run"], False, what)
    expect({0, 1} <= seen, True, f"limits that are too low and high enough: {seen}")


@once
def valgrind_out_of_memory_in_the_middle():
    # The program takes what is left of the limit, in pieces that Valgrind gives it; then Valgrind wants more for itself.
    program = build("taking_all.c")
    result = limited("-v 300000", WITH_SITES, [program])
    expect(result.code, 3, f"exit code: {result.err[-1000:]}")
    expect(result.profile["complete"], False, "complete")
    expect(result.profile["references"], 300, "references until then")
    expect_in("Valgrind ended it", result.profile["what_missing"], "what is missing")
    expect(result.profile["run"]["ending"], "ended by Valgrind, not by itself", "ending")


@once
def valgrind_fails_an_assertion():
    # Valgrind has room for 500 threads, and calls more of them impossible.
    result = run(WATCH, [build("crowd.c", "gcc", "-pthread"), "600"], code=3)
    expect_in("impossible", result.err, "Valgrind's own message")
    expect(result.profile["references"], 300, "references until then")
    expect(result.profile["complete"], False, "complete")
    expect_in("Valgrind ended it", result.profile["what_missing"], "what is missing")


@once
def valgrind_of_a_child_that_cannot_start():
    # The program after the exec has less room than Valgrind needs: in the same process, and in a child's.
    for script in ("ulimit -v 16000; exec /bin/true", "ulimit -v 16000; /bin/true; :"):
        result = run(["--follow-children", "--no-sites"], ["/bin/sh", "-c", f"{script} /"], code=3)
        expect(result.profile["complete"], False, f"{script}: complete")
        expect_in("incomplete: process", result.err, f"{script}: message")


def with_mount(options, script):
    """Runs a shell's script with something mounted, which nobody else sees; None where that is not allowed."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        return None
    return subprocess.run(["unshare", "-m", "bash", "-c", f"mount -t tmpfs {options} || exit 77; {script}"],
                          capture_output=True, text=True, errors="replace", timeout=60)


@once
def no_proc():
    for how in HOW.values():
        done = with_mount("none /proc", f"{FATHOM} run -- {build('plain.c', how)}")
        if done is None or done.returncode == 77:
            return "mounting needs root"
        expect(done.returncode, 1, f"exit code: {done.stderr}")
        expect_in("/proc: is not mounted here", done.stderr, "message")
        expect(len(done.stderr.splitlines()), 1, f"lines of {done.stderr}")
    done = subprocess.run(["unshare", "-pf", FATHOM, "run", "--", build("plain.c")], capture_output=True, text=True)
    expect_in("another PID namespace", done.stderr, "message about /proc of other processes")


@once
def read_only_tmp():
    program = build("plain.c")
    if FATHOM.startswith("/tmp/"):
        return "fathom itself lies in /tmp, which is hidden here"
    # The program itself lies in a directory for temporary files, which is still to be seen.
    done = with_mount("-o ro none /tmp", f"env -u TMPDIR {FATHOM} run -- cat /proc/self/cmdline")
    if done is None or done.returncode == 77:
        return "mounting needs root"
    expect(done.returncode, 0, f"exit code: {done.stderr}")
    expect(done.stdout.split("\n")[0].startswith("cat\0/proc/self/cmdline\0"), True, f"what the program sees: {done.stdout[:60]!r}")
    result = run(WATCH, [program], env={"TMPDIR": "/nowhere"})
    cyclic(result.profile, 100, 3)


@once
def more_memory_than_valgrind_has():
    result = run(WATCH, [build("mapping.c"), "100"])
    expect_in("asked for 100 GiB of memory at once", result.err, "note")
    expect(result.profile["run"]["exit_code"], 2, "it went another way")
    result = run(WATCH, [build("mapping.c"), "20"])
    cyclic(result.profile, 100, 3)
    expect("asked for" in result.err, False, "no note")
    cyclic(run(WATCH, [build("mapping.c", "fathom"), "100"]).profile, 100, 3)


@once
def disk_full_under_record():
    program = build("long_run.c")
    directory = os.path.join(work, "small")
    os.mkdir(directory)
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", directory],
                                           capture_output=True).returncode:
        os.rmdir(directory)
        return "mounting a small file system needs root"
    try:
        done = subprocess.run([FATHOM, "record", "-o", os.path.join(directory, "t.fathom"), "--force", "--", "ls", "-lR", "/usr/lib/gcc"],
                              capture_output=True, text=True, timeout=60)
        expect(done.returncode, 1, f"exit code: {done.stderr}")
        expect_in("No space left", done.stderr, "message")
        expect_in("ls was ended for that", done.stderr, "what became of the program")
        expect(os.listdir(directory), [], "files left")
    finally:
        subprocess.run(["umount", directory])
        os.rmdir(directory)
    gone_within(program, 60)


@once
def standard_output_is_the_program_s():
    """gzip -c under every verb writes the file that it writes alone; the text is on standard error, or where -o says."""
    alone = os.path.join(work, "alone.gz")
    file = os.path.join(work, "numbers")
    with open(file, "w", encoding="ascii") as numbers:
        numbers.writelines(f"{number * number}\n" for number in range(200_000))
    with open(alone, "wb") as out:
        subprocess.run(["gzip", "-9", "-n", "-c", file], stdout=out, check=True)
    trace, text, made = (os.path.join(work, name) for name in ("gzip.fathom", "gzip.txt", "gzip.gz"))
    limit = ["--no-sites", "--limit", "100K"]  # the program runs on
    verbs = {"run": (limit, "fully associative LRU"), "sample": (["--rate", "1000", "--bootstrap", "1"], "fully associative LRU"),
             "record": (["-o", trace, "--force", "--limit", "100K"], "which exited with 0")}
    if not os.path.exists(os.path.join(os.path.dirname(BUILDER), "lib", "fathom", "libfathom-sample.so")):
        del verbs["sample"]
    for verb, (options, part) in verbs.items():
        for quiet in ([], ["-q"]):
            with open(made, "wb") as out:
                done = subprocess.run([FATHOM, verb, *options, *quiet, "--", "gzip", "-9", "-n", "-c", file], stdout=out,
                                      stderr=subprocess.PIPE, text=True, timeout=120, check=False)
            expect(done.returncode, 0, f"{verb}: exit code: {done.stderr}")
            expect(filecmp.cmp(alone, made, shallow=False), True, f"{verb}: what gzip wrote")
            expect(done.stderr.count(part), 1, f"{verb}: the text on standard error: {done.stderr}")
        if verb == "record":
            continue
        quiet = [FATHOM, verb, *options, "-q"]
        done = subprocess.run([*quiet, "-o", text, "--", "gzip", "-9", "-n", "-c", file], capture_output=True, timeout=120, check=True)
        with open(text, encoding="utf-8") as shown:
            expect_in(part, shown.read(), f"{verb} -o FILE")
        with open(alone, "rb") as wanted:
            expect((done.stdout == wanted.read(), done.stderr), (True, b""), f"{verb} -o FILE: the streams")
        for to in "-", "/dev/stdout":
            done = subprocess.run([*quiet, "-o", to, "--", "gzip", "-9", "-k", "-f", file], capture_output=True, text=True, timeout=120,
                                  check=True)
            expect((done.stdout.count(part), done.stderr), (1, ""), f"{verb} -o {to}: on standard output, not on standard error")
    if "sample" in verbs:
        process = subprocess.Popen(["sh", "-c", "while :; do :; done"])
        done = subprocess.run([FATHOM, "sample", "--pid", str(process.pid), "--rate", "1000", "--bootstrap", "1", "--duration", "2"],
                              capture_output=True, text=True, timeout=120, check=False)
        process.kill()
        process.wait()
        expect((done.returncode, done.stdout), (0, ""), f"--pid: exit code, standard output: {done.stderr}")
        expect_in("fully associative LRU", done.stderr, "--pid: the text")
    for path in glob.glob(file + "*") + [alone, trace, text, made]:
        os.unlink(path)


@once
def a_text_that_cannot_be_written():
    """Is an error, as on standard output; other results are there."""
    profile = os.path.join(work, "beside.json")
    for options, redirected in (("", "2>&-"), ("", "2>/dev/full"), ("", "2</dev/null"), ("-o -", ">&-"), ("-o -", ">/dev/full")):
        for more in "", f"--json {profile}":
            script = f'exec "$0" run {options} {more} -- true {redirected}'
            done = subprocess.run(["sh", "-c", script, FATHOM], capture_output=True, text=True, timeout=120, check=False)
            expect((done.returncode, done.stdout), (1, ""), f"{script}: exit code, standard output")
        with open(profile, encoding="utf-8") as file:
            check_sums(json.load(file))
        os.unlink(profile)
        done = subprocess.run(["sh", "-c", f'exec "$0" run -q -o "$1" -- true {redirected}', FATHOM, profile], check=False,
                              capture_output=True, timeout=120)
        expect(done.returncode, 0, f"{redirected}: the text goes elsewhere")
        os.unlink(profile)
    # Whoever reads the text may go: as of any filter.
    script = '"$0" run -- true 2>&1 >/dev/null | true; echo ${PIPESTATUS[0]}'
    done = subprocess.run(["bash", "-c", script, FATHOM], capture_output=True, text=True, timeout=120, check=True)
    expect(done.stdout, "141\n", "its reader is gone")


@once
def the_text_is_for_the_stream_that_it_goes_to():
    """Colours, and all of the width, on a terminal."""
    try:
        leader, follower = pty.openpty()
    except OSError:
        return "no pseudo-terminal is to be had here"
    os.set_blocking(leader, False)
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")} | {"TERM": "xterm"}

    def shown(options, standard_output, standard_error, columns=80):
        """Whether there are colours, and how many lines."""
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        done = subprocess.run([FATHOM, "run", "-q", "--size", "64", *options, "--", build("plain.c", "fathom")], stdout=standard_output,
                              stderr=standard_error, env=environment, timeout=120, check=True)
        text = (done.stdout or b"") + (done.stderr or b"")
        if not text:
            text = os.read(leader, 65536)
        expect_in("exited with 0", text.decode(), "the text")
        return b"\033[" in text, len(text.splitlines())

    colours, lines = shown([], subprocess.PIPE, follower)
    expect(colours, True, "standard error is a terminal: colours")
    expect(shown([], subprocess.PIPE, follower, columns=200)[1] < lines, True, "fewer lines on a wide one")
    expect(shown([], follower, subprocess.PIPE, columns=200), (False, lines), "standard output alone is one")
    expect(shown(["-o", "-"], subprocess.PIPE, follower, columns=200), (False, lines), "-o - into a pipe")
    expect(shown(["-o", "-"], follower, subprocess.PIPE)[0], True, "-o - onto a terminal")
    os.close(follower)
    os.close(leader)


@once
def record_without_standard_error():
    """The trace is the result: a summary that nobody can read is no failure."""
    trace = os.path.join(work, "unseen.fathom")
    for where in "&-", "/dev/full":
        done = subprocess.run(["sh", "-c", f'exec "$0" record -o "$1" -- true 2>{where}', FATHOM, trace], capture_output=True, text=True)
        expect(done.returncode, 0, f"exit code with standard error {where}")
        expect(subprocess.run([FATHOM, "check", "--quiet", trace], stdout=subprocess.DEVNULL).returncode, 0, "fathom check")
        os.unlink(trace)


@once
def full_device_for_the_result():
    done = subprocess.run([FATHOM, "run", "--json", "/dev/full", "--", "true"], capture_output=True, text=True)
    expect(done.returncode, 1, "exit code")
    expect_in("No space left", done.stderr, "message")


@once
def avx512_under_valgrind():
    result = run(WATCH, [build("wide_vectors.c", "gcc", "-mavx512f")], code=3)
    cyclic(result.profile, 100, 3)
    expect_in("AVX-512", result.err, "message")
    expect_in("fathom cc", result.err, "hint")
    with open("/proc/cpuinfo") as file:
        if "avx512f" not in file.read():
            return None
    result = run(WATCH, [build("wide_vectors.c", "fathom", "-mavx512f")])
    cyclic(result.profile, 100, 4)


@once
def no_valgrind_tool():
    """fathom built where Valgrind was not installed has no tool of it; programs built by fathom cc need none."""
    parts = os.path.join(work, "parts")
    os.makedirs(parts, exist_ok=True)
    result = run([], [build("plain.c")], env={"FATHOM_PARTS": parts}, code=1)
    expect_in("algrind", result.err, "message")
    expect_in("fathom cc", result.err, "hint")
    cyclic(run(WATCH, [build("plain.c", "fathom")], env={"FATHOM_PARTS": parts}).profile, 100, 3)


@once
def setuid_program():
    path = os.path.join(work, "privileged")
    shutil.copy(build("plain.c"), path)
    if os.geteuid() != 0:
        path = "/usr/bin/su"
        if not os.path.exists(path):
            return "no setuid program here"
    else:
        os.chmod(path, 0o4755)
    result = run([], [path], code=1)
    expect_in("setuid", result.err, "message")


@once
def program_not_found():
    result = run([], ["/nowhere/program"], code=1)
    expect_in("/nowhere/program", result.err, "message")
    expect_in("No such file", result.err, "message")
    result = run([], ["no-such-program-in-path"], code=1)
    expect_in("no-such-program-in-path", result.err, "message")


@once
def no_permission():
    path = os.path.join(work, "forbidden")
    with open(path, "w") as file:
        file.write("#!/bin/sh\n")
    os.chmod(path, 0o644)
    result = run([], [path], code=1)
    expect_in("ermission", result.err, "message")
    result = run([], [work], code=1)
    expect_in(work, result.err, "message about a directory")


@once
def not_a_program():
    path = os.path.join(work, "garbage")
    with open(path, "wb") as file:
        file.write(b"\x7fELF" + bytes(100))
    os.chmod(path, 0o755)
    result = run([], [path], code=1)
    expect_in(path, result.err, "message")
    with open(path, "wb") as file:
        file.write(b"#!\n")
    result = run([], [path], code=1)
    expect(result.err, f"fathom run: {path}: is neither an x86-64 program nor a script that begins with #!\n", "message")


@once
def parts_missing():
    result = run([], [build("plain.c")], env={"FATHOM_PARTS": "/nowhere"}, code=1)
    expect_in("/nowhere", result.err, "message")

def passed(verb, *words, outputs=(), options=()):
    """The exit code of a verb that hands on the program's."""
    done = subprocess.run([FATHOM, verb, "-q", "--pass-status", *options, *outputs, "--", *words], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, timeout=120, check=False)
    return done.returncode, done.stderr


@once
def the_program_s_status_is_handed_on():
    trace = os.path.join(work, "passed.fathom")
    for verb, outputs in (("run", ()), ("record", ("-o", trace, "--force"))):
        for script, status in (("exit 0", 0), ("exit 7", 7), ("exit 3", 3), ("exec false", 1), ("kill -SEGV $$", 139),
                               ("kill -KILL $$", 137), ("kill -TERM $$", 143)):
            if verb == "record" and status not in (7, 137):
                continue
            code, message = passed(verb, "sh", "-c", script, outputs=outputs)
            expect(code, status, f"{verb} sh -c '{script}': {message}")
        # Of several processes it is the first one's.
        for script, status in (("sh -c 'exit 5'; exit 6", 6), ("exit 4 | exit 8", 8), ("exec sh -c 'exit 9'", 9)):
            if verb == "record" and status != 9:
                continue
            code, message = passed(verb, "sh", "-c", script, outputs=outputs, options=("--follow-children",))
            expect(code, status, f"{verb} --follow-children sh -c '{script}': {message}")
        # Where there is no run, or no result, the status is fathom's own.
        expect(passed(verb, os.path.join(work, "absent"), outputs=outputs)[0], 1, f"{verb}: no such program")
        expect(passed(verb, "sh", "-c", "exit 7", outputs=outputs, options=("--level", "99") if verb == "record" else ("--size", "x"))[0], 2,
               f"{verb}: wrong usage")
    if os.path.exists(trace):
        os.unlink(trace)
    code, message = passed("run", "sh", "-c", "exit 7", outputs=("--json", "/dev/full"))
    expect(code, 1, f"no result: {message}")
    # Without the option it is as it was.
    done = subprocess.run([FATHOM, "run", "-q", "-o", "-", "--", "sh", "-c", "exit 7"], stdout=subprocess.PIPE, text=True, timeout=120,
                          check=False)
    expect(done.returncode, 0, "without --pass-status")
    expect_in("exited with 7", done.stdout, "the program's status")


@once
def notes_are_said_once():
    """Where the report stands below them; each of two files has them."""
    program = build("plain.c", "fathom")
    note = "because not built by `fathom cc`"

    def notes_in(stdout, stderr, *options):
        done = subprocess.run([FATHOM, "run", *options, "--", program], stdout=stdout, stderr=stderr, text=True, timeout=120, check=True)
        return (done.stdout or "").count(note), (done.stderr or "").count(note)

    expect(notes_in(subprocess.PIPE, subprocess.PIPE), (0, 1), "the report on standard error")
    expect(notes_in(subprocess.PIPE, subprocess.PIPE, "-q"), (0, 1), "quietly: in the report")
    expect(notes_in(subprocess.PIPE, subprocess.PIPE, "-o", "-"), (1, 1), "in two places")
    expect(notes_in(subprocess.PIPE, subprocess.STDOUT, "-o", "-"), (1, 0), "both in one place")
    expect(notes_in(subprocess.PIPE, subprocess.STDOUT, "-q", "-o", "-"), (1, 0), "quietly, both in one place")


@once
def sample_hands_on_the_program_s_status():
    busy = "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; "
    for end, status in (("exit 7", 7), ("kill -SEGV $$", 139), ("kill -KILL $$", 137)):
        code, message = passed("sample", "sh", "-c", busy + end, options=("--rate", "1000"))
        expect(code, status, f"sh -c '{end}': {message}")
    expect(passed("sample", "sh", "-c", "exit 7")[0], 1, "too short to be sampled: no result")


main(cases)
