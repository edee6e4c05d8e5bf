#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""readers.py FORMAT FILE - read an export with Python's own parsers; print its samples.

Formats are checked here against their published descriptions, by code that shares
nothing with the writers:
  gecko        docs-developer/gecko-profile-format.md of the Firefox Profiler
  chrome       "Trace Event Format": complete events nest, metadata names all threads
  perf-script  the layout that stackcollapse-perf.pl and the Firefox Profiler take apart
What these cannot show is that the tools draw it well: tests/browser/exports.js
opens them in one that is not ours.
"""
import collections
import csv
import json
import re
import sys


def schema(name, text):
    import jsonschema
    with open(name, encoding="utf-8") as f:
        wanted = json.load(f)
    jsonschema.Draft7Validator.check_schema(wanted)
    jsonschema.validate(json.loads(text), wanted, cls=jsonschema.Draft7Validator)


def read_json(text, schema_file):
    schema(schema_file, text)
    j = json.loads(text)
    rows = sum(r["samples"] for r in j["rows"])
    assert rows == sum(d["samples"] for d in j["domains"]), "rows and domains differ"
    names = {d["name"] for d in j["domains"]}
    assert all(r["domain"] in names for r in j["rows"])
    return rows


def read_speedscope(text, schema_file):
    schema(schema_file, text)
    j = json.loads(text)
    total = 0
    for p in j["profiles"]:
        assert len(p["samples"]) == len(p["weights"])
        assert all(0 <= f < len(j["shared"]["frames"]) for s in p["samples"] for f in s)
        assert sum(p["weights"]) == p["endValue"] - p["startValue"]
        total += sum(p["weights"])
    return total


def read_csv(text, _):
    rows = list(csv.reader(text.splitlines(keepends=True), strict=True))
    head = rows[0]
    assert all(len(r) == len(head) for r in rows), "rows differ in length"
    assert all(not c or c[0] not in "=+-@\t\r" for r in rows for c in r), "a cell is a formula"
    return sum(int(r[head.index("samples")]) for r in rows[1:])


def read_folded(text, _):
    total = 0
    seen = set()
    for line in text.splitlines():
        stack, n = line.rsplit(" ", 1)
        assert len(stack.split(";")) == 4 and stack not in seen, line
        seen.add(stack)
        total += int(n)
    return total


def read_gecko(text, _):
    j = json.loads(text)
    assert j["meta"]["version"] == 24 and j["meta"]["interval"] > 0
    colors = {"transparent", "purple", "green", "orange", "yellow", "lightblue", "blue", "brown",
              "magenta", "red", "lightred", "darkgrey", "grey"}
    categories = j["meta"]["categories"]
    assert all(c["color"] in colors and c["subcategories"] for c in categories)
    assert any(c["color"] == "grey" for c in categories), "the profiler needs a grey category"
    total = 0
    for t in j["threads"]:
        table = {k: t[k]["schema"] for k in ("samples", "frameTable", "stackTable", "markers")}
        frames, stacks, strings = t["frameTable"]["data"], t["stackTable"]["data"], t["stringTable"]
        for f in frames:
            assert len(f) <= len(table["frameTable"])
            assert isinstance(strings[f[table["frameTable"]["location"]]], str)
            assert f[table["frameTable"]["category"]] < len(categories)
        for i, s in enumerate(stacks):
            prefix = s[table["stackTable"]["prefix"]]
            assert prefix is None or 0 <= prefix < i, "a stack before its prefix"
            assert 0 <= s[table["stackTable"]["frame"]] < len(frames)
            location = strings[frames[s[table["stackTable"]["frame"]]][table["frameTable"]["location"]]]
            assert prefix is None or re.match(r"^(.*) \(in ([^)]*)\)$", location, re.S), location
        last = 0
        for s in t["samples"]["data"]:
            assert 0 <= s[table["samples"]["stack"]] < len(stacks)
            assert s[table["samples"]["time"]] >= last, "times go backwards"
            last = s[table["samples"]["time"]]
        total += len(t["samples"]["data"])
    return total


def read_chrome(text, _):
    j = json.loads(text)
    threads = collections.defaultdict(list)
    named = set()
    for e in j["traceEvents"]:
        assert isinstance(e["pid"], int) and isinstance(e["tid"], int)
        if e["ph"] == "M":
            named.add((e["pid"], e["tid"]))
            continue
        assert e["ph"] == "X" and e["dur"] >= 0 and e["ts"] >= 0
        threads[e["pid"], e["tid"]].append((round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000), e))
    total = 0
    for thread, events in threads.items():
        assert thread in named, "a thread without a name"
        open_until = []
        # the longer one first, else the first in the file, as Perfetto and speedscope do
        for begin, end, e in sorted(events, key=lambda x: (x[0], -x[1])):
            while open_until and open_until[-1] <= begin and (end > begin or open_until[-1] < begin):
                open_until.pop()
            assert not open_until or end <= open_until[-1], "slices overlap"
            assert end == begin or len(open_until) == (e["cat"] != "process"), "not a function in a process"
            open_until.append(end)
            total += 0 if e["cat"] == "process" else e["args"]["samples"]
    return total


def read_perf_script(text, _):
    head = re.compile(r"^(\S.+?)\s+(\d+(?:/\d+)?)\s+\[(\d+)\]\s+(\d+\.\d+):\s+(\d+)\s+(\S+):$")
    frame = re.compile(r"^\s+([0-9a-f]+)\s+(.+?)\s+\((\S+)\)$")
    stack = re.compile(r"^( 0x[0-9a-f]+/0x[0-9a-f]+/[MP]/-/-/\d+)+$")
    total, last = 0, 0.0
    assert not text or text.endswith("\n\n")
    for sample in text[:-2].split("\n\n") if text else []:
        lines = sample.split("\n")
        m = head.match(lines[0])
        assert m, lines[0]
        assert frame.match(lines[1]), lines[1]
        assert len(lines) == 2 or (len(lines) == 3 and stack.match(lines[2])), sample
        assert float(m[4]) >= last, "times go backwards"
        last = float(m[4])
        total += 1
    return total


# "Trace Event Format" as vmprof timeline writes it: slices of a thread follow each other
def read_trace(text, _):
    samples, named, last = 0, set(), {}
    for e in json.loads(text)["traceEvents"]:
        thread = e["pid"], e["tid"]
        assert isinstance(e["pid"], int) and isinstance(e["tid"], int) and isinstance(e["name"], str)
        if e["ph"] == "M":
            assert e["name"] in ("process_name", "thread_name") and isinstance(e["args"]["name"], str)
            named.add(thread)
            continue
        assert thread in named, "a thread without a name"
        assert isinstance(e["cat"], str) and e["ts"] >= 0 and e["ts"] > last.get(thread, 0) - 0.0002, e
        assert e["ph"] == "X" and e["dur"] >= 0 or e["ph"] == "i" and e["s"] == "t", e
        last[thread] = e["ts"] + e.get("dur", 0)
        samples += e["ph"] == "i" and e["name"] == "sample"
    return samples


# pre-aggregated profiles of llvm-bolt: DataAggregator.h there; the sum of branches
def read_bolt(text, _):
    line = re.compile(r"^(?:B ([0-9a-f]+|X:0) ([0-9a-f]+|X:0) (\d+) (\d+)|[Ff] ([0-9a-f]+) ([0-9a-f]+) \d+)$")
    total, seen = 0, set()
    for l in text.splitlines():
        m = line.match(l)
        assert m, l
        key = l.split()[:3]
        assert tuple(key) not in seen, l
        seen.add(tuple(key))
        if m[5]:
            assert int(m[5], 16) <= int(m[6], 16), l
        else:
            assert int(m[4]) <= int(m[3]) and (m[1], m[2]) != ("X:0", "X:0"), l
            total += int(m[3])
    return total


# sections of so many lines: code that ran on, samples (not for llvm-profgen), branches
def read_autofdo(text, _, sections=("-", None, "->")):
    lines, total = iter(text.splitlines()), 0
    for between in sections:
        last = -1, -1
        for _ in range(int(next(lines))):
            l = next(lines)
            where, n = l.rsplit(":", 1)
            key = tuple(int(a, 16) for a in where.split(between))
            assert len(key) == (2 if between else 1) and key > last and int(n) > 0, l
            assert between != "-" or key[0] <= key[1], l
            last = key
            total += int(n) if between == "->" else 0
    assert next(lines, None) is None, "lines behind the last section"
    return total


def read_llvm_profgen(text, _):
    return read_autofdo(text, None, ("-", "->"))


def main():
    kind, name = sys.argv[1:3]
    with open(name, encoding="utf-8", errors="strict", newline="") as f:
        text = f.read()
    print(globals()["read_" + kind.replace("-", "_")](text, *(sys.argv[3:] or [None])))


main()
