#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a native trace by docs/FORMAT.md alone, sharing no code with fathom: read_fathom.py TRACE [address]

Prints one line per reference: the address in decimal and, unless "address" is given, every column the file has.
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


def unpack(stored, count, column, encoding, codec, planes, exceptions):
    size = count * (planes + (encoding == 1)) + 10 * exceptions
    if codec == 0:
        raw = stored
    else:
        buffer = ctypes.create_string_buffer(max(size, 1))
        expect(zstd.ZSTD_decompress(buffer, size, stored, len(stored)) == size, "bad zstd frame")
        raw = buffer.raw[:size]
    expect(len(raw) == size, "column size")
    at = count if encoding == 1 else 0
    values = [sum(raw[at + p * count + i] << 8 * p for p in range(planes)) for i in range(count)]
    at += planes * count
    places = struct.unpack_from(f"<{exceptions}H", raw, at)
    numbers = struct.unpack_from(f"<{exceptions}Q", raw, at + 2 * exceptions)
    for place, number in zip(places, numbers):
        values[place] = number
    mask = (1 << 8 * WIDTHS[column]) - 1
    if encoding == 1:
        for i in range(count):
            difference = values[i] >> 1 if values[i] % 2 == 0 else ~(values[i] >> 1)
            before = i - 1 - raw[i]
            values[i] = ((values[before] if before >= 0 else 0) + difference) & (1 << 64) - 1
    return [value & mask for value in values]


def main():
    data = open(sys.argv[1], "rb").read()
    columns_wanted = 1 if sys.argv[2:] == ["address"] else 5
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
        table, used = [], 0
        for k, column in enumerate(present):
            said, encoding, codec, planes, exceptions, stored = struct.unpack_from("<BBBBII", data, at + 32 + 12 * k)
            expect(said == column, "column number")
            table.append(unpack(body[used:used + stored], count, column, encoding, codec, planes, exceptions))
            used += stored
        expect(used == payload, "payload size")
        for row in zip(*table[:columns_wanted]):
            print(*row)
        entries.append((at, count, size + payload))
        total += count
        at += size + payload
    expect(data[at:at + 8] == b"FmIx\0\0\0\0", "index magic")
    blocks, references = struct.unpack_from("<QQ", data, at + 8)
    expect((blocks, references) == (len(entries), total), "index counts")
    said = [struct.unpack_from("<QII", data, at + 24 + 16 * k) for k in range(blocks)]
    expect(said == entries, "index entries")
    end = at + 24 + 16 * blocks
    expect(xxh3(data[at:end]) == struct.unpack_from("<Q", data, end)[0], "index checksum")
    offset, again, checksum = struct.unpack_from("<QQQ", data, end + 8)
    expect((offset, again) == (at, total) and checksum == xxh3(data[end + 8:end + 24]), "footer")
    expect(data[end + 32:] == b"\nMOHTAF\x98", "end magic")


main()
