#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accesses of Fortran kernels in order, against a program that gfortran compiled.

The program is the kernel itself with every assignment replaced by one print for each array element in it, in the
order of evaluation; fparser, not fathom, finds the elements. gfortran works out loops, conditions, subscripts and
addresses. Files of tests/static/fortran come in pairs: x.f90 (sections, calls, derived types, …) must be walked
like x.loops.f90, which has the same as plain loops, and is compared with gfortran as the kernels are, or as the program
x.prints.f90 prints.

  fortran_trace_test.py [WORD…]     only files whose name holds a word
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests"), os.path.join(ROOT, "tests/static")]
import fparser_tree as tree  # noqa: E402
import tap_cases  # noqa: E402

WALK = os.environ.get("WALK_SOURCE", os.path.join(ROOT, "build/tests/static/walk_source"))


def sizes(names):
    """Small, and different for each parameter; time steps are few."""
    return {name: 3 if name in ("tsteps", "tmax") else 7 + 2 * i for i, name in enumerate(sorted(names))}


def touch(names, node, store):
    name = str(node.items[0]).lower()
    return "call touch('%s', loc(%s) - loc(%s), storage_size(%s) / 8, '%s')" % (
        "store" if store else "load", node, name, name, name)


def instrumented(root, number):
    """The subroutine that prints, its name, and its arguments."""
    names = tree.arrays(root)
    spec = "\n".join(str(part) for part in tree.walk(root, tree.F.Specification_Part))
    head = tree.walk(root, tree.F.Subroutine_Stmt)[0]
    arguments = [str(a).lower() for a in head.items[2].items]
    lines = ["subroutine k%d(%s)" % (number, ", ".join(arguments)), spec]
    open_labels = []
    for part in tree.walk(root, tree.F.Execution_Part):
        for statement in tree.statements(part):
            label = statement.item.label if statement.item else None
            if isinstance(statement, tree.F.Label_Do_Stmt):
                open_labels.append(int(re.match(r"DO (\d+)", str(statement))[1]))
                lines.append(re.sub(r"^DO \d+", "do", str(statement)))
            elif isinstance(statement, tree.F.Assignment_Stmt):
                found = tree.references(statement.items[2], names)
                lines += [touch(names, node, False) for node in found]
                lines += [touch(names, node, True) for node in tree.references(statement.items[0], names)]
            elif not isinstance(statement, (tree.F.Continue_Stmt, tree.F.Return_Stmt)):
                lines.append(str(statement))
            while label and open_labels and open_labels[-1] == label:
                open_labels.pop()
                lines.append("end do")
    return "\n".join(lines + ["end subroutine"]), arguments


def integers(root):
    found = set()
    for declaration in tree.walk(root, tree.F.Type_Declaration_Stmt):
        if str(declaration.items[0]).lower() == "integer":
            found |= {str(entity.items[0]).lower() for entity in tree.walk(declaration, tree.F.Entity_Decl)}
    return found


def program(files, folder):
    """One program for all files; the first argument chooses."""
    kernels, calls, given = [], [], {}
    for number, path in enumerate(files):
        root = tree.parse(path)
        text, arguments = instrumented(root, number)
        names = tree.arrays(root)
        implicit = not tree.walk(root, tree.F.Type_Declaration_Stmt)
        whole = {a for a in arguments if a not in names and (a in integers(root) or (implicit and a == "n"))}
        given[path] = sizes(whole)
        kernels.append(text)
        calls.append("if (which == %d) call k%d(%s)" % (
            number, number, ", ".join(str(given[path][a]) if a in whole else "buffer" for a in arguments)))
    with open(os.path.join(folder, "kernels.f90"), "w") as out:
        out.write("\n".join(kernels) + """
subroutine touch(what, offset, bytes, name)
  character(*) :: what, name
  integer(8) :: offset
  integer :: bytes
  write (*, '(a,1x,a,1x,i0,1x,i0)') what, name, offset, bytes
end subroutine
""")
    with open(os.path.join(folder, "main.f90"), "w") as out:
        out.write("program main\n  double precision :: buffer(1)\n  integer :: which\n  character(20) :: text\n"
                  "  call get_command_argument(1, text)\n  read (text, *) which\n  " + "\n  ".join(calls) +
                  "\nend program\n")
    objects = []
    for name in ("kernels", "main"):
        path = os.path.join(folder, name)
        subprocess.run(["gfortran", "-w", "-O0", "-std=gnu", "-ffree-line-length-none", "-fallow-argument-mismatch", "-c",
                        path + ".f90", "-o", path + ".o"], check=True, cwd=folder)
        objects.append(path + ".o")
    binary = os.path.join(folder, "print_accesses")
    subprocess.run(["gfortran", "-o", binary] + objects, check=True)
    return binary, given


