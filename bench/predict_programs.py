# SPDX-License-Identifier: Apache-2.0
"""The programs of bench_predict.py, their inputs, and the profiles of their runs.

Each program has three sizes for the table that is next to the paper's, and two further ones for the calibration. The
rule for the expected overlap (src/model/predict.c) was made with the programs of TUNED in view, never with those of UNTUNED.
"""
import os
import shutil
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))

KERNELS = {  # name: (sizes; the data of each is about four times that of the one before), further sizes
    "matmul": ((40, 80, 160), (20, 110)),
    "matmul_blocked": ((48, 96, 192), (32, 144)),
    "stencil_1d": ((20000, 80000, 320000), (5000, 150000)),
    "stencil_2d": ((100, 200, 400), (50, 300)),
    "stencil_3d": ((24, 38, 60), (12, 48)),
    "fft": ((4096, 16384, 65536), (1024, 8192)),
    "lu": ((60, 120, 240), (30, 170)),
    "mergesort": ((8000, 32000, 128000), (2000, 60000)),
    "hashing": ((10000, 40000, 160000), (3000, 90000)),
    "tree_walk": ((5000, 20000, 80000), (1000, 40000)),
    "list_walk": ((10000, 40000, 160000), (3000, 90000)),
    "sparse": ((3000, 12000, 48000), (800, 25000)),
    "edit_distance": ((500, 1000, 2000), (250, 1400)),
    "heat": ((180, 300, 500), (60, 1000)),
    "quicksort": ((8000, 32000, 128000), (2000, 60000)),
    "breadth_first": ((4000, 16000, 64000), (1000, 30000)),
    "hash_join": ((4000, 16000, 64000), (1000, 30000)),
    "bodies": ((150, 300, 600), (17, 1200)),
    "sieve": ((60000, 240000, 960000), (15000, 500000)),
    "shortest_paths": ((50, 100, 200), (17, 140)),
    "clusters": ((1500, 6000, 24000), (400, 12000)),
    "heap_sort": ((8000, 32000, 128000), (2000, 60000)),
    "multigrid": ((64, 128, 256), (32, 512)),
    "knapsack": ((4000, 16000, 64000), (1000, 30000)),
    "transpose": ((100, 200, 400), (50, 280)),
    "radix_sort": ((8000, 32000, 128000), (2000, 60000)),
    "life": ((80, 160, 320), (40, 230)),
    "binary_search": ((8000, 32000, 128000), (2000, 60000)),
    "convolution": ((80, 160, 320), (40, 230)),
    "union_find": ((8000, 32000, 128000), (2000, 60000)),
    "grid_paths": ((50, 100, 200), (25, 140)),
    "words": ((4000, 16000, 64000), (1000, 30000)),
    "cholesky": ((60, 120, 240), (30, 170)),
    "matrix_vector": ((150, 300, 600), (75, 420)),
    "polynomials": ((500, 1000, 2000), (250, 1400)),
}


