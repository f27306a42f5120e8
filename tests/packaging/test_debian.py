#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The Debian packages: built in a copy, clean by lintian, unpacked into a scratch root, and run there."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "scripts"))
import tap  # noqa: E402

ISOSIM = os.path.abspath(sys.argv[1])
FOLDER = tempfile.mkdtemp(prefix="isotrace-deb-")
ROOT = os.path.join(FOLDER, "root")
BUILT = []


def built():
    for needed in ("dh", "dpkg-buildpackage", "git"):
        if not shutil.which(needed):
            raise tap.Skip(f"{needed} is not installed")
    if not BUILT:
        run = subprocess.run([os.path.join(HERE, "build-deb"), FOLDER], capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
        BUILT.extend(sorted(glob.glob(os.path.join(FOLDER, "*.deb"))))
        for path in BUILT:
            if "dbgsym" not in path:
                subprocess.run(["dpkg", "-x", path, ROOT], check=True)
    return BUILT


def package(name):
    [path] = [p for p in built() if os.path.basename(p).startswith(name + "_")]
    return path


def field(name, what):
    return subprocess.run(["dpkg", "-f", package(name), what], capture_output=True, text=True, check=True).stdout


def test_they_are_built():
    for name in ("isotrace", "isorec", "isotrace-doc"):
        package(name)


def test_lintian_is_content():
    built()
    if not shutil.which("lintian"):
        raise tap.Skip("lintian is not installed")
    [changes] = glob.glob(os.path.join(FOLDER, "*.changes"))
    run = subprocess.run(["lintian", "--allow-root", "--display-info", "--pedantic", "--fail-on", "error,warning,info", changes],
                         capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout


def test_the_analyzer_needs_no_database_client():
    needs = field("isotrace", "Depends")
    assert "libc6" in needs and not re.search(r"maria|mysql|ssl", needs), needs
    assert "mariadb" in field("isorec", "Depends")


def test_what_was_unpacked_runs():
    built()
    isotrace, isorec = (os.path.join(ROOT, "usr", "bin", name) for name in ("isotrace", "isorec"))
    trace = os.path.join(FOLDER, "x.itr")
    subprocess.run([ISOSIM, "--quiet", "--seed=3", "--transactions=50", "--plant=G-single", "-o", trace], check=True)
    out = subprocess.run([isotrace, "check", "--contract=adya", trace], capture_output=True, text=True, check=False)
    assert out.returncode == 1 and "G-single" in out.stdout, out.stderr
    page = os.path.join(FOLDER, "x.html")
    subprocess.run([isotrace, "report", "--contract=adya", trace, "-o", page], check=False)
    assert os.path.getsize(page) > 10000
    for command in (["run", "--help"], ["proxy", "--help"]):
        subprocess.run([isorec, *command], check=True, stdout=subprocess.DEVNULL)
    servers = subprocess.run([os.path.join(ROOT, "usr", "bin", "isorec-servers"), "list"], capture_output=True, text=True,
                             check=False)
    assert "mariadb" in servers.stdout, servers.stderr


def test_everything_is_there():
    built()
    for path in ("lib/systemd/system/isorec-proxy.service", "usr/share/bash-completion/completions/isotrace",
                 "usr/share/bash-completion/completions/isorec", "usr/share/zsh/vendor-completions/_isotrace",
                 "usr/share/man/man1/isotrace-check.1.gz", "usr/share/man/man1/isorec-servers.1.gz",
                 "usr/share/man/man5/isotrace-trace.5.gz", "usr/share/doc/isotrace/tutorial.md"):
        found = glob.glob(os.path.join(ROOT, path + "*"))
        assert found, path


if __name__ == "__main__":
    try:
        tap.main(globals())
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
