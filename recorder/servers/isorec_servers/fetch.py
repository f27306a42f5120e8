# SPDX-License-Identifier: GPL-2.0-or-later
"""Brings a release into the cache folder.

    CACHE/releases/NAME/root          the unpacked files
    CACHE/releases/NAME/release.json  version, packages, size, what it cost

A release appears whole or not at all: it is unpacked under another name and renamed.  A lock file
makes a second fetch of the same release wait for the first.  Whatever keeps a release from being
had (no network, no such package, no room, another architecture) is a Skip with the reason.
"""
import base64
import contextlib
import errno
import fcntl
import glob
import hashlib
import json
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
import time

from . import releases
from .errors import ServersError, Skip

MIRROR = "http://deb.debian.org/debian"
SECURITY_MIRROR = "http://security.debian.org/debian-security"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Not needed by a server, and a good part of the size.
UNWANTED = ("./usr/share/doc", "./usr/share/man", "./usr/share/locale", "./usr/share/info",
            "./usr/share/lintian", "./usr/share/zoneinfo", "./usr/share/mysql/mysql-test",
            "./usr/share/perl", "./usr/lib/*/gconv", "./usr/lib/*/perl*", "./usr/lib/systemd",
            "./var/lib/dpkg", "./dev")


def say(text):
    print("isorec-servers: " + text, file=os.sys.stderr, flush=True)


def folder_size(top):
    total = 0
    for path, _, files in os.walk(top):
        for name in files:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(path, name)).st_blocks * 512
    return total


def make_folder(path, chosen_by="--cache or ISOREC_SERVERS_CACHE"):
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as exc:
        raise ServersError("the folder %s cannot be used: %s; choose another with %s" %
                           (path, exc.strerror, chosen_by)) from exc


@contextlib.contextmanager
def locked(path, note=None):
    """An exclusive lock for the time of the with block; kept files, so that no two processes race."""
    make_folder(os.path.dirname(path))
    try:
        lock = open(path, "a", encoding="utf-8")
    except OSError as exc:
        raise ServersError("the folder of %s cannot be used: %s; choose another with "
                           "--cache or ISOREC_SERVERS_CACHE" % (path, exc.strerror)) from exc
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if note:
                say(note)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run(argv, why, **more):
    """Runs a tool of the fetch; its failure is a Skip that carries what it said last."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                              **more)
    except FileNotFoundError:
        raise Skip("%s: the program %s is not installed" % (why, argv[0])) from None
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        telling = [line for line in lines if line.startswith(("E:", "Err:", "npm ERR", "npm error"))
                   or "No space left" in line]
        raise Skip("%s: %s" % (why, "; ".join((telling or lines)[:4]) or
                               "%s ended with status %d" % (argv[0], done.returncode)))
    return done.stdout


def apt_sources():
    """(mirror, security mirror, keyring), taken from the machine's own apt configuration."""
    mirror = os.environ.get("ISOREC_APT_MIRROR")
    security = os.environ.get("ISOREC_APT_SECURITY_MIRROR")
    keyring = os.environ.get("ISOREC_APT_KEYRING", KEYRING)
    listed = ""
    with contextlib.suppress(OSError):
        listed = subprocess.run(
            ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)",
             "Created-By: Packages"], capture_output=True, text=True, check=False).stdout
    for line in listed.splitlines():
        uri, _, suite = line.strip().partition(" ")
        uri = uri.rstrip("/")
        # Other archives (a vendor's own) have other names: Debian's end in these two.
        if uri.endswith("/debian") and not suite.endswith("-security"):
            mirror = mirror or uri
        elif uri.endswith("/debian-security"):
            security = security or uri
    if mirror and not security and mirror != MIRROR:
        security = mirror + "-security"  # how mirrors name it, by custom
    return mirror or MIRROR, security or SECURITY_MIRROR, keyring


