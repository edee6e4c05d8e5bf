#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""cubex.py FILE [OPTION=VALUE]... - write a Cube profile as Score-P would, of known numbers.

Written from the description of the format, without vmprof's reader:
  processes=2 threads=2  locations; ids run over threads first, so a process's are not neighbours
  counters=0             more metrics, of 64-bit integers from a fixed seed: ten digits each
  spread=0               with N, as of one program in many processes: each counter has a size of its own (four to
                         ten digits, a quarter of them is zero), from which locations differ by N percent
  packed=0 big=0 gz=0    rows packed by zlib; the other byte order; anchor.xml packed
The call tree is main (compute (inner), io); value v of row r at location l is known.
"""
import gzip
import io
import random
import struct
import sys
import tarfile
import zlib

opt = {"processes": 2, "threads": 2, "counters": 0, "spread": 0, "packed": 0, "big": 0, "gz": 0}
opt.update((k, int(v)) for k, v in (a.split("=") for a in sys.argv[2:]))
P, T = opt["processes"], opt["threads"]
L = P * T
ORDER = ">" if opt["big"] else "<"
ROWS = 4    # main 0, compute 1, inner 2, io 3: also their order, deep; wide: main, compute, io, inner

METRICS = [  # name, type, dtype, unit, struct, row -> location -> value
    ("visits", "EXCLUSIVE", "UINT64", "occ", "Q", lambda r: [1 + r] * L),
    ("time", "INCLUSIVE", "DOUBLE", "sec", "d",
     lambda r: [(10.0 + l, 7.0 + l, 2.0, 4.0)[r] for l in range(L)]),
    ("max_time", "EXCLUSIVE", "MAXDOUBLE", "sec", "d", lambda r: [float(r)] * L),
    ("PAPI_TOT_INS", "EXCLUSIVE", "UINT64", "#", "Q", lambda r: [1000 * (l + 1) + r for l in range(L)]),
    ("drift", "EXCLUSIVE", "INT32", "ticks", "i", lambda r: [-l for l in range(L)]),
    ("atoms", "EXCLUSIVE", "TAU_ATOMIC", "", "Idddd", None),
]
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
    for i, (_, _, _, _, code, value) in enumerate(METRICS):
        rows = [value(r) if value else [] for r in range(ROWS)]
        index = [r for r in range(ROWS) if rows[r] is not None]
        packed = [struct.pack(f"{ORDER}{len(rows[r])}{code}", *rows[r]) if value else b"" for r in index]
        add(tar, f"{i}.index", b"CUBEX.INDEX" + struct.pack(f"{ORDER}iHBI{len(index)}I", 1, 0, 1, len(index), *index))
        if opt["packed"]:
            packed = [zlib.compress(b) for b in packed]
            infos, at = [], 0
            for b in packed:
                infos += [0, at, len(b)]
                at += len(b)
            add(tar, f"{i}.data", b"ZCUBEX.DATA" + struct.pack(f"{ORDER}Q{len(infos)}Q", len(index), *infos) + b"".join(packed))
        else:
            add(tar, f"{i}.data", b"CUBEX.DATA" + b"".join(packed))
