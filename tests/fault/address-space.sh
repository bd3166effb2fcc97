# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# RLIMIT_AS: the system refuses memory; the program says so and leaves nothing.
fathom gen distinct --keys 4M --references 4M -o t.u64 --quiet
said() { # shows the message without its numbers, and the exit code
    (ulimit -v "$1" && fathom analyze t.u64 --engine "$2" --threads 1 --json p.json >/dev/null 2>message)
    echo "= $?"
    sed 's/[0-9][0-9]* bytes/N bytes/; s/^/! /' message
}
said 100000 exact
said 100000 tree
said 100000 parda
try 'ls'
