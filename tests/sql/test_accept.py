#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The SQL parser against the PREPARE of a real server: TAP on standard output.

    test_accept.py ISOREC-SERVERS SQL_ACCEPT SQL_GENERATE [RELEASE]

RELEASE is one of isorec-servers; without it the machine's own MariaDB.  Nothing is executed on the
server but SET and CREATE DATABASE.  Skipped as a whole where there is no such server.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL, ACCEPT, GENERATE = sys.argv[1:4]
RELEASE = sys.argv[4] if len(sys.argv) > 4 else "mariadb-local"

# Where Debian's packages put SQL of other people; what is not installed is left out.
SOURCES = ["/usr/share/mysql", "/usr/share/mariadb", "/usr/share/sysbench",
           "/usr/share/doc/*/examples/*.sql", "/usr/share/dbconfig-common/data"]

# Words of a mutated statement: a token each.
TOKEN = re.compile(r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*"|`[^`]*`|[\w@$.]+|\s+|.""", re.S)

# The server finds no fault with these, or another one, for reasons outside of its grammar.
QUIRKS = re.compile(r"DEFINER=|\(values *\(\)|(next|last)val\(\)|^/\*")


def own_statements():
    with open(os.path.join(HERE, "statements.txt"), encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file if line.strip()]


def mutants():
    """Each statement of ours that is no DDL with a token missing, or two of them swapped."""
    seen = set()
    for line in own_statements():
        if re.match(r"(create|alter|drop|rename|truncate)\b", line, re.I) or QUIRKS.search(line):
            continue
        tokens = TOKEN.findall(line)
        words = [i for i, token in enumerate(tokens) if not token.isspace()]
        for at in words:
            seen.add("".join(tokens[:at] + tokens[at + 1:]))
        for first, second in zip(words, words[1:]):
            swapped = list(tokens)
            swapped[first], swapped[second] = swapped[second], swapped[first]
            seen.add("".join(swapped))
    return sorted(text for text in seen if text.strip() and not QUIRKS.search(text))


def harvest():
    paths = [path for pattern in SOURCES for path in sorted(glob.glob(pattern))]
    return subprocess.run(["/usr/bin/python3", os.path.join(HERE, "harvest.py"), *paths],
                          stdout=subprocess.PIPE, check=True).stdout


def joined(statements):
    return b"\0".join(text.encode("utf-8", "surrogateescape") for text in statements)


def generated(mode):
    return subprocess.run([GENERATE, "5000", "1", "--mode=" + mode], stdout=subprocess.PIPE,
                          check=True).stdout


def parts(mariadb):
    # MySQL has a grammar of its own; the parser is held to all of it only where we wrote to it.
    yield "our statements", "", joined(own_statements()), 0 if mariadb else 8
    yield "random trees", "", generated(""), 0 if mariadb else 1
    if mariadb:
        yield "mutated statements", "", joined(mutants()), 0
        yield "statements found on this machine", "", harvest(), 0
    for mode in ("ANSI_QUOTES", "PIPES_AS_CONCAT", "NO_BACKSLASH_ESCAPES", "IGNORE_SPACE",
                 "HIGH_NOT_PRECEDENCE"):
        if mariadb or mode != "HIGH_NOT_PRECEDENCE":
            yield "random trees, " + mode, mode, generated(mode), 0 if mariadb else 1
            yield "our statements, " + mode, mode, joined(own_statements()), 0 if mariadb else 12


def tool(cache, *args):
    return subprocess.run([TOOL, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, env=dict(os.environ, ISOREC_SERVERS_CACHE=cache)
                          if cache else None)


def run(socket, mariadb):
    failed = 0
    all_parts = list(parts(mariadb))
    print("1..%d" % len(all_parts))
    for number, (name, mode, statements, allowed) in enumerate(all_parts, 1):
        done = subprocess.run([ACCEPT, socket, "--mode=" + mode], input=statements,
                              capture_output=True, check=False)
        lines = done.stdout.decode("utf-8", "replace").splitlines()
        summary = lines[-1] if lines else done.stderr.decode("utf-8", "replace")
        count = re.search(r"(\d+) disagreements", summary)
        good = count is not None and int(count.group(1)) <= allowed
        failed += not good
        for line in lines[-40:]:
            print("# " + line)
        print("%s %d - %s" % ("ok" if good else "not ok", number, name), flush=True)
    return 1 if failed else 0


def main():
    # The machine's server needs no download, so a cache of its own keeps it apart from users'.
    local = RELEASE == "mariadb-local"
    with tempfile.TemporaryDirectory(prefix="sql-accept-") as folder:
        os.chmod(folder, 0o755)
        cache = folder if local else ""
        name = "sql-accept-%d" % os.getpid()
        done = tool(cache, "start", RELEASE, "--name=" + name, "--with-parent=%d" % os.getpid(),
                    "--json")
        if done.returncode == 77:
            print("1..0 # SKIP %s" % done.stderr.strip())
            return 0
        if done.returncode != 0:
            print("Bail out! " + done.stderr.strip())
            return 1
        server = json.loads(done.stdout)
        try:
            return run(server["socket"], "MariaDB" in server["version"])
        finally:
            tool(cache, "stop", name)


sys.exit(main())