class Inputs:
    """Files that the programs read, made once in the work directory."""

    def __init__(self, work):
        self.work = work

    def _file(self, name, write):
        path = os.path.join(self.work, name)
        if not os.path.exists(path):
            with open(path + ".part", "wb") as out:
                write(out)
            os.rename(path + ".part", path)
        return path

    def text(self, kilobytes):
        """Some text of that size: the sources of fathom."""
        def write(out):
            source = b"".join(
                open(os.path.join(root, name), "rb").read()
                for root, _, names in sorted(os.walk(os.path.join(here, "..", "src")))
                for name in sorted(names)
            )
            out.write(source[: kilobytes * 1024])
        return self._file(f"text-{kilobytes}", write)

    def lines(self, count):
        """Lines of a key that looks random, a name and a number."""
        def write(out):
            for i in range(count):
                out.write(b"%d name%d %d\n" % (i * 7919 % 1000003, i * 31 % 997, i * 104729 % 10007))
        return self._file(f"lines-{count}", write)

    def changed(self, count):
        """The same lines, but for each seventh."""
        def write(out):
            for i, line in enumerate(open(self.lines(count), "rb")):
                out.write(line if i % 7 else b"another line %d\n" % i)
        return self._file(f"changed-{count}", write)

    def sum(self, terms):
        return self._file(f"sum-{terms}.bc", lambda out: out.write(
            b"scale=60\ns=0\nfor (i = 1; i <= %d; i++) { v[i] = 1 / i; s += v[i] }\nfor (i = 1; i <= %d; i++) s -= v[i] * v[i]\ns\n"
            % (terms, terms)))

    def assembly(self, functions):
        def write(out):
            for i in range(functions):
                out.write(b".globl f%d\nf%d: mov $%d, %%rax\n add f%d@GOTPCREL(%%rip), %%rbx\n cmp %%rax, %%rbx\n jne 1f\n"
                          b" call f%d\n1: ret\n" % (i, i, i * 7, i * 31 % functions, (i + 1) % functions))
        return self._file(f"code-{functions}.s", write)

    def join(self, rows):
        def write(out):
            out.write(b"create table a(k integer, v text); create table b(k integer, w text); begin;\n")
            for i in range(rows):
                out.write(b"insert into a values(%d, 'v%d'); insert into b values(%d, 'w%d');\n"
                          % (i * 7919 % (2 * rows), i, i * 31 % (2 * rows), i))
            out.write(b"commit; select count(*), max(v || w) from a join b using(k);\n"
                      b"select v, count(*) from a group by substr(v, 1, 3) order by 2 desc limit 5;\n")
        return self._file(f"join-{rows}.sql", write)

    def objects(self, count):
        def write(out):
            rows = (b'{"id": %d, "name": "n%d", "tags": [%d, %d]}' % (i, i * 7919 % 10007, i % 7, i % 11)
                    for i in range(count))
            out.write(b"[" + b",\n".join(rows) + b"]\n")
        return self._file(f"objects-{count}.json", write)

    def code(self, functions):
        """C code of so many functions, all different."""
        def write(out):
            for i in range(functions):
                out.write((f"int f{i}(int x, int *v) {{ int s = {i}; for (int k = 0; k < x; k++) "
                           f"{{ if (v[k] > {i % 13}) s += v[k] * {i % 7 + 1}; else s ^= v[k] >> {i % 5}; }} "
                           f"return s + (x % {i % 11 + 2}); }}\n").encode())
        return self._file(f"code-{functions}.c", write)

    def sql(self, rows):
        def write(out):
            out.write(b"create table t(a integer primary key, b text, c integer); begin;\n")
            for i in range(rows):
                out.write(b"insert into t values(%d, 'name %d', %d);\n" % (i, i * 7919 % rows, i * 104729 % 1000))
            out.write(b"commit; create index i on t(c);\n")
            for i in range(0, 1000, 20):
                out.write(b"select count(*), max(b) from t where c = %d;\n" % i)
            out.write(b"select c, count(*) from t group by c order by 2 limit 3;\n")
        return self._file(f"rows-{rows}.sql", write)


WORDS = "$c{$_}++ for /\\w+/g; END { print \"$_ $c{$_}\\n\" for sort { $c{$b} <=> $c{$a} || $a cmp $b } keys %c }"
PERL = ("my %h; for my $i (1..$ARGV[0]) { $h{$i * 7919 % 65537} .= $i; } my $n = 0; "
        "for (1..3) { for my $k (sort keys %h) { $n += length $h{$k}; } } print $n;")
TCL = ("set n [lindex $argv 0]; for {set i 0} {$i < $n} {incr i} {set a([expr {$i * 7919 % 65537}]) $i}; set s 0; "
       "foreach k [lsort [array names a]] {incr s $a($k)}; puts $s")
PYTHON = ("import sys; n = int(sys.argv[1]); d = {i * 7919 % 65537: str(i) for i in range(n)}; "
          "print(sum(len(d[k]) for _ in range(3) for k in sorted(d)))")


