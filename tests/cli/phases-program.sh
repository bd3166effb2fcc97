# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# A real program: what the system does before main, then six rounds of three loops, whose loads and stores are counted in
# the source. Each is a phase of level 2, to a hundredth; what the system does at the end may be in the last one.
cat >solve.c <<'END'
#include <stdlib.h>
enum { N = 20000, ROWS = 100, DRAWS = 60000 };
static volatile double smoothed[N], hits[N], table[ROWS][ROWS];
int main(void)
{
    unsigned seed = 1;
    for (int round = 0; round < 6; round++) {
        for (int pass = 0; pass < 3; pass++)
            for (int i = 0; i < N; i++) smoothed[i] = smoothed[i] * 0.5 + i;
        for (int i = 0; i < DRAWS; i++) {
            seed = seed * 1103515245u + 12345u;
            hits[seed / 65536 % N] += 1;
        }
        for (int pass = 0; pass < 4; pass++)
            for (int column = 0; column < ROWS; column++)
                for (int row = 0; row < ROWS; row++) table[row][column] += 1;
    }
    return 0;
}
END
cc -O1 -fno-tree-vectorize -o solve solve.c 2>message || skip "no compiler: $(head -n 1 message)"
fathom record --quiet -o solve.fathom -- ./solve >out 2>message || skip "programs cannot be recorded here: $(head -n 1 message)"
fathom phases solve.fathom --json p.json --force --quiet >/dev/null
python3 - <<'END'
import json
phases = json.load(open("p.json"))["phases"]
rows = phases["inner"][0]["phases"]
rounds = sorted({row[5] for row in rows})
print("rounds", len(rounds), "in them", [sum(row[5] == one for row in rows) for one in rounds])
wanted = [2 * 3 * 20000, 2 * 60000, 2 * 4 * 100 * 100] * 6
found = [row[1] - row[0] for row in rows]
print("lengths", all(abs(is_ - should) <= should / 100 for is_, should in zip(found[:-1], wanted)), len(found) == len(wanted))
END
# More data in each of two phases than is held of either side of their boundary.
cat >large.c <<'END'
enum { BLOCKS = 100000, STEP = 8 };
static volatile double first[BLOCKS * STEP], second[BLOCKS * STEP];
int main(void)
{
    unsigned seed = 1;
    for (int pass = 0; pass < 5; pass++)
        for (int i = 0; i < BLOCKS; i++) first[i * STEP] = 1;
    for (int i = 0; i < 5 * BLOCKS; i++) {
        seed = seed * 1103515245u + 12345u;
        second[seed / 8192 % BLOCKS * STEP] = 1;
    }
    return 0;
}
END
cc -O1 -fno-tree-vectorize -o large large.c && fathom record --quiet -o large.fathom -- ./large >out 2>said
try_silently 'fathom phases large.fathom --json l.json --quiet'
python3 - <<'END'
import json
phases = json.load(open("l.json"))["phases"]
rows = [row for level in [phases] + phases.get("inner", []) for row in level["phases"] if row[1] - row[0] < 600000]
longest = sorted(rows, key=lambda row: row[0] - row[1])[:2]
print("large", all(abs(row[1] - row[0] - 500000) < 50000 for row in longest), longest[0][2] > 65536 < longest[1][2])
END
# Programs as they are: phases follow each other from the first reference to the last, and all is in one of them.
seq 3000 | sed 's/^/some text that takes room /' >lines
for program in 'tac lines' 'sort -r lines' 'gzip -1c lines' 'sed -n /99/p lines'; do
    # shellcheck disable=SC2086 # words
    fathom record --quiet -o program.fathom --force -- $program >out 2>said || continue
    fathom phases program.fathom --json p.json --force --quiet >out || echo "$program: $?"
    python3 - "$program" <<'END'
import json, sys
profile = json.load(open("p.json"))
phases = profile["phases"]
rows = phases["phases"]
edges = [0] + [row[1] for row in rows]
assert [row[0] for row in rows] == edges[:-1] and edges[-1] == profile["references"], sys.argv[1]
assert sum(row[3] for row in rows) == profile["cold"], sys.argv[1]
for inner in [rows] + [level["phases"] for level in phases.get("inner", [])]:
    assert all(row[3] <= row[2] <= row[1] - row[0] for row in inner), sys.argv[1]
print(sys.argv[1].split()[0], "adds up")
END
done
