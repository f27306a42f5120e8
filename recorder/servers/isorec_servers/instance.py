# SPDX-License-Identifier: GPL-2.0-or-later
"""One running server.

    RUN/NAME/instance.json   everything about it; replaced whole, never edited
    RUN/NAME/data            its data directory
    RUN/NAME/error.log       what it says
    RUN/NAME/pid             the pid file it writes

RUN is CACHE/run, or a folder of the cache's own in ISOREC_SERVERS_RUN.

Every server has a supervisor, a small process that is its parent.  Invariants:
 1. The server dies with its supervisor (PR_SET_PDEATHSIG), whatever kills that one.
 2. The supervisor ends the server when the process of --with-parent ends, or when the `start`
    command dies before the server is ready; it then also removes the run directory.  After a
    failed restart the data stay as long as the process of --with-parent.
 3. instance.json names processes by pid, start time and boot: a stale one is never signalled.
 4. A port is the server's once it has bound it; when another process was faster, the next port is
    tried.  That it is ready, and ours, is seen by asking it through the socket file in its own
    run directory.
"""
import contextlib
import fcntl
import hashlib
import json
import os
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from . import fetch, network, process, wire
from .errors import PortTaken, ServersError, Usage

SOCKET_PATH_MAX = 100  # sun_path has 108 bytes, and servers keep a few for themselves
READY_SECONDS = 90
STOP_SECONDS = 60
PORT_ATTEMPTS = 20
# Below the range of ports that outgoing connections get (ip_local_port_range: 32768 and up).
PORTS = (21000, 32000)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
RUN_VARIABLE = "ISOREC_SERVERS_RUN"
TEMPLATE_VERSION = "1"  # to be changed with whatever changes a fresh data directory

LEVELS = {"RU": "READ-UNCOMMITTED", "RC": "READ-COMMITTED", "RR": "REPEATABLE-READ",
          "SER": "SERIALIZABLE", "S": "SERIALIZABLE"}


def level(word):
    """READ-COMMITTED from rc, RC, read_committed, "read committed" …"""
    plain = word.upper().replace("_", "-").replace(" ", "-")
    plain = LEVELS.get(plain, plain)
    if plain not in LEVELS.values():
        raise Usage("no isolation level is called '%s': RU, RC, RR, SER or the full name" % word)
    return plain


# Run directories -------------------------------------------------------------------------------

def run_root(cache):
    """The folder of all run directories of a cache.

    ISOREC_SERVERS_RUN puts them elsewhere, for example into memory: a server that need not outlive
    a loss of power waits for no disk there.  Each cache has a folder of its own in it, as two
    caches may have instances of the same name.
    """
    elsewhere = os.environ.get(RUN_VARIABLE)
    if not elsewhere:
        return os.path.join(cache, "run")
    return os.path.join(os.path.abspath(elsewhere),
                        hashlib.sha256(os.path.abspath(cache).encode()).hexdigest()[:8])


def run_dir(cache, name):
    return os.path.join(run_root(cache), name)


def save(about):
    path = os.path.join(about["rundir"], "instance.json")
    with open(path + ".new", "w", encoding="utf-8") as out:
        json.dump(about, out, indent=1)
    os.replace(path + ".new", path)


def load(cache, name):
    """What is known of the instance, or None."""
    return load_from(run_dir(cache, name))


def load_from(rundir):
    try:
        with open(os.path.join(rundir, "instance.json"), encoding="utf-8") as text:
            return json.load(text)
    except (OSError, ValueError):
        return None


def names(cache):
    try:
        return sorted(name for name in os.listdir(run_root(cache))
                      if load(cache, name))
    except OSError:
        return []


def state(about):
    """running, starting, stopped, exited, or stale (gone, and its end was not noted)."""
    if about["kind"] != "private":
        return about["state"]
    if about["state"] == "starting":
        return "starting" if process.alive(about["starter"]) else "stale"
    if about["state"] == "running" and not process.alive(about["server"]):
        return "exited" if process.alive(about["supervisor"]) else "stale"
    return about["state"]


def remove(about):
    if about.get("socket_dir"):
        shutil.rmtree(about["socket_dir"], ignore_errors=True)
    if about.get("folder"):
        shutil.rmtree(about["folder"], ignore_errors=True)
    shutil.rmtree(about["rundir"], ignore_errors=True)


def run_lock(cache):
    return fetch.locked(os.path.join(cache, "locks", "run"))


