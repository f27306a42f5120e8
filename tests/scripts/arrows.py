#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks the rules of the source tree that a compiler alone does not: TAP on standard output.

    arrows.py SOURCE-ROOT BUILD-ROOT ISOTRACE-PROGRAM

- The include arrows: formats <- oracles <- analyzer, formats <- oracles <- recorder.  Quoted
  includes are paths below a top folder that the includer may use; system headers are the C
  library's or those of the libraries that the folder may use.
- The arrows inside the top folders: the table of docs/internals/architecture.md, "Who may include
  whom", names for each folder those that it includes; there is no circle.
- The calls inside oracles/eval and oracles/mvcc: the tables of the same page, "Calls inside the
  evaluator and the solver", say which folder calls functions of which, and which functions are
  called against that order.  The object files of the build say whether it is so.
- The build enforces the arrows too: a file with a wrong include does not compile with the
  flags that meson gives to that folder (and one with a right include does).
- isotrace links no database client.
- Memory is given back by mem_free(), which knows blocks in the temporary file (base/spill.h) from those of malloc().
- Every source file has an SPDX line; no tracked file is larger than 1 MiB; open points live in
  the tracker, not in comments.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

FOLDERS = {  # folder: the top folders it may include from
    "formats": ["formats"],
    "oracles": ["formats", "oracles"],
    "analyzer": ["formats", "oracles", "analyzer"],
    "recorder": ["formats", "oracles", "recorder"],
}
LIBRARIES = {  # folder: system headers beside the C library's, as prefixes
    "formats": ["msgpack", "zstd", "pcre2"],
    "oracles": ["igraph", "openssl/", "zlib"],
    "analyzer": [],
    "recorder": ["capstone/", "mysql", "mariadb/", "openssl/", "zlib", "zstd", "pcre2", "pcap/"],
}
LIBC = set("""
    aio alloca arm_acle arpa/* assert byteswap complex cpuid ctype dirent dlfcn elf endian err errno
    execinfo fcntl fenv float fnmatch ftw getopt glob grp iconv ifaddrs immintrin inttypes iso646
    langinfo libgen limits link linux/* locale malloc math mqueue net/* netdb netinet/* nmmintrin paths
    poll pthread pty pwd regex sched search semaphore setjmp signal spawn stdalign stdarg stdatomic
    stdbool stddef stdint stdio stdlib stdnoreturn string strings sys/* sysexits syslog termios
    threads time uchar ucontext unistd utime wchar wctype wordexp x86intrin
    """.split())
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
SOURCE = (".c", ".h", ".re", ".y", ".l")
NEEDS_SPDX = SOURCE + (".py", ".js", ".sh", ".1", ".5", ".7", "meson.build", "meson_options.txt")

results = []


def report(good, what, problems=()):
    results.append(good)
    print(f"{'ok' if good else 'not ok'} {len(results)} - {what}")
    for problem in list(problems)[:40]:
        print(f"# {problem}")


def skip(what, reason):
    results.append(True)
    print(f"ok {len(results)} - {what} # SKIP {reason}")


def tree(root):
    """The files of the project, by path below root: git's list, or a walk without it."""
    run = subprocess.run(["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-co",
                          "--exclude-standard"], capture_output=True, text=True, check=False)
    if run.returncode == 0 and run.stdout:
        names = run.stdout.splitlines()
    else:
        names = [os.path.relpath(os.path.join(folder, name), root)
                 for folder, _, files in os.walk(root) for name in files]
        names = [n for n in names if not re.match(r"build|\.git/", n)]
    return sorted(n for n in names if os.path.isfile(os.path.join(root, n)))


def text_of(root, name):
    with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def include_problem(roots, folder, form, path):
    if ".." in path.split("/"):
        return "'..' in an include path; name the header by its path below the top folder"
    if form == "<":
        stem = path[:-2] if path.endswith(".h") else path
        if stem in LIBC or stem.split("/")[0] + "/*" in LIBC:
            return None
        if any(path.startswith(prefix) for prefix in LIBRARIES[folder]):
            return None
        return f"{folder}/ may not use this system header"
    found = [top for top in FOLDERS for root in roots
             if os.path.isfile(os.path.join(root, top, path))]
    if not found:
        return "no such header below a top folder (includes are written from there)"
    if not any(top in FOLDERS[folder] for top in found):
        return f"{folder}/ may not include from {found[0]}/"
    return None


