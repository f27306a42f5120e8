# SPDX-License-Identifier: GPL-2.0-or-later
"""haproxy in TCP mode: the relay that records nothing, with which isorec proxy is compared."""
import os
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wire"))
from proxy_harness import wait_for  # noqa: E402


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_haproxy(folder, upstream, env):
    port = free_port()
    config = os.path.join(folder, "haproxy.cfg")
    with open(config, "w", encoding="ascii") as out:
        out.write("global\n  nbthread %d\ndefaults\n  mode tcp\n  timeout connect 10s\n"
                  "  timeout client 1h\n  timeout server 1h\nlisten db\n  bind 127.0.0.1:%d\n"
                  "  server s 127.0.0.1:%d\n" % (os.cpu_count(), port, upstream))
    process = subprocess.Popen(["haproxy", "-f", config, "-db"], stderr=subprocess.DEVNULL,
                               env=env)

    def listens():
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return True
        except ConnectionRefusedError:
            return False
    wait_for("haproxy", listens)
    return process, port
