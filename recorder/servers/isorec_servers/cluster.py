# SPDX-License-Identifier: GPL-2.0-or-later
"""Several instances that form a cluster on loopback.

The nodes of cluster NAME are the instances NAME-1, NAME-2 …, each with its own supervisor, so that
one can be killed and restarted alone.  Node 1 founds the cluster; the others join one by one.
"""
import os
import pwd
import re
import shutil
import subprocess
import time
import uuid

from . import fetch, instance, network, process, releases, wire
from .errors import PortTaken, ServersError, Usage

NODES_MAX = 9
ATTEMPTS = 5
JOIN_SECONDS = 180
CATCH_UP_SECONDS = 20
SYNCED = ["show global status like 'wsrep_local_state_comment'", "Synced"]


def start(cache, install, count, name, options, parent, spaces=()):
    """spaces  the nodes' network namespaces (network.py), or none: all are on loopback"""
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
            founder = make(cache, install, group, count, options, parent, spaces)
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


def host_of(spaces, node):
    space = network.of_node(spaces, node)
    return space["address"] if space else "127.0.0.1"


def stale(cache, group):
    nodes = [instance.load(cache, "%s-%d" % (group, n)) for n in range(1, NODES_MAX + 1)]
    return all(instance.state(node) not in ("running", "starting") for node in nodes if node)


def stop_nodes(cache, nodes):
    for about in reversed(nodes):
        instance.stop(cache, about["name"], seconds=5)


def running_others(cache, about):
    others = [instance.load(cache, other) for other in instance.names(cache)
              if other != about["name"]]
    return [node for node in others if node["group"] == about["group"] and
            instance.state(node) == "running"]


def restart(cache, about, parent=None, recover=False):
    """Starts one node again.  It joins the nodes that run; a lone instance has none.

    recover  a Galera node is told where it stands, as a service manager tells it, and so may get
             by with an incremental state transfer
    """
    cluster = about.get("cluster")
    if not cluster:
        return instance.restart(cache, about["name"], parent)
    others = running_others(cache, about)
    if cluster["kind"] == "galera":
        position = Galera.recovered(about) if recover and others else None
        Galera.before_restart(about, others, position)
        return instance.restart(cache, about["name"], parent)
    about = instance.restart(cache, about["name"], parent)
    GroupReplication.join(about, not others)
    return about


def recover(cache, nodes, parent=None, founder=None):
    """Starts a cluster of which no node runs: the most advanced node founds it, the others join.

    founder  the name of the node to take instead; what others have beyond it is thrown away.
    Returns the nodes, the one that founded it and the positions by name.
    """
    running = [node["name"] for node in nodes if instance.state(node) == "running"]
    if running:
        raise Usage("%s runs: restart the other nodes one by one" % running[0])
    kind = Galera if nodes[0]["cluster"]["kind"] == "galera" else GroupReplication
    return kind.recover(cache, nodes, parent, founder)


def add(cache, group, install, parent=None):
    """A new, empty node for a cluster that runs; it gets its data from the others."""
    nodes = [instance.load(cache, name) for name in instance.names(cache)]
    nodes = [node for node in nodes if node["group"] == group]
    others = [node for node in nodes if instance.state(node) == "running"]
    if not others:
        raise Usage("no node of '%s' runs" % group)
    number = max(node["node"] for node in nodes) + 1
    if number > NODES_MAX:
        raise Usage("a cluster has at most %d nodes" % NODES_MAX)
    kind = Galera if others[0]["cluster"]["kind"] == "galera" else GroupReplication
    install.environment = others[0]["environment"]
    return kind.add(cache, install, others, number, parent or others[0]["parent"])


