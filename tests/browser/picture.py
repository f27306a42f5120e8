#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes docs/report.png, the picture in the README, from a real report:

    tests/browser/picture.py build/analyzer/isotrace build/quickstart/bank.itr docs/report.png
"""
import base64
import os
import subprocess
import sys
import tempfile

import chrome as browser

isotrace, trace, out = (os.path.abspath(path) for path in sys.argv[1:4])
with tempfile.TemporaryDirectory() as folder:
    html = os.path.join(folder, "report.html")
    subprocess.run([isotrace, "report", "--contract=adya", os.path.basename(trace), "-o", html],
                   cwd=os.path.dirname(trace), check=False)
    with browser.Chrome() as chrome:
        page = chrome.open(html, width=1080, height=1000)
        page.run("document.querySelector('.levels').remove()")  # the picture is to be small
        # Down to the drawings of the first finding: they are what the picture is for.
        height = page.run("Math.ceil(document.querySelector('.figures').getBoundingClientRect().bottom) + 12")
        shot = page.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": 1080, "height": height, "scale": 1})
with open(out, "wb") as file:
    file.write(base64.b64decode(shot["data"]))
print(f"{out}: {os.path.getsize(out) // 1024} KiB")
