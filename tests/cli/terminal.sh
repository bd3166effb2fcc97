# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# On a terminal: progress is one line that is drawn over and wiped at the end; colours only where they are wanted.
python3 -c 'import pty; pty.openpty()' 2>/dev/null || skip "no pseudo-terminal is to be had here (is /dev/pts mounted?)"
on_terminal() { # command: runs it with standard output and error on a terminal, prints what arrived as a Python string
    python3 - "$1" <<'END'
import os, pty, subprocess, sys
leader, follower = pty.openpty()
child = subprocess.Popen(["bash", "-c", sys.argv[1]], stdout=follower, stderr=follower, stdin=subprocess.DEVNULL)
os.close(follower)
arrived = b""
while True:
    try:
        piece = os.read(leader, 65536)
    except OSError:
        break
    if not piece:
        break
    arrived += piece
child.wait()
text = arrived.decode()
print("progress lines:", "some" if "references, " in text else "none")
print("wiped at the end:", "\r\x1b[K" in text)
print("colour:", "\x1b[3" in text or "\x1b[1" in text)
END
}
slow='{ seq 200000; sleep 1.3; seq 200000; }'
on_terminal "$slow | TERM=dumb fathom analyze - --format text >/dev/null"
on_terminal "$slow | TERM=dumb fathom analyze - --format text --quiet >/dev/null"
on_terminal "seq 10 | TERM=dumb fathom analyze - --format text"
on_terminal "seq 10 | NO_COLOR=1 TERM=xterm fathom analyze - --format text"
