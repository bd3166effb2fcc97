# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by the runner before every CLI and fault test: commands that write a transcript.
#
# A test is a script whose transcript must equal NAME.expected, byte for byte:
#
#     | $ fathom check nothing.fathom                     the command
#     | ! fathom check: nothing.fathom: cannot open: …    its standard error, each line after "! "
#     | = 1                                               its exit code
#
# Lines without a mark are standard output. The test runs in an empty directory of its own, with the program
# under test first in PATH. $TESTS is the directory tests/.

# Runs a command line (one string, as typed) and writes its transcript.
try() {
    local status
    echo "\$ $1"
    bash -c "$1" >.stdout 2>.stderr
    status=$?
    cat .stdout
    sed 's/^/! /' .stderr
    echo "= $status"
    rm -f .stdout .stderr
}

# The same for a command whose standard output is not the point (a plot, a table): only its exit code and
# standard error are shown.
try_silently() {
    local status
    echo "\$ $1"
    bash -c "$1" >/dev/null 2>.stderr
    status=$?
    sed 's/^/! /' .stderr
    echo "= $status"
    rm -f .stderr
}

# Shows fields of a JSON file, one "name = value" line each: fields FILE NAME…
fields() {
    python3 - "$@" <<'END'
import json, sys
document = json.load(open(sys.argv[1]))
for name in sys.argv[2:]:
    print(name, "=", json.dumps(document.get(name, "absent")))
END
}

# Shows a --distances file, cold as "inf" and beyond as "beyond": distances FILE
distances() {
    python3 - "$1" <<'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
assert len(data) % 8 == 0, len(data)
words = {2**64 - 1: "inf", 2**64 - 2: "beyond"}
print(*(words.get(d, d) for (d,) in struct.iter_unpack("<Q", data)))
END
}

# Ends the test as skipped, with a reason.
skip() {
    echo "SKIP $*" >.skip
    exit 0
}

# A sanitizer's own memory would count: for tests/fault only, which no sanitizer runs.
peak() { # runs a command, prints its exit code and whether it held more than a limit: MEBIBYTES COMMAND
    python3 - "$@" <<'END'
import resource, subprocess, sys
limit, command = int(sys.argv[1]), sys.argv[2]
done = subprocess.run(command, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
held = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print("$", command)
print("".join("! " + line + "\n" for line in done.stderr.splitlines()), end="")
print("=", done.returncode)
print("memory:", f"at most {limit} MiB" if held <= limit else f"{held:.0f} MiB, more than {limit}")
END
}
