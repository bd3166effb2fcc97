#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a native trace by docs/FORMAT.md alone, sharing no code with fathom: read_fathom.py TRACE [address|modules]

Prints one line per reference: the address in decimal and, unless "address" is given, every column the file has. With
"modules" it prints the modules instead, a line each.
Checks everything the specification lets a reader check. XXH3 and zstd come from the system's libraries.
"""
import ctypes
import struct
import sys

xxh = ctypes.CDLL("libxxhash.so.0")
xxh.XXH3_64bits.restype = ctypes.c_uint64
xxh.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
zstd = ctypes.CDLL("libzstd.so.1")
zstd.ZSTD_decompress.restype = ctypes.c_size_t
zstd.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]

WIDTHS = [8, 4, 1, 4, 8]  # address, size, kind, thread, site


def xxh3(data):
    return xxh.XXH3_64bits(bytes(data), len(data))


def expect(condition, message):
    if not condition:
        sys.exit("read_fathom: " + message)


def unzigzag(number):
    return number >> 1 if number % 2 == 0 else ~(number >> 1)


def join(raw, at, count, planes):
    return [sum(raw[at + p * count + i] << 8 * p for p in range(planes)) for i in range(count)]


def unpack(stored, count, entry, site):
    """One column's values, and the numbers they were made of. site: the site column's entry and numbers, or None."""
    column, encoding, codec, planes, exceptions, _ = entry
    entries = exceptions if encoding == 2 else site[0][4] if encoding in (3, 4) else 0
    expect(encoding <= 4 and planes <= (2 if encoding == 2 else 0 if encoding == 3 else 8), "encoding")
    expect(encoding not in (3, 4) or (site and site[0][1] == 2), "no site table")
    if encoding == 2:
        expect(1 <= entries <= count, "entries")
        exceptions = 0
    size = count * (planes + (encoding == 1)) + 10 * exceptions + 8 * entries
    if codec == 0:
        raw = stored
    else:
        buffer = ctypes.create_string_buffer(max(size, 1))
        expect(zstd.ZSTD_decompress(buffer, size, stored, len(stored)) == size, "bad zstd frame")
        raw = buffer.raw[:size]
    expect(len(raw) == size, "column size")
    at = count if encoding == 1 else 0
    numbers = join(raw, at, count, planes)
    at += planes * count
    places = struct.unpack_from(f"<{exceptions}H", raw, at)
    longer = struct.unpack_from(f"<{exceptions}Q", raw, at + 2 * exceptions)
    for place, number in zip(places, longer):
        numbers[place] = number
    table, last = [], 0
    for number in join(raw, at + 10 * exceptions, entries, 8):
        last = last + unzigzag(number) & (1 << 64) - 1
        table.append(last)
    values = list(numbers)
    if encoding == 1:
        for i in range(count):
            before = i - 1 - raw[i]
            values[i] = ((values[before] if before >= 0 else 0) + unzigzag(numbers[i])) & (1 << 64) - 1
    elif encoding == 2:
        expect(max(numbers) < entries, "index")
        values = [table[number] for number in numbers]
    elif encoding == 3:
        values = [table[number] for number in site[1]]
    elif encoding == 4:
        for i, index in enumerate(site[1]):
            values[i] = table[index] = (table[index] + unzigzag(numbers[i])) & (1 << 64) - 1
    mask = (1 << 8 * WIDTHS[column]) - 1
    return [value & mask for value in values], numbers


def unpack_block(body, count, table):
    """Values of all columns, in the order of the table; the last column first, for the others may need it."""
    ends, used = [], 0
    for entry in table:
        used += entry[5]
        ends.append(used)
    expect(used == len(body), "payload size")
    site, columns = None, {}
    for k in [len(table) - 1] + list(range(len(table) - 1)):
        values, numbers = unpack(body[ends[k] - table[k][5]:ends[k]], count, table[k], site)
        if table[k][0] == 4:
            site = (table[k], numbers)
        columns[k] = values
    return [columns[k] for k in range(len(table))]


def read_modules(data, at, total):
    """Modules as (path, build ID, from, to, bias), and the bytes they take."""
    zero, count, payload, references, checksum = struct.unpack_from("<IIIQQ", data, at + 4)
    expect(zero == 0 and payload <= 1 << 22 and references == total, "module table")
    expect(xxh3(data[at:at + 32]) == struct.unpack_from("<Q", data, at + 32)[0], "module table checksum")
    body, modules, place = data[at + 40:at + 40 + payload], [], 0
    expect(len(body) == payload and xxh3(body) == checksum, "modules checksum")
    for _ in range(count):
        start, end, bias, path, build_id = struct.unpack_from("<QQQII", body, place)
        place += 32 + path + build_id
        expect(path > 0 and start <= end and place <= payload, "module")
        name = body[place - build_id - path:place - build_id]
        expect(b"\0" not in name, "path")
        modules.append((name.decode(), body[place - build_id:place].decode(), start, end, bias))
    expect(place == payload, "modules")
    return modules, 40 + payload


def main():
    data = open(sys.argv[1], "rb").read()
    wanted = sys.argv[2] if len(sys.argv) > 2 else "all"
    expect(data[:8] == b"\x89FATHOM\n", "magic")
    version, header_size, incompatible, _, columns, flags, most = struct.unpack_from("<HHIIIII", data, 8)
    expect((version, header_size, incompatible) == (1, 64, 0), "version")
    expect(xxh3(data[:56]) == struct.unpack_from("<Q", data, 56)[0], "header checksum")
    present = [0] + [c for c in range(1, 5) if columns >> (c - 1) & 1]
    at, total, entries = 64, 0, []
    while data[at:at + 4] == b"FmBk":
        number, zero, count, payload, first, checksum = struct.unpack_from("<HHIIQQ", data, at + 4)
        expect(number == len(present) and zero == 0 and 1 <= count <= most and first == total, "block header")
        size = 32 + 12 * number + 8
        expect(xxh3(data[at:at + size - 8]) == struct.unpack_from("<Q", data, at + size - 8)[0], "block checksum")
        body = data[at + size:at + size + payload]
        expect(len(body) == payload and xxh3(body) == checksum, "payload checksum")
        table = [struct.unpack_from("<BBBBII", data, at + 32 + 12 * k) for k in range(number)]
        expect([entry[0] for entry in table] == present, "column numbers")
        values = unpack_block(body, count, table)
        if wanted != "modules":
            for row in zip(*values[:1 if wanted == "address" else 5]):
                print(*row)
        entries.append((at, count, size + payload))
        total += count
        at += size + payload
    modules, module_bytes = [], 0
    if data[at:at + 4] == b"FmMo":
        modules, module_bytes = read_modules(data, at, total)
        at += module_bytes
    if wanted == "modules":
        for module in modules:
            print(*module)
    expect(data[at:at + 4] == b"FmIx", "index magic")
    said_bytes, blocks, references = struct.unpack_from("<IQQ", data, at + 4)
    expect((said_bytes, blocks, references) == (module_bytes, len(entries), total), "index counts")
    said = [struct.unpack_from("<QII", data, at + 24 + 16 * k) for k in range(blocks)]
    expect(said == entries, "index entries")
    end = at + 24 + 16 * blocks
    expect(xxh3(data[at:end]) == struct.unpack_from("<Q", data, end)[0], "index checksum")
    offset, again, checksum = struct.unpack_from("<QQQ", data, end + 8)
    expect((offset, again) == (at, total) and checksum == xxh3(data[end + 8:end + 24]), "footer")
    expect(data[end + 32:] == b"\nMOHTAF\x98", "end magic")


main()
