#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of functions in programs as distributions ship them, stripped. Judge: readelf's rules for unwinding and symbols,
with their sizes: a function that is named holds the address; one that is called PROGRAM+0xADDRESS begins there."""
import bisect
import random
import re
import shutil

from collect_support import *

cases = []


class Names:
    """What readelf knows of a file."""

    def __init__(self, path):
        read = lambda *what: subprocess.run(["readelf", "--wide", *what, path], capture_output=True, text=True, errors="replace").stdout
        ranges = re.findall(r" FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", read("--debug-dump=frames"))
        self.frames = sorted((int(low, 16), int(high, 16)) for low, high in ranges)
        self.symbols = []  # address, size, name
        for line in read("--syms", "--dyn-syms").splitlines():
            word = line.split()
            if len(word) >= 8 and word[3] in ("FUNC", "IFUNC") and word[6] not in ("UND", "ABS"):
                self.symbols.append((int(word[1], 16), int(word[2], 0), word[7].split("@")[0]))
        self.symbols.sort()
        self.starts = [start for start, _, _ in self.symbols]
        sections = re.findall(r"\] (\.\S+) +\S+ +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", read("--sections"))
        self.linkage = [(int(start, 16), int(size, 16)) for name, start, size in sections if name.startswith(".plt")]
        # What fathom knows from elsewhere, readelf does not show here: separate debug files, compressed symbols.
        build_id = re.search(r"Build ID: ([0-9a-f]+)", read("--notes"))
        separate = build_id and f"/usr/lib/debug/.build-id/{build_id[1][:2]}/{build_id[1][2:]}.debug"
        self.judged = ".gnu_debugdata" not in [name for name, _, _ in sections] and not (separate and os.path.exists(separate))

    def frame(self, address):
        at = bisect.bisect(self.frames, (address, 1 << 64)) - 1
        return self.frames[at] if at >= 0 and address < self.frames[at][1] else None

    def named(self, address):
        """Names of the symbols of known size that hold an address."""
        return {name for start, size, name in self.symbols if start <= address < start + size}


known = {}


def check_names(profile, least):
    """The law, for all code sites of files without debug information, among them those of calls that allocate."""
    expand(profile)
    attribution = profile["attribution"]
    strings, modules = attribution["strings"], attribution["modules"]
    counts = {"named": 0, "unnamed": 0}
    for site in attribution["sites"]:
        module, address, symbol, offset = (site[word] for word in ("module", "address", "symbol", "symbol_offset"))
        if module is None or site["frames"] or not modules[module]["path"].startswith("/"):
            continue
        path = modules[module]["path"]
        names = known[path] = known.get(path) or Names(path)
        where = f"{path} {address:#x}"
        if not names.judged or any(start <= address < start + size for start, size in names.linkage):
            continue
        covering, frame = names.named(address), names.frame(address)
        if symbol is None:
            if covering or frame:
                raise Failure(f"{where} has no name, but {covering} {frame}")
            continue
        name, start = strings[symbol], address - offset
        own = re.fullmatch(re.escape(os.path.basename(path)) + r"\+0x([0-9a-f]+)", name)
        if own:
            counts["unnamed"] += 1
            if covering or not frame or frame[0] != start or int(own[1], 16) != start:
                raise Failure(f"{where} is called {name}, but {covering} {frame}")
            continue
        counts["named"] += 1
        ends = [a + size for a, size, _ in names.symbols if a == start]
        if not any(address < end for end in ends) and not (0 in [end - start for end in ends] and not covering):
            raise Failure(f"{where} is called {name} and beyond its end: {ends}")
        if covering and not name.startswith("_Z") and "(" not in name and "::" not in name and name not in covering:
            raise Failure(f"{where} is called {name}, not {covering}")
    for kind, count in least.items():
        if counts[kind] < count:
            raise Failure(f"only {counts}")


def text(name, lines):
    path = os.path.join(work, name)
    with open(path, "w") as out:
        generator = random.Random(1)
        for i in range(lines):
            out.write(f"{generator.randrange(1 << 30)} word{i % 97} {i}\n")
    return path


SORT = """local t, n = {}, tonumber(arg[1])
for round = 1, n do
  for i = 1, 3000 do t[i] = tostring(i * 7919 % 3001) end
  table.sort(t)
