# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Files that may not be read or written, as an ordinary user sees them.
as_user=
if [ "$(id -u)" -eq 0 ]; then
    setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null || skip "running as root, which may read everything, and setpriv cannot give that up here"
    as_user='setpriv --reuid 65534 --regid 65534 --clear-groups '
    setpriv --reuid 65534 --regid 65534 --clear-groups fathom --version >/dev/null 2>&1 || skip "running as root, and another user may not execute the program under test"
fi
# A directory of their own: the transcript is written to the one above, by whoever runs this.
mkdir closed
fathom gen cyclic --keys 2 --references 4 -o closed/secret.u64 --quiet
fathom analyze closed/secret.u64 --json closed/secret.json --quiet >/dev/null
cp closed/secret.u64 closed/open.u64
chmod 000 closed/secret.u64 closed/secret.json
chmod 644 closed/open.u64
chmod 755 .
chmod 555 closed
user() { try "cd closed; ${as_user}$1" | sed "s/^\\$ cd closed; $as_user/\$ /"; }
user 'fathom analyze secret.u64'
user 'fathom check secret.u64'
user 'fathom mrc secret.json'
user 'fathom convert open.u64 -o out.txt'
user 'fathom analyze open.u64 --json out.json >/dev/null'
user 'fathom gen cyclic --keys 2 --references 4 -o out.u64'
chmod 755 closed
try 'ls closed'
