# SPDX-License-Identifier: Apache-2.0
"""Inputs that are valid in form and wrong in content: native traces whose checksums are right, and profiles that are
JSON to the last bracket. What is only damaged dies in the first check; these go further in."""
import ctypes
import json
import struct

xxh = ctypes.CDLL("libxxhash.so.0")
xxh.XXH3_64bits.restype = ctypes.c_uint64
xxh.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]

HEADER, BLOCK_FIXED, COLUMN, SUM = 64, 32, 12, 8


def checksum(data):
    return struct.pack("<Q", xxh.XXH3_64bits(bytes(data), len(data)))


def some_number(random, bits):
    """0, 1, small, around a power of two, all ones, or anything."""
    choice = random.randrange(5)
    if choice == 0:
        return random.randrange(3)
    if choice == 1:
        return random.randrange(1 << min(bits, 10))
    if choice == 2:
        return ((1 << random.randrange(bits)) + random.randrange(3) - 1) & ((1 << bits) - 1)
    if choice == 3:
        return (1 << bits) - 1
    return random.getrandbits(bits)


def change(random, data, begin, end):
    """Changes a few numbers in data[begin:end]."""
    for _ in range(random.randrange(1, 4)):
        width = random.choice([w for w in (1, 2, 4, 8) if w <= end - begin] or [0])
        if width == 0:
            return
        at = random.randrange(begin, end - width + 1)
        data[at:at + width] = some_number(random, 8 * width).to_bytes(width, "little")


def parts_of_trace(data):
    """(header begin, payload begin, end) of each block of a sound trace, and where its tail begins (docs/FORMAT.md)."""
    at, parts = HEADER, []
    while data[at:at + 4] == b"FmBk":
        columns, payload = struct.unpack_from("<H", data, at + 4)[0], struct.unpack_from("<I", data, at + 12)[0]
        behind = at + BLOCK_FIXED + COLUMN * columns + SUM
        parts.append((at, behind, behind + payload))
        at = behind + payload
    return parts, at


def hostile_trace(random, sound):
    """A sound native trace with a few numbers changed, and all checksums made right again."""
    data = bytearray(sound)
    blocks, tail = parts_of_trace(sound)
    where = random.randrange(10)
    if where == 0:
        change(random, data, 8, HEADER - SUM)
    elif where < 9 and blocks:
        begin, payload, end = random.choice(blocks)
        if random.randrange(2):
            change(random, data, begin + 4, payload - SUM)
        else:
            change(random, data, payload, end)
        data[begin + 24:begin + 32] = checksum(data[payload:end])
        data[payload - SUM:payload] = checksum(data[begin:payload - SUM])
    else:
        change(random, data, tail, len(data))
    data[HEADER - SUM:HEADER] = checksum(data[:HEADER - SUM])
    return bytes(data)


# ---- profiles ----

TEXTS = ["", "x", "../../../../etc/passwd", "/dev/zero", "/etc/shadow", "</script><script>", "\u202e\u2066", "a" * 5000, "\x7f\x01"]


def places(value, path=()):
    """Every place in a JSON value, as a path of keys and indices."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], path + (key,))
    elif isinstance(value, list):
        for index, item in enumerate(value[:40]):
            yield from places(item, path + (index,))


def other_value(random, old):
    if isinstance(old, bool) or old is None:
        return random.choice([True, False, None, 0, "x"])
    if isinstance(old, (int, float)):
        return random.choice([some_number(random, 64), some_number(random, 32), -1, 0.5, 1e300, old + 1, 2 ** 64, None, "1"])
    if isinstance(old, str):
        return random.choice(TEXTS + [0, None, []])
    if isinstance(old, list):
        return random.choice([[], old + old, old[::-1], old[1:], old * 50 if len(old) < 100 else old, {}, None, 7])
    return random.choice([{}, [], None, dict(list(old.items())[1:])])


def hostile_profile(random, sound):
    """The text of a sound profile with one to four of its values changed."""
    value = json.loads(sound)
    for _ in range(random.randrange(1, 5)):
        path = random.choice([p for p in places(value) if p])
        holder = value
        for step in path[:-1]:
            holder = holder[step]
        if random.randrange(8) == 0 and isinstance(holder, dict):
            del holder[path[-1]]
        else:
            holder[path[-1]] = other_value(random, holder[path[-1]])
    return json.dumps(value)
