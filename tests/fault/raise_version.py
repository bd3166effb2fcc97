#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a .fathom trace one of a later format version, with a correct checksum: raise_version.py IN OUT

Header fields as in docs/FORMAT.md: version at byte 8, XXH3 of the first 56 bytes at byte 56.
"""
import ctypes
import struct
import sys

data = bytearray(open(sys.argv[1], "rb").read())
struct.pack_into("<H", data, 8, 2)
xxh3 = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
xxh3.restype, xxh3.argtypes = ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_size_t]
struct.pack_into("<Q", data, 56, xxh3(bytes(data[:56]), 56))
open(sys.argv[2], "wb").write(data)
