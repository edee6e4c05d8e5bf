#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""cubex.py FILE [OPTION=VALUE]... - write a Cube profile as Score-P would, of known numbers.

Written without vmprof's reader, from pyCubexR's description of the format (docs/cube_file_format.md) and, where that is
silent, from Cube's own writer and reader (cubew_metric.c, CubeROZRowsSupplier.cpp):
  processes=2 threads=2  locations; ids run over threads first, so a process's are not neighbours
  counters=0             more metrics, of 64-bit integers from a fixed seed: ten digits each
  spread=0               with N, as of one program in many processes: each counter has a size of its own (four to
                         ten digits, a quarter of them is zero), from which locations differ by N percent
  packed=0 big=0 gz=0    rows packed by zlib; the other byte order; anchor.xml packed
  backward=0 holes=0     packed rows lie in the file from the last to the first; those of zeros are not written
  dense=0                the index lists no call paths: there are rows of all
  reals=0                with 1, one more metric, of real numbers: REALS, a location each
  roots=1                with 2, there is another call path beside main
The call tree is main (compute (inner), io); value v of row r at location l is known.
"""
import gzip
import io
import random
import struct
import sys
import tarfile
import zlib

opt = {"processes": 2, "threads": 2, "counters": 0, "spread": 0, "packed": 0, "big": 0, "gz": 0,
       "backward": 0, "holes": 0, "dense": 0, "reals": 0, "roots": 1}
opt.update((k, int(v)) for k, v in (a.split("=") for a in sys.argv[2:]))
P, T = opt["processes"], opt["threads"]
L = P * T
ORDER = ">" if opt["big"] else "<"
ROWS = 3 + opt["roots"]    # main 0, compute 1, inner 2, io 3, the other root 4: also their order, deep
WIDE = [0, 1, 3, 2, 4][:ROWS]    # in which inclusive metrics have them

METRICS = [  # name, type, dtype, unit, struct, row -> location -> value
    ("visits", "EXCLUSIVE", "UINT64", "occ", "Q", lambda r: [1 + r] * L),
    ("time", "INCLUSIVE", "DOUBLE", "sec", "d",
     lambda r: [(10.0 + l, 7.0 + l, 2.0, 4.0, 100.0)[r] for l in range(L)]),
    ("max_time", "EXCLUSIVE", "MAXDOUBLE", "sec", "d", lambda r: [float(r)] * L),
    ("PAPI_TOT_INS", "EXCLUSIVE", "UINT64", "#", "Q", lambda r: [1000 * (l + 1) + r for l in range(L)]),
    ("drift", "EXCLUSIVE", "INT32", "ticks", "i", lambda r: [-l for l in range(L)]),
    ("atoms", "EXCLUSIVE", "TAU_ATOMIC", "", "Idddd", None),
]
REALS = [0.125, 999999999, 1e9, 12345678901, -3, 0]
if opt["reals"]:
    METRICS.append(("rate", "EXCLUSIVE", "DOUBLE", "", "d", lambda r: REALS[:L] if r == 0 else None))
rng = random.Random(1)


def counter(n):
    if not opt["spread"]:
        return [rng.randrange(10 ** 9, 10 ** 10) for _ in range(L)]
    size = 10 ** rng.uniform(4, 10) if n % 4 != 3 else 0
    return [round(size * max(0, rng.gauss(1, opt["spread"] / 100))) for _ in range(L)]


for n in range(opt["counters"]):
    METRICS.append((f"counter_{n}", "EXCLUSIVE", "UINT64", "#", "Q", lambda r, n=n: counter(n) if r == 0 else None))


def anchor():
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<cube version="4.4">\n<attr key="Creator" value="cubex.py"/>\n<metrics>\n'
    for i, (name, kind, dtype, unit, _, _) in enumerate(METRICS):
        yield (f'<metric id="{i}" type="{kind}"><disp_name>{name}</disp_name><uniq_name>{name}</uniq_name>'
               f'<dtype>{dtype}</dtype><uom>{unit}</uom><url/><descr/></metric>\n')
    yield '</metrics>\n<program>\n<region id="0"><name>main &lt;&amp;&gt;</name></region>\n'
    yield '<cnode id="0" calleeId="0"><cnode id="1" calleeId="0"><cnode id="2" calleeId="0"/></cnode><cnode id="3" calleeId="0"/></cnode>\n'
    yield '<cnode id="4" calleeId="0"/>\n' * (opt["roots"] - 1)
    yield '</program>\n<system><systemtreenode Id="0"><name>machine</name><class>machine</class>\n'
    for p in range(P):
        yield f'<locationgroup Id="{p}"><name>MPI Rank {p}</name><rank>{p}</rank><type>process</type>\n'
        for t in range(T):
            yield f'<location Id="{t * P + p}"><name>thread {t}</name><rank>{t}</rank><type>thread</type></location>\n'
        yield '</locationgroup>\n'
    yield '</systemtreenode></system>\n</cube>\n'


def add(tar, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


with tarfile.open(sys.argv[1], "w", format=tarfile.USTAR_FORMAT) as tar:
    text = "".join(anchor()).encode()
    add(tar, "anchor.xml", gzip.compress(text, mtime=0) if opt["gz"] else text)
    for i, (_, kind, _, _, code, value) in enumerate(METRICS):
        rows = [value(r) if value else [] for r in (WIDE if kind == "INCLUSIVE" else range(ROWS))]
        if opt["dense"]:
            rows = [[0] * L if r is None else r for r in rows]
        index = [r for r in range(ROWS) if rows[r] is not None]
        packed = [struct.pack(f"{ORDER}{len(rows[r])}{code}", *rows[r]) if value else b"" for r in index]
        head = b"CUBEX.INDEX" + struct.pack(f"{ORDER}iHB", 1, 0, 3 if opt["dense"] else 1)
        add(tar, f"{i}.index", head if opt["dense"] else head + struct.pack(f"{ORDER}{len(index) + 1}I", len(index), *index))
        if opt["packed"]:
            infos, streams = [0] * 3 * len(packed), b""
            for n in range(len(packed))[::-1 if opt["backward"] else 1]:
                stream = b"" if opt["holes"] and not any(packed[n]) else zlib.compress(packed[n])
                if stream:
                    infos[3 * n:3 * n + 3] = [n * len(packed[n]), len(streams), len(stream)]
                streams += stream
            add(tar, f"{i}.data", b"ZCUBEX.DATA" + struct.pack(f"{ORDER}Q{len(infos)}Q", len(index), *infos) + streams)
        else:
            add(tar, f"{i}.data", b"CUBEX.DATA" + b"".join(packed))
