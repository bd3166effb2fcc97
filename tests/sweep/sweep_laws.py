# SPDX-License-Identifier: Apache-2.0
"""The laws of docs/TESTING.md ("Laws"), checked over what fathom writes: JSON, CSV, callgrind's format, text. Nothing
here asks the library: sums are made anew, symbols are those of readelf."""
import csv
import json
import os
import re
import subprocess

ACCESSES_A_CYCLE = 4  # that no processor keeps up for long
FEW_SAMPLES = 10      # fewer say nothing of a share: one more would move its first digit


def clock():
    """The fastest clock of this machine that is told, in Hz; 6 GHz where none is."""
    megahertz = [0.0]
    for path in ("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",):
        if os.path.exists(path):
            with open(path) as file:
                megahertz.append(int(file.read()) / 1000)
    with open("/proc/cpuinfo") as file:
        megahertz += [float(line.split(":")[1]) for line in file if line.startswith("cpu MHz")]
    return max(megahertz) * 1e6 or 6e9


class Faults(list):
    """What is wrong, each as a text; holds() adds one where a law does not hold."""

    def holds(self, condition, text):
        if not condition:
            self.append(text)
        return condition


# ---- the histogram and its sums ----


def counted(rows):
    return sum(row[2] for row in rows)


def misses(profile, blocks):
    """Least and most misses of an LRU cache: references at a distance of so many blocks and over, and first touches."""
    least = most = profile["cold"] + profile.get("beyond", 0)
    for low, high, count in profile["histogram"]:
        least += count if low >= blocks else 0
        most += count if high >= blocks else 0
    return least, most


def sums(profile, faults, what):
    rows = profile["histogram"]
    total = profile["cold"] + profile.get("beyond", 0) + counted(rows)
    faults.holds(total == profile["references"],
                 f"{what}: cold + beyond + histogram is {total}, references {profile['references']}")
    faults.holds(all(a[1] < b[0] for a, b in zip(rows, rows[1:])), f"{what}: ranges that do not ascend")
    faults.holds(profile["cold"] <= profile["distinct"] <= profile["references"] or profile["references"] == 0,
                 f"{what}: {profile['cold']} first touches, {profile['distinct']} blocks, {profile['references']} references")
    if profile["exact"] and profile.get("cold_known", True):
        faults.holds(profile["cold"] == profile["distinct"],
                     f"{what}: {profile['distinct']} blocks, but {profile['cold']} first touches")
    if rows:
        faults.holds(rows[-1][0] < profile["distinct"],
                     f"{what}: a distance of {rows[-1][0]} or more among {profile['distinct']} blocks")
    if "times" in profile:
        times = counted(profile["times"])
        faults.holds(times <= profile["references"], f"{what}: {times} time distances of {profile['references']} references")
    faults.holds(profile["complete"] == ("what_missing" not in profile), f"{what}: complete, and something missing")


def nested(profiles, faults, what):
    by_size = sorted(profiles, key=lambda profile: profile["granularity"])
    for small, large in zip(by_size, by_size[1:]):
        fold = large["granularity"] // small["granularity"]
        names = f"{what}: {small['distinct']} blocks of {small['granularity']} bytes, {large['distinct']} of {large['granularity']}"
        faults.holds(large["distinct"] <= small["distinct"] <= fold * large["distinct"], names)
        faults.holds(large["references"] <= small["references"], f"{names}: fewer references to the smaller ones")


# ---- attribution ----



