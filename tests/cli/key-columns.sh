# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016
# Which columns are the key: identities are no addresses, several columns together, and logs of which every
# line is another key.
cat >objects.csv <<'END'
obj_id,obj_size
7,1000
8,300
7,1000
END
# 7 + 1000 bytes would touch object 8.
try 'fathom analyze objects.csv --key obj_id --size-column obj_size -g 64 --json p.json'
try 'fathom convert objects.csv --size-column obj_size -o p.fathom'
try 'ls p.json p.fathom 2>/dev/null'
try_silently 'fathom analyze objects.csv --key obj_id --distances d'
distances d
# Whoever insists: 7 to 1006 in blocks of 512 | 8 to 307 | again.
try_silently 'fathom analyze objects.csv --key obj_id --key-unit 1 --size-column obj_size -g 512 --distances d'
distances d
try_silently 'fathom analyze objects.csv --key obj_id -g 64 --json p.json'

# Pages of several relations: (16384, main) and (16384, fsm) and orders are three.
python3 - <<'END'
import random
random.seed(7)
pages = [(random.choice(["16384", "orders"]), random.choice(["main", "fsm"]), random.randrange(50))
         for _ in range(3000)]
with open("pages.csv", "w") as table, open("joined.txt", "w") as joined, open("single.csv", "w") as single:
    print("rel,fork,block", file=table)
    print("rel,fork,block", file=single)
    for page in pages:
        print(*page, sep=",", file=table)
        print(*page, sep="/", file=joined)
        print("orders", "main", page[2], sep=",", file=single)
END
try 'fathom analyze pages.csv --json p.json --force'
# The judge: the columns joined into one text.
fathom analyze joined.txt --distances judge --quiet >joined.out
for threads in 1 3; do
    try_silently "fathom analyze pages.csv --key rel,fork,block --threads $threads --distances d"
    try 'cmp d judge'
done
try_silently 'cat pages.csv | fathom analyze - --format csv --key fork,block,rel --distances d --quiet'
try 'cmp d judge'
try_silently 'fathom analyze pages.csv --key rel,fork,block --key-unit 8192 -g 8192 --distances d'
try 'cmp d judge'
try_silently 'fathom analyze pages.csv --key rel,fork,block -g 8192 --quiet --json p.json --force'
try_silently 'fathom analyze single.csv --distances d'
cut -d , -f 3 single.csv | tail -n +2 >single.txt
fathom analyze single.txt --distances judge --quiet >single.out
try 'cmp d judge'
try 'fathom analyze pages.csv --key rel,nothing'

# Logs: as redis-cli monitor and web servers write them.
python3 - <<'END'
with open("monitor.log", "w") as log:
    print("OK", file=log)
    for i in range(4000):
        print(f'{1700000000 + i / 1000:.6f} [0 127.0.0.1:44852] "GET" "key:{i * i % 97}"', file=log)
with open("times.csv", "w") as log:
    print("key,what", file=log)
    for i in range(4000):
        print(i * 977, i % 10, sep=",", file=log)
with open("numbers.txt", "w") as log:
    for i in range(4000):
        print(i * 977, file=log)
with open("few.txt", "w") as log:
    for i in range(1000):
        print(i * 977, file=log)
END
try_silently 'fathom analyze --format text monitor.log --json p.json --force'
fields p.json references cold
try_silently 'fathom convert --format text monitor.log -o monitor.fathom'
try_silently "fathom analyze --format csv --delimiter ' ' --header yes --key 5 monitor.log --json p.json --force"
fields p.json references cold
try_silently 'fathom analyze times.csv'
try_silently 'fathom analyze numbers.txt'
try_silently 'fathom analyze numbers.txt --quiet'
try_silently 'fathom analyze few.txt'
