# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Files that may not be read or written, as an ordinary user sees them.
as_user=
if [ "$(id -u)" -eq 0 ]; then
    setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null || skip "running as root, which may read everything, and setpriv cannot give that up here"
    as_user='setpriv --reuid 65534 --regid 65534 --clear-groups '
    setpriv --reuid 65534 --regid 65534 --clear-groups fathom --version >/dev/null 2>&1 || skip "running as root, and another user may not execute the program under test"
fi
fathom gen cyclic --keys 2 --references 4 -o secret.u64 --quiet
fathom analyze secret.u64 --json secret.json --quiet >/dev/null
cp secret.u64 open.u64
chmod 000 secret.u64 secret.json
chmod 644 open.u64
chmod 555 .
user() { try "${as_user}$1" | sed "s/^\\$ $as_user/\$ /"; }
user 'fathom analyze secret.u64'
user 'fathom check secret.u64'
user 'fathom mrc secret.json'
user 'fathom convert open.u64 -o out.txt'
user 'fathom analyze open.u64 --json out.json >/dev/null'
user 'fathom gen cyclic --keys 2 --references 4 -o out.u64'
chmod 755 .
try 'ls'
