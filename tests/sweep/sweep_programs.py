# SPDX-License-Identifier: Apache-2.0
"""The programs of the sweep: Debian's, each with inputs of two sizes (one is trained on). What is absent is
skipped by name."""
import glob
import os
import shutil

LARGE = os.environ.get("FATHOM_TEST_SWEEP") == "large"


class Program:
    """command(scale): its arguments on an input of so many units. sampled: times the input that is sampled, since a
    short run has no samples."""

    def __init__(self, name, command, full, sampled=4, where=None):
        self.name, self.command, self.sampled, self.where = name, command, sampled, where
        self.full = full * 12 if LARGE else full
        self.small = max(1, self.full // 3)

    def path(self):
        return self.where() if self.where else shutil.which(self.name)


def newest(pattern):
    found = sorted(glob.glob(pattern))
    return found[-1] if found else None


def compiler():
    return newest("/usr/lib/gcc/x86_64-linux-gnu/*/cc1") or newest("/usr/libexec/gcc/x86_64-linux-gnu/*/cc1")


def system_python():
    """Not a shell script of a version manager that stands first in PATH."""
    return "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else shutil.which("python3")


class Inputs:
    """Files of so many lines, made once; words that repeat, and numbers, without a generator of random numbers."""

    def __init__(self, folder):
        self.folder = folder

    def path(self, name, write):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            with open(path + ".part", "w") as file:
                write(file)
            os.rename(path + ".part", path)
        return path

    def lines(self, count):
        def write(file):
            value = 1
            for i in range(count):
                value = value * 48271 % 2147483647
                file.write(f"{value % 99991} line {i} of {value % 13} sorts\n")
        return self.path(f"lines{count}", write)

    def source(self, count):
        def write(file):
            for i in range(count):
                file.write(f"int f{i}(int *a, int n)\n{{\n    int s = {i};\n    for (int i = 0; i < n; i++) s += a[i] * {i % 7};\n"
                           f"    return s;\n}}\n")
        return self.path(f"source{count}.c", write)

    def json(self, count):
        def write(file):
            rows = ",".join(f'{{"id": {i}, "of": {i % 17}, "name": "n{i % 101}"}}' for i in range(count))
            file.write(f"[{rows}]\n")
        return self.path(f"rows{count}.json", write)

    def makefile(self, count):
        def write(file):
            file.write("all: " + " ".join(f"t{i}" for i in range(count)) + "\n")
            for i in range(count):
                file.write(f"t{i}: $(wildcard /nowhere/{i}*)\n\t@:\n")
        return self.path(f"Makefile{count}", write)

    def tree(self, count):
        folder = os.path.join(self.folder, f"tree{count}")
        if not os.path.exists(folder):
            for i in range(count):
                place = os.path.join(folder + ".part", f"d{i % 20}")
                os.makedirs(place, exist_ok=True)
                with open(os.path.join(place, f"file{i}"), "w") as file:
                    file.write("x" * (i % 3000))
            os.rename(folder + ".part", folder)
        return folder

    def repository(self, count):
        """A git repository of so many files, one commit each ten."""
        folder = os.path.join(self.folder, f"repository{count}")
        if not os.path.exists(folder):
            import subprocess
            made = folder + ".part"
            git = ["git", "-C", made, "-c", "user.name=sweep", "-c", "user.email=sweep@localhost", "-c", "gc.auto=0"]
            os.makedirs(made)
            subprocess.run([*git, "init", "-q"], check=True)
            for i in range(count):
                with open(os.path.join(made, f"file{i % 30}"), "a") as file:
                    file.write(f"line {i} of {i * 7919 % 1009}\n" * 20)
                if i % 10 == 9:
                    subprocess.run([*git, "add", "."], check=True)
                    subprocess.run([*git, "commit", "-qm", f"commit {i}"], check=True)
            os.rename(made, folder)
        return folder


SQL = ("create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < {0}) insert into t "
       "select x, x * 7 % 101 from c; create index i on t(b); select sum(a) from t where b > 50;")


def programs(inputs):
    lines, tree = inputs.lines, inputs.tree
    return [
        Program("gzip", lambda n: ["-kc", lines(n)], 3000),
        Program("xz", lambda n: ["-3", "-T1", "-kc", lines(n)], 1500),
        Program("zstd", lambda n: ["-qkc", "-T1", lines(n)], 6000),
        Program("bzip2", lambda n: ["-kc", lines(n)], 3000),
        Program("sort", lambda n: ["-r", lines(n)], 12000),
        Program("gawk", lambda n: ["{ a[$1 % 997] += $3 } END { for (i = 0; i < 997; i++) s += a[i]; print s }", lines(n)], 3000),
        Program("mawk", lambda n: ["{ a[$1 % 997] += $3 } END { for (i = 0; i < 997; i++) s += a[i]; print s }", lines(n)], 6000),
        Program("grep", lambda n: ["-c", "-E", "9+[0-5] .*of 1[0-2]", lines(n)], 6000),
        Program("sed", lambda n: ["-E", "-n", "s/([0-9]+) line (.*)9/\\2-\\1/p", lines(n)], 1500),
        Program("bash", lambda n: ["--norc", "-c", "declare -A a; for ((i = 0; i < %d; i++)); do a[$((i %% 97))]+=x; done; echo ${#a[5]}" % n],
                1500),
        Program("bc", lambda n: ["-q", inputs.path(f"digits{n}", lambda file: file.write(f"scale={n}\n4*a(1)\nquit\n"))], 120),
        Program("sqlite3", lambda n: [":memory:", SQL.format(n)], 2000),
        Program("python3", lambda n: ["-S", "-E", "-c", "l = list(range(%d)); l = [x + 1 for x in l]; print(sum(l))" % n], 60000,
                where=system_python),
        Program("perl", lambda n: ["-e", "for (1 .. %d) { $h{$_} = $_ } for (1 .. %d) { $s += $h{$_} } print $s" % (n, n)], 30000),
        Program("lua5.4", lambda n: ["-e", "local t = {} for i = 1, %d do t[i] = i * 1.5 end local s = 0 for k = 1, 3 do for i = 1, #t "
                                     "do s = s + t[i] end end print(s)" % n], 40000),
        Program("jq", lambda n: ["[.[] | select(.of > 3) | .id] | add", inputs.json(n)], 150),
        Program("git", lambda n: ["-C", inputs.repository(60 if n > 60 else n), "log", "--stat", "-n", str(n), "--no-color"], 24),
        Program("cc1", lambda n: ["-quiet", "-fsyntax-only", "-o", os.path.join(inputs.folder, "made.s"), inputs.source(n)], 30, sampled=8, where=compiler),
        Program("tar", lambda n: ["-C", tree(n), "-cf", "-", "."], 300),
        Program("openssl", lambda n: ["dgst", "-sha256", lines(n)], 30000),
        Program("find", lambda n: [tree(n), "-name", "*7*", "-size", "-3"], 300),
        Program("diff", lambda n: [lines(n), lines(n + 100)], 12000),
        Program("make", lambda n: ["-n", "-f", inputs.makefile(n)], 150),
        Program("ls", lambda n: ["-lR", "--color=never", tree(n)], 300),
        Program("objdump", lambda n: ["-d", "--stop-address=0x%x" % (0x2000 + 16 * n), "/usr/bin/gzip"], 600),
        Program("readelf", lambda n: ["-W", "-s", "/usr/bin/gzip", "/bin/bash"], 1),
        Program("sha256sum", lambda n: [lines(n)], 6000),
        Program("redis-check-rdb", lambda n: [inputs.path("no.rdb", lambda file: file.write("REDIS0009" + "\xff" * 20))], 1),
    ]