def reserve(cache, release, name, group=None):
    """A run directory of that name, or of the release's name and a number."""
    if name and not NAME.match(name):
        raise Usage("'%s' cannot be a name: letters, digits, '.', '_', '-', at most 64" % name)
    fetch.make_folder(run_root(cache), RUN_VARIABLE if os.environ.get(RUN_VARIABLE) else
                      "--cache or ISOREC_SERVERS_CACHE")
    with run_lock(cache):
        number = 1
        while True:
            wanted = name or (release if number == 1 else "%s-%d" % (release, number))
            old = load(cache, wanted)
            if old is None and not os.path.exists(run_dir(cache, wanted)):
                break
            if name and old and state(old) in ("running", "starting"):
                raise Usage("an instance called '%s' is %s (port %s); stop it first, or choose "
                            "another --name" % (name, state(old), old["port"]))
            if old is None or state(old) == "stale" or name:
                remove(old or {"rundir": run_dir(cache, wanted)})
                break
            number += 1
        about = {"name": wanted, "group": group, "release": release, "kind": "private",
                 "state": "starting", "rundir": run_dir(cache, wanted),
                 "failed_dir": os.path.join(cache, "failed"), "host": "127.0.0.1",
                 "port": None, "socket": None, "pid": None, "version": None,
                 "starter": process.identity(os.getpid()), "server": None, "supervisor": None,
                 "parent": None, "exit": None}
        try:
            os.mkdir(about["rundir"], 0o755)
            save(about)
        except OSError as exc:
            shutil.rmtree(about["rundir"], ignore_errors=True)
            raise ServersError("the run directory cannot be made: %s" % exc) from exc
    return about


# Data directories ------------------------------------------------------------------------------

def base_options(install, about, user):
    """Options every server of ours gets.  What the user gives comes later and wins."""
    rundir = about["rundir"]
    options = ["--no-defaults", "--basedir=" + install.basedir,
               "--datadir=" + os.path.join(rundir, "data"), "--tmpdir=" + rundir,
               "--lc-messages-dir=" + install.share,
               "--character-sets-dir=" + os.path.join(install.share, "charsets"),
               "--plugin-dir=" + install.plugin_dir, "--innodb-buffer-pool-size=64M"]
    if user:
        options.append("--user=" + user)
    if modern_mysql(install):
        options += ["--innodb-redo-log-capacity=8M", "--mysqlx=OFF", "--secure-file-priv=NULL"]
    else:
        options.append("--innodb-log-file-size=8M")
    return options


def modern_mysql(install):
    return install.release.flavour == "mysql" and install.release.source != "npm"


def server_options(install, about, user):
    # What a killed server has committed must be there again, so the log is written at every
    # commit; that a machine without power loses it is no loss in a private server.
    return base_options(install, about, user) + [
        "--bind-address=127.0.0.1", "--socket=" + about["socket"],
        "--pid-file=" + os.path.join(about["rundir"], "pid"), "--server-id=1",
        "--innodb-flush-log-at-trx-commit=2", "--sync-binlog=0", *install.release.options]


def bootstrap_sql(install):
    """The system tables of MariaDB and of MySQL 5.6, in the order their install scripts use."""
    files, sql = [], []
    if install.release.flavour == "mysql":
        sql.append("use mysql;\n")
        files = ["mysql_system_tables", "mysql_system_tables_data"]
    else:
        sql.append("create database if not exists mysql;\nuse mysql;\n"
                   "set @auth_root_socket=NULL, @skip_auth_anonymous=1;\n")
        for stem in ("_system_tables", "_performance_tables", "_system_tables_data"):
            files += ["mysql" + stem, "mariadb" + stem]
        files += ["maria_add_gis_sp_bootstrap", "mysql_sys_schema", "mariadb_sys_schema"]
    for name in files:
        path = os.path.join(install.share, name + ".sql")
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="surrogateescape") as text:
                sql.append(text.read())
    return "".join(sql)


def make_template(install, folder, user):
    """Makes the data directory of a fresh server in folder/data."""
    about = {"rundir": folder}
    data = os.path.join(folder, "data")
    options = base_options(install, about, user)
    log = os.path.join(folder, "init.log")
    sql = None
    if modern_mysql(install):
        command = install.command(*options, "--initialize-insecure")
    else:
        os.makedirs(os.path.join(data, "mysql"))
        sql = bootstrap_sql(install).encode("utf-8", "surrogateescape")
        command = install.command(*options, "--bootstrap")
    with open(log, "wb") as out:
        done = subprocess.run(command, input=sql, stdout=out, stderr=out, check=False,
                              env=dict(os.environ, **install.environment),
                              **({} if sql else {"stdin": subprocess.DEVNULL}))
    if done.returncode:
        raise ServersError("%s: a data directory cannot be made:\n%s" %
                           (install.release.name, telling_lines(log)))
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(data, "auto.cnf"))  # the server's UUID: each copy gets its own