def programs(inputs):
    """name: (sizes), further sizes, size -> command, size -> standard input."""
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True).stdout.strip()
    tcl = inputs._file("count.tcl", lambda out: out.write(TCL.encode()))
    return {
        "gzip": ((64, 128, 256), (32, 500), lambda n: ["gzip", "-c", inputs.text(n)], None),
        "zstd": ((64, 128, 256), (32, 500), lambda n: ["zstd", "-q", "-c", "--single-thread", inputs.text(n)], None),
        "perl": ((1000, 3000, 9000), (300, 5000), lambda n: ["perl", "-e", PERL, str(n)], None),
        "sqlite3": ((500, 1500, 4500), (150, 3000), lambda n: ["sqlite3", ":memory:"], inputs.sql),
        "cc1": ((20, 60, 180), (8, 35), lambda n: [cc1, "-quiet", "-O1", inputs.code(n), "-o", os.devnull], None),
        "bzip2": ((32, 64, 128), (16, 256), lambda n: ["bzip2", "-c", inputs.text(n)], None),
        "sort": ((1000, 4000, 16000), (250, 8000),
                 lambda n: ["sort", "--parallel=1", inputs.lines(n)], None),
        "awk": ((1000, 4000, 16000), (250, 8000),
                lambda n: ["awk", "{ s[$2] += $3; t[$1] = NR } END { for (k in s) print k, s[k] }", inputs.lines(n)],
                None),
        "tclsh": ((1000, 4000, 16000), (250, 8000), lambda n: ["tclsh", tcl, str(n)], None),
        "jq": ((250, 1000, 4000), (60, 2000), lambda n: ["jq", "-c", "map(.tags[0]) | add", inputs.objects(n)], None),
        "python3": ((1000, 4000, 16000), (250, 8000), lambda n: ["/usr/bin/python3", "-S", "-c", PYTHON, str(n)], None),
        "grep": ((64, 250, 1000), (16, 500), lambda n: ["grep", "-c", "-E", "f[mo]_.*(status|error)", inputs.text(n)], None),
        "sed": ((32, 128, 500), (8, 250), lambda n: ["sed", "s/[a-z]*_[a-z]*/<&>/g;$!N;P;D", inputs.text(n)], None),
        "diff": ((500, 2000, 8000), (125, 4000), lambda n: ["diff", "-d", inputs.lines(n), inputs.changed(n)], None),
        "bc": ((100, 200, 400), (50, 800), lambda n: ["bc", "-q"], inputs.sum),
        "sha256sum": ((64, 250, 1000), (16, 500), lambda n: ["sha256sum", inputs.text(n)], None),
        "as": ((50, 200, 800), (12, 400), lambda n: ["as", "-o", os.devnull, inputs.assembly(n)], None),
        "perl_words": ((32, 128, 500), (8, 250), lambda n: ["perl", "-ne", WORDS, inputs.text(n)], None),
        "sqlite3_join": ((500, 1500, 4500), (150, 3000), lambda n: ["sqlite3", ":memory:"], inputs.join),
        "xz": ((32, 64, 128), (16, 256), lambda n: ["xz", "-1", "-c", inputs.text(n)], None),
    }


TUNED = ("matmul", "matmul_blocked", "stencil_1d", "stencil_2d", "stencil_3d", "fft", "lu", "mergesort", "hashing",
         "tree_walk", "list_walk", "sparse", "edit_distance", "gzip", "zstd", "perl", "sqlite3", "cc1",
         "heat", "quicksort", "breadth_first", "hash_join", "bodies", "sieve", "shortest_paths", "clusters",
         "heap_sort", "multigrid", "knapsack", "transpose", "bzip2", "sort", "awk", "tclsh", "jq", "python3", "xz")
UNTUNED = ("radix_sort", "life", "binary_search", "convolution", "union_find", "grid_paths", "words", "cholesky",
           "matrix_vector", "polynomials", "grep", "sed", "diff", "bc", "sha256sum", "as", "perl_words", "sqlite3_join")
PAPER = TUNED[:18]  # the table that is next to the paper's


def run(*arguments, **keywords):
    done = subprocess.run(arguments, capture_output=True, text=True, errors="replace", **keywords)
    if done.returncode:
        sys.exit(f"bench_predict: {' '.join(arguments)}: {done.stderr}")
    return done


class Case:
    """A program of the list: how it is run with a size, and the profile of that."""

    def __init__(self, name, fathom, work):
        self.name, self.fathom, self.work = name, fathom, work
        self.there = True
        if name in KERNELS:
            self.sizes, self.further = KERNELS[name]
            self._binary = None
            return
        self.sizes, self.further, self._command, self._input = programs(Inputs(work))[name]
        self.there = bool(shutil.which(self._command(self.sizes[0])[0]))

    def all_sizes(self):
        return sorted(self.sizes + self.further)

    def _kernel(self):
        if not self._binary:
            self._binary = os.path.join(self.work, self.name)
            run(self.fathom, "cc", "-O2", "-I", os.path.join(here, "programs"), "-o", self._binary,
                os.path.join(here, "programs", self.name + ".c"))
        return self._binary

    def command(self, size):
        return [self._kernel(), str(size)] if self.name in KERNELS else self._command(size)

    def input(self, size):
        return None if self.name in KERNELS or not self._input else self._input(size)

    def standard_input(self, size):
        path = self.input(size)
        return open(path) if path else subprocess.DEVNULL

    def profile(self, size):
        """The path of a file with its profiles at 8 and 64 bytes a block."""
        path = os.path.join(self.work, f"{self.name}-{size}.json")
        if not os.path.exists(path):  # kept: delete the work directory to run the programs again
            run(self.fathom, "run", "-q", "--no-sites", "--granularity", "8,64", "--json", path, "--force", "--output",
                os.devnull, "--", *self.command(size), stdin=self.standard_input(size))
        return path
