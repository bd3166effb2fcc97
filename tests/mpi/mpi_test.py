#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom analyze --mpi under every MPI that is here, on one machine: the same bytes as one process makes, for every number
of ranks and threads and every way the trace comes; and what happens when something breaks."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FATHOM = os.environ.get("FATHOM", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/fathom"))
PARTS = os.path.join(os.path.dirname(os.path.realpath(FATHOM)), "lib/fathom")
# More ranks than cores, also as root: this is a test.
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none",
                   OMPI_MCA_btl_vader_single_copy_mechanism="none")
MPIS = {"openmpi": "mpirun.openmpi", "mpich": "mpirun.mpich"}
work = tempfile.mkdtemp(prefix="fathom-test-mpi.")
SECONDS = 120
number = failed = 0
first = None  # the first MPI that is here


class Failure(Exception):
    pass


def expect(found, wanted, what):
    if found != wanted:
        raise Failure(f"{what}: expected {wanted!r}, found {found!r}")


def expect_in(part, whole, what):
    if part not in whole:
        raise Failure(f"{what}: expected {part!r} in:\n{whole}")


def say(ok, name, note=""):
    global number, failed
    number += 1
    failed += not ok
    print(f"{'ok' if ok else 'not ok'} {number} - {name}{note}", flush=True)


def path(name):
    return os.path.join(work, name)


def fathom(*arguments, stdin=None, code=0):
    done = subprocess.run([FATHOM, *arguments], capture_output=True, text=True, stdin=stdin, timeout=SECONDS)
    expect(done.returncode, code, f"exit code of fathom {' '.join(arguments)}: {done.stderr}")
    return done.stderr


def mpirun(mpi, ranks, *arguments, stdin=None):
    def once():
        return subprocess.run([MPIS[mpi], "-np", str(ranks), FATHOM, "analyze", "--mpi", *arguments], capture_output=True,
                              text=True, stdin=stdin, env=ENVIRONMENT, timeout=SECONDS)
    done = once()
    # Open MPI's launcher itself, not a rank of it, crashes now and then where it forwards what ranks print.
    if done.returncode == -signal.SIGSEGV and "mca_iof_hnp" in done.stderr and (stdin is None or stdin.seekable()):
        print("# mpirun.openmpi itself crashed in mca_iof_hnp: once more", flush=True)
        if stdin:
            os.lseek(stdin.fileno(), 0, os.SEEK_SET)  # the launcher has read from it
        done = once()
    return done


def through_fifo(mpi, ranks, source, *arguments):
    """MPICH's launcher does not wait for those who read standard input slowly: it gives up. A named pipe is as good."""
    fifo = path("fifo")
    if os.path.exists(fifo):
        os.unlink(fifo)
    os.mkfifo(fifo)
    with subprocess.Popen(["sh", "-c", 'exec cat "$1" > "$2"', "sh", source, fifo]) as writer:
        try:
            return mpirun(mpi, ranks, fifo, *arguments)
        finally:
            writer.kill()


def contents(name):
    with open(name, "rb") as file:
        return file.read()


def same(mpi, ranks, trace, *options, stdin=None, name=None, code=0):
    """What the ranks find together is what one process finds alone, to the byte; what is said about damage, and the exit
    code, too."""
    key = name or trace
    alone, together = path("alone.json"), path("together.json")
    said = fathom("analyze", trace, "-q", "--json", alone, "--force", "--no-sites",
                  *[o for o in options if not o.startswith("--threads")], code=code)
    if os.path.exists(together):
        os.unlink(together)
    if stdin and mpi == "mpich":
        done = through_fifo(mpi, ranks, stdin, "-q", "--json", together, "--force", *options)
    else:
        source = open(stdin, "rb") if stdin else None
        done = mpirun(mpi, ranks, "-" if stdin else trace, "-q", "--json", together, "--force", *options, stdin=source)
        if source:
            source.close()
    expect(done.returncode, code, f"exit code on {ranks} ranks: {done.stderr}")
    if code and not stdin:
        expect([line for line in done.stderr.splitlines() if line.startswith("fathom analyze: ")], said.splitlines(),
               f"standard error on {ranks} ranks")
    expect(done.stdout.count("profile of"), 1 + options.count("1,64"), "profiles on standard output")
    a, b = contents(alone), contents(together)
    if stdin:
        a = a.replace(trace.encode(), path("fifo").encode() if mpi == "mpich" else b"standard input")
    if a != b:
        raise Failure(f"{key} on {ranks} ranks: not what one process finds:\n{a[:400]}\n{b[:400]}")


