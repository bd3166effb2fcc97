#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random Fortran procedures in every spelling of loops, conditions and continuation, in free and fixed form: the walk of
what fathom reads against the accesses that gfortran's program prints.

The generator writes each statement twice: as it is, and as prints of its accesses. Only the second goes to gfortran.

  fortran_random_test.py [COUNT [SEED]]
"""
import os
import random
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests"), os.path.join(ROOT, "tests/static")]
import tap_cases  # noqa: E402

WALK = os.environ.get("WALK_SOURCE", os.path.join(ROOT, "build/tests/static/walk_source"))
SIZES = {"n": 7, "m": 5}
TOUCH = """
subroutine touch(what, offset, bytes, name)
  character(*) :: what, name
  integer(8) :: offset
  integer :: bytes
  write (*, '(a,1x,a,1x,i0,1x,i0)') what, name, offset, bytes
end subroutine
"""


class Program:
    def __init__(self, dice, number):
        self.dice, self.name = dice, "r%d" % number
        self.fixed = dice.random() < 0.4
        self.label = 0
        self.arrays = {}
        for name in dice.sample(["a", "b", "c", "load", "x"], 3):
            rank = dice.randint(1, 3)
            lows = [dice.choice([1, 1, 0, -3, 2]) for _ in range(rank)]
            kind = dice.choice([("real(8)", 8), ("real", 4), ("integer(2)", 2), ("complex", 8), ("double precision", 8)])
            self.arrays[name] = (kind, lows)
        self.source, self.prints = [], []

    def bounds(self, low):
        return "%d:%d" % (low, low + 199) if low != 1 else "200"

    def affine(self, loops, inside=True):
        """Something that is somewhere between -20 and 40."""
        dice = self.dice
        names = loops + ["n", "m"]
        first = dice.choice(names)
        form = dice.randrange(9)
        if form == 0:
            return str(dice.randint(0, 6))
        if form == 1:
            return "%s %s %d" % (first, dice.choice("+-"), dice.randint(0, 3))
        if form == 2:
            return "2 * %s - %s" % (first, dice.choice(names))
        if form == 3:
            return "%s(%s, %s + 1)" % (dice.choice(["min", "max"]), first, dice.choice(names))
        if form == 4:
            return "%s(%s - %s, %d)" % (dice.choice(["mod", "modulo"]), first, dice.choice(names), dice.randint(2, 4))
        if form == 5:
            return "(%s - 3 * %s) / %d" % (first, dice.choice(names), dice.randint(1, 3))
        if form == 6:
            return "abs(%s - %s)" % (first, dice.choice(names))
        if form == 7 and inside:
            return "-(%s - n)" % first
        return first

    def condition(self, loops, depth=0):
        dice = self.dice
        if depth < 2 and dice.random() < 0.4:
            how = dice.choice([".and.", ".or.", ".eqv.", ".neqv.", "not"])
            left = self.condition(loops, depth + 1)
            if how == "not":
                return ".not. (%s)" % left
            return "(%s) %s (%s)" % (left, how, self.condition(loops, depth + 1))
        sign = dice.choice(["==", "/=", "<", "<=", ">", ">=", ".eq.", ".ne.", ".lt.", ".le.", ".gt.", ".ge."])
        return "%s %s %s" % (self.affine(loops), sign, self.affine(loops))

    def element(self, loops):
        name = self.dice.choice(sorted(self.arrays))
        # Into the array whatever the subscript is: no element lies outside, so that nothing is undefined.
        return name, "%s(%s)" % (name, ", ".join("%s + 60" % self.affine(loops) for _ in self.arrays[name][1]))

    def touch(self, name, text, store):
        return "call touch('%s', loc(%s) - loc(%s), %d, '%s')" % (
            "store" if store else "load", text, name, self.arrays[name][0][1], name)

    def both(self, text):
        self.source.append(text)
        self.prints.append(text)

    def assignment(self, loops):
        dice = self.dice
        operands = [self.element(loops) for _ in range(dice.randint(0, 3))]
        target = self.element(loops)
        right = (" %s " % dice.choice("+-*")).join([text for _, text in operands] + ["1"])
        self.source.append("%s = %s" % (target[1], right))
        self.prints += [self.touch(name, text, False) for name, text in operands]
        self.prints.append(self.touch(*target, True))

    def loop(self, loops, depth):
        dice = self.dice
        variable = next(name for name in "ijklpq" if name not in loops)
        down = dice.random() < 0.3
        first = self.affine(loops, False) if dice.random() < 0.4 else str(dice.randint(-1, 2))
        last = self.affine(loops, False) if dice.random() < 0.4 else dice.choice(["n", "m", "n + 2"])
        if down:
            first, last = last, first
        step = dice.choice([1, 1, 1, 2, 3]) * (-1 if down else 1)
        control = "%s = %s, %s" % (variable, first, last) + (", %d" % step if step != 1 or dice.random() < 0.1 else "")
        label = 0
        form = dice.randrange(4)
        if form == 0:
            self.label += 10
            label = self.label
            self.source.append("do %d %s" % (label, control))
        elif form == 1 and not self.fixed:
            self.source.append("loop%d: do %s" % (depth, control))
        else:
            self.source.append("do %s" % control)
        self.prints.append("do %s" % control)
        self.body(loops + [variable], depth + 1)
        if dice.random() < 0.2:
            self.both("if (%s) cycle" % self.condition(loops + [variable]))
            self.body(loops + [variable], depth + 1)
        if label:
            self.source.append("%d continue" % label)
        elif form == 1 and not self.fixed:
            self.source.append("end do loop%d" % depth)
        else:
            self.source.append(dice.choice(["end do", "enddo"]))
        self.prints.append("end do")

    def guard(self, loops, depth):
        dice = self.dice
        self.both("if (%s) then" % self.condition(loops))
        self.body(loops, depth + 1)
        if dice.random() < 0.4:
            condition = self.condition(loops)
            self.source.append("%s (%s) then" % (dice.choice(["else if", "elseif"]), condition))
            self.prints.append("else if (%s) then" % condition)
            self.body(loops, depth + 1)
        if dice.random() < 0.5:
            self.both("else")
            self.body(loops, depth + 1)
        self.both(dice.choice(["end if", "endif"]))

    def body(self, loops, depth):
        for _ in range(self.dice.randint(1, 2)):
            kind = self.dice.random()
            if depth < 4 and kind < 0.45:
                self.loop(loops, depth)
            elif depth < 4 and kind < 0.6:
                self.guard(loops, depth)
            else:
                self.assignment(loops)

    def make(self):
        arguments = ["n", "m"] + sorted(self.arrays)
        self.both("subroutine %s(%s)" % (self.name, ", ".join(arguments)))
        self.both("implicit none")
        self.both("integer :: n, m, i, j, k, l, p, q")
        for name, ((kind, _), lows) in sorted(self.arrays.items()):
            self.both("%s :: %s(%s)" % (kind, name, ", ".join(self.bounds(low) for low in lows)))
        self.loop([], 0)
        self.body([], 0)
        self.both("end subroutine")

    def fixed_lines(self, label, line):
        """Columns 7 to 72, the rest on lines of continuation."""
        if self.dice.random() < 0.2:
            line = line.replace(" ", "")
        cut = self.dice.randint(30, 60)
        lines = ["%-5s %s" % (label, line[:cut])]
        for at in range(cut, len(line), 60):
            if self.dice.random() < 0.1:
                lines.append("C a comment between")
            lines.append("     %s%s" % (self.dice.choice("&1x"), line[at:at + 60]))
        return lines

    def free_lines(self, label, line):
        if len(line) > 40 and self.dice.random() < 0.5:
            cut = self.dice.randint(10, 30)
            line = line[:cut] + "&\n  ! between\n   &" + line[cut:]
        return [(label + " " if label else "") + line + self.dice.choice(["", "", " ! comment", ";"])]

    def text(self):
        lines = []
        for line in self.source:
            label, rest = line.split(None, 1) if line.split()[0].isdigit() else ("", line)
            if self.dice.random() < 0.3:
                rest = rest.upper()
            lines += (self.fixed_lines if self.fixed else self.free_lines)(label, rest)
        return "\n".join(lines) + "\n"


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    dice = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    programs = [Program(dice, number) for number in range(count)]
    for program in programs:
        program.make()
    problems, total = [], 0
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "prints.f90"), "w") as out:
            out.write("program main\n  double precision :: buffer(1)\n  integer :: which\n  character(20) :: text\n"
                      "  call get_command_argument(1, text)\n  read (text, *) which\n")
            for number, program in enumerate(programs):
                values = [str(SIZES[name]) for name in ("n", "m")] + ["buffer"] * len(program.arrays)
                out.write("  if (which == %d) call r%d(%s)\n" % (number, number, ", ".join(values)))
            out.write("end program\n")
        with open(os.path.join(folder, "kernels.f90"), "w") as out:
            out.write("\n".join("\n".join(program.prints) for program in programs) + TOUCH)
        binary = os.path.join(folder, "prints")
        for name in ("prints", "kernels"):
            subprocess.run(["gfortran", "-w", "-O0", "-ffree-line-length-none", "-fallow-argument-mismatch", "-c",
                            os.path.join(folder, name + ".f90"), "-o", os.path.join(folder, name + ".o")], check=True, cwd=folder)
        subprocess.run(["gfortran", "-o", binary, os.path.join(folder, "prints.o"), os.path.join(folder, "kernels.o")], check=True)
        for number, program in enumerate(programs):
            path = os.path.join(folder, "source" + (".f" if program.fixed else ".f90"))
            text = program.text()
            with open(path, "w") as out:
                out.write(text)
            theirs = subprocess.run([binary, str(number)], capture_output=True, text=True, check=True).stdout.splitlines()
            total += len(theirs)
            done = subprocess.run([WALK, path] + ["%s=%d" % pair for pair in SIZES.items()], capture_output=True, text=True)
            ours = done.stdout.replace(" load$ ", " load ").splitlines()
            if done.returncode or ours != theirs:
                at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
                problems.append("%s: %s\naccess %d of %d: '%s', gfortran has '%s'\n%s" % (
                    program.name, done.stderr.strip(), at, len(theirs), ours[at] if at < len(ours) else "",
                    theirs[at] if at < len(theirs) else "", text))
    tap_cases.case("%d random procedures: %d accesses as gfortran's" % (count, total), problems[:3])
    tap_cases.case("they touch something", [] if total > 100 * count else ["only %d accesses" % total])
    return tap_cases.end()


if __name__ == "__main__":
    sys.exit(main())
