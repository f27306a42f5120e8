# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers this tool did not unpack: one the user already runs, or a container image.

Both become instances like any other, so that tests and the corpus need not know the difference.
`stop` forgets the first and removes the second.
"""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import time

from . import instance, process, wire
from .errors import ServersError, Skip

CONTAINER_SECONDS = 180


def log_in(host, port, user, path=None):
    """The version, after a login with the machine's own client, which knows every plugin.

    The password, if any, is in MYSQL_PWD: never on a command line.
    """
    client = shutil.which("mariadb") or shutil.which("mysql")
    if not client:
        return
    where = ["--socket=" + path] if path else ["--protocol=tcp", "--host=" + host,
                                               "--port=%d" % port]
    done = subprocess.run([client, "--no-defaults", "--connect-timeout=10", "--user=" + user,
                           *where, "-N", "-e", "select 1"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise ServersError("login as '%s' failed: %s (a password goes into MYSQL_PWD)" %
                           (user, done.stderr.strip()))


def use(cache, host, port, user, path=None, name=None):
    """Makes an instance of a server that already runs."""
    where = path or "%s:%d" % (host, port)
    try:
        connection = wire.Connection(path=path, host=host, port=port, login=False)
    except (OSError, wire.WireError) as exc:
        raise Skip("the server at %s cannot be used: %s" % (where, exc)) from exc
    version = connection.version
    connection.close()
    log_in(host, port, user, path)
    # MariaDB greets older clients with a 5.5.5- before its version (the replication hack).
    if version.startswith("5.5.5-"):
        version = version[6:]
    about = instance.reserve(cache, "external", name)
    about.update(kind="external", state="running", host=host, port=port, user=user, socket=path,
                 version=version, datadir=None, error_log=None, options=[], socket_dir=None)
    instance.save(about)
    return about


def engine():
    """podman or docker, whichever answers."""
    reasons = []
    for program in ("podman", "docker"):
        if not shutil.which(program):
            reasons.append("%s is not installed" % program)
            continue
        done = subprocess.run([program, "info"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)
        if done.returncode == 0:
            return program
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        reasons.append("%s does not work here: %s" % (program, said[-1] if said else "no reason"))
    raise Skip("no container can be run: " + "; ".join(reasons))


def container(cache, image, options, name=None, parent=None):
    """Runs an image whose entry point takes server options, as the official ones do."""
    program = engine()
    about = instance.reserve(cache, "image", name)
    about.update(kind="container", image=image, engine=program, user="root", datadir=None,
                 error_log=None, options=list(options), socket_dir=None, parent=parent)
    done = subprocess.run(
        [program, "run", "--detach", "--publish=127.0.0.1::3306",
         "--env=MARIADB_ALLOW_EMPTY_ROOT_PASSWORD=1", "--env=MARIADB_ROOT_HOST=%",
         "--env=MYSQL_ALLOW_EMPTY_PASSWORD=1", "--env=MYSQL_ROOT_HOST=%", image, *options],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        instance.remove(about)
        raise Skip("%s cannot run %s: %s" % (program, image, done.stderr.strip()))
    about["container"] = done.stdout.split()[-1]
    try:
        instance.save(about)
        wait_container(about)
        about["state"] = "running"
        instance.save(about)
        if parent:
            watch_parent(about)
    except BaseException:
        remove_container(about)
        instance.remove(about)
        raise
    return about


def wait_container(about):
    said = subprocess.run([about["engine"], "port", about["container"], "3306/tcp"],
                          capture_output=True, text=True, check=False)
    with contextlib.suppress(ValueError, IndexError):
        about["port"] = int(said.stdout.split()[0].rpartition(":")[2])
    if not about["port"]:
        raise ServersError("%s does not say the port of %s: %s" % (
            about["engine"], about["image"], said.stderr.strip()))
    deadline = time.monotonic() + CONTAINER_SECONDS
    reason = ""
    while time.monotonic() < deadline:
        try:
            # The entry points first run a server without network, so a login by TCP is the real
            # one.
            with wire.Connection(port=about["port"]) as connection:
                about["version"] = connection.query("select @@version")[0][0]
                return
        except (OSError, wire.WireError) as exc:
            reason = str(exc)
        running = subprocess.run(
            [about["engine"], "inspect", "--format", "{{json .State.Running}}",
             about["container"]], capture_output=True, text=True, check=False)
        if running.stdout.strip() != "true":
            logs = subprocess.run([about["engine"], "logs", "--tail=5", about["container"]],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  check=False)
            raise ServersError("%s ended before it was ready:\n%s" %
                               (about["image"], logs.stdout.strip()))
        time.sleep(0.2)
    raise ServersError("%s was not ready within %d s: %s" %
                       (about["image"], CONTAINER_SECONDS, reason))


def remove_container(about):
    subprocess.run([about["engine"], "rm", "--force", "--volumes", about["container"]],
                   stdin=subprocess.DEVNULL, capture_output=True, check=False)


def watch_parent(about):
    """A process that removes the container when the parent ends."""
    if os.fork():
        return
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    process.close_from(3)
    path = os.path.join(about["rundir"], "instance.json")
    while not process.wait_end(about["parent"], 1.0):
        with contextlib.suppress(OSError, ValueError):
            with open(path, encoding="utf-8") as text:
                if json.load(text)["container"] == about["container"]:
                    continue
        os._exit(0)  # it was stopped, or the name is another's by now
    remove_container(about)
    instance.remove(about)
    os._exit(0)
