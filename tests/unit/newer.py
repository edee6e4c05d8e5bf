#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""newer.py CAPTURE NEWER - a capture as of a version of the format that this vmprof does not read."""
import struct
import sys


def crc32c(data):
    c = 0xffffffff
    for b in data:
        c ^= b
        for _ in range(8):
            c = c >> 1 ^ (0x82f63b78 if c & 1 else 0)
    return c ^ 0xffffffff


b = bytearray(open(sys.argv[1], "rb").read())
struct.pack_into("<II", b, 8, 99, 98)    # its version, and the oldest that can read it
struct.pack_into("<I", b, 56, 0)
struct.pack_into("<I", b, 56, crc32c(bytes(b[:64])))
open(sys.argv[2], "wb").write(b)
