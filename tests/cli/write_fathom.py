#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a native trace by docs/FORMAT.md alone, sharing no code with fathom:

    write_fathom.py OUT [--by-site] [--block N] [--module PATH,BUILD_ID,FROM,TO,BIAS]... <LINES

Each line of standard input is a reference: address, size, kind, thread and site, all numbers as Python reads them.
Columns are coded directly, or with --by-site as tables and differences by site. Nothing is compressed.
"""
import argparse
import ctypes
import struct
import sys

xxh = ctypes.CDLL("libxxhash.so.0")
xxh.XXH3_64bits.restype = ctypes.c_uint64
xxh.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
MASK = (1 << 64) - 1


def sealed(data):
    return data + struct.pack("<Q", xxh.XXH3_64bits(bytes(data), len(data)))


def zigzag(difference):
    difference &= MASK
    return difference << 1 & MASK if difference < 1 << 63 else (MASK - difference << 1) + 1


def planes(numbers, count):
    return b"".join(bytes(number >> 8 * p & 255 for number in numbers) for p in range(count))


def length(numbers):
    return (max(numbers).bit_length() + 7) // 8


def table(values):
    return planes([zigzag(value - before) for before, value in zip([0] + values[:-1], values)], 8)


def direct(column, values):
    raw = planes(values, length(values))
    return struct.pack("<BBBBII", column, 0, 0, length(values), 0, len(raw)), raw


def by_site(rows):
    """Entries and raw bytes of the five columns; the site's index stands for size, kind, thread and site."""
    known, indices, firsts = {}, [], []
    for row in rows:
        if row[1:] not in known:
            known[row[1:]] = len(known)
            firsts.append(row)
        indices.append(known[row[1:]])
    last, codes = [row[0] for row in firsts], []
    for row, index in zip(rows, indices):
        codes.append(zigzag(row[0] - last[index]))
        last[index] = row[0]
    columns = []
    raw = planes(codes, length(codes)) + table([row[0] for row in firsts])
    columns.append((struct.pack("<BBBBII", 0, 4, 0, length(codes), 0, len(raw)), raw))
    for column in (1, 2, 3):
        raw = table([row[column] for row in firsts])
        columns.append((struct.pack("<BBBBII", column, 3, 0, 0, 0, len(raw)), raw))
    raw = planes(indices, 2) + table([row[4] for row in firsts])
    columns.append((struct.pack("<BBBBII", 4, 2, 0, 2, len(firsts), len(raw)), raw))
    return columns


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--by-site", action="store_true")
    parser.add_argument("--block", type=int, default=65536)
    parser.add_argument("--module", action="append", default=[])
    options = parser.parse_args()
    rows = [tuple(int(field, 0) for field in line.split()) for line in sys.stdin]
    data = sealed(b"\x89FATHOM\n" + struct.pack("<HHIIIII24x", 1, 64, 0, 0, 15, 1, 65536))
    entries = []
    for first in range(0, len(rows), options.block):
        piece = rows[first:first + options.block]
        columns = by_site(piece) if options.by_site else [direct(c, [row[c] for row in piece]) for c in range(5)]
        payload = b"".join(raw for _, raw in columns)
        header = b"FmBk" + struct.pack("<HHIIQ", 5, 0, len(piece), len(payload), first)
        header += sealed(payload)[-8:] + b"".join(entry for entry, _ in columns)
        entries.append(struct.pack("<QII", len(data), len(piece), len(sealed(header) + payload)))
        data += sealed(header) + payload
    module_bytes = 0
    if options.module:
        payload = b""
        for module in options.module:
            path, build_id, *numbers = module.split(",")
            payload += struct.pack("<QQQ", *(int(number, 0) for number in numbers))
            payload += struct.pack("<II", len(path), len(build_id)) + path.encode() + build_id.encode()
        header = b"FmMo" + struct.pack("<IIIQ", 0, len(options.module), len(payload), len(rows))
        header = sealed(header + sealed(payload)[-8:])
        module_bytes = len(header + payload)
        data += header + payload
    at = len(data)
    data += sealed(b"FmIx" + struct.pack("<IQQ", module_bytes, len(entries), len(rows)) + b"".join(entries))
    data += sealed(struct.pack("<QQ", at, len(rows))) + b"\nMOHTAF\x98"
    with open(options.out, "wb") as out:
        out.write(data)


main()