def attribution_sums(profile, faults, what):
    of = profile.get("attribution")
    if not of:
        return
    edges = of["edges"]
    totals = [sum(row[i] for row in of["pairs"]) for i in (2, 3, 4)]
    faults.holds(totals == [profile["references"], profile["cold"], profile.get("beyond", 0)],
                 f"{what}: pairs have {totals} references, first touches and beyond")
    late = {}
    for use, reuse, count, cold, beyond, ranges in of["pairs"]:
        parts = cold + beyond + sum(ranges[1::2])
        if not faults.holds(parts == count, f"{what}: a pair of {count} with parts of {parts}"):
            return
        faults.holds(use is not None or cold + beyond == count or not profile["exact"],
                     f"{what}: a pair without a use that is used again")
        late[reuse] = late.get(reuse, 0) + cold + beyond + sum(
            n for r, n in zip(ranges[::2], ranges[1::2]) if edges[r] >= of["late_from"])
    used, cold_of = {}, {}
    for thing, site, count, cold, beyond, ranges in of["object_uses"]:
        faults.holds(cold + beyond + sum(ranges[1::2]) == count, f"{what}: a use of an object that does not add up")
        used[site] = used.get(site, 0) + count
        cold_of[thing] = cold_of.get(thing, 0) + cold
    for site, count in used.items():
        if not faults.holds(count <= late.get(site, 0),
                            f"{what}: site {site} has {count} late references to objects, {late.get(site, 0)} in all"):
            break
    if profile["exact"]:
        for number, count in cold_of.items():
            room = room_of(of["objects"][number], profile["granularity"])
            faults.holds(room is None or count <= room,
                         f"{what}: {count} first touches of {of['objects'][number]}, which has at most {room} blocks")


def room_of(thing, granularity):
    """The most blocks that an object can lie in. None: not known."""
    if thing["kind"] == "heap" and thing.get("blocks"):
        return thing["size"] // granularity + 2 * thing["blocks"]
    if thing["kind"] == "global" and thing.get("size"):
        return thing["size"] // granularity + 2
    return None


# ---- names ----


class Symbols:
    """Functions of a module, by readelf: name -> [(begin, size)], of the file or of its separate debug information."""

    def __init__(self):
        self.known = {}

    def of(self, module):
        path = module["path"]
        if path not in self.known:
            self.known[path] = read_symbols(path, module.get("build_id"))
        return self.known[path]


