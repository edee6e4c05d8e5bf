#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""make-7.py FOLDER - the conversations of an agent, of one without its module, and of a host of protocol version 7, each
message that there is. What it wrote lies beside it and never changes: test_hostile.c and
test_agent_session.c play it to the other side as it is now. Another version gets files of its own, and a script
that begins as a copy of this one."""
import struct
import sys

VERSION = 7
OFFSET = 5000000            # the guest's clock is the host's and this (gen.h)
CR3, SHORT_CR3 = 0x5000000, 0x6000000
KERNEL = 0xffffffff81000000


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


class Stream:
    def __init__(self):
        self.seq = 0
        self.data = b''

    def say(self, kind, payload):
        head = struct.pack('<IHHII', 0x41504d56, kind, 0, len(payload), self.seq)
        crc = crc32c(head + struct.pack('<II', 0, 0) + payload)
        self.data += head + struct.pack('<II', crc, 0) + payload
        self.seq += 1

    def keep(self, name):
        with open(sys.argv[1] + '/' + name, 'wb') as f:
            f.write(self.data)
        self.data = b''


def token(value, tsc):
    return struct.pack('<QQ', value, tsc + OFFSET)


def place(nspid, cgroup=b''):
    return struct.pack('<II', nspid, len(cgroup)) + cgroup


def proc(tsc, cr3, pid, ppid, flags, comm, nr_maps=0, more=b''):
    return struct.pack('<QQIIII16sII', tsc + OFFSET, cr3, pid, pid, ppid, flags, comm, nr_maps, 0) + more


def a_map(tsc, cr3, tgid, start, end, flags, path, ino=100):
    anon = not path
    return struct.pack('<QQQQQQIIIHHII', tsc + OFFSET, cr3, start, end, 0, 0 if anon else ino, 0 if anon else 8,
                       0 if anon else 1, tgid, 5, flags, 0 if anon else 77, len(path)) + path


def ksyms(text):
    return struct.pack('<QQ', 0, len(text)) + text


APP = b'/usr/bin/app'
SYMBOLS = b'%x T do_syscall_64\n%x t end\n' % (KERNEL, KERNEL + 0x1000)
WITH_MODULE = SYMBOLS + b'%x t told_later\t[later]\n' % 0xffffffffc0000000

agent = Stream()
release = b'6.12.0-1-amd64'
agent.say(0x81, struct.pack('<II16sIIIIQQ', VERSION, 1, b'\x07' * 16, 1, 2, 1000000, len(release), 1500 + OFFSET,
                            1700000000000000000) + release)
agent.keep('agent-7-hello')

agent.say(0x90, struct.pack('<QQQQQIIIIIIII', 1540 + OFFSET, 0xffff888000000000, 1 << 46, KERNEL + 0x2000000, 0x3000000,
                            44, 2400, 2404, 2976, 0x200000, 0, 2, 0) +
          struct.pack('<IIQ', 0, 0, 0x4000000) + struct.pack('<IIQ', 1, 0, 0x4100000))
agent.say(0x82, token(1, 1550))
agent.say(0x84, proc(1600, CR3, 10, 1, 0, b'app', more=place(3, b'/system.slice/app.service')))
agent.say(0x85, a_map(1600, CR3, 10, 0x400000, 0x500000, 0, APP))
agent.say(0x85, a_map(1605, CR3, 10, 0x600000, 0x602000, 2, b''))
agent.say(0x8a, struct.pack('<IIQIIIIQQ32sII', 1, 0, 100, 8, 1, 77, 20, 12, 1600000000, bytes(range(0xa0, 0xb4)), len(APP), 0) + APP)
agent.say(0x83, token(1, 1650))
agent.say(0x8d, ksyms(SYMBOLS))
agent.say(0x8f, struct.pack('<QII', 1605 + OFFSET, 10, 0) + b'601000 100 made_by_app\n')
agent.say(0x86, proc(1700, SHORT_CR3, 20, 10, 0, b'app', more=place(4)))
agent.say(0x87, proc(1710, SHORT_CR3, 20, 10, 0, b'app'))
agent.say(0x87, proc(1720, SHORT_CR3, 20, 10, 1, b'short', more=place(4, b'/system.slice/app.service')))
agent.say(0x88, proc(1725, SHORT_CR3, 20, 10, 0, b'short'))
agent.say(0x91, struct.pack('<QQ', 1740 + OFFSET, 1730 + OFFSET))
agent.say(0x8d, ksyms(WITH_MODULE))
agent.say(0x89, proc(2600, SHORT_CR3, 20, 10, 8, b'short', 1, a_map(2500, SHORT_CR3, 20, 0x400000, 0x500000, 0, APP) + b'\0' * 4))
agent.say(0x8b, struct.pack('<Q8Q', 2700 + OFFSET, 3, 0, 0, 0, 0, 0, 0, 0))
agent.keep('agent-7-events')

agent.say(0x82, token(2, 2800))
agent.say(0x83, token(2, 2900))
agent.say(0x8c, token(2, 2950))
agent.keep('agent-7-done')

agent.say(0x8e, struct.pack('<IIQQ', 1, 0, 0, 12) + b'half')
agent.say(0x8e, struct.pack('<IIQQ', 1, 0, 4, 12) + b'and half')
agent.keep('agent-7-object')

# What /proc and perf tell: no CR3, a container's place in snapshots only, no maps at an exit, no TASKS; and why there is no module
ENOENT, NO_MODULE, LAST_WITHOUT_MAPS = 2, 1 << 2, 1 << 3 | 1 << 2


def app_by_proc(stream, tsc):
    stream.say(0x84, proc(tsc, 0, 10, 1, 0, b'app', more=place(3, b'/system.slice/app.service')))
    stream.say(0x85, a_map(tsc, 0, 10, 0x400000, 0x500000, 0, APP))
    stream.say(0x85, a_map(tsc + 5, 0, 10, 0x600000, 0x602000, 2, b''))


alone = Stream()
alone.say(0x81, struct.pack('<II16sIIIIQQ', VERSION, 1, b'\x08' * 16, 1 | NO_MODULE, 2, 0, len(release), 1500 + OFFSET,
                            1700000000000000000) + release + struct.pack('<I', ENOENT))
alone.keep('agent-7-alone-hello')

alone.say(0x82, token(1, 1550))
app_by_proc(alone, 1600)
alone.say(0x83, token(1, 1650))
alone.say(0x8a, struct.pack('<IIQIIIIQQ32sII', 1, 0, 100, 8, 1, 77, 20, 12, 1600000000, bytes(range(0xa0, 0xb4)), len(APP), 0) + APP)
alone.say(0x8d, ksyms(SYMBOLS))
alone.say(0x8f, struct.pack('<QII', 1605 + OFFSET, 10, 0) + b'601000 100 made_by_app\n')
alone.say(0x86, proc(1700, 0, 20, 10, 0, b''))
alone.say(0x87, proc(1710, 0, 20, 0, 0, b'short'))
alone.say(0x85, a_map(1715, 0, 20, 0x400000, 0x500000, 0, APP))
alone.say(0x88, proc(1725, 0, 20, 0, 0, b'short'))
alone.say(0x91, struct.pack('<QQ', 1740 + OFFSET, 1730 + OFFSET))
alone.say(0x8d, ksyms(WITH_MODULE))
alone.say(0x89, proc(2600, 0, 20, 10, LAST_WITHOUT_MAPS, b''))
alone.say(0x8b, struct.pack('<Q8Q', 2700 + OFFSET, 3, 0, 0, 0, 0, 0, 0, 0))
alone.keep('agent-7-alone-events')

alone.say(0x82, token(2, 2800))
app_by_proc(alone, 2850)
alone.say(0x83, token(2, 2900))
alone.say(0x8c, token(2, 2950))
alone.keep('agent-7-alone-done')

alone.say(0x8e, struct.pack('<IIQQ', 1, 0, 0, 12) + b'half')
alone.say(0x8e, struct.pack('<IIQQ', 1, 0, 4, 12) + b'and half')
alone.keep('agent-7-alone-object')

host = Stream()
host.say(0x01, struct.pack('<IIQQ', VERSION, 1, 0x1234, 0x100000))
host.say(0x02, struct.pack('<QQ', 1, 77) + struct.pack('<QII', len(SYMBOLS), crc32c(SYMBOLS), 0))
host.say(0x04, struct.pack('<Q', 0x1000))
host.keep('host-7-start')
host.say(0x03, struct.pack('<QQ', 2, 78))
host.say(0x05, struct.pack('<IIQ', 1, 12, 0))
host.say(0x05, struct.pack('<IIQ', 1 | 1 << 31, 12, 0))
host.keep('host-7-stop')