def template(cache, install, user):
    """A ready data directory of this release, made once."""
    server = os.stat(install.server)
    key = "%s %s %d %d %s" % (install.server, TEMPLATE_VERSION, server.st_size,
                              server.st_mtime_ns, user)
    final = os.path.join(cache, "templates", "%s-%s" % (
        install.release.base, hashlib.sha256(key.encode()).hexdigest()[:16]))
    if os.path.isdir(final):
        return os.path.join(final, "data")
    fetch.make_folder(os.path.join(cache, "templates"))
    with fetch.locked(os.path.join(cache, "locks", os.path.basename(final))):
        if not os.path.isdir(final):
            work = None
            try:
                work = tempfile.mkdtemp(prefix=".new.", dir=os.path.join(cache, "templates"))
                make_template(install, work, user)
                os.rename(work, final)
                work = None
            except OSError as exc:
                raise ServersError("%s: a data directory cannot be made: %s" %
                                   (install.release.name, exc)) from exc
            finally:
                if work:
                    shutil.rmtree(work, ignore_errors=True)
    return os.path.join(final, "data")


def copy_data(source, target):
    done = subprocess.run(["cp", "-a", "--reflink=auto", "--sparse=always", source, target],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ServersError("the data directory cannot be copied: " +
                           "; ".join(done.stderr.strip().splitlines()[:2]))


# The error log ---------------------------------------------------------------------------------

def telling_lines(path, lines_max=5):
    """The lines of an error log that say why the server ended."""
    try:
        with open(path, "rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - 65536))
            lines = log.read().decode("utf-8", "replace").splitlines()
    except OSError as exc:
        return "  (no error log: %s)" % exc
    lines = [line for line in lines if line.strip()]
    errors = [line for line in lines if re.search(r"\[ERROR\]|^ERROR|unknown (variable|option)|"
                                                  r"ambiguous option|error while loading", line)]
    # "Aborting" is said after every other reason and tells nothing.
    errors = [line for line in errors if not line.endswith(("Aborting", "Aborting."))]
    return "\n".join("  " + line.strip() for line in (errors[:lines_max] or lines[-lines_max:])) \
        or "  (the error log is empty)"


def port_was_taken(path):
    with contextlib.suppress(OSError):
        with open(path, encoding="utf-8", errors="replace") as log:
            return bool(re.search(r"Bind on TCP/IP port.*(in use|98)|[Aa]ddress already in use|"
                                  r"Do you already have another (mysqld|server)", log.read()))
    return False


# The supervisor --------------------------------------------------------------------------------

def free_port():
    """A port on which no process listens at this moment; the server's bind decides."""
    for _ in range(1000):
        port = random.randint(*PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise ServersError("no free port between %d and %d" % PORTS)


class Supervisor:
    """Runs in its own process, as the server's parent.  See the invariants above."""

    def __init__(self, about, command, environment, uid, report_fd, keep_port):
        self.about = about
        self.command = command
        self.environment = environment
        self.uid = uid
        self.report_fd = report_fd
        self.keep_port = keep_port
        self.server = None
        self.server_fd = None
        self.parent_fd = None
        self.wake_read, self.wake_write = os.pipe()
        self.log = os.path.join(about["rundir"], "error.log")

    def report(self, message):
        with contextlib.suppress(OSError):
            os.write(self.report_fd, json.dumps(message).encode() + b"\n")

    def run(self):
        process.adopt_orphans()
        os.set_blocking(self.wake_write, False)
        signal.signal(signal.SIGTERM, lambda *_: os.write(self.wake_write, b"T"))
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        self.about["supervisor"] = process.identity(os.getpid())
        self.about["starter"] = self.about["supervisor"]
        parent = self.about["parent"]
        try:
            if parent:
                with contextlib.suppress(OSError):
                    self.parent_fd = os.pidfd_open(parent["pid"])
                if self.parent_fd is None or not process.alive(parent):
                    raise ServersError("process %d, which the server was to end with, is gone" %
                                       parent["pid"])
            self.start()
        except (ServersError, OSError) as exc:
            self.end_server(signal.SIGKILL)
            self.keep_log()
            self.give_up({"error": str(exc), "taken": isinstance(exc, PortTaken)})
            return
        self.report(self.about)
        os.close(self.report_fd)
        self.report_fd = None
        self.watch()

    def give_up(self, message):
        """A fresh instance goes; one that had run before keeps its data for another restart."""
        gone = self.about["parent"] and not process.alive(self.about["parent"])
        if not self.about.get("again") or gone or not os.path.isdir(self.about["rundir"]):
            remove(self.about)
            self.report(message)
            return
        self.about["state"] = "exited"
        save(self.about)
        self.report(dict(message, kept=True))
        os.close(self.report_fd)
        self.report_fd = None
        if self.parent_fd is not None:
            select.select([self.parent_fd, self.wake_read], [], [])
            remove(self.about)

    def keep_log(self):
        """The log of a server that did not start outlives its run directory, one per name."""
        folder = self.about["failed_dir"]
        with contextlib.suppress(OSError):
            os.makedirs(folder, exist_ok=True)
            shutil.copyfile(self.log, os.path.join(folder, self.about["name"] + ".log"))

    def start(self):
        for _ in range(PORT_ATTEMPTS):
            if not self.keep_port:
                self.about["port"] = free_port()
            self.spawn()
            try:
                self.wait_ready()
                return
            except PortTaken:
                if self.keep_port:
                    raise
        raise ServersError("no port could be had in %d attempts" % PORT_ATTEMPTS)

    def spawn(self):
        me = os.getpid()
        uid, space = self.uid, self.about.get("network")

        def in_child():
            os.setsid()
            if space:
                network.enter(space)
            if uid:
                os.setgroups([])
                os.setgid(uid[1])
                os.setuid(uid[0])
            process.die_with_parent(me)

        with contextlib.suppress(OSError):
            os.unlink(self.about["socket"])
        with open(self.log, "ab") as log:
            if self.uid:
                os.chown(self.log, *self.uid)
            self.server = subprocess.Popen(
                self.command + ["--port=%d" % self.about["port"]], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, cwd="/", env=self.environment, preexec_fn=in_child)
        self.server_fd = os.pidfd_open(self.server.pid)
        self.about["pid"] = self.server.pid
        self.about["server"] = process.identity(self.server.pid)
        save(self.about)

    def events(self, seconds):
        """What happened within that time: a set of "server", "parent", "starter", "term"."""
        watched = {self.server_fd: "server", self.wake_read: "term"}
        if self.parent_fd is not None:
            watched[self.parent_fd] = "parent"
        poll = select.poll()
        for fd in watched:
            poll.register(fd, select.POLLIN)
        if self.report_fd is not None:
            watched[self.report_fd] = "starter"
            poll.register(self.report_fd, 0)  # only that the reader is gone: POLLERR
        return {watched[fd] for fd, _ in poll.poll(
            None if seconds is None else seconds * 1000)}

    def ready(self):
        try:
            with wire.Connection(path=self.about["socket"], timeout=5.0) as connection:
                wanted = self.about.get("ready")
                if wanted:
                    rows = connection.query(wanted[0])
                    if not rows or rows[0][-1] != wanted[1]:
                        return False
                # Through the socket it is ours; that the port is too shows in its own answer.
                row = connection.query("select @@version, @@port")[0]
                self.about["version"] = row[0]
                return int(row[1]) == self.about["port"]
        except (OSError, wire.WireError):
            return False

    def wait_ready(self):
        deadline = time.monotonic() + self.about.get("ready_seconds", READY_SECONDS)
        while not self.ready():
            happened = self.events(0.01)
            if "server" in happened:
                status = self.reap()
                if port_was_taken(self.log):
                    os.truncate(self.log, 0)
                    raise PortTaken("port %d is taken by another process" % self.about["port"])
                raise ServersError("%s ended before it was ready (%s):\n%s" % (
                    self.about["release"], exit_text(status), telling_lines(self.log)))
            if happened & {"parent", "starter", "term"}:
                raise ServersError("the process that wanted the server is gone")
            if time.monotonic() > deadline:
                raise ServersError("%s was not ready within %d s:\n%s" % (
                    self.about["release"], READY_SECONDS, telling_lines(self.log)))
        self.about["state"] = "running"
        save(self.about)

    def reap(self):
        code = self.server.wait()
        os.close(self.server_fd)
        self.server_fd = None
        process.kill_children()
        return {"signal": -code} if code < 0 else {"status": code}

    def end_server(self, signum):
        if self.server_fd is None:
            return
        self.server.send_signal(signum)
        self.reap()

    def watch(self):
        while True:
            happened = self.events(None)
            if "server" in happened:
                self.about["exit"] = self.reap()
                with contextlib.suppress(OSError):
                    kept = os.path.exists(os.path.join(self.about["rundir"], "stopping"))
                    self.about["state"] = "stopped" if kept else "exited"
                    save(self.about)
                # A server that ended by itself keeps its log and data for those who ask why; they
                # go with the process it was to end with.
                if self.parent_fd is not None and not kept:
                    select.select([self.parent_fd, self.wake_read], [], [])
                    remove(self.about)
                return
            if happened & {"parent", "term"}:
                # The data will not be used again: no need to shut down in order.
                self.end_server(signal.SIGKILL)
                remove(self.about)
                return


def exit_text(status):
    if "signal" in status:
        return "killed by signal %d, %s" % (status["signal"],
                                            signal.Signals(status["signal"]).name)
    return "exit status %d" % status["status"]


def detach(about, command, environment, uid, keep_port):
    """Forks the supervisor and waits for its word.  Returns the running instance."""
    sys.stdout.flush()
    sys.stderr.flush()
    read_fd, write_fd = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            null = os.open("/dev/null", os.O_RDWR)
            log = os.open(os.path.join(about["rundir"], "supervisor.log"),
                          os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            # Nothing of the caller stays open: it may wait for the end of a pipe.
            report_fd = fcntl.fcntl(write_fd, fcntl.F_DUPFD_CLOEXEC, 3)
            for fd, wanted in ((null, 0), (log, 1), (log, 2)):
                os.dup2(fd, wanted)
            process.close_from(3, (report_fd,))
            Supervisor(about, command, environment, uid, report_fd, keep_port).run()
        except BaseException:  # pylint: disable=broad-except
            sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    os.close(write_fd)
    with os.fdopen(read_fd, "rb") as answer:
        line = answer.readline()
    if not line:
        os.waitpid(child, 0)
        raise ServersError("the supervisor ended without a word; see %s/supervisor.log" %
                           about["rundir"])
    message = json.loads(line)
    if "error" in message:
        if not message.get("kept"):  # else it stays, and waits for the end of --with-parent
            os.waitpid(child, 0)
        kind = PortTaken if message["taken"] else ServersError
        raise kind(message["error"])
    return message


# Start, stop -----------------------------------------------------------------------------------

def chosen_options(isolation, snapshot, binlog):
    """The options that have a name of their own on our command line."""
    options = []
    if isolation:
        options.append("--transaction-isolation=" + level(isolation))
    if snapshot:
        options.append("--innodb-snapshot-isolation=" + snapshot.upper())
    if binlog == "on":
        options += ["--log-bin=binlog", "--binlog-format=ROW"]
    elif binlog == "off":
        options.append("--skip-log-bin")
    return options


def parent_identity(pid):
    if pid is None:
        return None
    who = process.identity(pid)
    if who["start"] is None:
        raise Usage("--with-parent: there is no process %d" % pid)
    return who


def start(cache, install, name=None, options=(), parent=None, port=None, group=None, uid=None,
          empty=False, before=None, more=None):
    """Starts one server and returns what instance.json then holds.

    uid     (user, group) to run as, else the caller's
    empty   no data directory is made: a joining node fills it
    before  called with the reserved instance, returns further server options
    more    further fields of instance.json (ready: what to wait for)
    """
    # A server refuses to run as root unless told to; one that we start as the user nobody needs no word.
    user = "root" if os.geteuid() == 0 else None
    source = None if empty else template(cache, install, user)
    about = reserve(cache, install.release.name, name, group)
    try:
        about["parent"] = parent
        about["socket_dir"] = None
        about["socket"] = os.path.join(about["rundir"], "s.sock")
        if len(about["socket"]) > SOCKET_PATH_MAX:
            about["socket_dir"] = tempfile.mkdtemp(prefix="isorec-")
            about["socket"] = os.path.join(about["socket_dir"], "s.sock")
        about["datadir"] = os.path.join(about["rundir"], "data")
        about["error_log"] = os.path.join(about["rundir"], "error.log")
        about["options"] = list(options)
        about.update(more or {})
        if empty:
            os.mkdir(about["datadir"])
        else:
            copy_data(source, about["datadir"])
        extra = before(about) if before else []
        if uid:
            own(about, uid)
        about["command"] = install.command(
            *server_options(install, about, None if uid else user), *extra, *options)
        about["environment"] = install.environment
        about["folder"] = install.folder
        about["uid"] = uid
        about["port"] = port
        save(about)
        return launch(about)
    except OSError as exc:
        remove(about)
        raise ServersError("the server's files cannot be made: %s" % exc) from exc
    except BaseException:
        remove(about)
        raise


def own(about, uid):
    folders = [about["rundir"]] + ([about["socket_dir"]] if about["socket_dir"] else [])
    for top in folders:
        os.chown(top, *uid)
        for path, inner, files in os.walk(top):
            for entry in inner + files:
                os.chown(os.path.join(path, entry), *uid, follow_symlinks=False)


def launch(about):
    environment = dict(os.environ, **about["environment"])
    # A service manager's variables are not for this server.
    for name in ("NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "MYSQL_HOME"):
        environment.pop(name, None)
    return detach(about, about["command"], environment, about["uid"],
                  about["port"] is not None)


def restart(cache, name, parent=None):
    """Starts a stopped, killed or crashed instance again, with its data, port and options."""
    about = load(cache, name)
    if about is None:
        raise Usage("no instance is called '%s'" % name)
    if about["kind"] != "private":
        raise Usage("'%s' was not started by this tool" % name)
    if state(about) in ("running", "starting"):
        raise Usage("'%s' is %s" % (name, state(about)))
    end_supervisor(about)
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(about["rundir"], "stopping"))
    about.update(state="starting", exit=None, again=True, parent=parent or about["parent"],
                 starter=process.identity(os.getpid()))
    if about["parent"] and not process.alive(about["parent"]):
        about["parent"] = None
    save(about)
    return launch(about)


def is_ours(about):
    """Whether the recorded process is the server of this run directory, by its command line."""
    return any(word == ("--datadir=" + about["datadir"]).encode()
               for word in process.command_line(about["server"]["pid"]))


def end_supervisor(about):
    if process.alive(about["supervisor"]):
        # It waits only for its parent's end by now, if at all.
        if not process.wait_end(about["supervisor"], 0.2):
            process.send(about["supervisor"], signal.SIGKILL)
            process.wait_end(about["supervisor"], 10)


def stop(cache, name, signum=signal.SIGTERM, keep=False, seconds=STOP_SECONDS):
    """Ends the server and, unless `keep`, forgets it.  Returns a sentence about what it found."""
    about = load(cache, name)
    if about is None:
        raise Usage("no instance is called '%s'" % name)
    found = "stopped"
    if about["kind"] == "private":
        found = end_private(about, signum, keep, seconds)
    if not keep:
        remove(about)
    return found


def end_private(about, signum, keep, seconds):
    server, found = about["server"], "stopped"
    if process.alive(server) and is_ours(about):
        # Said before the signal, so that the supervisor does not take it for a crash.
        with contextlib.suppress(OSError):
            open(os.path.join(about["rundir"], "stopping"), "w").close()
        try:
            process.send(server, signum)
            if not process.wait_end(server, seconds):
                process.send(server, signal.SIGKILL)
                found = "killed: it had not stopped within %d s" % seconds
                if not process.wait_end(server, 10):
                    raise ServersError("process %d cannot be killed" % server["pid"])
        except PermissionError as exc:
            raise ServersError("'%s' runs as another user" % about["name"]) from exc
    elif about["state"] == "starting" and process.alive(about["starter"]):
        raise ServersError("'%s' is being started by process %d" %
                           (about["name"], about["starter"]["pid"]))
    else:
        found = "was gone already"
        latest = load_from(about["rundir"])
        if latest and latest["exit"]:
            found += " (%s)" % exit_text(latest["exit"])
    end_supervisor(about)
    if keep:
        latest = load_from(about["rundir"])
        if latest and latest["state"] != "stopped":
            latest["state"] = "stopped"
            save(latest)
    return found


def clean_stale(cache):
    """Removes the run directories of servers that are gone.  Returns their names."""
    gone = []
    with run_lock(cache):
        try:
            entries = os.listdir(run_root(cache))
        except OSError:
            return gone
        for name in entries:
            about = load(cache, name)
            if about is None:
                remove({"rundir": run_dir(cache, name)})
            elif state(about) in ("stale", "exited", "stopped"):
                end_supervisor(about)
                remove(about)
            else:
                continue
            gone.append(name)
    return gone