def walked(path, values, *more):
    done = subprocess.run([WALK, path, *more] + ["%s=%d" % pair for pair in values.items()], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.splitlines()


def difference(ours, theirs, other):
    for i, (own, given) in enumerate(zip(ours, theirs)):
        if own != given:
            return ["access %d is '%s', %s has '%s'" % (i, own, other, given)]
    return [] if len(ours) == len(theirs) else ["%d accesses, %s has %d" % (len(ours), other, len(theirs))]


def main():
    if tree.MISSING:
        print("skip Fortran traces: " + tree.MISSING)
        return 0
    chosen = lambda name: not sys.argv[1:] or any(word in name for word in sys.argv[1:])  # noqa: E731
    plain = sorted(glob.glob(os.path.join(ROOT, "tests/static/kernels/*.f*")) +
                   glob.glob(os.path.join(ROOT, "tests/static/fortran/*.loops.f90")))
    plain = [path for path in plain if chosen(os.path.basename(path))]
    total = 0
    with tempfile.TemporaryDirectory() as folder:
        binary, given = program(plain, folder)
        for number, path in enumerate(plain):
            theirs = subprocess.run([binary, str(number)], capture_output=True, text=True, check=True).stdout.splitlines()
            total += len(theirs)
            try:
                problems = difference(walked(path, given[path]), theirs, "gfortran")
            except RuntimeError as error:
                problems = [str(error)]
            tap_cases.case("%s: %d accesses as gfortran's" % (os.path.basename(path), len(theirs)),
                           problems or ([] if theirs else ["no accesses"]))
        for path in plain:
            if not path.endswith(".loops.f90"):
                continue
            for ending in (".f90", ".f"):
                other = path[:-len(".loops.f90")] + ending
                if not os.path.exists(other):
                    continue
                try:
                    strip = lambda rows: [re.sub(r"^(\w+) \w+\.(\w+) ", r"\1 \2 ", row) for row in rows]  # noqa: E731
                    problems = difference(strip(walked(other, given[path], "--function", os.path.basename(other).split(".")[0])), walked(path, given[path]), os.path.basename(path))
                except RuntimeError as error:
                    problems = [str(error)]
                tap_cases.case("%s as plain loops" % os.path.basename(other), problems)
        for path in sorted(glob.glob(os.path.join(ROOT, "tests/static/fortran/*.prints.f90"))):
            name = os.path.basename(path).split(".")[0]
            if not chosen(name):
                continue
            binary = os.path.join(folder, name)
            subprocess.run(["gfortran", "-w", "-o", binary, path, "-J", folder], check=True)
            theirs = subprocess.run([binary], capture_output=True, text=True, check=True).stdout.splitlines()
            values = dict((key, int(value)) for key, value in re.findall(r"(\w+) = (\d+)", open(path).readlines()[1]))
            try:
                problems = difference(walked(path.replace(".prints", ""), values), theirs, "gfortran")
            except RuntimeError as error:
                problems = [str(error)]
            tap_cases.case("%s.f90 as gfortran has it" % name, problems or ([] if theirs else ["no accesses"]))
    print("# %d accesses compared" % total)
    return tap_cases.end()


if __name__ == "__main__":
    sys.exit(main())
