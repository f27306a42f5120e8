# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: isorec-servers COMMAND."""
import argparse
import json
import os
import shlex
import shutil
import signal
import sys

from . import cluster, fetch, foreign, instance, network, process, releases, wire
from .errors import EXIT_FAILED, EXIT_OK, EXIT_SKIP, EXIT_USAGE, ServersError, Skip, Usage

EPILOG = """\
commands:
  list                  the releases, and which of them are in the cache
  fetch RELEASE...      bring releases into the cache
  start RELEASE         start a private server on loopback; also --host … (a server you
                        already run) and --image … (a container)
  status [NAME]         the instances
  env NAME              shell variables for an instance
  shell NAME [ARG...]   a client connected to it
  sql NAME SQL          one statement, rows as tab-separated lines, no client needed
  stop NAME... | --all  end instances and remove their data (--keep: leave the data)
  kill NAME             kill -9, data kept
  restart NAME          start a stopped or killed instance again with its data; --recover: a
                        whole cluster, from its most advanced node
  add CLUSTER           a new node for a cluster that runs; stop NAME-4 removes one
  pause NAME            SIGSTOP; resume NAME lets it go on
  clean [RELEASE...]    remove what is left of dead instances; releases; --all for everything
  help [COMMAND]        this list, or a command's options

exit status: 0 done, 2 wrong usage, 4 failed, 77 the release cannot be had here (the reason is on
standard error)
"""


def default_cache():
    """The folder for releases and instances.

    For root it is not in its home: a Galera node cannot run as root, and the user it runs as must
    be able to walk to the files.
    """
    if os.environ.get("ISOREC_SERVERS_CACHE"):
        return os.environ["ISOREC_SERVERS_CACHE"]
    top = os.environ.get("XDG_CACHE_HOME")
    if not top:
        top = "/var/cache" if os.geteuid() == 0 else os.path.expanduser("~/.cache")
    return os.path.join(top, "isotrace", "servers")


def parser():
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--cache", metavar="DIR", default=argparse.SUPPRESS,
                        help="folder for releases and instances")
    top = argparse.ArgumentParser(
        prog="isorec-servers", parents=[common], epilog=EPILOG, usage="%(prog)s COMMAND …",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Private database servers for tests, the corpus and users.")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True,
                                  prog="isorec-servers")

    def command(name, **more):
        return commands.add_parser(name, parents=[common], add_help=False, **more)

    def helped(sub, help_option=("-?", "--help")):
        sub.add_argument(*help_option, action="help", help="show this help and exit")
        return sub

    sub = helped(command("list"))
    sub.add_argument("--json", action="store_true")
    sub = helped(command("fetch"))
    sub.add_argument("release", nargs="+")
    sub.add_argument("--refresh", action="store_true",
                     help="fetch again what is already in the cache")
    sub = helped(command("start", usage="%(prog)s RELEASE [OPTION...] [-- SERVER-OPTION...]"))
    start_options(sub)
    sub = helped(command("status"))
    sub.add_argument("name", nargs="?")
    sub.add_argument("--json", action="store_true")
    sub = helped(command("env"))
    sub.add_argument("name")
    sub = helped(command("shell"))
    sub.add_argument("name")
    sub.add_argument("args", nargs=argparse.REMAINDER, help="given to the client")
    sub = helped(command("sql"))
    sub.add_argument("name")
    sub.add_argument("sql")
    sub = helped(command("stop"))
    sub.add_argument("name", nargs="*")
    sub.add_argument("--all", action="store_true")
    sub.add_argument("--keep", action="store_true", help="leave the data, for restart")
    sub = helped(command("kill"))
    sub.add_argument("name")
    sub = helped(command("restart"))
    sub.add_argument("name")
    sub.add_argument("--with-parent", type=int, metavar="PID")
    sub.add_argument("--recover", action="store_true",
                     help="of a cluster: found it from its most advanced node; of a Galera node: "
                     "find its position first, so that it may join incrementally")
    sub.add_argument("--bootstrap", metavar="NODE",
                     help="with --recover: found it from this node; what others have beyond it is "
                     "lost")
    output_options(sub)
    sub = helped(command("add"))
    sub.add_argument("name", metavar="CLUSTER")
    sub.add_argument("--with-parent", type=int, metavar="PID")
    output_options(sub)
    sub = helped(command("pause"))
    sub.add_argument("name")
    sub = helped(command("resume"))
    sub.add_argument("name")
    sub = helped(command("clean"))
    sub.add_argument("release", nargs="*")
    sub.add_argument("--all", action="store_true", help="every release and template as well")
    return top