# ---- the cases: each for every MPI ----

def chosen(mpi, everything, few):
    """What is tried: everything under the first MPI that is here, a few under the others, whose ranks wait busily."""
    return everything if mpi == first or os.environ.get("FATHOM_TEST_MPI") == "all" else few


def every_number_of_ranks(mpi):
    for ranks in chosen(mpi, (1, 2, 3, 8), (1, 4)):
        same(mpi, ranks, path("zipf.fathom"))


def threads_within_ranks(mpi):
    for ranks, threads in chosen(mpi, ((1, 3), (2, 4), (3, 2)), ((2, 3),)):
        same(mpi, ranks, path("zipf.fathom"), f"--threads={threads}")


def the_papers_scheme(mpi):
    for ranks in chosen(mpi, (1, 3), ()):
        same(mpi, ranks, path("zipf.fathom"), "--engine", "parda")
    same(mpi, 2, path("zipf.fathom"), "--engine", "parda", "--threads=3")
    same(mpi, 3, path("large.u64"), "--engine", "parda", "--format", "u64", stdin=path("large.u64"))
    if chosen(mpi, True, False):
        same(mpi, 3, path("zipf.fathom"), "--engine", "parda", "--bound", "100")
        same(mpi, 5, path("three.u64"), "--engine", "parda", "--bound", "1")


def keys_of_eight_bytes(mpi):
    same(mpi, 3, path("uniform.u64"), "--bins", "exact")
    same(mpi, 2, path("uniform.u64"), "--granularity", "1,64")


def bounds(mpi):
    for bound in ("1", "20000", "1000000"):
        same(mpi, 3, path("zipf.fathom"), "--bound", bound)


def a_stream_that_rank_0_deals_out(mpi):
    for ranks in chosen(mpi, (1, 2), (2,)):
        same(mpi, ranks, path("zipf.fathom"), stdin=path("zipf.fathom"))
    if chosen(mpi, True, False):
        same(mpi, 3, path("large.u64"), "--format", "u64", stdin=path("large.u64"))
    same(mpi, 2, path("large.u64"), "--format", "u64", "--bound", "5000", "--threads=2", stdin=path("large.u64"))


def a_trace_that_cannot_be_divided(mpi):
    same(mpi, 3, path("keys.txt"))


def shorter_than_the_number_of_ranks(mpi):
    same(mpi, 5, path("three.u64"))
    same(mpi, 3, path("empty.u64"))


def shards(mpi):
    fathom("analyze", path("large.u64"), "-q", "--json", path("alone.json"), "--force")
    for ranks, threads in chosen(mpi, ((1, 1), (4, 1), (3, 2)), ((3, 2),)):
        done = mpirun(mpi, ranks, "--mpi-shards", path("shard.*.u64"), "-q", f"--threads={threads}", "--json",
                      path("together.json"), "--force")
        expect(done.returncode, 0, f"exit code on {ranks} ranks: {done.stderr}")
        alone = contents(path("alone.json")).replace(path("large.u64").encode(), path("shard.*.u64").encode())
        expect(contents(path("together.json")), alone, f"shards on {ranks} ranks")


def text_from_rank_0_alone(mpi):
    done = mpirun(mpi, 3, path("zipf.fathom"))
    expect(done.returncode, 0, "exit code")
    expect(done.stdout.count("profile of"), 1, "profiles on standard output")


# ---- faults ----

def nothing_left(*names):
    for name in names:
        expect(glob.glob(name + "*"), [], "results left behind")


def broken(mpi, ranks, *arguments, message, stdin=None):
    result = path("broken.json")
    begin = time.monotonic()
    done = mpirun(mpi, ranks, *arguments, "--json", result, "--force", stdin=stdin)
    if done.returncode == 0:
        raise Failure("expected an exit code that is not 0")
    if time.monotonic() - begin > 60:
        raise Failure("it took too long")
    expect_in(message, done.stderr, "standard error")
    nothing_left(result)


def no_such_trace(mpi):
    broken(mpi, 3, path("nowhere.fathom"), message="nowhere.fathom")


def damaged_copy(source, name, at=None, length=None):
    trace = bytearray(contents(path(source)))
    if at is not None:
        trace[int(len(trace) * at)] ^= 0x55
    with open(path(name), "wb") as file:
        file.write(trace[:length])
    return path(name)


def damage_inside(mpi):
    """One rank meets it while the others read on: all is begun anew, and rank 0 reads."""
    damaged = damaged_copy("zipf.fathom", "damaged.fathom", at=5 / 6)
    same(mpi, 3, damaged, code=3)
    same(mpi, 2, damaged, stdin=damaged, code=3)
    if chosen(mpi, True, False):
        same(mpi, 2, damaged, "--threads=3", "--granularity", "1,64", code=3)
        same(mpi, 3, damaged, "--engine", "parda", "--bound", "100", code=3)


