#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
# terminal.t - report, tui and top on a pseudo-terminal, and what their user sees there.
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SRC = os.environ.get("SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
O = os.environ.get("O") or SRC + "/build"
sys.path.insert(0, SRC + "/tests/unit/terminal")
sys.dont_write_bytecode = True
try:
    from term import Terminal
except ImportError as e:
    print(f"1..0 # SKIP {e} (Debian: python3-pyte)")
    sys.exit(0)
try:
    for fd in os.openpty():
        os.close(fd)
except OSError as e:
    print(f"1..0 # SKIP no pseudo-terminal here: {e}")
    sys.exit(0)

VMPROF = O + "/vmprof"
MADE = SRC + "/tests/golden/made.vmprof"
QUANTUM = SRC + "/tests/golden/quantum.vmprof"
BLOCKS = SRC + "/tests/golden/blocks.vmprof"
QUANTUM_ENV = {"VMPROF_OBJCACHE": SRC + "/tests/golden/quantum.objects"}
tmp = tempfile.mkdtemp()
HOSTILE = tmp + "/hostile.vmprof"
ENV = {"VMPROF_OBJCACHE": SRC + "/tests/golden/objects", "VMPROF_DIR": tmp + "/captures",
       "VMPROF_RUN_DIR": tmp + "/run", "HOME": tmp}
for name in ("NO_COLOR", "PAGER", "VMPROF_PAGER", "LESS", "COLUMNS", "LINES"):
    os.environ.pop(name, None)
os.mkdir(tmp + "/run")
nr = 0


def ok(good, what, terminal=None):
    global nr
    nr += 1
    print(("ok" if good else "not ok"), nr, "-", what, flush=True)
    if not good and terminal:
        for line in terminal.show().split("\n"):
            print("# |", line)
    return good


def start(*args, **kw):
    env = dict(ENV, **kw.pop("env", {}))
    return Terminal([VMPROF, *args], env=env, **kw)


def run(*args, env=None, **kw):
    return subprocess.run([VMPROF, *args], env={**os.environ, **ENV, **(env or {})}, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60, **kw)


def widest(text):
    return max(len(line) for line in text.split("\n"))


# ------------------------------------------------------------------------- report
t = start("report", MADE, "--no-pager", lines=70)
ok(t.end() == 0, "report prints to a terminal", t)
raw = t.raw.decode()
ok("\x1b[31m 36.36\x1b[m" in raw and "\x1b[1mDomain web01\x1b[m" in raw, "with colours")
table = [line for line in t.screen.display if re.match(r" +\d+ +\d+\.\d\d  ", line)]
ok(len(table) == 17, f"each row has one line ({len(table)})", t)
ok(t.line("[unmapped user code]  ") > 0, "and names that fit are whole", t)
t = start("report", MADE, "--no-pager", columns=44, lines=90)
t.end()
table = [line for line in t.screen.display if re.match(r" +\d+ +\d+\.\d\d  ", line)]
ok(len(table) == 17 and sum("\u2026" in line for line in table) >= 8, "on a narrow one, too: long names lose their middle", t)
for view, names in ([], ("Function", "Module", "Process", "quantum_toffoli")), (["--tree"], ("Process > Thread", "shor")):
    shown = {}
    for columns in 80, 60, 40:
        t = start("report", QUANTUM, "--no-pager", "--limit", "5", *view, columns=columns, lines=300, env=QUANTUM_ENV)
        t.end()
        head = t.line("Samples    %CPU")
        shown[columns] = [x for x in ("Insn smpl", "CPI") if x in t.screen.display[head]]
        if columns >= 60:
            ok(all(t.line(x) >= head for x in names), f"with CPI, {columns} columns: names have room" + " in a tree" * bool(view), t)
        else:
            ok(re.search(r"%CPU  Fu\S*  Mo\S*  Pr|%CPU  Pro.*Function", t.screen.display[head]), f"with CPI, {columns} columns: no key is left out" + " in a tree" * bool(view), t)
    ok(shown == {80: ["Insn smpl", "CPI"], 60: shown[60], 40: []} and shown[60] in ([], ["CPI"]), f"columns that nobody asked for give way: {shown}", t)
t = start("report", QUANTUM, "--no-pager", "--columns", "samples,instruction-samples,cpi,function", columns=60, lines=120, env=QUANTUM_ENV)
t.end()
ok(t.line("Insn smpl     CPI  Function") > 0, "not those that somebody did", t)
t = start("report", MADE, "--no-pager", env={"NO_COLOR": "1"}, lines=70)
ok(t.end() == 0 and b"\x1b" not in t.raw, "NO_COLOR: none")
t = start("report", MADE, "--no-pager", term="dumb", lines=70)
ok(t.end() == 0 and b"\x1b" not in t.raw, "none on a dumb terminal")
t = start("report", MADE, "--no-pager", "--color", "always", env={"NO_COLOR": "1"}, lines=70)
ok(t.end() == 0 and b"\x1b[31m" in t.raw, "--color always overrules")
out = run("report", MADE)
ok(out.returncode == 0 and b"\x1b" not in out.stdout and b"\\x1b[1mrue" in out.stdout, "no colour in a pipe")
ok(b"\x1b[31m" in run("report", MADE, "--color", "always").stdout, "but with --color always")
out = run("report", MADE, "--color", "purple")
ok(out.returncode == 2 and b"auto, always or never, not 'purple'" in out.stderr, "--color purple is refused, exit 2")

t = start("report", MADE, env={"VMPROF_PAGER": f"tr a-z A-Z > {tmp}/paged; echo paged", "PAGER": "false"})
ok(t.end() == 0 and t.line("paged") == 0, "a terminal gets $VMPROF_PAGER", t)
ok("DOMAIN WEB01" in open(tmp + "/paged").read(), "which reads the report")
t = start("report", MADE, env={"PAGER": "head -n 1; echo left"})
ok(t.end() == 0 and t.line("left") == 1, "or $PAGER, and leaving it early is no error", t)
t = start("report", MADE, env={"PAGER": ""}, lines=70)
ok(t.end() == 0 and t.line("Domain web01") > 0, "an empty one is none", t)
t = start("report", MADE, env={"PAGER": "/none/such"})
ok(t.end() == 1 and t.line("the pager cannot be run") > 0, "one that is not there is told, exit 1", t)
t = start("report", "--no-pager", MADE, env={"PAGER": "echo paged"}, lines=70)
ok(t.end() == 0 and t.line("paged") < 0, "--no-pager has none")
out = run("report", MADE, env={"PAGER": f"touch {tmp}/no"})
ok(out.returncode == 0 and not os.path.exists(tmp + "/no"), "nor has a pipe")
if shutil.which("less"):
    t = start("report", MADE, "--limit", "0", lines=12)
    ok(t.shows("Domain web01") and t.gone("Notes"), "less pages it by default", t)
    t.press("q")
    ok(t.end() == 0, "q leaves it, exit 0")

# ---------------------------------------------------------------------------- tui
t = start("tui", MADE)
ok(t.shows("- web01", "+ shor", "+ [unknown]", "- web02"), "tui shows domains and their processes", t)
ok("100.00  - web01" in t.cursor_line(), "the cursor is on the first", t)
ok("110 samples   kernel 9.1%  user 75.5%  VMM 8.2%  steal 7.3%" in t.screen.display[1], "with its split above")
ok("red" in t.colours("+ shor") and "green" in t.colours("+ systemd"), "large shares have colours", t)
ok(t.line("t\\x1b[1mrue") > 0 and b"\x1b[1mrue" not in t.raw, "an escape sequence in a name is text", t)
t.press("down", "enter")
ok(t.shows("- shor", "+ vCPU 0"), "Enter opens a process", t)
t.press("right", "right", "right")
ok(t.shows("+ libsmall.so") and t.wait(lambda t: "libsmall" in t.cursor_line()), "Right goes on down", t)
t.press("l")
ok(t.shows("40   36.36            f1", "20   18.18            f2"), "to functions", t)
t.press("h")
ok(t.wait(lambda t: t.gone("            f1") and t.line("+ libsmall.so") > 0), "Left closes", t)
t.press("left", "left", "left")
ok(t.wait(lambda t: "- shor" in t.cursor_line()), "then goes up", t)
t.press("e")
ok(t.shows("f1", "[shor+0x123]"), "e opens all below", t)
t.press("c")
ok(t.gone("vCPU 0"), "c closes it", t)
t.press("/", *"VRING_", "enter")
ok(t.wait(lambda t: "vring_interrupt" in t.cursor_line()), "/ finds a name in closed branches, whatever its case", t)
ok(t.wait(lambda t: t.line("- systemd") > 0), "and opens the way to it", t)
t.press("/", *"nosuchname", "enter")
ok(t.shows("nothing is called 'nosuchname'"), "or says that there is none", t)
t.press("home", "/", *"do_sys", "enter")
ok(t.wait(lambda t: "do_syscall_64" in t.cursor_line()), "the first of several", t)
first = t.line("do_syscall_64")
above = t.cursor_line()
t.press("n")
ok(t.wait(lambda t: "2    1.82" in t.cursor_line() and "do_syscall_64" in t.cursor_line() and t.cursor_line() != above), "n the next one", t)
t.press("f", *"percent > 5 && bogus == 1", "enter")
ok(t.shows("no column", "Filter: percent > 5 && bogus == 1"), "f: a wrong expression is told, and can be mended", t)
t.press(*["back"] * 14, "enter")
ok(t.wait(lambda t: t.gone("Filter:") and t.gone("systemd") and t.line("filter: percent > 5") == 0), "a right one filters", t)
ok(t.shows("81   73.64  - web01"), "and the sums are of what is left", t)
t.press("f", "\x15", *"process == ", "'shor'", "enter")
ok(t.shows("67   60.91  - web01"), "another by key", t)
t.press("f", "\x15", "enter", "home")
ok(t.shows("110  100.00  - web01") and t.gone("filter:"), "an empty one is none", t)
t.press("g", "\x15", *"module,samples", "enter")
ok(t.shows("samples is a number, not a key"), "g refuses what is no key", t)
t.press("\x15", *"module,function", "enter")
ok(t.shows("Domain > Module > Function", "+ libsmall.so"), "and groups anew", t)
t.press("esc", "s", "s")
ok(t.wait(lambda t: "sort: module" in t.screen.display[0]), "s sorts by the next column, at last by name", t)
ok(t.wait(lambda t: 0 < t.line("+ (outside)") < t.line("+ [kvm]") < t.line("+ libsmall.so") < t.line("+ vmlinux")),
   "as said", t)
t.press("r")
ok(t.wait(lambda t: 0 < t.line("+ vmlinux") < t.line("+ libsmall.so") < t.line("+ [kvm]")), "r the other way round", t)
t.press("?")
ok(t.shows("Keys", "sort by the next column") and t.gone("web01  "), "? lists the keys", t)
t.press("x")
ok(t.shows("- web01"), "any key goes back", t)
t.press("home")
t.resize(8, 40)
ok(t.wait(lambda t: "? help" in t.screen.display[7] and "- web01" in t.screen.display[3]), "a smaller terminal has a smaller picture", t)
t.resize(30, 100)
ok(t.wait(lambda t: "? help" in t.screen.display[29]), "a larger one a larger", t)
t.resize(2, 3)
t.read(0.3)
t.press("down", "down", "end", "pgup", "home")
t.resize(24, 80)
ok(t.shows("- web01"), "one too small for anything does no harm", t)
t.press("q")
ok(t.end() == 0, "q leaves, exit 0")
t = start("tui", MADE, term="xterm-256color")
t.shows("- web01")
t.press("\x03")
ok(t.end() == 0 and b"\x1b[?1049l" in t.raw, "so does Ctrl-C, and the screen is as before")
t = start("tui", MADE, term="xterm-256color")
t.shows("- web01")
t.signal(signal.SIGTERM)
ok(t.end() == 0 and b"\x1b[?1049l" in t.raw, "and SIGTERM")
t = start("tui", MADE, env={"NO_COLOR": "1"})
ok(t.shows("+ shor") and not re.search(rb"\x1b\[[0-9;]*3[1-7]m", t.raw), "NO_COLOR: none", t)
t.press("q")
t.end()
for columns, titles in (80, "Samples    %CPU   Insn smpl     CPI  Domain"), (50, "Samples    %CPU  Domain"):
    t = start("tui", QUANTUM, columns=columns, env=QUANTUM_ENV)
    ok(t.shows(titles), f"with CPI, {columns} columns: names have room in tui", t)
    t.press("q")
    t.end()
for capture, columns, want in (BLOCKS, "percent,cpi", True), (BLOCKS, "percent,instructions", True), (BLOCKS, "percent,cycles", False), (QUANTUM, "percent,cpi", False), (MADE, "percent,cpi", False):
    t = start("tui", "--columns", columns, capture, env=QUANTUM_ENV)
    ok(t.wait(lambda t: t.line("web01") > 0 and t.line("Domain > Process") > 0) and ("samples   CPI by counts   kernel" in t.screen.display[1]) == want, f"tui, {columns} of {os.path.basename(capture)}: {'told' if want else 'not'} that CPI is by counts", t)
    t.press("q")
    t.end()
t = start("tui", "--filter", 'process == "shor"', "--group-by", "function", "--columns", "percent,cpi", "--sort", "function", MADE)
ok(t.wait(lambda t: t.shows("Domain > Function", "CPI", "filter: process ==", " f2") and 0 < t.line("[shor+0x123]") < t.line(" f1") < t.line(" f2")), "options are those of report", t)
t.press("q")
t.end()

# Its other views: what report --exits, --steal and --diff print
t = start("tui", MADE)
t.shows("- web01")
t.press("2")
ok(t.shows(" vmprof exits ", "Domain > Exit > Function > Module > Process", "+ NPF", "+ IOIO"), "2 shows exits", t)
ok(t.shows("9    8.18               -  - web01", "4    3.64               -    + NPF"), "with what each cost", t)
t.press("/", *"kvm_io", "enter")
ok(t.wait(lambda t: "kvm_io" in t.cursor_line() and t.line("- IOIO") > 0), "by the functions that exited", t)
t.press("3")
ok(t.shows(" vmprof steal ", "Domain > vCPU > Process > Function > Module", "8    7.27  - web01", "+ vCPU 0"), "3 what was stolen", t)
ok(t.wait(lambda t: "web01" in t.cursor_line()), "the cursor is on the domain where it was", t)
t.press("e")
ok(t.shows("- stress", "[host user code]"), "and who did it", t)
t.press("4")
ok(t.shows(" vmprof waiters ", "Domain > Function > Module > Process > vCPU > Taken by", "+ [unknown]"), "4 who waited", t)
t.press("5")
ok(t.shows("to compare, name two captures: vmprof tui --diff EARLIER LATER"), "5 needs a second capture", t)
t.press("f", *'function == "f1"', "enter")
ok(t.shows('filter: function == "f1"'), "a filter of this view's", t)
t.press("2")
ok(t.wait(lambda t: t.line(" vmprof exits ") == 0 and t.line("0    0.00               0  - web01") > 0), "goes along to one that it suits", t)
t.press("f", "\x15", *'exit == "NPF"', "enter")
ok(t.shows("4    3.64               -  - web01") and t.gone("IOIO"), "one by exit reason", t)
t.press("1")
ok(t.wait(lambda t: t.line(" vmprof exits ") < 0 and t.line("4    3.64  - web01") > 0), "suits where the time went", t)
t.press("4")
ok(t.shows("the filter does not suit this view", "8    7.27  - web01"), "but not who waited: it is left out, and that is told", t)
t.press("1")
ok(t.shows("110  100.00  - web01"), "for all views", t)
t.press("g", "\x15", *"module", "enter")
t.shows("Domain > Module")
t.press("2")
t.shows("Domain > Exit")
t.press("1")
ok(t.wait(lambda t: t.line("Domain > Module") == 2 and t.line(" vmprof exits") < 0), "a view is as it was left", t)
t.press("?")
ok(t.shows("1 2 3 4 5"), "? tells of the views", t)
t.press("x", "q")
ok(t.end() == 0, "q leaves, exit 0")
for option, title in ("--exits", " vmprof exits "), ("--steal", " vmprof steal "):
    t = start("tui", option, MADE)
    ok(t.shows(title), f"{option} begins there", t)
    t.press("1")
    ok(t.gone(title) and t.shows("+ shor"), "and goes elsewhere", t)
    t.press("q")
    t.end()

DIFF_ENV = {"VMPROF_OBJCACHE": SRC + "/tests/golden/quantum.objects"}
rows = json.loads(run("report", "--diff", "--json", "--group-by", "process,module", QUANTUM, BLOCKS, env=DIFF_ENV).stdout)["domains"][0]
modules = [r for r in rows["rows"] if r["process"] == "shor"]
shor = [sum(r[k] for r in modules) for k in ("before", "percent")]
t = start("tui", "--diff", "--group-by", "process,module", QUANTUM, BLOCKS, columns=110, env=DIFF_ENV)
ok(t.shows(" vmprof diff ", "sort: delta", " Before   After    Delta  Domain > Process > Module"), "--diff compares two captures", t)
ok(t.shows(f"before {rows['before_total']}"), "it tells of how many samples the earlier one has", t)
wanted = f"{shor[0]:7.2f} {shor[1]:7.2f}  {shor[1] - shor[0]:+7.2f}    + shor"
ok(t.shows(wanted), f"sums of a process are those of report --diff: {wanted}", t)
def changes_of(t):
    found = (re.match(r" *[\d.]+ +[\d.]+ +([+-][\d.]+)    \+ ", line) for line in t.screen.display)
    return [float(m[1]) for m in found if m]


t.wait(lambda t: len(changes_of(t)) > 2)
changes = changes_of(t)
ok(len(changes) > 2 and changes == sorted(changes, key=lambda x: -abs(x)), f"what changed most is first: {changes[:4]}", t)
t.press("/", *"ext4", "enter")
gone = next(r for r in rows["rows"] if "ext4" in r["module"])
ok(gone["samples"] == 0 and t.wait(lambda t: f"{gone['before']:7.2f}    0.00" in t.cursor_line()), "what is no more is there, too", t)
t.press("2")
ok(t.shows(" vmprof exits "), "the other views are of the later one", t)
t.press("5")
ok(t.shows(" vmprof diff ", wanted), "5 goes back to what changed", t)
t.press("f", *"delta > 1", "enter")
ok(t.wait(lambda t: t.line("filter: delta > 1") == 0 and t.gone("+ shor")), "a filter by the change", t)
t.press("1")
ok(t.shows("the filter does not suit this view"), "is for this view alone", t)
t.press("q")
ok(t.end() == 0, "q leaves, exit 0")
for args, said in (["--diff", MADE], "--diff compares two captures: vmprof tui --diff EARLIER LATER"), \
        ([MADE, MADE], "one capture at a time; --diff compares two"), (["--exits", "--steal", MADE], "give one of them"):
    out = run("tui", *args)
    ok(out.returncode == 2 and said.encode() in out.stderr, f"wrong use: {said}, exit 2")
t = start("tui", "--diff", tmp + "/none.vmprof", MADE)
ok(t.end() == 1 and t.line("cannot read") >= 0, "an earlier capture that is not there is told", t)

subprocess.run([O + "/tests/test_export", "--capture", HOSTILE], check=True, stdout=subprocess.DEVNULL)
t = start("tui", HOSTILE, columns=120, lines=60)
t.shows("Domain > Process")
for _ in range(3):
    t.press("e", "down")
t.read(0.5)
t.press("home", "e")
ok(t.wait(lambda t: "\\x" in t.show()), "hostile names are there, escaped", t)
t.read(0.5)
shown = t.show()
ok(all(c == "\n" or (ord(c) >= 32 and not 0x7f <= ord(c) < 0xa0 and not 0x202a <= ord(c) <= 0x202e) for c in shown), "no control character is on the screen", t)
ok(not re.search(rb"\x1b\](?!\x07)|\x07", t.raw), "no title is set and no bell rings")
t.press("q")
t.end()

out = run("tui", MADE)
ok(out.returncode == 1 and b"needs a terminal; vmprof report --tree" in out.stderr and not out.stdout, "tui without a terminal: what to do instead, exit 1")
t = start("tui", MADE, term="nonsense")
ok(t.end() == 1 and t.line("set TERM") >= 0, "on a terminal that nobody knows: the same", t)
t = start("tui", tmp + "/none.vmprof")
ok(t.end() == 1 and t.line("cannot read") >= 0, "a capture that is not there is told", t)
for args in ([tmp + "/nothing"], ["--diff", tmp + "/nothing", MADE], ["--diff", MADE, tmp + "/nothing"]):
    open(tmp + "/nothing", "w").close()
    t = start("tui", *args, columns=200)
    ok(t.end() == 1 and t.raw.count(b"\n") == 1 and t.line("is empty or ends within its first bytes") >= 0, "so is one with nothing in it" + (" to compare" if args[1:] else ""), t)
subprocess.run(["python3", SRC + "/tests/unit/newer.py", MADE, tmp + "/newer"], check=True)
t = start("tui", tmp + "/newer", columns=200)
ok(t.end() == 1 and t.raw.count(b"\n") == 1 and t.line("was written by a newer vmprof; read it with that one") >= 0, "so is one of a newer version", t)
open(tmp + "/unclosed", "wb").write(open(MADE, "rb").read()[:64])
t = start("tui", tmp + "/unclosed")
ok(t.shows("No domain has samples yet."), "one that has just begun has no samples, which is said", t)
t.press("down", "enter", "s", "esc", "q")
ok(t.end() == 0, "and its user can leave", t)
t = start("tui", "--domain", "nope", MADE)
ok(t.end() == 1 and t.line("holds no domain 'nope'; it holds: web01, web02") >= 0, "so is a domain that is not in it", t)
t = start("tui")
ok(t.end() == 1 and t.line("no capture under") >= 0, "so is that there is none", t)

# ---------------------------------------------------------------------------- top
out = run("top", "--batch")
ok(out.returncode == 1 and b"no session runs; vmprof top --domain NAME starts one" in out.stderr, "top without a session and a domain: exit 1")
out = run("top", "--domain", "web01")
ok(out.returncode == 1 and b"needs a terminal; --batch prints" in out.stderr, "top without a terminal: exit 1")
out = run("top", "-n", "2")
ok(out.returncode == 2 and b"--number goes with --batch" in out.stderr, "-n without -b: exit 2")
out = run("top", "-b", "--last", "soon")
ok(out.returncode == 2 and b"--last takes a time" in out.stderr, "--last soon: exit 2")

# A session as top sees it: the collector's lock, its state, and a capture that grows
capture = tmp + "/growing.vmprof"
subprocess.run([O + "/tests/test_views", "--capture", capture], check=True, stdout=subprocess.DEVNULL)
whole = open(capture, "rb").read()
blocks = [m.start() for m in re.finditer(b"VBLK", whole)]


def grow(upto):
    with open(capture + ".new", "wb") as f:
        f.write(whole[:upto])
    os.rename(capture + ".new", capture)


def totals():
    got = run("report", "--json", capture)
    return json.loads(got.stdout)["totals"]["domain_samples"]


steps = []
for at in blocks:
    grow(at)
    steps.append((totals(), at))
some = next(s for s in steps if 0 < s[0] < 100)
grow(some[1])
lock = open(tmp + "/run/lock", "w")
lock.write("1\n")
lock.flush()
fcntl.flock(lock, fcntl.LOCK_EX)
out = run("top", "--batch", "-n", "1")
ok(out.returncode == 1 and b"still being set up" in out.stderr, "a session that is being set up is told")
with open(tmp + "/run/session.json", "w") as f:
    json.dump({"running": True, "file": capture, "domains": [{"name": "web01"}]}, f)
out = run("top", "--domain", "db01", "--batch")
ok(out.returncode == 1 and b"does not profile 'db01'" in out.stderr, "a domain that the session lacks is told, exit 1")
out = run("top", "--domain", "web01", "-b", "-n", "1", "--group-by", "process", "--last", "0")
ok(out.returncode == 0 and out.stdout.count(b"Domain web01") == 1 and b"%CPU  Process" in out.stdout, "batch prints a table")
grow(64)
out = run("top", "-b", "-n", "1")
ok(out.returncode == 0 and out.stdout.startswith(b"Capture ") and not out.stderr, "so it does of a session that has just begun")
for data, said in (b"", b" is empty or ends within its first bytes"), (open(tmp + "/newer", "rb").read(), b" was written by a newer vmprof; read it with that one"):
    open(capture, "wb").write(data)
    out = run("top", "-b", "-n", "1")
    ok(out.returncode == 1 and said in out.stderr and out.stderr.count(b"\n") == 1 and not out.stdout, "of a file of that session that" + said.decode() + ": exit 1")
grow(some[1])
begun = time.monotonic()
out = run("top", "-b", "-n", "2")
ok(out.returncode == 0 and out.stdout.count(b"Domain web01") == 2 and time.monotonic() - begun >= 1, "-n 2: two, a second apart")
p = subprocess.Popen([VMPROF, "top", "-b"], env=dict(os.environ, **ENV), stdout=subprocess.PIPE)
p.stdout.readline()
p.send_signal(signal.SIGINT)
rest = p.communicate(timeout=30)[0]
ok(p.returncode == 0, "Ctrl-C ends it, exit 0")

t = start("top", "--last", "0")
ok(t.shows(f" {some[0]} samples"), "top shows the session's capture as far as it is", t)
before = t.screen.display[1]
t.press("down", "enter")
t.shows("vCPU 0")
held = t.cursor_line().split()[-1]
grow(len(whole))
ok(t.shows("100 samples"), "and what has come since, within seconds", t)
ok(before != t.screen.display[1] and t.line("vCPU 0") > 0 and t.cursor_line().split()[-1] == held, "what was open is open, the cursor where it was", t)
t.press("p")
ok(t.shows("held; p goes on"), "p holds it", t)
grow(some[1])
t.read(1.5)
t.read(1.5)
ok(t.wait(lambda t: t.line("100 samples") == 1), "it stays as it was", t)
t.press("p")
ok(t.gone("100 samples"), "and goes on", t)
os.remove(capture)
ok(t.shows("cannot read"), "a capture that went away is told", t)
ok(t.wait(lambda t: t.line("web01") > 0), "and the last picture stays", t)
grow(len(whole))
ok(t.shows("100 samples"), "until it is there again", t)
fcntl.flock(lock, fcntl.LOCK_UN)
ok(t.shows("the session has ended"), "the end of the session is told", t)
fcntl.flock(lock, fcntl.LOCK_EX)
t.press("q")
ok(t.end() == 0, "q leaves, exit 0")
ok(os.path.exists(tmp + "/run/session.json"), "a session that it did not start goes on")
t = start("top", "--last", "0", term="xterm-256color")
t.shows("- web01")
t.press("\x03")
ok(t.end() == 0 and b"\x1b[?1049l" in t.raw, "so does Ctrl-C")

shutil.rmtree(tmp)
print(f"1..{nr}")
