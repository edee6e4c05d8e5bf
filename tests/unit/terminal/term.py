# SPDX-License-Identifier: GPL-2.0-only
"""A program on a pseudo-terminal, and what its user sees (pyte, which is a Linux console)."""
import errno
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

import pyte

KEYS = {"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[1~", "end": "\x1b[4~",
        "pgup": "\x1b[5~", "pgdn": "\x1b[6~", "enter": "\r", "esc": "\x1b", "f1": "\x1b[[A", "back": "\x7f"}



class Terminal:
    def __init__(self, args, lines=24, columns=80, env=None, term="linux", stdin=True):
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.code = None
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ.update(env or {}, TERM=term)
            if not stdin:
                os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            while not any(struct.unpack("HHHH", fcntl.ioctl(1, termios.TIOCGWINSZ, bytes(8)))):
                time.sleep(0.005)   # until the window has its size
            os.execvp(args[0], args)
        self.resize(lines, columns)

    def resize(self, lines, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.screen.resize(lines, columns)

    def read(self, seconds):
        """Take what comes for so long.  False: the program has closed its terminal."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError as e:
            if e.errno != errno.EIO:
                raise
            data = b""
        self.raw += data
        self.stream.feed(data)
        return bool(data)

    def wait(self, condition, seconds=20):
        """Until condition(self) holds; what it gave, else False."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            got = condition(self)
            if got:
                while select.select([self.fd], [], [], 0.05)[0] and self.read(0):
                    pass            # the rest of this picture, too
                return got
            if not self.read(0.05):
                return condition(self)
        return False

    def shows(self, *texts, seconds=20):
        return self.wait(lambda t: all(any(x in line for line in t.screen.display) for x in texts), seconds)

    def gone(self, text, seconds=20):
        return self.wait(lambda t: not any(text in line for line in t.screen.display), seconds)

    def press(self, *keys):
        for key in keys:
            os.write(self.fd, KEYS.get(key, key).encode())

    def line(self, text):
        """Number of the first line that holds a text, -1."""
        return next((i for i, line in enumerate(self.screen.display) if text in line), -1)

    def cursor_line(self):
        """The line that stands out, beside the bars at top and bottom."""
        for y in range(1, self.screen.lines - 1):
            if self.screen.buffer[y][self.screen.columns - 1].reverse:
                return self.screen.display[y]
        return ""

    def colours(self, text):
        """Colours of the first line that holds a text."""
        y = self.line(text)
        return {self.screen.buffer[y][x].fg for x in range(self.screen.columns)} if y >= 0 else set()

    def end(self, seconds=20):
        """Exit code, once the program has ended."""
        stop = time.monotonic() + seconds
        while self.code is None and time.monotonic() < stop:
            self.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while self.read(0.05) and select.select([self.fd], [], [], 0)[0]:
                    pass
                self.code = os.waitstatus_to_exitcode(status)
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        return self.code

    def signal(self, number):
        os.kill(self.pid, number)

    def show(self):
        return "\n".join(line.rstrip() for line in self.screen.display)
