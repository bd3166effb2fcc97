# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Pipes and descriptors that go away.
fathom gen cyclic --keys 1000 --references 1M -o t.fathom --quiet
fathom analyze t.fathom --granularity 1 --json p.json --quiet >/dev/null
# Standard output closed: not a success, and no file is mistaken for it.
try 'fathom --version >&-'
try 'fathom analyze t.fathom >&-'
try 'fathom mrc p.json --csv - --quiet >&-'
try 'fathom convert t.fathom --to text -o /dev/stdout --quiet >&-'
try 'fathom convert t.fathom --to text -o - --quiet >&-'
try 'fathom check t.fathom <&- >&-'
try 'fathom analyze /dev/stdin --format u64 <&-'
try 'fathom gen cyclic --keys 3 --references 6 -o all.txt --quiet <&- >&- 2>&-; tail -n +1 all.txt'
try 'fathom analyze - --format text <&-'
try 'fathom --version 2>&-'
# The reader went away: quiet, and by SIGPIPE (141) for those who look.
cat >reader_is_gone <<'END'
import select
poll = select.poll()
poll.register(1, 0)
poll.poll(60000)
END
after() { try "set -o pipefail; { python3 reader_is_gone; $1; } | true"; }
after 'fathom --help'
after 'fathom mrc p.json --csv - --quiet'
after 'fathom analyze t.fathom --json - --quiet'
try 'set -o pipefail; fathom gen cyclic --keys 10 --references 100M --to text -o - --quiet | head -n 2'
# Where SIGPIPE is ignored, as under some supervisors, it is an ordinary write error.
try 'set -o pipefail; trap "" PIPE; { python3 reader_is_gone; fathom --help; } | true'
# The writer was killed in the middle of a trace.
# Where the block that was cut begins depends on the compressor.
try_silently '{ head -c 5000 t.fathom; kill -9 $BASHPID; } | fathom analyze - --json q.json' | sed 's/byte [0-9]*: /byte N: /'
fields q.json complete
try_silently '{ printf "\\1\\0\\0\\0\\0\\0\\0\\0\\1\\0"; kill -9 $BASHPID; } | fathom analyze - --format u64 --json q.json --force'
fields q.json references complete
