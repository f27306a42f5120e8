# SPDX-License-Identifier: GPL-2.0-or-later
"""MediaWiki by its maintenance scripts: the installer (recorded in plain mode), users, edits at once, jobs, imports.

The package is unpacked into the build folder, and nothing is installed: it would bring a web server.
"""
import glob
import os
import subprocess
import time

from harness import SKEW, Anomaly, SkipTest, command

EDITORS, PAGES = 3, 4


class MediaWiki:
    name = database = "mediawiki"

    def __init__(self, seconds):
        self.seconds, self.edits, self.wiki, self.mode = seconds, 0, None, None
        self.folder = os.environ["WORKLOADS_WIKI"]

    def unpack(self):
        """Folder of the scripts."""
        top = os.path.join(self.folder, "root")
        if not os.path.isdir(os.path.join(top, "usr", "share", "mediawiki", "maintenance")):
            for extension in ("mbstring", "xml", "intl", "mysqli"):
                if extension not in command(["php", "-m"]).split():
                    raise SkipTest("php-%s is not installed" % extension)
            os.makedirs(self.folder, exist_ok=True)
            done = subprocess.run(["apt-get", "-q", "download", "mediawiki", "mediawiki-classes"], cwd=self.folder,
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                raise SkipTest("the package mediawiki cannot be had: " + done.stderr.strip())
            for package in glob.glob(os.path.join(self.folder, "*.deb")):
                command(["dpkg-deb", "-x", package, top])
        return top

    def php(self, script, *args, wait=True, text=None):
        process = subprocess.Popen(["php", os.path.join(self.wiki, "maintenance", script), *args], cwd=self.wiki,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env=dict(os.environ, MW_INSTALL_PATH=self.wiki))
        if not wait:
            process.stdin.write(text)
            process.stdin.close()
            return process
        out, _ = process.communicate(text)
        assert process.returncode == 0, "%s: %s" % (script, out[-2000:])
        return out

    def install(self, port):
        settings = os.path.join(self.wiki, "LocalSettings.php")
        if os.path.exists(settings):
            os.unlink(settings)
        self.php("install.php", "--dbserver", "127.0.0.1:%d" % port, "--dbname", self.database, "--dbuser", "root",
                 "--dbpass", "", "--installdbuser", "root", "--installdbpass", "", "--dbtype", "mysql", "--pass",
                 "a long enough word", "--server", "http://localhost", "--scriptpath", "", "Wiki", "Admin")

    def reach(self, port):
        """The settings name the server; afterwards they name this port."""
        name = os.path.join(self.wiki, "LocalSettings.php")
        with open(name, encoding="utf-8") as settings:
            lines = [line for line in settings if not line.startswith("$wgDBserver")]
        with open(name, "w", encoding="utf-8") as settings:
            settings.write("".join(lines) + '\n$wgDBserver = "127.0.0.1:%d";\n' % port)

    def fill(self, server):
        self.wiki = os.path.join(self.unpack(), "usr", "share", "mediawiki")
        # The package links these to places that are not there.
        for name in ("LocalSettings.php", "config", "extensions", "images", "cache"):
            path = os.path.join(self.wiki, name)
            if os.path.islink(path):
                os.unlink(path)
            if not name.endswith(".php"):
                os.makedirs(path, exist_ok=True)
        if self.mode != "plain":
            self.install(server.port)

    def run(self, server, port):
        if self.mode == "plain":
            self.install(port)
        self.reach(port)
        self.php("createAndPromote.php", "Anna", "another long word", text="")
        until, self.edits, rounds = time.monotonic() + self.seconds, 0, 0
        while time.monotonic() < until or not rounds:
            editors = [self.php("edit.php", "-u", ("Anna", "Admin")[n % 2], "-s", "round %d" % rounds, "Page %d" % (n % PAGES),
                                wait=False, text="Text %d of [[Page %d]] by %d, [[Category:C%d]].\n" % (rounds, rounds % PAGES, n, n % 2))
                       for n in range(EDITORS)]
            for process in editors:
                out = process.stdout.read()
                process.wait()
                self.edits += process.returncode == 0 and "done" in out
            rounds += 1
        self.php("runJobs.php")
        self.php("refreshLinks.php")
        self.php("rebuildrecentchanges.php")
        self.php("initSiteStats.php", "--update")
        self.php("showSiteStats.php")

    def truth(self, server):
        self.reach(server.port)
        broken = server.number("select count(*) from page where page_latest <> (select max(rev_id) from revision where rev_page = page_id)",
                               self.database)
        edits = server.number("select count(*) from revision join page on page_id = rev_page where page_title like 'Page%'", self.database)
        # A comment that is there is taken, so two of one text were each made where the other was not seen.
        twice = server.number("select coalesce(sum(n - 1), 0) from (select count(*) n from comment group by comment_hash,"
                              " comment_text, comment_data) d", self.database)
        return [Anomaly("comments written twice", twice, SKEW, code=("write-skew", "comment")),
                Anomaly("pages whose latest revision is not the last", broken, ()),
                Anomaly("edits that were answered and are not there", max(0, self.edits - edits), ())]


ALL = (MediaWiki,)
