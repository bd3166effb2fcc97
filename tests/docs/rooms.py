#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rooms include only what docs/ARCHITECTURE.md lets them.

  rooms.py [DIRECTORY]

Reads the table of the section "Who may include whom" and every #include of src, collect, modules and
include/fathom. A file belongs to the room whose path is the longest that its own begins with; a public header
to the room whose line names it. Where the table names a folder inside a room, it names all of them. Folders that it
does not name belong to their room, but no folders of a room may include each other in a circle, either. Prints every
include that the table does not allow, every file and header that belongs to no room, rooms that are there no more,
and circles; exit 1 when there is one.
"""
import os
import re
import sys

PAGE, SECTION = "docs/ARCHITECTURE.md", "## Who may include whom"
SOURCES = ("src", "collect", "modules", "include/fathom")
ENDINGS = (".c", ".h", ".S", ".s", ".cc", ".cpp", ".cu", ".cuh", ".inc")
SEARCHED = ("src", "include", ".", "src/cli")  # as the compiler does, after the file's own folder
PUBLIC, FOLDERS = "public headers", "its folders"

problems = []


def table():
    """Of the section: a list of lines, each a list of cells, the head left out."""
    found, inside = [], False
    with open(PAGE, encoding="utf-8") as page:
        for line in page:
            if line.startswith("## "):
                inside = line.strip() == SECTION
            if inside and line.startswith("|"):
                found.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    if len(found) < 3:
        sys.exit(f"{PAGE}: expected a table under '{SECTION}', found none")
    return found[2:]


def words(cell):
    return re.findall(r"`([^`]+)`", cell)


class Rooms:
    def __init__(self, lines):
        self.may, self.owner, self.public_only = {}, {}, set()
        for room, headers, may in lines:
            (path,) = words(room)
            self.may[path] = words(may)
            if PUBLIC in may:
                self.public_only.add(path)
            if FOLDERS in may:
                self.may[path] += [words(line[0])[0].removeprefix("src/") for line in lines
                                   if words(line[0])[0].startswith(path + "/")]
            for header in words(headers):
                if header in self.owner:
                    problems.append(f"{PAGE}: {header} belongs to {self.owner[header]} and to {path}")
                self.owner[header] = path
        short = {path.removeprefix("src/"): path for path in self.may}
        for path, may in self.may.items():
            for word in may:
                if word not in short:
                    problems.append(f"{PAGE}: {path} may include {word}, which is no room of the table")
            self.may[path] = [short[word] for word in may if word in short]
            if not os.path.exists(path):
                problems.append(f"{PAGE}: there is no {path}")

    def of(self, path):
        if path.startswith("include/fathom/"):
            return self.owner.get(path.removeprefix("include/fathom/")) or (path if path in self.may else None)
        while path and path not in self.may:
            path = os.path.dirname(path)
        return path or None

    def allows(self, room, other, path):
        return other == room or other in self.may[room] or (
            room in self.public_only and path.startswith("include/fathom/"))

    def cycle(self):
        return circle(self.may)

    def above(self, room):
        """The room that this one is a folder of, or None."""
        path = os.path.dirname(room)
        while path and path not in self.may:
            path = os.path.dirname(path)
        return path or None

    def unnamed_folders(self):
        """Folders with sources in a room of which other folders have lines of their own."""
        named = {self.above(room) for room in self.may if os.path.isdir(room)} - {None}
        return sorted({os.path.dirname(path) for path in sources()
                       if self.of(path) in named and os.path.dirname(path).startswith(self.of(path) + "/")})


def circle(graph):
    """A way through the graph that comes back to where it began, or None."""
    done, way = set(), []

    def visit(place):
        if place in way:
            return way[way.index(place):] + [place]
        if place in done:
            return None
        way.append(place)
        for other in sorted(graph.get(place, ())):
            found = visit(other)
            if found:
                return found
        way.pop()
        done.add(place)
        return None

    return next(filter(None, map(visit, sorted(graph))), None)


def sources():
    for top in SOURCES:
        for folder, _, names in sorted(os.walk(top)):
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(ENDINGS))


def includes(path):
    """(line, what is written, the file of the project that it is) of each."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            match = re.match(r'\s*#\s*include(?:_next)?\s*([<"])([^>"]+)[>"]', line)
            if not match:
                continue
            first = (os.path.dirname(path),) if match[1] == '"' else ()
            tried = (os.path.normpath(os.path.join(folder, match[2])) for folder in first + SEARCHED)
            target = next(filter(os.path.isfile, tried), None)
            if target:
                yield number, match[2], target


def main():
    if len(sys.argv) > 1:
        os.chdir(sys.argv[1])
    rooms = Rooms(table())
    checked, folders = 0, {}
    for path in sources():
        room = rooms.of(path)
        if not room:
            problems.append(f"{path}: belongs to no room of {PAGE}")
            continue
        for number, written, target in includes(path):
            checked += 1
            other = rooms.of(target)
            if other == room and os.path.dirname(target) != os.path.dirname(path):
                folders.setdefault(room, {}).setdefault(os.path.dirname(path), set()).add(os.path.dirname(target))
            if other and not rooms.allows(room, other, target):
                may = [PUBLIC] * (room in rooms.public_only) + rooms.may[room]
                problems.append(f"{path}:{number}: includes {written} of {other}; {room} may include "
                                f"{', '.join(may) or 'nothing'} ({PAGE})")
    for header in rooms.owner:
        if not os.path.exists("include/fathom/" + header):
            problems.append(f"{PAGE}: there is no include/fathom/{header}")
    for folder in rooms.unnamed_folders():
        problems.append(f"{PAGE}: {folder} has no line, as other folders of {rooms.of(folder + '/x')} have")
    for room, graph in sorted(folders.items()):
        way = circle(graph)
        if way:
            problems.append(f"{room}: its folders include each other in a circle: {' -> '.join(way)}")
    cycle = rooms.cycle()
    if cycle:
        problems.append(f"{PAGE}: rooms may include each other in a circle: {' -> '.join(cycle)}")
    print("\n".join(problems) if problems else f"{checked} includes are as the table says")
    return bool(problems)


sys.exit(main())
