# SPDX-License-Identifier: Apache-2.0
"""Cases in TAP, for scripts: case("what holds", problems) prints one, with each problem behind a '#'."""

cases = 0
failures = 0


def case(name, problems):
    global cases, failures
    cases += 1
    print("%sok %d - %s" % ("not " if problems else "", cases, name))
    for problem in problems:
        print("# " + problem.replace("\n", "\n# "))
    failures += bool(problems)


def skip(name, why):
    """A case that this machine cannot run."""
    global cases
    cases += 1
    print("ok %d - %s # SKIP %s" % (cases, name, why))


def end():
    """The plan; the exit code."""
    print("1..%d" % cases)
    return 1 if failures else 0
