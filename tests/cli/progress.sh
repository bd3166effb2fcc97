# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Progress: only when asked for where standard error is no terminal, and only after a second.
try '{ seq 200000; sleep 1.3; seq 200000; } | fathom analyze - --format text --progress 2>log >/dev/null; grep -c "references, .*/s" log | sed "s/[1-9][0-9]*/some/"'
try '{ seq 200000; sleep 1.3; seq 200000; } | fathom analyze - --format text 2>log >/dev/null; grep -c "references, .*/s" log'
try '{ seq 200000; sleep 1.3; seq 200000; } | fathom analyze - --format text --progress --quiet 2>&1 >/dev/null | wc -c'

# Beside a program that writes to the same terminal: a line now and then, that says that it works and is slower; once a
# second where asked for; none with --quiet, nor where the program draws on the whole screen, nor where it is no terminal.
cat >beside.py <<'END'
import os, pty, re, sys, tty
def shown(*options, raw=False, seconds="2.7"):
    pid, terminal = pty.fork()
    if pid == 0:
        if raw:
            tty.setraw(2)
        os.execvp("fathom", ["fathom", "run", *options, "-o", "/dev/null", "--", "sh", "-c", f"printf abc; sleep {seconds}; printf def"])
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
def plain(text):
    text = re.sub("fathom run: .*\n", "", text)
    text = re.sub(r"[\d.]+( [kM])? accesses, \d+ s, [\d.]+( [kM])?/s", "N accesses, S s, N/s", text)
    return repr(re.sub(r"\nfathom: N accesses, S s, N/s\n", "", text)) # a second one, on a busy machine
print("by itself:", plain(shown()))
print("by itself, a short one:", plain(shown(seconds="0.1")))
print("quiet:", plain(shown("--quiet")))
print("raw:", plain(shown(raw=True)))
lines = shown("--progress").split("\n")
print("asked for:", all(line.startswith("fathom: ") for line in lines if "accesses, " in line), sum("accesses, " in line for line in lines) >= 2,
      "\033" in "".join(lines))
END
if python3 -c 'import pty' 2>/dev/null && command -v valgrind >/dev/null; then
    python3 beside.py
else
    skip "no Valgrind here"
fi