def check_includes(root, build, names):
    problems, count = [], 0
    for name in names:
        folder = name.split("/")[0]
        if folder not in FOLDERS or not name.endswith(SOURCE):
            continue
        for form, path in INCLUDE.findall(text_of(root, name)):
            count += 1
            problem = include_problem([root, build], folder, form, path)
            if problem:
                problems.append(f"{name}: {path}: {problem}")
    report(not problems and count > 0, f"the {count} includes follow the arrows", problems)
    same = {}
    for name in names:
        top, _, below = name.partition("/")
        if top in FOLDERS and name.endswith(".h"):
            same.setdefault(below, []).append(name)
    twice = [" and ".join(paths) for paths in same.values() if len(paths) > 1]
    report(not twice, "a header's path below its top folder is unique", twice)


def read_table(text):
    """Of the page's table: for each folder the set of those that it may include."""
    table = {}
    section = re.split(r"\n##+ ", text.split("\n## Who may include whom\n")[1])[0]
    for line in section.splitlines():
        cells = line.split("|")
        if len(cells) != 4 or "`" not in cells[1]:
            continue
        for folder in re.findall(r"`([^`]+)`", cells[1]):
            top = folder.split("/")[0]
            table[folder] = {f"{top}/{name}" for name in re.findall(r"`([^`]+)`", cells[2])}
    return table


def listed(table, path):
    """The folder of the table that a file belongs to."""
    folder = os.path.dirname(path)
    while folder and folder not in table:
        folder = os.path.dirname(folder)
    return folder


def inner_edges(root, names, table):
    """Includes between listed folders of one top folder, each with a file that has it."""
    headers = {name.split("/", 1)[1]: name for name in names if name.endswith((".h", ".inc"))}
    edges = {}
    for name in names:
        top = name.split("/")[0]
        if top not in FOLDERS or not name.endswith(SOURCE) or name.count("/") < 2:
            continue
        for form, path in INCLUDE.findall(text_of(root, name)):
            other = headers.get(path) if form == '"' else None
            if not other or other.split("/")[0] != top:
                continue
            edge = listed(table, name), listed(table, other)
            if edge[0] != edge[1]:
                edges.setdefault(edge, f"{name}: {path}")
    return edges


def edge_problems(table, edges):
    return [f"{where}: {folder} may not include from {other}" if folder and other
            else f"{where}: a folder that the table does not have"
            for (folder, other), where in sorted(edges.items())
            if other not in table.get(folder, ()) and other != f"{folder.split('/')[0]}/base"]


def circle(arrows):
    """Folders that include each other in a circle, from a set of pairs; None: there are none."""
    left = set(arrows)
    while left:
        ends = {other for _, other in left} - {folder for folder, _ in left}
        if not ends:
            return sorted({folder for folder, _ in left})
        left = {arrow for arrow in left if arrow[1] not in ends}
    return None


def check_inner(root, names):
    table = read_table(text_of(root, "docs/internals/architecture.md"))
    edges = inner_edges(root, names, table)
    problems = edge_problems(table, edges)
    report(not problems and len(edges) > 20,
           f"the {len(edges)} includes between inner folders are in the table", problems)
    missing = [f for f in table if not os.path.isdir(os.path.join(root, f))]
    arrows = {(folder, other) for folder, others in table.items() for other in others} | set(edges)
    found = circle(arrows)
    report(not found and not missing, "inner folders include in one direction",
           [f"in a circle, or above one: {' '.join(found)}"] if found else missing)
    # That these checks can fail: an include that no row names, and the same turned round.
    folder, other = max(edge for edge in edges if not edge[1].endswith("/base"))
    back = {**edges, (other, folder): "tried"}
    report(len(edge_problems(table, back)) == len(problems) + 1 and circle(set(back)),
           f"{other} including {folder} would be refused, and is a circle")


