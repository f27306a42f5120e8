# SPDX-License-Identifier: GPL-2.0-or-later
"""Provides, starts, lists and stops database servers.

    errors      what can go wrong, and the exit status of each
    wire        a small MySQL-protocol client: readiness, version, one query
    releases    the named releases: where each comes from, how it is run
    fetch       brings a release into the cache folder (apt, npm)
    process     identity of processes: pid plus start time, pidfd waits
    instance    one running server: run directory, supervisor, start, stop
    cluster     several instances that form a Galera or Group Replication cluster
    foreign     servers this tool did not unpack: the user's own, a container
    cli         the command line

Python's standard library only: the tool must work where nothing else is installed.
"""
