#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Collects SQL statements from files that are on the machine, for the comparison with a server.

    harvest.py [--limit=N] PATH... > statements

Reads scripts of the mysql client (*.sql), scripts of the servers' own test driver (*.test, *.inc)
and the string literals of programs (*.lua, *.pl, *.pm, *.t, *.py, *.php, *.js, *.java) that start
like SQL.  Writes each statement once, separated by NUL characters.  What the test driver would
substitute ($name) is left out, and so are its own commands, and what is no UTF-8.
"""
import os
import re
import sys

VERBS = ("select insert update delete replace with values create alter drop truncate rename begin "
         "start commit rollback savepoint release set xa lock unlock do call show explain describe "
         "desc analyze prepare execute deallocate use handler load kill flush grant revoke check "
         "optimize repair checksum help signal table").split()

DRIVER = set("""append_file assert cat_file change_user character_set chmod connect connection
copy_file dec delimiter die diff_files dirty_close disable_abort_on_error disable_connect_log
disable_info disable_metadata disable_parsing disable_prepare_warnings disable_ps_protocol
disable_query_log disable_reconnect disable_result_log disable_rpl_parse disable_session_track_info
disable_testcase disable_view_protocol disable_cursor_protocol disable_ps2_protocol
disable_service_connection disable_non_blocking_api disable_warnings disconnect echo else enable_abort_on_error
enable_connect_log enable_info enable_metadata enable_parsing enable_prepare_warnings
enable_ps_protocol enable_query_log enable_reconnect enable_result_log enable_rpl_parse
enable_session_track_info enable_testcase enable_view_protocol enable_cursor_protocol
enable_ps2_protocol enable_service_connection enable_non_blocking_api enable_warnings end
end_timer error eval evalp eval_result exec exec_in_background execw exit file_exists horizontal_results if inc
let list_files list_files_append_file list_files_write_file lowercase_result mkdir move_file
optimizer_trace output perl ping ps_protocol query query_attributes query_get_value query_horizontal query_sorted query_vertical real_sleep
reap remove_file remove_files_wildcard replace_column replace_numeric_round replace_regex
replace_result require reset_connection result result_format rmdir save_master_pos send
send_eval send_quit shutdown_server skip sleep sorted_result partially_sorted_result source
start_timer sync_slave_with_master sync_with_master system vertical_results wait_for_slave_to_stop
while write_file write_line""".split())


def read(path):
    with open(path, "rb") as file:
        return file.read().decode("utf-8", "surrogateescape")


def split(text, driver):
    """Statements of a script.  Quotes and comments are followed; `delimiter x` is obeyed."""
    delimiter = ";"
    at = start = 0
    end = len(text)
    while at < end:
        c = text[at]
        line_start = not text[start:at].strip()
        if line_start and driver and text.startswith("--", at) and not text.startswith("-- ", at):
            stop = text.find("\n", at)
            line = text[at:stop if stop >= 0 else end]
            word = line[2:].strip().split(" ")[0].lower()
            at = start = stop + 1 if stop >= 0 else end
            if word == "delimiter":
                delimiter = line.split(None, 1)[-1].strip().split(delimiter)[0] or delimiter
            if word in ("perl", "write_file", "append_file"):
                mark = text.find("\nEOF", at)
                at = start = mark + 5 if mark >= 0 else end
            continue
        if line_start and (c == "#" or text.startswith("-- ", at)):
            stop = text.find("\n", at)
            at = start = stop + 1 if stop >= 0 else end
            continue
        if line_start and driver and c == "}":
            at = start = at + 1
            continue
        if line_start and re.match(r"delimiter\s", text[at:at + 10], re.I):
            stop = text.find("\n", at)
            stop = stop if stop >= 0 else end
            words = text[at:stop].split()
            new = words[1] if len(words) > 1 else ";"
            if driver and new != delimiter and new.endswith(delimiter):
                new = new[:-len(delimiter)]
            delimiter = new
            at = start = stop + 1
            continue
        if line_start and driver and re.match(r"(while|if)\s*\(", text[at:at + 12], re.I):
            brace = text.find("{", at)
            semi = text.find("\n", at)
            # A condition of the driver has its brace on this line or the next.
            if brace >= 0 and brace <= text.find("\n", semi + 1) % (end + 1):
                at = start = brace + 1
                continue
        if text.startswith(delimiter, at):
            yield text[start:at]
            at = start = at + len(delimiter)
            continue
        if c in "'\"`":
            stop = at + 1
            while stop < end and text[stop] != c:
                stop += 2 if text[stop] == "\\" and c != "`" else 1
            at = stop + 1
        elif c == "#" or text.startswith("-- ", at):
            stop = text.find("\n", at)
            at = stop if stop >= 0 else end
        elif text.startswith("/*", at):
            stop = text.find("*/", at + 2)
            at = stop + 2 if stop >= 0 else end
        else:
            at += 1
    if start < end:
        yield text[start:]


def is_utf8(text):
    """A script says in other ways which character set it is in; the comparison sends UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def script(path):
    driver = not path.endswith(".sql")
    for statement in split(read(path), driver):
        statement = statement.strip()
        word = re.match(r"[a-z_]*", statement, re.I).group(0).lower()
        if not statement:
            continue
        if driver:
            if word in ("send", "query_vertical", "query_horizontal", "eval", "send_eval", "evalp",
                        "query"):
                statement = statement[len(word):].strip()
            elif word in DRIVER and not re.match(r"(end|if|while)\b", word):
                continue
            if "$" in statement or statement.startswith("{"):
                continue
            word = re.match(r"[a-z_]*", statement, re.I).group(0).lower()
            if word in DRIVER:
                continue
        yield statement


LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"|\'((?:[^\'\\\n]|\\.)*)\'|\[\[(.*?)\]\]', re.S)


def literals(path):
    for match in LITERAL.finditer(read(path)):
        text = next(group for group in match.groups() if group is not None).strip()
        if text.split(" ")[0].lower() not in VERBS or " " not in text or "$" in text:
            continue
        text = re.sub(r"%[-0-9.]*(?:l*[du]|s)", "1", text)
        yield text.replace("\\n", " ").replace('\\"', '"').replace("\\'", "'")


def statements(path):
    if path.endswith((".sql", ".test", ".inc")):
        return script(path)
    if path.endswith((".lua", ".pl", ".pm", ".t", ".py", ".php", ".js", ".java")):
        return literals(path)
    return ()


def main():
    limit = None
    paths = []
    for arg in sys.argv[1:]:
        if arg.startswith("--limit="):
            limit = int(arg[8:])
        else:
            paths.append(arg)
    seen = set()
    for top in paths:
        files = [top] if os.path.isfile(top) else sorted(
            os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names)
        for path in files:
            for statement in statements(path):
                if statement in seen or len(statement) > 100000 or not is_utf8(statement):
                    continue
                seen.add(statement)
                sys.stdout.buffer.write(statement.encode("utf-8", "surrogateescape") + b"\0")
                if limit is not None and len(seen) >= limit:
                    return


if __name__ == "__main__":
    main()