def founder_of(nodes, positions, founder):
    """The node to found the cluster from: the named one, or the first of the most advanced."""
    if founder:
        named = [node for node in nodes if founder in (node["name"], str(node["node"]))]
        if not named:
            raise Usage("--bootstrap: the cluster has no node called '%s'" % founder)
        return named[0]
    return max(nodes, key=lambda node: (positions[node["name"]][0], -node["node"]))


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

    def __init__(self, cache, install, group, count, options, parent, spaces=()):
        self.cache = cache
        self.install = install
        self.group = group
        self.options = options
        self.parent = parent
        self.spaces = list(spaces)
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

    def start_node(self, node, known=None):
        listen, ist, sst = self.addresses[node - 1]
        host = host_of(self.spaces, node)
        if known is None:
            # All, also those that come later: a node that loses the others looks for them there.
            known = ["%s:%d" % (host_of(self.spaces, other + 1), address[0])
                     for other, address in enumerate(self.addresses)]
        options = [
            "--wsrep-on=ON", "--wsrep-provider=%s/usr/lib/galera/libgalera_smm.so" %
            self.install.root, "--wsrep-cluster-name=" + self.group,
            "--wsrep-node-name=n%d" % node, "--wsrep-node-address=%s:%d" % (host, listen),
            "--wsrep-sst-method=rsync", "--wsrep-sst-receive-address=%s:%d" % (host, sst),
            "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--server-id=%d" % node,
            # While this plugin of 11.8 is active, the provider's options cannot be set (1238).
            "--loose-plugin-wsrep-provider=OFF",
            "--wsrep-provider-options=gmcast.listen_addr=tcp://%s:%d;"
            "ist.recv_addr=%s:%d;gcache.size=32M" % (host, listen, host, ist),
            "--wsrep-cluster-address=gcomm://" + ",".join(known)]
        if node == 1:
            options.append("--wsrep-new-cluster")
        about = instance.start(
            self.cache, self.install, "%s-%d" % (self.group, node), self.options, self.parent,
            group=self.group, uid=self.uid, empty=node > 1, before=lambda _: options,
            more={"ready": SYNCED, "ready_seconds": JOIN_SECONDS, "node": node,
                  "network": network.of_node(self.spaces, node), "spaces": self.spaces,
                  "cluster": {"kind": "galera", "address": "%s:%d" % (host, listen)}})
        return about

    def joined(self, nodes):
        size = ask(nodes[0], "show global status like 'wsrep_cluster_size'")
        if size != str(len(nodes)):
            raise ServersError("the cluster has %s nodes instead of %d" % (size, len(nodes)))

    @staticmethod
    def recovered(about):
        """UUID:SEQNO of the last commit that InnoDB has, or None where the data have none."""
        command = [word for word in about["command"]
                   if not word.startswith(("--wsrep-start-position", "--wsrep-new-cluster"))]
        uid = about["uid"]

        def as_user():
            if uid:
                os.setgroups([])
                os.setgid(uid[1])
                os.setuid(uid[0])

        done = subprocess.run(
            command + ["--wsrep-recover", "--port=%d" % about["port"]], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", check=False, cwd="/",
            timeout=JOIN_SECONDS, env=dict(os.environ, **about["environment"]), preexec_fn=as_user)
        said = done.stdout + done.stderr
        with open(about["error_log"], "a", encoding="utf-8", errors="replace") as log:
            log.write(said)
        found = re.findall(r"Recovered position:?\s+([0-9a-f-]{36}:-?\d+)", said)
        return found[-1] if found else None

    @staticmethod
    def recover(cache, nodes, parent, founder):
        positions = {}
        for node in nodes:
            position = Galera.recovered(node)
            positions[node["name"]] = (int(position.rsplit(":", 1)[1]) if position else -1,
                                       position or "none")
        first = founder_of(nodes, positions, founder)
        if positions[first["name"]][0] < 0:
            raise ServersError("%s has no position to found the cluster from" % first["name"])
        ahead = any(place[0] > positions[first["name"]][0] for place in positions.values())
        out = []
        for node in [first] + [node for node in nodes if node is not first]:
            state = os.path.join(node["datadir"], "grastate.dat")
            if node is first:
                with open(state, encoding="utf-8") as text:
                    words = text.read()
                with open(state, "w", encoding="utf-8") as text:
                    text.write(re.sub(r"safe_to_bootstrap:\s*\d", "safe_to_bootstrap: 1", words))
            position = positions[node["name"]][1] if positions[node["name"]][0] >= 0 else None
            if positions[node["name"]][0] > positions[first["name"]][0]:
                # What is ahead of the cluster may not join with what it has.
                empty(node["datadir"])
                position = None
            Galera.before_restart(node, out, position)
            out.append(instance.restart(cache, node["name"], parent))
        return out, first, {name: place[1] for name, place in positions.items()}, ahead

    @staticmethod
    def add(cache, install, others, number, parent):
        like = others[0]
        joining = Galera(cache, install, like["group"], 1, like["options"], parent,
                         like.get("spaces", ()))
        joining.addresses = [None] * (number - 1) + joining.addresses
        return joining.start_node(number, [node["cluster"]["address"] for node in others])

    @staticmethod
    def before_restart(about, others, position=None):
        """others  the nodes that run; without them it founds the cluster anew"""
        option = "--wsrep-cluster-address=gcomm://"
        known = [word for word in about["command"] if word.startswith(option)][0][len(option):]
        addresses = list(filter(None, known.split(",")))
        addresses += [node["cluster"]["address"] for node in others
                      if node["cluster"]["address"] not in addresses]
        if not others:
            state = os.path.join(about["datadir"], "grastate.dat")
            with open(state, encoding="utf-8") as text:
                if not re.search(r"^safe_to_bootstrap:\s*1", text.read(), re.M):
                    raise ServersError(
                        "no node of '%s' runs, and %s was not the last to leave: start that one "
                        "first, or set safe_to_bootstrap in %s" %
                        (about["group"], about["name"], state))
        about["command"] = [word for word in about["command"] if not word.startswith(
            (option, "--wsrep-start-position=", "--wsrep-new-cluster"))]
        about["command"].append(option + ",".join(addresses))
        if not others:
            about["command"].append("--wsrep-new-cluster")
        if position:
            about["command"].append("--wsrep-start-position=" + position)
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


