#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bursts (collect/sample/burst.h) in whole programs. Judges: the same program without them, and what fathom record
says that a function accesses.

BURST_TEST_SEEDS=N: N other sequences of random bursts for each program."""
import os
import re
import shutil
import subprocess

from collect_support import BUILDER, FATHOM, ROOT, Failure, expect, main, work

BUILD = os.path.dirname(BUILDER)
SAMPLE = os.path.join(BUILD, "tests", "sample")
PRELOAD = os.path.join(SAMPLE, "burst_preload.so")
SEEDS = int(os.environ.get("BURST_TEST_SEEDS", "1"))
cases = []


def case(function):
    cases.append((function.__name__.replace("_", " "), function))
    return function


def no_bursts():
    return None if os.path.exists(PRELOAD) else "built without bursts: no Zydis, or not x86-64"


def both_ways(command, every, seed, most=4096, mode="both"):
    """Runs it without and with bursts, compares all that it says, and gives what the bursts tell of themselves."""
    native = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
    told = os.path.join(work, "bursts.txt")
    if os.path.exists(told):
        os.unlink(told)
    env = {**os.environ, "LD_PRELOAD": PRELOAD, "BURST_OUT": told, "BURST_EVERY": str(every), "BURST_SEED": str(seed),
           "BURST_MOST": str(most), "BURST_MODE": mode}
    with_bursts = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=120, env=env)
    what = f"{command[0]}, seed {seed}"
    expect(with_bursts.returncode, native.returncode, f"{what}: exit status")
    expect(with_bursts.stderr, native.stderr, f"{what}: standard error")
    if with_bursts.stdout != native.stdout:
        raise Failure(f"{what}: other output than without bursts")
    with open(told) as file:
        lines = [dict(zip((words := line.split())[::2], words[1::2])) for line in file]
    best = max(lines, key=lambda line: int(line["bursts"]))
    expect(sum(int(line["damaged"]) for line in lines), 0, f"{what}: logs that cannot be read or miscount")
    return best


def program(name, command, every=400, least=5):
    def test():
        if no_bursts():
            return no_bursts()
        if not shutil.which(command[0]):
            return f"no {command[0]} here"
        for seed in range(1, SEEDS + 1):
            bursts = int(both_ways(command, every, seed)["bursts"])
            if bursts < least:
                raise Failure(f"only {bursts} bursts")
        return None

    cases.append((name, test))


def file_of(name, content):
    path = os.path.join(work, name)
    with open(path, "wb") as file:
        file.write(content)
    return path


numbers = file_of("numbers", b"".join(b"%d\n" % (i * 2654435761 % 1000003) for i in range(60000)))
text = file_of("text", b"".join(b"line %d of %x\n" % (i, i * i) for i in range(60000)))
query = file_of("query.sql", b"""create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i+1 from n where i<30000)
insert into t select i, hex(i*7919%10007), i*0.37 from n;
create index tb on t(b);
select count(*), sum(c), max(b) from t where b like '3%';
select b, count(*) from t group by b order by 2 desc, 1 limit 5;
""")
script = file_of("script.py", b"""import hashlib, json, math, re, zlib
d = {str(i): [math.sin(i) * j for j in range(5)] for i in range(4000)}
s = json.dumps(d)
print(hashlib.sha256(s.encode()).hexdigest(), len(re.findall(r'0\\.\\d7', s)), zlib.crc32(s.encode()))
""")
compiler = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True).stdout.strip()
program("gzip", ["gzip", "-c", text])
program("xz", ["xz", "-c", "-1", text])
program("bzip2", ["bzip2", "-c", text])
program("sort", ["sort", numbers])
program("sqlite3", ["sqlite3", ":memory:", f".read {query}"])
program("perl", ["perl", "-e", "my %h; for (1..90000) { $h{$_ % 1000} .= chr(65 + $_ % 26) } "
                 "print join(',', map { \"$_=\" . length($h{$_}) } sort keys %h), \"\\n\"; "
                 "my $s = 'abc' x 10000; $s =~ s/(b)(c)/$2$1/g; print length($s), \"\\n\""])
program("python3", ["python3", script])
program("cc1", [compiler, "-O2", "-quiet", os.path.join(ROOT, "collect", "sample", "burst_log.c"), "-o", "-"], every=300)
program("git", ["git", "-C", ROOT, "ls-files", "-s"], every=50, least=1)
program("faults, made code, jumps, children and threads", [os.path.join(SAMPLE, "burst_odd")], every=60, least=10)


@case
def long_bursts_count_and_log():
    if no_bursts():
        return no_bursts()
    for mode in ("log", "count"):
        told = both_ways(["gzip", "-c", text], 200, 1, 1000000, mode)
        if int(told["accesses"]) < 1000000:
            raise Failure(f"{mode}: only {told['accesses']} accesses")
    return None


def accesses(path):
    """Kind, size and address of each line; addresses on the stack from its first."""
    stack = None
    found = []
    with open(path) as file:
        for line in file:
            kind, rest = line.split()
            address, size = rest.split(",")
            address = int(address, 16)
            if address > 1 << 32:
                stack = stack or address
                address -= stack
            found.append((kind, size, address))
    return found


@case
def every_access_is_that_of_fathom_record():
    if no_bursts():
        return no_bursts()
    judge = os.path.join(SAMPLE, "burst_judge")
    log, trace, lackey = (os.path.join(work, name) for name in ("burst.lackey", "judge.fathom", "judge.lackey"))
    subprocess.run([judge, log], check=True, stdout=subprocess.DEVNULL, timeout=60)
    subprocess.run([FATHOM, "record", "-q", "--collector", "valgrind", "--function", "judged", "-o", trace, "--force", "--", judge],
                   check=True, capture_output=True, timeout=120)
    subprocess.run([FATHOM, "convert", "-q", trace, "--to", "lackey", "-o", lackey], check=True, timeout=60)
    found, wanted = accesses(log), accesses(lackey)
    for number, (one, other) in enumerate(zip(found, wanted)):
        expect(one, other, f"access {number}")
    expect(len(found), len(wanted), "accesses")
    expect(len(found) > 10000, True, "enough accesses")
    return None


@case
def nothing_of_libc_is_called():
    """It would use vector registers, which are the program's, or errno. getauxval: when a state is made."""
    if no_bursts():
        return no_bursts()
    folder = os.path.join(BUILD, "CMakeFiles", "fathom_burst.dir", "collect", "sample")
    called = set()
    for name in os.listdir(folder):
        if name.endswith(".o"):
            listed = subprocess.run(["nm", "-u", os.path.join(folder, name)], check=True, capture_output=True, text=True).stdout
            called |= {symbol for symbol in re.findall(r" U (\S+)", listed)
                       if not symbol.startswith(("burst_", "Zydis", "_GLOBAL_OFFSET_TABLE_"))}
    expect(called, {"getauxval"}, "functions from elsewhere")
    return None


main(cases)
