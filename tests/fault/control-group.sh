# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# A nested control group of 200 MB, as systemd-run, Slurm and containers make them: an analysis that needs more
# ends with a message, or with fewer threads; it is not killed.
find_top() { # where a group with a limit of memory can be made
    local top
    for top in /sys/fs/cgroup/memory /sys/fs/cgroup; do
        group=$top/fathom-test-$$
        mkdir "$group" 2>/dev/null || continue
        if [ -e "$group/memory.limit_in_bytes" ]; then
            limit=memory.limit_in_bytes
            return 0
        elif [ -e "$group/memory.max" ]; then
            limit=memory.max
            return 0
        fi
        rmdir "$group"
    done
    return 1
}
find_top || skip "no control group with a limit of memory can be made here"
trap 'rmdir "$group"/inner "$group"' EXIT
{ echo 209715200 >"$group/$limit" && mkdir "$group/inner"; } 2>/dev/null || skip "no limit can be set here"
[ -e "$group/memory.swap.max" ] && echo 0 >"$group/memory.swap.max"
(echo "$BASHPID" >"$group/inner/cgroup.procs") 2>/dev/null || skip "no process can be moved into a control group here"
fathom gen distinct --keys 8M --references 8M -o distinct.u64 --quiet
fathom gen uniform --keys 2M --references 4M -o uniform.u64 --quiet
limited() { # the whole group is what the kernel looks for a victim in: the shell stays outside
    echo "\$ $1"
    (echo "$BASHPID" >"$group/inner/cgroup.procs" && exec bash -c "exec $1" >/dev/null 2>.stderr)
    local status=$?
    sed 's/no [0-9]* bytes for [^:]*:/no N bytes for a table:/; s/^/! /' .stderr
    echo "= $status"
}
limited 'fathom analyze distinct.u64 --threads 1'
limited 'fathom analyze distinct.u64 --threads 4 --quiet'
limited 'fathom analyze distinct.u64 --engine parda --threads 4 --quiet'
limited 'fathom analyze uniform.u64 --threads 1 --quiet'
limited 'fathom analyze uniform.u64 --threads 8 --quiet'
limited 'fathom analyze distinct.u64 --max-memory 100M --quiet'
