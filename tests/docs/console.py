# SPDX-License-Identifier: GPL-2.0-or-later
"""The ```console blocks of a document: commands after "$ ", with what they print.  A command with a here
document goes on to its END; "..." stands for any lines, and at the end of a line for the rest of it and any lines."""
import re


def commands(text):
    """(command, lines of output) in their order."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        here = None
        for line in block.splitlines():
            if here:
                found[-1][0] += "\n" + line
                here = None if line == here else here
            elif line.startswith("$ "):
                found.append([line[2:], []])
                match = re.search(r"<<'?(\w+)'?", line)
                here = match[1] if match else None
            else:
                found[-1][1].append(line)
    return [(command, output) for command, output in found]


def normal(line):
    """What may differ between machines and runs: ids, numbers, the server's version."""
    line = re.sub(r"\b[0-9a-f]{16}\b", "ID", line)
    line = re.sub(r"server \S+,", "server VERSION,", line)
    return re.sub(r"\d+", "N", line).rstrip()


def fits(expected, output):
    """None, or what is wrong.  Parts between "..." must come in their order."""
    lines = [normal(line) for line in output]
    at = 0
    loose = False
    for line in expected:
        if line == "...":
            loose = True
            continue
        wanted = normal(line)
        if loose:
            while at < len(lines) and lines[at] != wanted:
                at += 1
        if wanted.endswith("..."):  # the line begins so, and anything follows
            loose = at < len(lines) and lines[at].startswith(wanted[:-3])
            at += 1
            if not loose:
                return f"expected {line!r}"
            continue
        if at >= len(lines) or lines[at] != wanted:
            return f"expected {line!r}, got {output[at] if at < len(output) else 'the end'!r}"
        at += 1
        loose = False
    if not loose and at != len(lines):
        return f"more output: {output[at]!r}"
    return None
