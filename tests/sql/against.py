# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of SQL against a real server share: a private server, and texts for it."""
import json
import os
import random
import re
import subprocess
import tempfile

CACHE = os.environ.get("ISOREC_SERVERS_CACHE", "/var/cache/isotrace/servers")

# Words of a mutated statement: a token each.
TOKEN = re.compile(r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*"|`[^`]*`|[\w@$.]+|\s+|.""", re.S)

# The same with the space after it, and operators whole.
SPACED = re.compile(r"""(?:'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*"|`[^`]*`|[\w@$.]+|[<>=!:|&]+|\S)\s*""", re.S)


def server(servers, release, prefix, run):
    """Starts one of isorec-servers, returns what run(about) does, and stops it.  Skips the whole
    where there is no such server."""
    # The machine's server needs no download, so a cache of its own keeps it apart from users'.
    with tempfile.TemporaryDirectory(prefix=prefix) as folder:
        os.chmod(folder, 0o755)
        env = dict(os.environ, ISOREC_SERVERS_CACHE=folder) if release == "mariadb-local" else None
        name = prefix + "%d" % os.getpid()

        def tool(*args):
            return subprocess.run([servers, *args], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, check=False, env=env)

        done = tool("start", release, "--name=" + name, "--with-parent=%d" % os.getpid(), "--json")
        if done.returncode == 77:
            print("1..0 # SKIP %s" % done.stderr.strip())
            return 0
        if done.returncode != 0:
            print("Bail out! " + done.stderr.strip())
            return 1
        try:
            return run(json.loads(done.stdout))
        finally:
            tool("stop", name)


def compare(parts, good, shown=lambda part, lines: lines[-60:]):
    """Runs a program for each part (name, command, input) and reports it as TAP: good(lines) says
    whether what it printed is."""
    failed = 0
    parts = list(parts)
    print("1..%d" % len(parts))
    for number, part in enumerate(parts, 1):
        name, command, texts = part
        done = subprocess.run(command, input=texts, capture_output=True, check=False)
        lines = (done.stdout + done.stderr).decode("utf-8", "replace").splitlines()
        ok = done.returncode == 0 and good(lines)
        failed += not ok
        for line in shown(part, lines):
            print("# " + line)
        print("%s %d - %s" % ("ok" if ok else "not ok", number, name), flush=True)
    return 1 if failed else 0


def counted(what):
    """The program's own count of `what` is there, and 0."""
    pattern = re.compile(r"(\d+) " + what)

    def good(lines):
        counts = pattern.findall("\n".join(lines))
        return bool(counts) and set(counts) == {"0"}
    return good


def mutants(lines):
    """Each with a token missing, or two of them swapped."""
    seen = set()
    for line in lines:
        tokens = TOKEN.findall(line)
        words = [i for i, token in enumerate(tokens) if not token.isspace()]
        for at in words:
            seen.add("".join(tokens[:at] + tokens[at + 1:]))
        for first, second in zip(words, words[1:]):
            swapped = list(tokens)
            swapped[first], swapped[second] = swapped[second], swapped[first]
            seen.add("".join(swapped))
    return sorted(text for text in seen if text.strip())


def random_mutants(lines, count, seed):
    """Some of them changed at one to three places: a token missing, doubled, swapped with one nearby,
    or one or a few of another statement put in or in its place."""
    draw = random.Random(seed)
    cut = [tokens for tokens in map(SPACED.findall, lines) if tokens]

    def change(tokens):
        at, how = draw.randrange(len(tokens)), draw.randrange(6)
        other = draw.choice(cut)
        start = draw.randrange(len(other))
        piece = other[start:start + (1 if how < 5 else draw.randint(2, 5))]
        if how == 0 and len(tokens) > 1:
            del tokens[at]
        elif how == 1:
            tokens.insert(at, tokens[at])
        elif how == 2:
            near = min(len(tokens) - 1, at + draw.randint(1, 3))
            tokens[at], tokens[near] = tokens[near], tokens[at]
        elif how == 3:
            tokens[at:at] = piece
        else:
            tokens[at:at + len(piece)] = piece

    for _ in range(count):
        tokens = list(draw.choice(cut))
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            change(tokens)
        yield "".join(tokens)


def harvest(paths):
    return subprocess.run(["/usr/bin/python3", os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                                            "harvest.py"), *paths],
                          stdout=subprocess.PIPE, check=True).stdout


def joined(texts):
    return b"\0".join(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
                      for text in texts)