def output_options(sub):
    form = sub.add_mutually_exclusive_group()
    form.add_argument("--events", action="store_true",
                      help="print what happened for isorec cluster: NODE WHAT NAME=VALUE...")
    form.add_argument("--json", action="store_true", help="print the instance as JSON")
    form.add_argument("--env", action="store_true", help="print shell variables")


def start_options(sub):
    sub.add_argument("release", nargs="?", help="see `isorec-servers list`")
    sub.add_argument("--name", help="name of the instance (the release and a number otherwise)")
    sub.add_argument("--isolation", metavar="LEVEL", help="RU, RC, RR or SER")
    sub.add_argument("--snapshot-isolation", choices=("on", "off"),
                     help="innodb_snapshot_isolation of MariaDB")
    sub.add_argument("--binlog", choices=("on", "off"), help="row binary log")
    sub.add_argument("-o", "--option", action="append", default=[], metavar="KEY[=VALUE]",
                     help="any option of the server; also after --")
    sub.add_argument("-e", "--environment", action="append", default=[], metavar="NAME=VALUE",
                     help="a variable of the server's environment")
    sub.add_argument("--with-parent", type=int, metavar="PID",
                     help="stop the server when that process ends")
    sub.add_argument("--nodes", type=int, metavar="N", help="nodes of a cluster release (3)")
    sub.add_argument("--network", metavar="SPACES", default="",
                     help="of a cluster: run each node in a network namespace of its own; "
                     "isorec cluster net prints the word")
    sub.add_argument("-P", "--port", type=int, help="this port, instead of a free one")
    sub.add_argument("-h", "--host", help="use the server that runs there")
    sub.add_argument("-S", "--socket", help="use the server behind that socket file")
    sub.add_argument("-u", "--user", default="root", help="with --host: log in as")
    sub.add_argument("--image", help="run that container image with podman or docker")
    output_options(sub)


# Output ----------------------------------------------------------------------------------------

def variables(nodes):
    """Shell variables of an instance or a cluster: its first node, and all of them."""
    first = nodes[0]
    out = {"ISOREC_SERVER_NAME": first["group"] or first["name"],
           "ISOREC_SERVER_RELEASE": first["release"], "ISOREC_SERVER_VERSION": first["version"],
           "ISOREC_SERVER_PID": first["pid"] or "", "ISOREC_SERVER_DATADIR": first["datadir"] or "",
           "ISOREC_SERVER_ERROR_LOG": first["error_log"] or "",
           "ISOREC_SERVER_USER": first.get("user", "root"),
           "ISOREC_SERVER_NODES": ",".join("%s:%s" % (n["host"], n["port"]) for n in nodes),
           "MYSQL_HOST": first["host"] or "", "MYSQL_TCP_PORT": first["port"] or "",
           "MYSQL_UNIX_PORT": first["socket"] or ""}
    return "".join("export %s=%s\n" % (key, shlex.quote(str(value)))
                   for key, value in out.items())


SHOWN = ("name", "group", "release", "kind", "state", "version", "host", "port", "socket", "user",
         "pid", "datadir", "rundir", "error_log", "options", "exit", "image")


def public(about):
    out = {key: about.get(key) for key in SHOWN}
    out["user"] = about.get("user", "root")
    out["state"] = instance.state(about)
    return out


def show(nodes, args):
    if args.json:
        shown = [public(node) for node in nodes]
        print(json.dumps(shown[0] if len(shown) == 1 and not nodes[0]["group"] else shown))
    elif args.env:
        sys.stdout.write(variables(nodes))
    elif args.events:
        for node in nodes:
            print("event n%s node name=%s pid=%s port=%s socket=%s data=%s log=%s exit=%s" % (
                node.get("node", 1), node["name"], node["pid"], node["port"], node["socket"],
                node["datadir"], node["error_log"],
                os.path.join(node["rundir"], "instance.json")))
    else:
        table(nodes)


def table(nodes):
    rows = [("NAME", "STATE", "VERSION", "HOST", "PORT", "PID", "SOCKET")]
    for node in nodes:
        rows.append(tuple(str(word if word is not None else "-") for word in (
            node["name"], instance.state(node), node["version"], node["host"], node["port"],
            node["pid"], node["socket"])))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip())


def members(cache, name):
    """The instance of that name, or the nodes of the cluster of that name."""
    about = instance.load(cache, name)
    if about:
        return [about]
    nodes = [instance.load(cache, other) for other in instance.names(cache)]
    nodes = [node for node in nodes if node and node["group"] == name]
    if not nodes:
        raise Usage("no instance is called '%s'; `isorec-servers status` lists them" % name)
    return nodes


# Commands --------------------------------------------------------------------------------------

