# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Progress: only when asked for where standard error is no terminal, and only after a second.
try '{ seq 200000; sleep 1.3; seq 200000; } | fathom analyze - --format text --progress 2>log >/dev/null; grep -c "references, .*/s" log | sed "s/[1-9][0-9]*/some/"'
try '{ seq 200000; sleep 1.3; seq 200000; } | fathom analyze - --format text 2>log >/dev/null; grep -c "references, .*/s" log'
try '{ seq 200000; sleep 1.3; seq 200000; } | fathom analyze - --format text --progress --quiet 2>&1 >/dev/null | wc -c'

# Beside a program that writes to the same terminal there is none, unless asked for; and then in lines of their own.
cat >beside.py <<'END'
import os, pty, re, sys
def shown(*options):
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp("fathom", ["fathom", "run", *options, "-o", "/dev/null", "--", "sh", "-c", "printf abc; sleep 2.5; printf def"])
    text = b""
    while True:
        try:
            more = os.read(terminal, 4096)
        except OSError:
            break
        if not more:
            break
        text += more
    os.waitpid(pid, 0)
    return text.decode().replace("\r\n", "\n")
print("by itself:", repr(re.sub("fathom run: .*\n", "", shown())))
lines = shown("--progress").split("\n")
print("asked for:", all(line.startswith("fathom: ") for line in lines if "accesses, " in line), any("accesses, " in line for line in lines),
      "\033" in "".join(lines))
END
if python3 -c 'import pty' 2>/dev/null && command -v valgrind >/dev/null; then
    python3 beside.py
else
    skip "no Valgrind here"
fi