def apt_config(folder):
    """An apt configuration of our own: the machine's way to the network, and nothing else of it.

    Given through APT_CONFIG, so that no file of /etc/apt is read: its hooks would run.
    """
    dump = ""
    with contextlib.suppress(OSError):
        dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True,
                              check=False).stdout
    keep = [line for line in dump.splitlines()
            if line.startswith(("Acquire::http", "Acquire::https", "Acquire::Check-Valid-Until",
                                "Acquire::Retries", "Acquire::ForceIPv"))]
    keep += ['Dir "%s";' % folder, 'Dir::Etc::main "/dev/null";', 'Dir::Etc::parts "/dev/null";',
             'Dir::Etc "%s/etc";' % folder, 'Dir::State "%s/state";' % folder,
             'Dir::State::status "%s/state/status";' % folder, 'Dir::Cache "%s/cache";' % folder,
             'Dir::Bin::methods "/usr/lib/apt/methods";', 'Dir::Bin::dpkg "/usr/bin/dpkg";',
             'Dir::Log "/dev/null";',
             'APT::Install-Recommends "false";', 'APT::Sandbox::User "";',
             'Acquire::Languages "none";', 'Acquire::Retries::Delay "false";',
             'Debug::NoLocking "true";']
    path = os.path.join(folder, "apt.conf")
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(keep) + "\n")
    return path


def fetch_pool(release, mirror, archives, environment):
    """Files of the archive that no package list names; apt compares the digest."""
    if release.pool and platform.machine() != "x86_64":
        raise Skip("%s exists for x86_64 only, this machine is %s" %
                   (release.name, platform.machine()))
    for path, digest in release.pool:
        run(["/usr/lib/apt/apt-helper", "download-file", mirror + "/" + path,
             os.path.join(archives, os.path.basename(path)), "SHA256:" + digest],
            "%s: %s cannot be had any more" % (release.name, os.path.basename(path)),
            env=environment)


def fetch_apt(release, work, root):
    """Downloads and unpacks the whole dependency closure.  Returns the packages' versions."""
    for tool in ("apt-get", "dpkg-deb", "tar"):
        if not shutil.which(tool):
            raise Skip("%s comes from Debian's archive, and %s is not installed" %
                       (release.name, tool))
    mirror, security, keyring = apt_sources()
    if not os.path.exists(keyring):
        raise Skip("%s comes from Debian's archive, and the keyring %s is not there "
                   "(package debian-archive-keyring)" % (release.name, keyring))
    apt = os.path.join(work, "apt")
    for folder in ("etc/apt.conf.d", "etc/preferences.d", "state/lists/partial",
                   "cache/archives/partial"):
        os.makedirs(os.path.join(apt, folder))
    open(os.path.join(apt, "state/status"), "w").close()  # nothing is installed: all is fetched
    with open(os.path.join(apt, "etc/sources.list"), "w", encoding="utf-8") as out:
        for suite in release.suites:
            out.write("deb [signed-by=%s] %s %s main\n" % (
                keyring, security if suite.endswith("-security") else mirror, suite))
    environment = dict(os.environ, APT_CONFIG=apt_config(apt), LC_ALL="C")
    say("%s: reading the package lists of %s" % (release.name, " ".join(release.suites)))
    # --error-on=any: a list that cannot be had must not look like an older release.
    run(["apt-get", "-q", "--error-on=any", "update"],
        "%s: the package lists of %s cannot be had" % (release.name, " ".join(release.suites)),
        env=environment)
    say("%s: downloading" % release.name)
    run(["apt-get", "-q", "-y", "--download-only", "install", *release.packages],
        "%s: the packages cannot be had" % release.name, env=environment)
    fetch_pool(release, mirror, os.path.join(apt, "cache/archives"), environment)
    debs = sorted(glob.glob(os.path.join(apt, "cache/archives/*.deb")))
    say("%s: unpacking %d packages, %d MB" %
        (release.name, len(debs), sum(map(os.path.getsize, debs)) >> 20))
    # The merged /usr first, else libraries land in two places.
    for folder in ("bin", "sbin", "lib", "lib64"):
        os.makedirs(os.path.join(root, "usr", folder))
        os.symlink("usr/" + folder, os.path.join(root, folder))
    versions = {}
    excludes = ["--exclude=" + path for path in UNWANTED]
    for deb in debs:
        command = "dpkg-deb --fsys-tarfile %s | tar -C %s -x --no-same-owner " \
                  "--keep-directory-symlink --wildcards %s" % (
                      shlex.quote(deb), shlex.quote(root), " ".join(map(shlex.quote, excludes)))
        run(["bash", "-o", "pipefail", "-c", command],
            "%s: unpacking %s failed" % (release.name, os.path.basename(deb)))
        name, version = os.path.basename(deb).split("_")[:2]
        versions[name] = version.replace("%3a", ":")
    size = sum(map(os.path.getsize, debs))
    shutil.rmtree(apt)
    return versions, size


