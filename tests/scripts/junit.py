# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the JUnit XML of our programs as strictly as any build server does."""
import os
import shutil
import subprocess
import xml.etree.ElementTree as xml

OWN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli", "schemas", "junit.xsd")


def schemas():
    return [OWN, *filter(None, os.environ.get("ISOTRACE_JUNIT_SCHEMAS", "").split(":"))]


def complaint(text, schema):
    """What xmllint says against it; "" when it is valid."""
    run = subprocess.run(["xmllint", "--noout", "--nonet", "--schema", schema, "-"],
                         input=text.encode(), capture_output=True, check=False)
    return "" if run.returncode == 0 else run.stderr.decode()


def suites(text):
    """The suites of a document that is valid and whose counts are right."""
    for schema in schemas() if shutil.which("xmllint") else []:
        assert not complaint(text, schema), (schema, complaint(text, schema))
    found = xml.fromstring(text).findall("testsuite")
    for number, suite in enumerate(found):
        assert int(suite.get("id")) == number
        assert int(suite.get("tests")) == len(suite.findall("testcase"))
        for name, counted in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert int(suite.get(counted)) == len(suite.findall(f"testcase/{name}")), name
    return found
