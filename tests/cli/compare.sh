# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# A profile is like itself in every metric; two that share nothing are as unlike as can be.
fathom gen same --keys 1 --references 1000 -o a.u64 --quiet
fathom gen cyclic --keys 1000 --references 100000 -o b.u64 --quiet
fathom analyze a.u64 --json a.json --quiet >/dev/null
fathom analyze b.u64 --json b.json --quiet >/dev/null
try_silently 'fathom compare a.json a.json --json same.json'
python3 -c '
import json
for name, value in json.load(open("same.json")).items():
    if isinstance(value, (int, float)): print(name, value)'
try_silently 'fathom compare a.json b.json --json other.json'
# a: 1 cold, 999 at 0. b: 1000 cold, 99000 at 999. Shares of all references: only the cold ones overlap, 0.001.
python3 -c '
import json
d = json.load(open("other.json"))
print("overlap", round(d["overlap"], 9))
print("curve_largest", round(d["curve_largest"], 9))'
try 'fathom compare a.json'
try 'fathom compare - - <a.json'
# The two are told apart, be they of one program or one file.
cp a.json again.json
try 'fathom compare a.json again.json | head -n 2'
try 'fathom compare a.json - <b.json | head -n 2'
