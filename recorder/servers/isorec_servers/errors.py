# SPDX-License-Identifier: GPL-2.0-or-later
"""What can go wrong, and the exit status of each (semantics.md, section 10; 77 is meson's skip)."""

EXIT_OK = 0
EXIT_USAGE = 2
EXIT_FAILED = 4
EXIT_SKIP = 77


class ServersError(Exception):
    """A failure with a message complete enough to print."""

    status = EXIT_FAILED


class Usage(ServersError):
    """The command line asks for something that is not there."""

    status = EXIT_USAGE


class Skip(ServersError):
    """The release cannot be had here: not a failure, but never a silent pass either."""

    status = EXIT_SKIP


class PortTaken(ServersError):
    """Another process got the port first; the caller tries the next one."""