def fetch_npm(release, work, root):
    if platform.machine() != "x86_64":
        raise Skip("%s exists for x86_64 only, this machine is %s" %
                   (release.name, platform.machine()))
    folder = os.path.join(work, "npm")
    os.makedirs(folder)
    say("%s: downloading %s" % (release.name, release.npm))
    run(["npm", "pack", "--silent", "--ignore-scripts", "--cache", folder + "/cache",
         "--pack-destination", folder, release.npm],
        "%s: the npm package %s cannot be had" % (release.name, release.npm), cwd=folder)
    archives = glob.glob(folder + "/*.tgz")
    if len(archives) != 1:
        raise Skip("%s: npm gave no package archive" % release.name)
    with open(archives[0], "rb") as archive:
        digest = hashlib.sha512(archive.read()).digest()
    if "sha512-" + base64.b64encode(digest).decode() != release.integrity:
        raise Skip("%s: %s is not the file this recipe was written for (its SHA-512 differs); "
                   "it is not used" % (release.name, os.path.basename(archives[0])))
    run(["tar", "-C", root, "--strip-components=1", "--no-same-owner", "-xzf", archives[0]],
        "%s: unpacking failed" % release.name)
    size = os.path.getsize(archives[0])
    shutil.rmtree(folder)
    return {release.npm.rpartition("@")[0]: release.npm.rpartition("@")[2]}, size


def check_room(release, cache):
    free = shutil.disk_usage(cache).free
    if free < release.need_mb << 20:
        raise Skip("%s needs about %d MB while it is fetched, and %s has %d MB free" %
                   (release.name, release.need_mb, cache, free >> 20))


def description(cache, name):
    """release.json of a release in the cache, or None."""
    try:
        with open(os.path.join(cache, "releases", name, "release.json"), encoding="utf-8") as text:
            return json.load(text)
    except (OSError, ValueError):
        return None


def fetch_into(release, cache, final):
    began = time.monotonic()
    work = None
    try:
        check_room(release, cache)
        work = tempfile.mkdtemp(prefix=".%s." % release.base, dir=os.path.join(cache, "releases"))
        os.chmod(work, 0o755)
        root = os.path.join(work, "root")
        os.mkdir(root)
        get = fetch_apt if release.source == "apt" else fetch_npm
        versions, downloaded = get(release, work, root)
        install = releases.Install(release, root)
        if not install.usable():
            raise Skip("%s: the packages hold no server program" % release.name)
        about = {"name": release.base, "version": install.version(), "packages": versions,
                 "download_bytes": downloaded, "size_bytes": folder_size(root),
                 "seconds": round(time.monotonic() - began, 1)}
        with open(os.path.join(work, "release.json"), "w", encoding="utf-8") as out:
            json.dump(about, out, indent=1)
        if os.path.exists(final):
            shutil.rmtree(final)
        os.rename(work, final)
        work = None
    except OSError as exc:
        hint = ""
        if exc.errno in (errno.ENOSPC, errno.EDQUOT):
            hint = "; free some room or choose another folder with --cache"
        raise Skip("%s cannot be put into the cache: %s%s" % (release.name, exc, hint)) from exc
    finally:
        if work:
            shutil.rmtree(work, ignore_errors=True)
    return about


def provide(release, cache, refresh=False):
    """The Install of a release, fetched first where the cache has none."""
    if release.source == "local":
        return releases.local()
    final = os.path.join(cache, "releases", release.base)
    if description(cache, release.base) is None or refresh:
        try:
            make_folder(os.path.join(cache, "releases"))
            note = "%s: another process is fetching it, waiting" % release.name
            with locked(os.path.join(cache, "locks", release.base + ".fetch"), note):
                if description(cache, release.base) is None or refresh:
                    about = fetch_into(release, cache, final)
                    say("%s: version %s, %d MB downloaded, %d MB unpacked, %.1f s" % (
                        release.name, about["version"], about["download_bytes"] >> 20,
                        about["size_bytes"] >> 20, about["seconds"]))
        except Skip:
            raise
        except ServersError as exc:
            raise Skip("%s cannot be fetched: %s" % (release.name, exc)) from exc
    return releases.Install(release, os.path.join(final, "root"))