def a_trace_that_ends_early(mpi):
    size = os.path.getsize(path("zipf.fathom"))
    same(mpi, 3, damaged_copy("zipf.fathom", "cut.fathom", length=size // 2), code=3)  # its index is lost: rank 0 reads
    size = os.path.getsize(path("uniform.u64"))
    same(mpi, 3, damaged_copy("uniform.u64", "cut.u64", length=size - 3), code=3)  # the last rank's part ends within a key


def a_truncated_shard(mpi):
    """The sound references of all shards, one after the other."""
    os.makedirs(path("cut"), exist_ok=True)
    whole = contents(path("uniform.u64"))[:80000]
    for i, shard in enumerate((whole[:24000], whole[24000:48000] + b"cut", whole[48000:])):
        with open(path(f"cut/{i}.u64"), "wb") as file:
            file.write(shard)
    with open(path("whole.u64"), "wb") as file:
        file.write(whole)
    fathom("analyze", path("whole.u64"), "-q", "--json", path("alone.json"), "--force")
    alone = json.loads(contents(path("alone.json")))
    for ranks, threads in ((3, 1), (2, 2)):
        done = mpirun(mpi, ranks, "--mpi-shards", path("cut/*.u64"), f"--threads={threads}", "--json", path("together.json"), "--force")
        expect(done.returncode, 3, f"exit code on {ranks} ranks: {done.stderr}")
        expect_in("cut/1.u64: byte 24000: ends within a key", done.stderr, "standard error")
        together = json.loads(contents(path("together.json")))
        expect(together["complete"], False, "complete")
        expect_in("cut/1.u64: byte 24000: ends within a key", together["what_missing"], "what is missing")
        for field in ("references", "distinct", "cold", "histogram"):
            expect(together[field], alone[field], field)


def a_shard_without_a_beginning(mpi):
    os.makedirs(path("no"), exist_ok=True)
    shutil.copy(path("zipf.fathom"), path("no/0.fathom"))
    damaged_copy("zipf.fathom", "no/1.fathom", length=20)
    broken(mpi, 2, "--mpi-shards", path("no/*.fathom"), message="no/1.fathom")


def which_column_is_the_key(mpi):
    with open(path("table.csv"), "w") as file:
        file.write("version,time,lbn\n" + "".join(f"1,{i},{i % 7}\n" for i in range(100)))
    same(mpi, 2, path("table.csv"))
    expect_in("the key is column 3, 'lbn'", mpirun(mpi, 2, path("table.csv")).stderr, "standard error")
    with open(path("table.csv"), "w") as file:
        file.write("version,time\n1,2\n")
    done = mpirun(mpi, 2, path("table.csv"))
    expect(done.returncode, 2, f"exit code: {done.stderr}")
    expect_in("which column is the key?", done.stderr, "standard error")


def ranks_that_see_different_files(mpi):
    # Every rank finds another file at the same place.
    script = path("rank.sh")
    with open(script, "w") as file:
        file.write('#!/bin/sh\nrank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\ncd "$0.d/$rank" && exec "$@"\n')
    os.chmod(script, 0o755)
    for rank in range(3):
        os.makedirs(f"{script}.d/{rank}", exist_ok=True)
        shutil.copy(path("three.u64" if rank == 1 else "uniform.u64"), f"{script}.d/{rank}/trace.u64")
    result = path("broken.json")
    done = subprocess.run([MPIS[mpi], "-np", "3", script, FATHOM, "analyze", "--mpi", "trace.u64", "--json", result, "--force"],
                          capture_output=True, text=True, env=ENVIRONMENT, timeout=SECONDS)
    if done.returncode == 0:
        raise Failure("expected an exit code that is not 0")
    expect_in("rank 1 of 3: ", done.stderr, "standard error")
    expect_in("not the same file as rank 0 sees", done.stderr, "standard error")
    nothing_left(result)


def a_rank_is_killed(mpi):
    result = path("broken.json")
    fifo = path("fifo")
    if os.path.exists(fifo):
        os.unlink(fifo)
    os.mkfifo(fifo)
    process = subprocess.Popen([MPIS[mpi], "-np", "3", FATHOM, "analyze", "--mpi", "--format", "u64", fifo, "--json", result, "--force"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
                               start_new_session=True)
    try:
        with open(fifo, "wb", buffering=0) as feed:
            feed.write(b"\0" * 65536)
            ranks = []
            end = time.monotonic() + 60
            while len(ranks) < 3 and time.monotonic() < end:
                time.sleep(0.1)
                ranks = [int(p.split("/")[2]) for p in glob.glob("/proc/[0-9]*/cmdline")
                         if contents_or_nothing(p).startswith(os.fsencode(FATHOM)) and os.fsencode(fifo) in contents_or_nothing(p)]
            expect(len(ranks), 3, "ranks that run")
            time.sleep(0.3)
            os.kill(max(ranks), signal.SIGKILL)
            begin = time.monotonic()
            process.wait(timeout=SECONDS)
            if time.monotonic() - begin > 60:
                raise Failure("it took too long")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    if process.returncode == 0:
        raise Failure("expected an exit code that is not 0")
    nothing_left(result)


def contents_or_nothing(name):
    try:
        return contents(name)
    except OSError:
        return b""


def a_full_disk(mpi):
    done = mpirun(mpi, 2, path("three.u64"), "--json", "/dev/full")
    if done.returncode == 0:
        raise Failure("expected an exit code that is not 0")
    expect_in("/dev/full", done.stderr, "standard error")


def options_that_ranks_do_not_have(mpi):
    for options in (["--distances", path("d")], ["--time"], ["--max-memory", "1G"], ["--engine", "tree"]):
        done = mpirun(mpi, 1, path("three.u64"), *options)
        if done.returncode not in (1, 2):
            raise Failure(f"{options}: exit code {done.returncode}")


CASES = [every_number_of_ranks, threads_within_ranks, the_papers_scheme, keys_of_eight_bytes, bounds,
         a_stream_that_rank_0_deals_out, a_trace_that_cannot_be_divided, shorter_than_the_number_of_ranks, shards,
         text_from_rank_0_alone, no_such_trace, damage_inside, a_trace_that_ends_early, a_truncated_shard,
         a_shard_without_a_beginning, which_column_is_the_key,
         ranks_that_see_different_files, a_rank_is_killed, a_full_disk, options_that_ranks_do_not_have]
# What goes over the transport, begins and ends with it: for every MPI. All else is the same code whichever MPI it is, and
# runs under the first one that is here; FATHOM_TEST_MPI=all runs everything under each.
OF_THE_TRANSPORT = [every_number_of_ranks, threads_within_ranks, the_papers_scheme, a_stream_that_rank_0_deals_out,
                    shorter_than_the_number_of_ranks, shards, no_such_trace, damage_inside,
                    ranks_that_see_different_files, a_rank_is_killed, a_full_disk]


def prepare():
    fathom("gen", "zipf", "--keys", "30K", "--references", "400K", "-o", path("zipf.fathom"))
    fathom("gen", "uniform", "--keys", "5K", "--references", "100K", "-o", path("uniform.u64"))
    fathom("gen", "zipf", "--keys", "60K", "--references", "600K", "--seed", "3", "-o", path("large.u64"))
    fathom("gen", "zipf", "--keys", "1K", "--references", "20K", "-o", path("keys.txt"))
    large = contents(path("large.u64"))
    cuts = [len(large) // 8 * i * i // 121 * 8 for i in range(12)]
    for i in range(11):
        with open(path(f"shard.{i}.u64"), "wb") as file:
            file.write(large[cuts[i]:cuts[i + 1] if i < 10 else len(large)])
    with open(path("three.u64"), "wb") as file:
        file.write(large[:16] + large[:8])
    open(path("empty.u64"), "wb").close()


def main():
    global number, first
    try:
        prepare()
        cases = CASES
        for mpi, launcher in MPIS.items():
            if not os.path.exists(os.path.join(PARTS, f"fathom-{mpi}.so")):
                number += 1
                print(f"ok {number} - {mpi} # SKIP this fathom was built without it")
                continue
            if not shutil.which(launcher):
                number += 1
                print(f"ok {number} - {mpi} # SKIP there is no {launcher}")
                continue
            first = first or mpi
            for case in cases:
                name = f"{mpi}: {case.__name__.replace('_', ' ')}"
                if sys.argv[1:] and not any(part in name for part in sys.argv[1:]):
                    continue
                try:
                    case(mpi)
                    say(True, name)
                except (Failure, subprocess.TimeoutExpired) as problem:
                    say(False, name)
                    print("".join(f"# {line}\n" for line in str(problem).splitlines()), end="")
            if os.environ.get("FATHOM_TEST_MPI") != "all":
                cases = OF_THE_TRANSPORT
        print(f"1..{number}")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
