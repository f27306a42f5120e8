# SPDX-License-Identifier: GPL-2.0-or-later
"""Identity of processes.  A pid alone names nothing: it is used again.  (pid, start time) does."""
import ctypes
import os
import select
import signal

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def start_time(pid):
    """Start of the process in clock ticks after boot, or None when there is none."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as stat:
            fields = stat.read().rpartition(b")")[2].split()
    except OSError:
        return None
    if fields[0] in (b"Z", b"X"):
        return None  # dead, and only not yet waited for
    return int(fields[19])


def command_line(pid):
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as cmdline:
            return cmdline.read().rstrip(b"\0").split(b"\0")
    except OSError:
        return []


def boot():
    """Names the running system's life: start times of two boots must not be compared."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as text:
            return text.read().strip()
    except OSError:
        return ""


def identity(pid):
    return {"pid": pid, "start": start_time(pid), "boot": boot()}


def alive(who):
    """Whether exactly this process still runs."""
    return (bool(who) and who["start"] is not None and who["boot"] == boot() and
            start_time(who["pid"]) == who["start"])


def send(who, signum):
    """Signals this process, never another that got its pid.  False when it is gone."""
    try:
        fd = os.pidfd_open(who["pid"])
    except OSError:
        return False
    try:
        # The descriptor pins the process; only now does the comparison mean anything.
        if not alive(who):
            return False
        signal.pidfd_send_signal(fd, signum)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(fd)


def wait_end(who, seconds):
    """Waits until the process has ended; False when it is still there after that time."""
    try:
        fd = os.pidfd_open(who["pid"])
    except OSError:
        return True
    try:
        if not alive(who):
            return True
        return bool(select.select([fd], [], [], seconds)[0])
    finally:
        os.close(fd)


def adopt_orphans():
    """Descendants whose parent dies become children of this process (prctl(2))."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_children():
    """Ends whatever a server left behind (scripts of a state transfer).  After adopt_orphans."""
    while True:
        try:
            with open("/proc/self/task/%d/children" % os.getpid(), encoding="ascii") as text:
                children = [int(word) for word in text.read().split()]
        except OSError:
            return
        if not children:
            return
        for child in children:
            try:
                os.kill(child, signal.SIGKILL)  # our own child: its pid cannot be used again yet
            except ProcessLookupError:
                pass
            try:
                os.waitpid(child, 0)
            except ChildProcessError:
                pass


def close_from(lowest, keep=()):
    """Closes every descriptor from `lowest` on but those of `keep`.

    The open ones are asked for: a limit of a thousand million descriptors is not rare.
    """
    for word in os.listdir("/proc/self/fd"):
        if int(word) >= lowest and int(word) not in keep:
            try:
                os.close(int(word))
            except OSError:
                pass  # that of the listing itself


def die_with_parent(parent):
    """In a child before exec: a TERM when `parent` dies, however it dies (prctl(2)).

    To be called after any change of user: such a change takes the request back.
    """
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # it was already gone