def wait_answer(about, sql, wanted, seconds=JOIN_SECONDS):
    deadline = time.monotonic() + seconds
    while True:
        answer = ask(about, sql)
        if answer == wanted:
            return
        if time.monotonic() > deadline:
            raise ServersError("%s: %s instead of %s after %d s:\n%s" % (
                about["name"], answer, wanted, seconds,
                instance.telling_lines(about["error_log"])))
        process.wait_end(about["server"], 0.05)


def empty(folder):
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


def gtid_count(text):
    """How many transactions a set of GTIDs has: "UUID:1-5:7,UUID:1"."""
    count = 0
    for part in filter(None, text.replace(" ", "").split(",")):
        for interval in part.split(":")[1:]:
            ends = re.fullmatch(r"(\d+)(?:-(\d+))?", interval)
            if ends:  # else a tag
                count += int(ends.group(2) or ends.group(1)) - int(ends.group(1)) + 1
    return count


class GroupReplication:
    """MySQL Group Replication, multi-primary."""

    def __init__(self, cache, install, group, count, options, parent, spaces=()):
        self.cache = cache
        self.install = install
        self.group = group
        self.options = options
        self.parent = parent
        self.spaces = list(spaces)
        self.uuid = str(uuid.uuid4())
        self.addresses = ["%s:%d" % (host_of(self.spaces, node), instance.free_port())
                          for node in range(1, count + 1)]
        self.seeds = None

    def start_node(self, node):
        ours = "--loose-group-replication-"
        fixed = [
            "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--log-bin=binlog",
            "--server-id=%d" % node, "--plugin-load-add=group_replication.so",
            ours + "group-name=" + self.uuid,
            ours + "local-address=" + self.addresses[node - 1],
            ours + "group-seeds=" + ",".join(self.seeds or self.addresses), ours + "start-on-boot=OFF",
            ours + "single-primary-mode=OFF", ours + "enforce-update-everywhere-checks=ON",
            ours + "recovery-get-public-key=ON", "--report-host=" + host_of(self.spaces, node)]
        if self.spaces:
            fixed.append("--bind-address=*")
        # A member tells the others its port before it has bound it, so it is chosen here.
        port = instance.free_port()
        about = instance.start(
            self.cache, self.install, "%s-%d" % (self.group, node), self.options, self.parent,
            port=port, group=self.group, before=lambda _: fixed + ["--report-port=%d" % port],
            more={"node": node, "cluster": {"kind": "group"}, "spaces": self.spaces,
                  "network": network.of_node(self.spaces, node)})
        try:
            self.prepare(about)
            self.join(about, node == 1)
        except BaseException:
            instance.stop(self.cache, about["name"], seconds=5)
            raise
        return about

    @staticmethod
    def prepare(about):
        """What a member needs that has fresh data."""
        ask(about, "set sql_log_bin=0", "create user repl@'%' identified by 'repl'",
            "grant replication slave, connection_admin, backup_admin, "
            "group_replication_stream on *.* to repl@'%'", "set sql_log_bin=1",
            "change replication source to source_user='repl', source_password='repl' "
            "for channel 'group_replication_recovery'", "reset binary logs and gtids")

    @staticmethod
    def recover(cache, nodes, parent, founder):
        started, positions = [], {}
        for node in nodes:
            about = instance.restart(cache, node["name"], parent)
            started.append(about)
            executed = (ask(about, "select @@global.gtid_executed") or "").replace("\n", "")
            positions[about["name"]] = (gtid_count(executed), executed or "none")
        first = founder_of(started, positions, founder)
        ahead = any(place[0] > positions[first["name"]][0] for place in positions.values())
        GroupReplication.join(first, True)
        out = [first]
        for about in started:
            if about is first:
                continue
            if positions[about["name"]][0] > positions[first["name"]][0]:
                about = GroupReplication.fresh(cache, about, parent)
            try:
                GroupReplication.join(about, False, CATCH_UP_SECONDS)
            except ServersError:
                # Its GTIDs are ahead of its rows: innodb_flush_log_at_trx_commit=0 does that, as
                # the binary log was written and the engine's log was not.
                about = GroupReplication.fresh(cache, about, parent)
                about["renewed"] = True
                GroupReplication.join(about, False)
            out.append(about)
        return out, first, {name: place[1] for name, place in positions.items()}, ahead

    @staticmethod
    def fresh(cache, about, parent):
        """With new data: what it had is thrown away, and the group gives it all."""
        install = fetch.provide(releases.find(about["release"]), cache)
        user = "root" if os.geteuid() == 0 else None
        instance.stop(cache, about["name"], keep=True)
        shutil.rmtree(about["datadir"])
        instance.copy_data(instance.template(cache, install, user), about["datadir"])
        about = instance.restart(cache, about["name"], parent)
        GroupReplication.prepare(about)
        return about

    @staticmethod
    def add(cache, install, others, number, parent):
        like = others[0]
        joining = GroupReplication(cache, install, like["group"], 1, like["options"], parent,
                                   like.get("spaces", ()))
        said = {word.split("=", 1)[0]: word.split("=", 1)[1] for word in like["command"]
                if "=" in word}
        ours = "--loose-group-replication-"
        joining.uuid = said[ours + "group-name"]
        joining.addresses = [None] * (number - 1) + [
            "%s:%d" % (host_of(joining.spaces, number), instance.free_port())]
        joining.seeds = said[ours + "group-seeds"].split(",") + joining.addresses[-1:]
        return joining.start_node(number)

    @staticmethod
    def join(about, found, seconds=JOIN_SECONDS):
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
                    "replication_group_members where member_id=@@server_uuid", "ONLINE", seconds)

    def joined(self, nodes):
        online = ask(nodes[0], "select count(*) from performance_schema.replication_group_members "
                     "where member_state='ONLINE' and member_role='PRIMARY'")
        if online != str(len(nodes)):
            raise ServersError("%s of %d nodes are online" % (online, len(nodes)))
