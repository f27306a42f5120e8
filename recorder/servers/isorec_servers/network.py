# SPDX-License-Identifier: GPL-2.0-or-later
"""Network namespaces that another process made, one a node (isorec cluster)."""
import ctypes
import ipaddress
import os

from .errors import ServersError, Usage

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000


def parse(text):
    """USER,ADDRESS=PATH,ADDRESS=PATH...: a list with what each node gets; [] for "".

    USER is the path of the user namespace that they belong to, or nothing.
    """
    if not text:
        return []
    user, *spaces = text.split(",")
    out = []
    for word in spaces:
        address, _, path = word.partition("=")
        try:
            ipaddress.ip_address(address)
        except ValueError as exc:
            raise Usage("--network: ADDRESS=PATH is needed instead of '%s'" % word) from exc
        if not os.path.exists(path):
            raise Usage("--network: %s is not there" % (path or "the path of '%s'" % word))
        out.append({"user": user or None, "path": path, "address": address})
    if not out:
        raise Usage("--network: no ADDRESS=PATH in '%s'" % text)
    return out


def of_node(spaces, number):
    """What node `number` (from 1) gets, or None where there is no network."""
    if not spaces:
        return None
    if number > len(spaces):
        raise ServersError("the network has a place for %d nodes" % len(spaces))
    return spaces[number - 1]


def enter(space):
    """In a child before exec.  Signals at a parent's end must be asked for after this."""
    libc = ctypes.CDLL(None, use_errno=True)
    for path, kind in ((space["user"], CLONE_NEWUSER), (space["path"], CLONE_NEWNET)):
        if path is None:
            continue
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        if libc.setns(fd, kind) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), path)
        os.close(fd)
