# SPDX-License-Identifier: GPL-2.0-or-later
"""What the live tests share: a private server, and isorec and isotrace run against it."""
import json
import os
import subprocess

import tap


class Live:
    def __init__(self, isorec, isotrace, servers):
        self.isorec_path, self.isotrace_path, self.servers_path = isorec, isotrace, servers
        self.started = []

    def servers(self, *args):
        done = subprocess.run([self.servers_path, *args], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        if done.returncode == 77:
            raise tap.Skip(done.stderr.strip().splitlines()[-1])
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, release, *options):
        name = "corpus-test-%d-%d" % (os.getpid(), len(self.started))
        server = json.loads(self.servers("start", release, "--name=" + name, "--json",
                                         "--with-parent=%d" % os.getpid(), *options))
        self.started.append(name)
        return server

    def stop(self):
        for name in self.started:
            self.servers("stop", name)

    def run(self, path, *args, status=0, **more):
        done = subprocess.run([path, *args], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False,
                              env={**os.environ, "ISOREC_SERVERS": self.servers_path}, **more)
        assert status is None or done.returncode == status, \
            "%s: exit status %d instead of %d\n%s%s" % (
                args, done.returncode, status, done.stdout[-3000:], done.stderr[-3000:])
        return done

    def isorec(self, *args, **more):
        return self.run(self.isorec_path, *args, **more)

    def isotrace(self, *args, **more):
        return self.run(self.isotrace_path, *args, **more)
