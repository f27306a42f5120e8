# SPDX-License-Identifier: GPL-2.0-or-later
"""Drives a headless Chromium through its debugging pipe (the DevTools protocol: JSON messages that end
in a zero byte, on descriptors 3 and 4), so that nothing but the browser is needed.

    with Chrome() as chrome:
        page = chrome.open("/tmp/report.html", width=1200, dark=True)
        page.run("document.title")

A page keeps what a report must not have: `console` (errors and exceptions) and `fetched` (requests
for anything but the file itself).
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SECONDS_MAX = 60  # for one answer; only reached when none ever comes


class Failed(Exception):
    pass


class Chrome:
    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="isotrace-chrome-")
        to_child, self.write_fd = os.pipe()
        self.read_fd, from_child = os.pipe()

        def descriptors():
            # Above 4 first: dup2 must not close what it is about to copy.
            a, b = os.dup(to_child), os.dup(from_child)
            high = [os.dup(a), os.dup(b)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)
            os.set_inheritable(3, True)
            os.set_inheritable(4, True)

        self.process = subprocess.Popen(
            [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--disable-default-apps", "--disable-extensions", "--mute-audio", "--hide-scrollbars",
             "--disable-dev-shm-usage", "--user-data-dir=" + self.profile,
             "--remote-debugging-pipe", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            close_fds=False, preexec_fn=descriptors)
        os.close(to_child)
        os.close(from_child)
        self.buffer = b""
        self.number = 0
        self.pages = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.write_fd)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.read_fd)
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read_fd], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self.read_fd, 1 << 20) if ready else b""
            if not data:
                raise Failed("the browser does not answer")
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def note(self, message):
        page = self.pages.get(message.get("sessionId"))
        if page:
            page.note(message["method"], message.get("params", {}))

    def call(self, method, session=None, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if session:
            request["sessionId"] = session
        os.write(self.write_fd, json.dumps(request).encode() + b"\0")
        deadline = time.monotonic() + SECONDS_MAX
        while True:
            message = self.message(deadline)
            if message.get("id") == self.number:
                if "error" in message:
                    raise Failed(f"{method}: {message['error']}")
                return message["result"]
            if "method" in message:
                self.note(message)

    def open(self, path, width=1200, height=900, dark=False):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, target, session, path)
        self.pages[session] = page
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.size(width, height)
        page.scheme(dark)
        page.load()
        return page


class Page:
    def __init__(self, chrome, target, session, path):
        self.chrome, self.target, self.session = chrome, target, session
        self.url = "file://" + os.path.abspath(path)
        self.console, self.fetched, self.loaded = [], [], False

    def call(self, method, **params):
        return self.chrome.call(method, self.session, **params)

    def note(self, method, params):
        if method == "Runtime.exceptionThrown":
            self.console.append(json.dumps(params["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.console.append(json.dumps(params["args"])[:500])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.console.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if url.split("#")[0].split("?")[0] != self.url and not url.startswith("data:"):
                self.fetched.append(url)
        elif method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Page.javascriptDialogOpening":
            self.console.append("a dialog: " + params["message"])

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)

    def scheme(self, dark):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def load(self, fragment=""):
        self.loaded = False
        self.call("Page.navigate", url=self.url + fragment)
        deadline = time.monotonic() + SECONDS_MAX
        # The event may still be that of the page before.
        there = f"document.readyState === 'complete' && document.URL.startsWith({json.dumps(self.url)})"
        while not self.loaded or not self.run(there):
            message = self.chrome.message(deadline)
            if "method" in message:
                self.chrome.note(message)

    def run(self, script):
        """The value of an expression; promises are waited for."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                           awaitPromise=True, userGesture=True)
        if "exceptionDetails" in answer:
            raise Failed(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def key(self, name):
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}
        text = {"Enter": "\r"}.get(name, name if len(name) == 1 else "")
        extra = {"text": text, "unmodifiedText": text} if text else {}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", key=name,
                  windowsVirtualKeyCode=codes.get(name, ord(name[0].upper())), **extra)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name,
                  windowsVirtualKeyCode=codes.get(name, ord(name[0].upper())))

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self, path, selector="html", height_max=4000):
        """The first element of that kind, which is the whole page without one, to a height."""
        clip = self.run(f"""(() => {{
            const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect();
            return {{x: r.x + scrollX, y: r.y + scrollY, width: r.width, height: r.height, scale: 1}};
        }})()""")
        clip["height"] = min(clip["height"], height_max)
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def pdf(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"]))

    def close(self):
        del self.chrome.pages[self.session]
        self.chrome.call("Target.closeTarget", targetId=self.target)