def call_tables(text):
    """Of the page: the folders with those that they call, and the functions that any may call."""
    calls, upward = {}, {}
    section = text.split("\n### Calls inside the evaluator and the solver\n")[1].split("\n## ")[0]
    for line in section.splitlines():
        cells = [re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:-1]]
        if len(cells) == 2 and cells[0] and "/" in cells[0][0]:
            calls.update({folder: set(cells[1]) for folder in cells[0]})
        elif len(cells) == 3 and cells[0]:
            upward.update({function: cells[1][0] for function in cells[0]})
    return calls, upward


def symbols(build, names, below):
    """Of the object files of a folder: where each function is defined, and who needs which."""
    objects = os.path.join(build, "oracles", "liboracles.a.p")
    defined, needed = {}, []
    for name in names:
        path = os.path.join(objects, name.partition("/")[2].replace("/", "_") + ".o")
        if not name.startswith(below + "/") or not name.endswith(".c") or not os.path.exists(path):
            continue
        run = subprocess.run(["nm", path], capture_output=True, text=True, check=True)
        for line in run.stdout.splitlines():
            kind, symbol = line.split()[-2:]
            if kind == "U":
                needed.append((name, symbol))
            elif kind in "TDRB":
                defined[symbol] = os.path.dirname(name)
    return defined, needed


def call_problems(calls, upward, defined, needed):
    """Calls that the tables do not have."""
    problems = []
    for name, symbol in needed:
        folder, other = os.path.dirname(name), defined.get(symbol)
        if not other or other == folder or other in calls.get(folder, ()):
            continue
        if not any(re.fullmatch(pattern.replace("*", r"\w+"), symbol) and where == other
                   for pattern, where in upward.items()):
            problems.append(f"{name}: {symbol}() of {other}")
    return problems


def unused(root, names, calls, upward):
    """Functions of the second table that no folder calls against the order."""
    stale = []
    for pattern, where in upward.items():
        word = re.compile(r"\b" + pattern.replace("*", r"\w+") + r"\b")
        users = [name for name in names if name.endswith(".c")
                 and os.path.dirname(name) in calls and os.path.dirname(name) != where
                 and where not in calls[os.path.dirname(name)]
                 and word.search(text_of(root, name))]
        if not users:
            stale.append(f"{pattern}() of {where}: is not called from below")
    return stale


# What refuses a statement; and the files outside of oracles/eval/limits that may call it: they define it, or
# refuse by release from a table.
REFUSALS = {"run_unsupported", "compile_unsupported", "run_open_error"}
REFUSING = {"oracles/eval/node/node.c", "oracles/eval/value/convert.c", "oracles/eval/value/release.c"}


def refusals(needed, allowed):
    """Calls of what refuses from other files than the guards."""
    return [f"{name}: {symbol}()" for name, symbol in needed
            if symbol in REFUSALS and name not in allowed
            and not name.startswith("oracles/eval/limits/")]


def check_calls(root, build, names):
    calls, upward = call_tables(text_of(root, "docs/internals/architecture.md"))
    folders = {os.path.dirname(name) for name in names
               if re.match(r"oracles/(eval|mvcc)/.*\.c$", name)}
    missing = sorted(folders ^ set(calls))
    found = circle({(folder, other) for folder, others in calls.items() for other in others})
    report(not missing and not found, "the calls inside eval and mvcc have one direction",
           missing + ([f"in a circle, or above one: {' '.join(found)}"] if found else []))
    tables = [symbols(build, names, below) for below in ("oracles/eval", "oracles/mvcc")]
    problems = [problem for defined, needed in tables
                for problem in call_problems(calls, upward, defined, needed)]
    report(not problems and all(len(needed) > 500 for _, needed in tables),
           f"the tables have all calls between their folders, {len(upward)} functions upward",
           problems)
    stale = unused(root, names, calls, upward)
    report(not stale, "what the table allows upward is called so", stale)
    # That this can fail: without the second table its calls are problems.
    refused = [problem for defined, needed in tables
               for problem in call_problems(calls, {}, defined, needed)]
    report(len(refused) > len(upward), f"without that table {len(refused)} calls would be refused")
    _, needed = tables[0]
    outside = refusals(needed, REFUSING)
    report(not outside and refusals(needed, set()), "the evaluator's rules refuse through guards only",
           outside)