def do_list(cache, args):
    rows = []
    for release in releases.RELEASES.values():
        about = None
        if release.source == "local":
            try:
                about = {"version": releases.local().version(), "size_bytes": 0}
            except Skip:
                pass
        else:
            about = fetch.description(cache, release.base)
        rows.append({"name": release.name, "from": release.what, "cached": about is not None,
                     "version": about["version"] if about else None,
                     "size_mb": about["size_bytes"] >> 20 if about else None})
    if args.json:
        print(json.dumps(rows))
        return
    for row in rows:
        have = "-"
        if row["cached"]:
            have = row["version"] + (", %d MB" % row["size_mb"] if row["size_mb"] else "")
        print("%-22s %-44s %s" % (row["name"], have, row["from"]))


def do_fetch(cache, args):
    wanted = [releases.find(name) for name in args.release]
    worst = EXIT_OK
    for release in wanted:
        try:
            install = fetch.provide(release, cache, args.refresh)
            print("%s %s" % (release.name, install.version()))
        except Skip as exc:
            print("isorec-servers: skip: %s" % exc, file=sys.stderr)
            worst = EXIT_SKIP
    return worst


def do_start(cache, args):
    chosen = [bool(args.release), bool(args.host or args.socket), bool(args.image)]
    if sum(chosen) != 1:
        raise Usage("start takes one of: a RELEASE, --host or --socket, --image")
    parent = instance.parent_identity(args.with_parent)
    extra = ["--" + option.lstrip("-") for option in args.option] + args.server_options
    if args.host or args.socket:
        if extra or args.isolation or args.snapshot_isolation or args.binlog or args.nodes:
            raise Usage("a server that already runs takes no server options from here")
        show([foreign.use(cache, args.host or "localhost", args.port or 3306, args.user,
                          args.socket, args.name)], args)
        return
    release = releases.find(args.release) if args.release else None
    options = instance.chosen_options(args.isolation, args.snapshot_isolation,
                                      args.binlog) + extra
    if args.image:
        show([foreign.container(cache, args.image, options, args.name, parent)], args)
        return
    if args.nodes is not None and not release.cluster:
        raise Usage("--nodes is for cluster releases: %s" % " ".join(
            r.name for r in releases.RELEASES.values() if r.cluster))
    if args.network and not release.cluster:
        raise Usage("--network is for cluster releases")
    if not all("=" in word for word in args.environment):
        raise Usage("--environment takes NAME=VALUE")
    install = fetch.provide(release, cache)
    install.environment = dict(install.environment,
                               **dict(word.split("=", 1) for word in args.environment))
    # A folder that isorec cluster shares with the servers goes with them, however isorec ends.
    install.folder = install.environment.get("ISOREC_COVERAGE")
    if release.cluster:
        if args.port:
            raise Usage("--port cannot be given for a cluster")
        show(cluster.start(cache, install, args.nodes or 3, args.name, options, parent,
                           network.parse(args.network)), args)
        return
    show([instance.start(cache, install, args.name, options, parent, args.port)], args)


def do_status(cache, args):
    nodes = members(cache, args.name) if args.name else \
        [instance.load(cache, name) for name in instance.names(cache)]
    if args.json:
        print(json.dumps([public(node) for node in nodes]))
    else:
        table(nodes)


def do_env(cache, args):
    sys.stdout.write(variables(members(cache, args.name)))


def do_shell(cache, args):
    about = members(cache, args.name)[0]
    client = None
    if about["kind"] == "private":
        release = releases.find(about["release"])
        install = releases.local() if release.source == "local" else \
            releases.Install(release, os.path.join(cache, "releases", release.base, "root"))
        client = install.client()
    else:
        machine = shutil.which("mariadb") or shutil.which("mysql")
        client = [machine] if machine else None
    if not client:
        raise ServersError("no client program (mariadb, mysql) is there; `isorec-servers sql` "
                           "needs none")
    command = client + ["--no-defaults", "--user=" + about.get("user", "root")]
    if about["socket"]:
        command.append("--socket=" + about["socket"])
    else:
        command += ["--protocol=tcp", "--host=" + about["host"], "--port=%d" % about["port"]]
    arguments = args.args[1:] if args.args[:1] == ["--"] else args.args
    sys.stdout.flush()
    os.execv(command[0], command + arguments)


def do_sql(cache, args):
    about = members(cache, args.name)[0]
    try:
        with wire.Connection(path=about["socket"], host=about["host"], port=about["port"],
                             user=about.get("user", "root"), timeout=None) as connection:
            for row in connection.query(args.sql):
                print("\t".join("NULL" if word is None else word for word in row))
    except (OSError, wire.WireError) as exc:
        raise ServersError("%s: %s" % (about["name"], exc)) from exc


