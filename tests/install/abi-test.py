#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What compiled programs rely on is what it was: exported functions, the layout of public structs, the values of
enumerators and macros, as tests/install/abi.txt has them: first what is promised (fathom.h), then what is not
(experimental.h), which may change at any time, but is pinned so that it is not by chance. Speaks TAP.

    tests/install/abi-test.py [LIBRARY]     compares (build/libfathom.so)
    tests/install/abi-test.py --update      writes abi.txt anew; read the difference before you commit it

Types come from the debug information of an object that includes the header, prototypes from gcc -aux-info. The rules
that a change must keep are in docs/LIBRARY.md.
"""
import difflib
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from tap_cases import case, end  # noqa: E402
PINNED = os.path.join(ROOT, "tests", "install", "abi.txt")
EXPERIMENTAL = "\n# Experimental: nothing below is promised.\n\n"
HEADER = """# What programs that were compiled with libfathom rely on (LP64): tests/install/abi-test.py compares it and writes it
# (--update). The rules for changes are in docs/LIBRARY.md.
"""
# Besides structs whose sizes travel with calls: those that only the library allocates may grow at their ends too.
LIBRARY_OWN = set("""fm_profile fm_attribution fm_model fm_phases fm_accuracy fm_block_report fm_engine_info fm_format_info
                     fm_pattern_info fm_kernel fm_region_counts fm_region_statement fm_sampling fm_estimate
                     fm_pair_estimate fm_estimator_info""".split())


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout


class Entry:
    """A debugging information entry: its tag, its attributes as readelf prints them, its children."""

    def __init__(self, tag):
        self.tag, self.attributes, self.children = tag, {}, []

    def name(self):
        return self.attributes.get("name")

    def number(self, attribute, otherwise=None):
        text = self.attributes.get(attribute)
        return otherwise if text is None else int(text.split()[0], 0)


def entries_of(object_file):
    """All entries by their offsets, as children know their parents."""
    found, open_entries = {}, []
    for line in run("readelf", "--debug-dump=info", "--wide", object_file).splitlines():
        match = re.match(r" <([0-9a-f]+)><([0-9a-f]+)>: Abbrev Number: \d+ \(DW_TAG_(\w+)\)", line)
        if match:
            depth = int(match.group(1), 16)
            entry = Entry(match.group(3))
            del open_entries[depth:]
            if open_entries:
                open_entries[-1].children.append(entry)
            open_entries.append(entry)
            found[match.group(2)] = entry
            continue
        match = re.match(r"    <[0-9a-f]+>\s+DW_AT_(\w+)\s*: (.*)", line)
        if match and open_entries:
            value = re.sub(r"^\((?!offset|indirect)[^)]*\) ", "", match.group(2).strip())
            value = re.sub(r"^\((indirect[^)]*|offset[^)]*)\): ", "", value)
            open_entries[-1].attributes[match.group(1)] = value.strip()
    return found


def type_text(entries, entry, attribute="type"):
    """A type as a line of C would have it, but for the place of the name."""
    reference = entry.attributes.get(attribute)
    if reference is None:
        return "void"
    of = entries[re.match(r"<(?:0x)?([0-9a-f]+)>", reference).group(1)]
    if of.tag == "pointer_type":
        return type_text(entries, of) + " *"
    if of.tag == "const_type":
        inner = type_text(entries, of)
        return inner + " const" if inner.endswith("*") else "const " + inner
    if of.tag == "array_type":
        counts = [child.number("upper_bound") + 1 for child in of.children if child.tag == "subrange_type"]
        return type_text(entries, of) + "".join("[%d]" % count for count in counts)
    if of.tag == "subroutine_type":
        taken = [type_text(entries, child) for child in of.children if child.tag == "formal_parameter"]
        return "%s (%s)" % (type_text(entries, of), ", ".join(taken) or "void")
    if of.tag == "structure_type":
        return "struct " + (of.name() or "")
    return of.name() or of.tag


def struct_lines(entries, struct):
    lines = ["struct %s: %d bytes" % (struct.name(), struct.number("byte_size"))]
    for member in struct.children:
        lines.append("    %d %s: %s" % (member.number("data_member_location", 0), member.name(), type_text(entries, member)))
    return lines


def enum_lines(enum):
    name = "enum" + (" " + enum.name() if enum.name() else "")
    return ["%s %s = %d" % (name, child.name(), child.number("const_value")) for child in enum.children]


def tail_padding(entries, struct):
    """Bytes behind the last member."""
    def size_of(entry):
        reference = entries[re.match(r"<(?:0x)?([0-9a-f]+)>", entry.attributes["type"]).group(1)]
        if reference.tag == "array_type":
            return size_of(reference) * (reference.children[0].number("upper_bound") + 1)
        return reference.number("byte_size") or size_of(reference)
    last = struct.children[-1]
    return struct.number("byte_size") - last.number("data_member_location", 0) - size_of(last)


class Interface:
    def __init__(self, work, header):
        source, aux = os.path.join(work, "all.c"), os.path.join(work, "all.X")
        with open(source, "w") as out:
            out.write("#include <fathom/%s>\n" % header)
        flags = ["gcc", "-std=c11", "-I", os.path.join(ROOT, "include")]
        run(*flags, "-g", "-gdwarf-4", "-fno-eliminate-unused-debug-types", "-aux-info", aux, "-c", source,
            "-o", os.path.join(work, "all.o"))
        folder = os.path.join(ROOT, "include", "fathom")
        self.headers = "".join(open(path).read() for path in sorted(glob.glob(folder + "/**/*.h", recursive=True)))
        self.functions = {}
        with open(aux) as prototypes:
            for line in prototypes:
                match = re.match(r"/\* \S*/include/fathom/\S+ \*/ extern (.*?)\b(fm_\w+) (\(.*\));", line)
                if match:
                    self.functions[match.group(2)] = match.group(2) + match.group(3) + " -> " + match.group(1).strip()
        entries = entries_of(os.path.join(work, "all.o"))
        self.structs, self.enums, self.padded = {}, [], []
        sized = self.sized(const=True) - self.sized(const=False)
        for entry in entries.values():
            if entry.tag == "structure_type" and (entry.name() or "").startswith("fm_") and entry.number("byte_size"):
                self.structs[entry.name()] = struct_lines(entries, entry)
                if entry.name() in sized and tail_padding(entries, entry):
                    self.padded.append(entry.name())
            elif entry.tag == "enumeration_type" and any(child.name().startswith("FM_") for child in entry.children):
                self.enums += enum_lines(entry)
        self.macros = sorted("macro " + line[8:] for line in run(*flags, "-dM", "-E", source).splitlines()
                             if re.match(r"#define FM_(?!VERSION|API|SIZED|LIST|RETURN)", line))

    def sized(self, const):
        """Structs whose sizes travel with calls: as options (const), or as results."""
        found = {"fm_cluster_listener"} if const else set()  # a member of fm_cluster_work, which has its size too
        for declared in re.findall(r"\bFM_SIZED(?:_BY)?\(([^;{]*)\);", self.headers):
            for constant, struct in re.findall(r"(const )?(fm_\w+) \*\w+", declared):
                if re.search(r"^\w+, \w+, %s,|sizeof\(%s\)" % (struct, struct), declared) and bool(constant) == const:
                    found.add(struct)
        return found

    def text(self, but=None):
        """Everything; or everything that another interface does not have."""
        def left(own, others):
            return sorted(set(own) - set(others))
        names = left(self.functions, but.functions if but else ())
        blocks = ["\n".join(self.functions[name] for name in names),
                  "\n".join(left(self.enums, but.enums if but else ())),
                  "\n".join(left(self.macros, but.macros if but else ()))]
        blocks += ["\n".join(self.structs[name]) for name in left(self.structs, but.structs if but else ())]
        return ("\n\n".join(filter(None, blocks)) + "\n").replace("_Bool", "bool")


def parsed(text):
    """Functions, enumerators and macros by their names; structs by theirs, as (size, members)."""
    names, structs = {}, {}
    for line in text.splitlines():
        struct = re.match(r"struct (\w+): (\d+) bytes", line)
        if struct:
            members = []
            structs[struct.group(1)] = (int(struct.group(2)), members)
        elif line.startswith("    "):
            members.append(line.strip())
        elif line and not line.startswith("#"):
            key = re.search(r"\b(fm_\w+)\(|^enum (?:\w+ )?(FM_\w+) =|^macro (\w+)", line)
            names[next(group for group in key.groups() if group)] = line
    return names, structs


def breaks(before, now, may_grow):
    """What compiled programs would suffer from."""
    found = []
    for name, line in before[0].items():
        if name not in now[0]:
            found.append("gone: " + line)
        elif now[0][name] != line:
            found.append("changed: %s\n         now: %s" % (line, now[0][name]))
    for name, (size, members) in before[1].items():
        if name not in now[1]:
            found.append("gone: struct " + name)
            continue
        new_size, new_members = now[1][name]
        if (new_size, new_members) == (size, members):
            continue
        grown = new_members[: len(members)] == members and all(
            int(member.split()[0]) >= size for member in new_members[len(members):])
        if not grown:
            found.append("changed: struct %s, otherwise than by new members behind its %d bytes" % (name, size))
        elif name not in may_grow:
            found.append("grown: struct %s, whose size no call tells" % name)
    return found


def differences(before, now):
    lines = difflib.unified_diff(before.splitlines(), now.splitlines(), "abi.txt", "now", n=1, lineterm="")
    return "\n".join(lines)


def main():
    missing = [tool for tool in ("gcc", "readelf", "nm") if not shutil.which(tool)]
    if missing or sys.maxsize < 2**32:
        print("ok 1 - the binary interface # SKIP %s\n1..1" %
              ("there is no " + " and no ".join(missing) if missing else "abi.txt is of 64-bit machines"))
        return 0
    with tempfile.TemporaryDirectory() as work:
        promised = Interface(work, "fathom.h")
        interface = Interface(work, "experimental.h")
    now = HEADER + "\n" + promised.text() + EXPERIMENTAL + interface.text(but=promised)
    if sys.argv[1:] == ["--update"]:
        with open(PINNED, "w") as out:
            out.write(now)
        return 0
    with open(PINNED) as pinned:
        before = pinned.read()
    library = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build", "libfathom.so")
    exported = {line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()}
    case("what the library exports is declared in the public headers",
         ["exported, but not declared: " + name for name in sorted(exported - set(interface.functions))] +
         ["declared, but not exported: " + name for name in sorted(set(interface.functions) - exported)])
    case("options have no padding at their ends",
         ["struct %s has; docs/LIBRARY.md says why it must not" % name for name in sorted(interface.padded)])
    if before == now:
        case("the binary interface is that of abi.txt", [])
    else:
        may_grow = interface.sized(True) | interface.sized(False) | LIBRARY_OWN
        broken = breaks(parsed(before.partition(EXPERIMENTAL)[0]), parsed(now), may_grow)
        advice = ("These break compiled programs. If that is meant, and this 0.y was released, raise FM_VERSION_MINOR in\n"
                  "include/fathom/version.h; then run tests/install/abi-test.py --update and commit abi.txt with the change."
                  if broken else
                  "Nothing that compiled programs rely on has changed. If the additions are meant, run\n"
                  "tests/install/abi-test.py --update and commit abi.txt with the change.")
        case("the binary interface is that of abi.txt", [differences(before, now)] + broken + [advice])
    return end()


sys.exit(main())