def compile_flags(build, folder):
    """The compiler and flags that meson gives to a C file of the folder, without in- and output."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        for entry in json.load(file):
            path = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
            if f"/{folder}/" not in path or not path.endswith(".c") or "/tests/" in path:
                continue
            words, flags = shlex.split(entry["command"]), []
            while words:
                word = words.pop(0)
                if word in ("-o", "-MF", "-MQ", "-MT"):
                    words.pop(0)
                elif word not in ("-c", "-MD") and word != entry["file"]:
                    flags.append(word)
            return flags, entry["directory"]
    return None, None


def compiles(flags, directory, header):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "probe.c")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'#include "{header}"\nint probe_nothing;\n')
        run = subprocess.run(flags + ["-fsyntax-only", path], cwd=directory, capture_output=True,
                             text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    return run.returncode == 0, run.stderr


def header_of(names, folder):
    for name in names:
        if name.startswith(folder + "/") and name.endswith(".h"):
            return name.split("/", 1)[1]
    return None


def check_build_enforces(build, names):
    for folder in FOLDERS:
        flags, directory = compile_flags(build, folder)
        for other in FOLDERS:
            if other == folder:
                continue
            allowed = other in FOLDERS[folder]
            if allowed and other != "formats":
                continue  # a folder need not use all that it may
            what = f"a file of {folder}/ {'may' if allowed else 'cannot'} include from {other}/"
            header = header_of(names, other)
            if not flags:
                skip(what, f"{folder}/ has no C file yet")
            elif not header:
                skip(what, f"{other}/ has no header yet")
            else:
                good, errors = compiles(flags, directory, header)
                missing = "No such file" in errors or "file not found" in errors
                report(good if allowed else not good and missing, what, errors.splitlines()[:5])


def check_linking(program):
    run = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=False)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run.stdout)
    loaded = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    bad = [line for line in needed + loaded.stdout.splitlines()
           if re.search(r"mariadb|mysql|libssl", line)]
    report(needed and not bad, "isotrace links no database client",
           bad or ["needs: " + " ".join(needed)])


FREE = re.compile(r"(?<![\w>.])free\(")
# What implements it; what is loaded into servers, and has nothing but the C library.
FREES = ("formats/base/mem.c", "formats/base/spill.c", "recorder/cluster/coverage/agent.c")


def check_frees(root, names):
    problems = []
    for name in names:
        if name.split("/")[0] not in FOLDERS or not name.endswith((".c", ".h", ".re", ".y")) or name in FREES:
            continue
        for number, line in enumerate(text_of(root, name).splitlines(), 1):
            if FREE.search(line):
                problems.append(f"{name}:{number}: {line.strip()}")
    report(not problems and FREE.search("\tfree(x);") and not FREE.search("mem_free(x); p->free(x);"),
           "memory is given back by mem_free()", problems)


def check_files(root, names):
    without, large, open_points = [], [], []
    marks = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]) + r")\b")
    for name in names:
        if os.path.getsize(os.path.join(root, name)) > 1024 * 1024:
            large.append(name)
            continue
        text = text_of(root, name)
        script = text.startswith("#!")
        if name.endswith(NEEDS_SPDX) or script:
            if "SPDX-License-Identifier:" not in "".join(text.splitlines(True)[:5]):
                without.append(name)
        if name.endswith(NEEDS_SPDX) and marks.search(text):
            open_points.append(f"{name}: {marks.search(text)[0]}")
    report(not without, "every source file has an SPDX line", without)
    report(not large, "no file is larger than 1 MiB", large)
    report(not open_points, "no open points in comments", open_points)


def main(root, build, program):
    names = tree(root)
    check_includes(root, build, names)
    check_inner(root, names)
    check_calls(root, build, names)
    check_build_enforces(build, names)
    check_linking(program)
    check_frees(root, names)
    check_files(root, names)
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(*[os.path.abspath(argument) for argument in sys.argv[1:4]]))