end"""
QUERY = ("create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < {0}) "
         "insert into t select x, x * 7919 % 10007 from c; select count(distinct b), sum(a) from t;")


def commands(more):
    """Every program with work to do; more: so many times as much."""
    lua = os.path.join(work, "sort.lua")
    with open(lua, "w") as out:
        out.write(SORT)
    number = {"lua5.4": ["lua5.4", lua, str(more)], "sqlite3": ["sqlite3", ":memory:", QUERY.format(2000 * more)],
              "gawk": ["gawk", "{n[$2]+=$1} END {for (i in n) s+=n[i]; print s}", text("in.txt", 2000 * more)],
              "jq": ["jq", "-n", f"[range({1000 * more})|tostring]|sort|length"],
              "xz": ["xz", "-1c", text("in.txt", 1000 * more)],
              "git": ["git", "hash-object", "--no-filters", text("in.txt", 1000 * more)]}
    return number


def add(name, verb, measure):
    def case():
        if not shutil.which(name):
            return f"{name} is not installed"
        if not shutil.which("readelf"):
            return "there is no readelf (binutils)"
        return measure()
    cases.append((f"{verb}: {name}", case))


def run_case(name):
    def measure():
        check_names(run(["--quiet"], commands(1)[name]).profile, {"unnamed": 20})
    return measure


def sample_case(name):
    def measure():
        path = os.path.join(work, f"sampled-{name}.json")
        command = [FATHOM, "sample", "--quiet", "--rate", "1000", "--json", path, "-o", os.devnull, "--", *commands(400)[name]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise Failure(f"{' '.join(command)}\n{done.returncode} {done.stderr}")
        with open(path) as file:
            check_names(json.load(file), {"unnamed": 3})
    return measure


def recorded():
    """A stored trace is named in the same way, when it is analysed."""
    trace, profile = os.path.join(work, "lua.fathom"), os.path.join(work, "lua.json")
    for command in (["record", "--quiet", "-o", trace, "--", *commands(1)["lua5.4"]],
                    ["analyze", "--quiet", "--json", profile, trace]):
        done = subprocess.run([FATHOM, *command], capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise Failure(f"{command}: {done.returncode} {done.stderr}")
    with open(profile) as file:
        check_names(json.load(file), {"unnamed": 20})


def typed():
    """A program that is started by a link is called as it was typed; so is the code in it."""
    if not shutil.which("lua5.4"):
        return "lua5.4 is not installed"
    folder = os.path.join(work, "links")
    link = os.path.join(folder, "sorter")
    os.makedirs(folder, exist_ok=True)
    os.symlink(shutil.which("lua5.4"), link)
    arguments, path = commands(1)["lua5.4"][1:], {"PATH": folder + os.pathsep + os.environ["PATH"]}
    for command, env in ([[link, *arguments], {}], [["sorter", *arguments], path]):
        check_called(run([], command, env=env).profile, link)
    trace = os.path.join(work, "typed.fathom")
    command = [FATHOM, "record", "--follow-children", "-o", trace, "--", "sh", "-c", "sorter " + " ".join(arguments) + "; :"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL,
                          env={**os.environ, **path})
    expect_in(f"({link})", done.stderr, "the processes that were recorded")
    sampled = os.path.join(work, "typed.json")
    command = [FATHOM, "sample", "--quiet", "--rate", "1000", "--json", sampled, "--", link, commands(400)["lua5.4"][1], "400"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL)
    if done.returncode != 0 or "sorter exited with 0" not in done.stderr:
        raise Failure(f"{done.returncode} {done.stdout} {done.stderr}")
    with open(sampled) as file:
        profile = json.load(file)
    expand(profile)
    check_called(profile, link)


def check_called(profile, link):
    expect(profile["name"], link, "the profile's name")
    attribution = profile["attribution"]
    expect([module["path"] for module in attribution["modules"] if "lua5.4" in module["path"]], [], "modules called lua5.4")
    program = [module["path"] for module in attribution["modules"]].index(link)
    names = {attribution["strings"][site["symbol"]] for site in attribution["sites"]
             if site["module"] == program and site["symbol"] is not None}
    if not any(name.startswith("sorter+0x") for name in names) or any(name.startswith("lua5.4+") for name in names):
        raise Failure(f"functions: {sorted(names)[:20]}")


for program in ("lua5.4", "jq", "xz", "sqlite3", "gawk", "git"):
    add(program, "run", run_case(program))
for program in ("lua5.4", "sqlite3", "gawk"):
    add(program, "sample", sample_case(program))
add("lua5.4", "record and analyze", recorded)
cases.append(("a program that was started by a link", typed))

if __name__ == "__main__":
    main(cases)
