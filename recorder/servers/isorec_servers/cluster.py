# SPDX-License-Identifier: GPL-2.0-or-later
"""Several instances that form a cluster on loopback.

The nodes of cluster NAME are the instances NAME-1, NAME-2 …, each with its own supervisor, so that
one can be killed and restarted alone.  Node 1 founds the cluster; the others join one by one.
"""
import os
import pwd
import re
import shutil
import time
import uuid

from . import instance, process, wire
from .errors import PortTaken, ServersError, Usage

NODES_MAX = 9
ATTEMPTS = 5
JOIN_SECONDS = 180
SYNCED = ["show global status like 'wsrep_local_state_comment'", "Synced"]


def start(cache, install, count, name, options, parent):
    if not 1 <= count <= NODES_MAX:
        raise Usage("--nodes takes 1 to %d" % NODES_MAX)
    group = name or install.release.name
    number = 1
    while any(instance.load(cache, "%s-%d" % (group, node)) for node in range(1, NODES_MAX + 1)):
        number += 1
        if name and not stale(cache, group):
            raise Usage("a cluster called '%s' is there; stop it first" % name)
        if name:
            break
        group = "%s.%d" % (install.release.name, number)
    make = {"galera": Galera, "group": GroupReplication}[install.release.cluster]
    for attempt in range(ATTEMPTS):
        nodes = []
        try:
            founder = make(cache, install, group, count, options, parent)
            for node in range(1, count + 1):
                nodes.append(founder.start_node(node))
            founder.joined(nodes)
            return nodes
        except PortTaken:
            stop_nodes(cache, nodes)
            if attempt == ATTEMPTS - 1:
                raise
        except BaseException:
            stop_nodes(cache, nodes)
            raise
    return []


def stale(cache, group):
    nodes = [instance.load(cache, "%s-%d" % (group, n)) for n in range(1, NODES_MAX + 1)]
    return all(instance.state(node) not in ("running", "starting") for node in nodes if node)


def stop_nodes(cache, nodes):
    for about in reversed(nodes):
        instance.stop(cache, about["name"], seconds=5)


def restart(cache, about, parent=None):
    """Starts one node again.  It joins the nodes that run; a lone instance has none."""
    cluster = about.get("cluster")
    if not cluster:
        return instance.restart(cache, about["name"], parent)
    others = [instance.load(cache, other) for other in instance.names(cache)
              if other != about["name"]]
    others = [node for node in others if node["group"] == about["group"] and
              instance.state(node) == "running"]
    if cluster["kind"] == "galera":
        Galera.before_restart(about, others)
        return instance.restart(cache, about["name"], parent)
    about = instance.restart(cache, about["name"], parent)
    GroupReplication.join(about, not others)
    return about


class Galera:
    """MariaDB with Galera: rsync state transfer, all on 127.0.0.1.

    The state transfer's rsync daemon, run by root, drops to the user nobody and can then read
    nothing: as root, the nodes themselves run as nobody.  The scripts of the transfer look for
    their tools in basedir/bin first.  So that folder is made of our own: the scripts, and for each
    tool a script that starts the unpacked one through the unpacked loader, which works whatever
    the machine has.
    """

    TOOLS = ("rsync", "lsof", "ss", "ip", "socat", "my_print_defaults", "mariadb", "mysql",
             "mariadb-binlog", "mysqlbinlog")

    def __init__(self, cache, install, group, count, options, parent):
        self.cache = cache
        self.install = install
        self.group = group
        self.options = options
        self.parent = parent
        self.addresses = [(instance.free_port(), instance.free_port(), instance.free_port())
                          for _ in range(count)]
        self.uid = None
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self.uid = (nobody.pw_uid, nobody.pw_gid)
            check_walkable(cache)
        install.basedir = self.tools()

    def tools(self):
        root = self.install.root
        folder = os.path.join(root, "cluster")
        if os.path.isdir(folder):
            return folder
        work = folder + ".new.%d" % os.getpid()
        os.makedirs(os.path.join(work, "bin"))
        os.makedirs(os.path.join(work, "loader"))
        for name in os.listdir(root + "/usr/bin"):
            if name.startswith("wsrep_sst_"):
                os.symlink("../../usr/bin/" + name, os.path.join(work, "bin", name))
        for name in self.TOOLS:
            program = next((path for path in (root + "/usr/bin/" + name, root + "/usr/sbin/" + name)
                            if os.path.exists(path)), None)
            if program is None:
                continue
            # The scripts look for a process called rsync, and a process is called as the file
            # that was executed: here the loader, hence its copy under the tool's name.
            os.link(os.path.realpath(self.install.loader[0]), os.path.join(work, "loader", name))
            path = os.path.join(work, "bin", name)
            with open(path, "w", encoding="utf-8") as out:
                out.write("#!/bin/sh\nexec '%s/loader/%s' --library-path '%s' '%s' \"$@\"\n" % (
                    folder, name, self.install.loader[2], program))
            os.chmod(path, 0o755)
        try:
            os.rename(work, folder)
        except OSError:  # another start made it meanwhile
            shutil.rmtree(work)
        return folder

    def start_node(self, node):
        listen, ist, sst = self.addresses[node - 1]
        known = ["127.0.0.1:%d" % address[0] for address in self.addresses[:node - 1]]
        options = [
            "--wsrep-on=ON", "--wsrep-provider=%s/usr/lib/galera/libgalera_smm.so" %
            self.install.root, "--wsrep-cluster-name=" + self.group,
            "--wsrep-node-name=n%d" % node, "--wsrep-node-address=127.0.0.1:%d" % listen,
            "--wsrep-sst-method=rsync", "--wsrep-sst-receive-address=127.0.0.1:%d" % sst,
            "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--server-id=%d" % node,
            "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:%d;"
            "ist.recv_addr=127.0.0.1:%d;gcache.size=32M" % (listen, ist),
            "--wsrep-cluster-address=gcomm://" + ",".join(known)]
        about = instance.start(
            self.cache, self.install, "%s-%d" % (self.group, node), self.options, self.parent,
            group=self.group, uid=self.uid, empty=node > 1, before=lambda _: options,
            more={"ready": SYNCED, "ready_seconds": JOIN_SECONDS, "node": node,
                  "cluster": {"kind": "galera", "address": "127.0.0.1:%d" % listen}})
        return about

    def joined(self, nodes):
        size = ask(nodes[0], "show global status like 'wsrep_cluster_size'")
        if size != str(len(nodes)):
            raise ServersError("the cluster has %s nodes instead of %d" % (size, len(nodes)))

    @staticmethod
    def before_restart(about, others):
        address = ",".join(node["cluster"]["address"] for node in others)
        if not others:
            state = os.path.join(about["datadir"], "grastate.dat")
            with open(state, encoding="utf-8") as text:
                if not re.search(r"^safe_to_bootstrap:\s*1", text.read(), re.M):
                    raise ServersError(
                        "no node of '%s' runs, and %s was not the last to leave: start that one "
                        "first, or set safe_to_bootstrap in %s" %
                        (about["group"], about["name"], state))
        about["command"] = [
            "--wsrep-cluster-address=gcomm://" + address
            if word.startswith("--wsrep-cluster-address=") else word for word in about["command"]]
        instance.save(about)


