# SPDX-License-Identifier: GPL-2.0-or-later
"""A program on a terminal of its own."""
import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

from run import SCRATCH, environment


class Terminal:
    """A shell on a terminal of its own, to type into."""

    def __init__(self, argv, columns=100, **env):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            # Here, so that the program never sees another size.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
            os.chdir(SCRATCH)
            # The terminal may be closed while a sanitized program ends: SIGHUP in the middle of the search for
            # leaks leaves that waiting for itself for ever.  The same commands are searched without a terminal.
            leaks = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
            os.execvpe(argv[0], argv, environment(**{"TERM": "xterm", "COLUMNS": None, "ASAN_OPTIONS": leaks, **env}))
        self.seen = ""

    def read_until(self, text, seconds=30):
        """Reads until the text has come; a generous limit, only reached when it never does."""
        deadline = time.monotonic() + seconds
        while text not in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.seen):
            ready, _, _ = select.select([self.fd], [], [], deadline - time.monotonic())
            assert ready, f"{text!r} did not come: {self.seen!r}"
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                data = b""
            assert data, f"{text!r} did not come: {self.seen!r}"
            self.seen += data.decode("utf-8", "replace")

    def send(self, text):
        self.seen = ""
        os.write(self.fd, text.encode())

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)