def read_symbols(path, build_id):
    table = {}
    files = [path]
    if build_id:
        files.append(f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug")
    for file in files:
        done = subprocess.run(["readelf", "-W", "-s", "--dyn-syms", file], capture_output=True, text=True, errors="replace")
        for line in done.stdout.splitlines():
            cells = line.split()
            if len(cells) < 8 or cells[3] not in ("FUNC", "IFUNC", "NOTYPE") or cells[6] == "UND" or not cells[0].endswith(":"):
                continue
            size = int(cells[2], 0)
            table.setdefault(cells[7].split("@")[0], set()).add((int(cells[1], 16), size))
    return table


def names(profile, faults, what, symbols):
    """A symbol stands only at an address that it covers, by its size; one without a size (code written in assembler)
    up to the next symbol."""
    of = profile.get("attribution")
    if not of:
        return
    wrong, references, all_references = {}, 0, 0
    counts = {}
    for row in of["pairs"]:
        counts[row[1]] = counts.get(row[1], 0) + row[2]
    for number, (module, address, path, symbol, offset, frames) in enumerate(of["sites"]):
        if module is None or symbol is None:
            continue
        name = of["strings"][symbol]
        table = symbols.of(of["modules"][module])
        if name not in table:
            continue  # demangled, or made by whoever names code without symbols
        all_references += counts.get(number, 0)
        if not any(begin <= address < begin + size if size else begin <= address for begin, size in table[name]):
            wrong[name] = wrong.get(name, 0) + 1
            references += counts.get(number, 0)
    if wrong:
        worst = max(wrong, key=wrong.get)
        faults.append(f"{what}: {len(wrong)} names stand at {sum(wrong.values())} addresses that they do not cover "
                      f"({references} of {all_references} references with a symbol): {worst}, …")


# ---- sampled, predicted ----


def sampled(profiles, faults, what, peak_bytes, seconds):
    """peak_bytes: memory that the program used at most, seconds: processor time that it took."""
    for profile in profiles:
        footprint = profile["distinct"] * profile["granularity"]
        rate = profile["references"] / seconds if seconds else 0
        spread = max(1, 64 // profile["granularity"])
        faults.holds(footprint <= peak_bytes,
                     f"{what}: a footprint of {footprint >> 10} KiB in a process of {peak_bytes >> 10} KiB at most")
        faults.holds(rate <= ACCESSES_A_CYCLE * spread * clock(),
                     f"{what}: {rate / 1e9:.1f} G references a second on a core of {clock() / 1e9:.1f} GHz")
        for size, least, most in profile.get("accuracy", {}).get("band", []):
            if not faults.holds(0 <= least <= most <= 1, f"{what}: a band from {least} to {most} at {size} blocks"):
                break


def verdict_of_samples(text, profile, faults, what):
    """No place is told to make a share of the misses where too few samples are of misses at all."""
    of = profile.get("attribution", {})
    seen = profile["sampling"]["never"] + sum(row[3] for row in of.get("pair_errors", []))
    told = re.search(r"(\w+) (lines?|places?|functions?|objects?) makes? (.*?) of the misses", text)
    faults.holds(not told or seen >= FEW_SAMPLES, f"{what}: \"{told and told.group(0)}\" from {seen} samples")


def predicted(profile, faults, what):
    sums(profile, faults, what)
    accuracy = profile.get("accuracy", {})
    least, most = accuracy.get("references_least"), accuracy.get("references_most")
    if least is not None and most is not None:
        faults.holds(least <= profile["references"] <= most,
                     f"{what}: {profile['references']} references, expected between {least} and {most}")
    faults.holds(0 <= accuracy.get("expected_overlap", 0) <= 1, f"{what}: an overlap of {accuracy.get('expected_overlap')}")


# ---- phases ----


def phases(profile, faults, what):
    found = profile["phases"]
    rows = found["phases"]
    faults.holds(rows and rows[0][0] == 0 and rows[-1][1] == profile["references"], f"{what}: phases do not cover the trace")
    faults.holds(all(a[1] == b[0] for a, b in zip(rows, rows[1:])), f"{what}: gaps between phases")
    faults.holds(sum(row[3] for row in rows) == profile["cold"],
                 f"{what}: phases have {sum(row[3] for row in rows)} first touches, the trace {profile['cold']}")
    levels = [rows] + [level["phases"] for level in found.get("inner", [])]
    for above, level in zip([None] + levels, levels):
        for row in level:
            begin, end, distinct, cold = row[:4]
            good = begin < end and cold <= distinct <= min(end - begin, profile["distinct"])
            if above and good:
                parent = above[row[5]]
                good = parent[0] <= begin and end <= parent[1] and distinct <= parent[2]
            if not faults.holds(good, f"{what}: a phase {row}"):
                return


# ---- curves, tables, text ----


def curve(text, profile, faults, what):
    """CSV of fathom mrc: misses fall, and are those of the histogram."""
    before = None
    for row in csv.DictReader(text.splitlines()):
        blocks, found, ratio = int(row["cache_blocks"]), float(row["misses"]), float(row["miss_ratio"])
        least, most = misses(profile, blocks) if blocks else (profile["references"],) * 2
        good = least - 1 <= found <= most + 1 and 0 <= ratio <= 1 and (before is None or found <= before)
        good = good and abs(ratio * profile["references"] - found) <= 1e-6 * profile["references"] + 1
        if not faults.holds(good, f"{what}: {row} where the histogram has {least} to {most}"):
            return
        before = found
    faults.holds(before is not None, f"{what}: an empty curve")


def pairs_csv(text, profile, faults, what):
    rows = list(csv.DictReader(text.splitlines()))
    for column, total in (("count", profile["references"]), ("cold", profile["cold"])):
        found = sum(int(row[column]) for row in rows)
        faults.holds(found == total, f"{what}: {column} is {found} in all, {total} in the profile")
    for row in rows:
        over = [row[column] for column in row if column.startswith("misses_") and float(row[column]) > float(row["count"])]
        if not faults.holds(not over, f"{what}: more misses than references: {row}"):
            return


def callgrind(text, profile, faults, what):
    events = re.search(r"^events: (.*)$", text, re.M).group(1).split()
    summary = [int(n) for n in re.search(r"^summary: (.*)$", text, re.M).group(1).split()]
    lines = [[int(n) for n in line.split()[1:]] for line in re.findall(r"^[+-]?\d+(?: \d+)+$|^\* (?:\d+ )+\d+$", text, re.M)]
    totals = [sum(line[i] for line in lines if len(line) > i) for i in range(len(events))]
    faults.holds(totals == summary, f"{what}: lines have {totals}, the summary {summary}")
    faults.holds(summary[0] == profile["references"], f"{what}: {summary[0]} references, {profile['references']} in the profile")
    faults.holds(all(n <= line[0] for line in lines for n in line[1:]), f"{what}: a line with more misses than references")


UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def near(shown, unit, actual):
    """Whether a number of two or three digits is this one."""
    value = float(shown.replace(",", "")) * UNITS[unit]
    return abs(value - actual) <= 0.051 * max(abs(value), abs(actual)) + 0.51


def screen(text, profiles, faults, what):
    """First sentences and tables: references, footprint and misses are those of the JSON; no share over 100 %."""
    heads = re.findall(r": ([\d.,]+) ?([kMGT]?) references? to ([\d.,]+) (bytes|[KMGT]iB)", text)
    faults.holds(len(heads) == len(profiles), f"{what}: {len(heads)} first sentences for {len(profiles)} profiles")
    for (count, unit, size, bytes_unit), profile in zip(heads, profiles):
        faults.holds(near(count, unit, profile["references"]), f"{what}: {count} {unit} references, {profile['references']} in JSON")
        footprint = profile["distinct"] * profile["granularity"]
        faults.holds(near(size, bytes_unit, footprint), f"{what}: {size} {bytes_unit}, {footprint} bytes in JSON")
    shares = [float(n.replace(",", "")) for n in re.findall(r"([\d.]+(?:e-\d+)?) %", text)]
    faults.holds(all(share <= 100 for share in shares if "±" not in text), f"{what}: a share over 100 %")
    faults.holds(not re.search(r"\b-?(nan|inf)\b", text, re.I), f"{what}: no number")
    tables = re.split(r"^cache .*misses.*$", text, flags=re.M)[1:]
    for table, profile in zip(tables, profiles):
        for cache in profile.get("caches", []):
            row = re.search(r"^%s +[\d.,]+ [KMGT]iB +([\d.,]+) ?([kMGT]?) +([\d.e-]+) %%" % re.escape(cache["name"]), table, re.M)
            if not row:
                continue
            least, most = misses(profile, cache["bytes"] // profile["granularity"])
            good = any(near(row.group(1), row.group(2), n) for n in (least, most)) or \
                least <= float(row.group(1).replace(",", "")) * UNITS[row.group(2)] <= most
            faults.holds(good, f"{what}: {row.group(0)}, where the histogram has {least} to {most}")


def read(path):
    """The profiles of a file, one for each granularity."""
    with open(path) as file:
        whole = json.load(file)
    return whole.get("profiles", [whole])


def check(profiles, faults, what, symbols):
    """What holds of every profile, whoever made it."""
    for profile in profiles:
        name = f"{what} -g {profile['granularity']}" if len(profiles) > 1 else what
        sums(profile, faults, name)
        attribution_sums(profile, faults, name)
        names(profile, faults, name, symbols)
        for part in profile.get("parts", []):
            sums(part, faults, f"{name}, a part")
            attribution_sums(part, faults, f"{name}, a part")
    nested(profiles, faults, what)