def check_walkable(folder):
    """As root: whether the user nobody can reach the folder."""
    path = folder
    while True:
        if not os.stat(path).st_mode & 0o001:
            raise ServersError("a Galera node cannot run as root, and the user nobody cannot "
                               "reach %s because of %s; choose another folder with --cache" %
                               (folder, path))
        if path == "/":
            return
        path = os.path.dirname(path)


def ask(about, *statements):
    """Runs statements in one session; the last one's first row's last column, or None."""
    sql, rows = "connect", []
    try:
        with wire.Connection(path=about["socket"], timeout=JOIN_SECONDS) as connection:
            for sql in statements:
                rows = connection.query(sql)
            return rows[0][-1] if rows else None
    except (OSError, wire.WireError) as exc:
        raise ServersError("%s: %s: %s" % (about["name"], sql, exc)) from exc


def wait_answer(about, sql, wanted):
    deadline = time.monotonic() + JOIN_SECONDS
    while True:
        answer = ask(about, sql)
        if answer == wanted:
            return
        if time.monotonic() > deadline:
            raise ServersError("%s: %s instead of %s after %d s:\n%s" % (
                about["name"], answer, wanted, JOIN_SECONDS,
                instance.telling_lines(about["error_log"])))
        process.wait_end(about["server"], 0.05)


class GroupReplication:
    """MySQL Group Replication, multi-primary."""

    def __init__(self, cache, install, group, count, options, parent):
        self.cache = cache
        self.install = install
        self.group = group
        self.options = options
        self.parent = parent
        self.uuid = str(uuid.uuid4())
        self.addresses = ["127.0.0.1:%d" % instance.free_port() for _ in range(count)]

    def start_node(self, node):
        ours = "--loose-group-replication-"
        fixed = [
            "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--log-bin=binlog",
            "--server-id=%d" % node, "--plugin-load-add=group_replication.so",
            ours + "group-name=" + self.uuid,
            ours + "local-address=" + self.addresses[node - 1],
            ours + "group-seeds=" + ",".join(self.addresses), ours + "start-on-boot=OFF",
            ours + "single-primary-mode=OFF", ours + "enforce-update-everywhere-checks=ON",
            ours + "recovery-get-public-key=ON", "--report-host=127.0.0.1"]
        # A member tells the others its port before it has bound it, so it is chosen here.
        port = instance.free_port()
        about = instance.start(
            self.cache, self.install, "%s-%d" % (self.group, node), self.options, self.parent,
            port=port, group=self.group, before=lambda _: fixed + ["--report-port=%d" % port],
            more={"node": node, "cluster": {"kind": "group"}})
        try:
            ask(about, "set sql_log_bin=0", "create user repl@'%' identified by 'repl'",
                "grant replication slave, connection_admin, backup_admin, "
                "group_replication_stream on *.* to repl@'%'", "set sql_log_bin=1",
                "change replication source to source_user='repl', source_password='repl' "
                "for channel 'group_replication_recovery'", "reset binary logs and gtids")
            self.join(about, node == 1)
        except BaseException:
            instance.stop(self.cache, about["name"], seconds=5)
            raise
        return about

    @staticmethod
    def join(about, found):
        if found:
            ask(about, "set global group_replication_bootstrap_group=ON")
        try:
            ask(about, "start group_replication")
        except ServersError as exc:
            raise ServersError("%s\n%s" % (exc, instance.telling_lines(about["error_log"]))) \
                from exc
        if found:
            ask(about, "set global group_replication_bootstrap_group=OFF")
        # START returns when the node is a member; it still has to catch up.
        wait_answer(about, "select member_state from performance_schema."
                    "replication_group_members where member_id=@@server_uuid", "ONLINE")

    def joined(self, nodes):
        online = ask(nodes[0], "select count(*) from performance_schema.replication_group_members "
                     "where member_state='ONLINE' and member_role='PRIMARY'")
        if online != str(len(nodes)):
            raise ServersError("%s of %d nodes are online" % (online, len(nodes)))