def do_stop(cache, args):
    if args.all == bool(args.name):
        raise Usage("stop takes names, or --all")
    wanted, missing = instance.names(cache) if args.all else [], None
    for name in args.name:
        try:
            wanted += [node["name"] for node in members(cache, name)]
        except Usage as exc:
            missing = exc  # reported at the end: the others are stopped all the same
    for name in reversed(wanted):  # the first node of a cluster last
        about = instance.load(cache, name)
        if about and about["kind"] == "container":
            foreign.remove_container(about)
        found = instance.stop(cache, name, keep=args.keep)
        if found != "stopped":
            print("isorec-servers: %s %s" % (name, found), file=sys.stderr)
    if missing:
        raise missing


def do_kill(cache, args):
    for about in members(cache, args.name):
        instance.stop(cache, about["name"], signum=signal.SIGKILL, keep=True)


def do_restart(cache, args):
    parent = instance.parent_identity(args.with_parent)
    nodes = members(cache, args.name)
    if args.bootstrap and not args.recover:
        raise Usage("--bootstrap goes with --recover")
    if not args.recover or not nodes[0]["group"] or nodes[0]["name"] == args.name:
        show([cluster.restart(cache, about, parent, args.recover) for about in nodes], args)
        return
    started, founder, positions, behind = cluster.recover(cache, nodes, parent, args.bootstrap)
    show(started, args)
    numbers = {node["name"]: node["node"] for node in nodes}
    for node in started:
        if node.get("renewed") and args.events:
            print("event n%d renewed reason=could-not-catch-up-with-its-data" % node["node"])
    if args.events:
        print('event n%d bootstrap position=%s behind=%s positions="%s"' % (
            founder["node"], positions[founder["name"]], "yes" if behind else "no",
            " ".join("n%d=%s" % (numbers[name], place)
                     for name, place in sorted(positions.items()))))
    elif not args.json and not args.env:
        for name, place in sorted(positions.items()):
            print("%s was at %s%s" % (name, place,
                                      ": it founded the cluster" if name == founder["name"] else ""))


def do_add(cache, args):
    nodes = members(cache, args.name)
    if not nodes[0].get("cluster"):
        raise Usage("'%s' is no cluster" % args.name)
    install = fetch.provide(releases.find(nodes[0]["release"]), cache)
    show([cluster.add(cache, args.name, install, instance.parent_identity(args.with_parent))], args)


def signal_all(cache, name, signum):
    for about in members(cache, name):
        if about["kind"] != "private" or instance.state(about) != "running":
            raise Usage("'%s' does not run, or was not started by this tool" % about["name"])
        process.send(about["server"], signum)


def do_pause(cache, args):
    signal_all(cache, args.name, signal.SIGSTOP)


def do_resume(cache, args):
    signal_all(cache, args.name, signal.SIGCONT)


def do_clean(cache, args):
    for name in instance.clean_stale(cache):
        print("removed what was left of instance %s" % name)
    for name in args.release or (releases.RELEASES if args.all else ()):
        release = releases.find(name)
        if any((instance.load(cache, other) or {}).get("release") == name
               for other in instance.names(cache)):
            raise ServersError("an instance of %s is running; stop it first" % name)
        with fetch.locked(os.path.join(cache, "locks", release.base + ".fetch")):
            if os.path.isdir(os.path.join(cache, "releases", release.base)):
                shutil.rmtree(os.path.join(cache, "releases", release.base))
                print("removed release %s" % name)
    if args.all and not instance.names(cache):
        for folder in ("templates", "failed", "releases"):
            shutil.rmtree(os.path.join(cache, folder), ignore_errors=True)


COMMANDS = {"list": do_list, "fetch": do_fetch, "start": do_start, "status": do_status,
            "env": do_env, "shell": do_shell, "sql": do_sql, "stop": do_stop, "kill": do_kill,
            "restart": do_restart, "add": do_add, "pause": do_pause, "resume": do_resume,
            "clean": do_clean}


def main(argv):
    # Everything after -- goes to the server; argparse would mix it with our own arguments.
    server_options = []
    if argv[:1] == ["start"] and "--" in argv:
        at = argv.index("--")
        argv, server_options = argv[:at], argv[at + 1:]
    # "help [COMMAND]", as isorec and isotrace have it
    if argv[:1] == ["help"]:
        argv = argv[1:2] + ["--help"]
    args = parser().parse_args(argv)
    args.server_options = server_options
    cache = os.path.abspath(getattr(args, "cache", None) or default_cache())
    try:
        return COMMANDS[args.command](cache, args) or EXIT_OK
    except Skip as exc:
        print("isorec-servers: skip: %s" % exc, file=sys.stderr)
    except ServersError as exc:
        print("isorec-servers: %s" % exc, file=sys.stderr)
        return exc.status
    except KeyboardInterrupt:
        print("isorec-servers: interrupted", file=sys.stderr)
        return EXIT_FAILED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return EXIT_FAILED
    return EXIT_SKIP
