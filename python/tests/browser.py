"""A browser without a window, spoken to through a pipe: no package is needed for that, only a browser."""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path

#: What a browser may be called.
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def found():
    """The browser to use: that of FEATGEN_BROWSER, or the first there is; None if there is none."""
    return os.environ.get("FEATGEN_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A browser, and one page in it. What the page asks of the network and complains of is kept."""

    def __init__(self, folder, width=1200, height=900):
        self.requests, self.complaints = [], []
        self._count, self._rest = 0, b""
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()

        def as_it_expects():
            # It reads from 3 and writes to 4; these may be what they are copied from.
            read, write = os.dup(to_read), os.dup(to_write)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self._process = subprocess.Popen(
            [
                found(),
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--no-first-run",
                "--disable-background-networking",
                "--remote-debugging-pipe",
                f"--user-data-dir={folder}",
                "about:blank",
            ],
            close_fds=False,
            preexec_fn=as_it_expects,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._session = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{part}.enable")
        self.resize(width, height)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._write)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)

    def _message(self, until):
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            some = os.read(self._read, 1 << 20)
            if not some:
                raise RuntimeError("the browser has ended")
            self._rest += some
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, **parameters):
        """Asks, and returns the answer; what happens meanwhile is noted."""
        self._count += 1
        question = {"id": self._count, "method": method, "params": parameters}
        if self._session is not None:
            question["sessionId"] = self._session
        os.write(self._write, json.dumps(question).encode() + b"\0")
        until = time.monotonic() + 60
        while True:
            message = self._message(until)
            if message.get("id") == self._count:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self._note(message)

    def _note(self, message):
        event, told = message.get("method"), message.get("params", {})
        if event == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(
                told["exceptionDetails"].get("exception", {}).get("description", "exception")
            )
        elif event == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.complaints.append(str([argument.get("value") for argument in told["args"]]))
        elif event == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(told["entry"]["text"])

    def run(self, script):
        """The value of an expression on the page; promises are waited for."""
        said = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in said:
            raise RuntimeError(said["exceptionDetails"]["exception"].get("description"))
        return said["result"].get("value")

    def open(self, path):
        """Opens a file, and waits until it is there and drawn."""
        self.ask("Page.navigate", url=Path(path).resolve().as_uri())
        until = time.monotonic() + 60
        while self.run("document.readyState + location.protocol") != "completefile:":
            if time.monotonic() > until:
                raise TimeoutError(f"{path} is not complete")
            time.sleep(0.05)
        self.settle()

    def settle(self):
        """Waits until the page had time to draw what is in the window."""
        self.run(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))"
        )

    def resize(self, width, height):
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )

    def theme(self, name):
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])
        self.settle()

    def screenshot(self, path, whole=True):
        """A picture of the whole page, or of what is in the window."""
        if whole:
            # Charts are drawn when they come near the window.
            height = self.run("document.documentElement.scrollHeight")
            width = self.run("window.innerWidth")
            self.resize(width, min(height, 12000))
            self.settle()
        said = self.ask("Page.captureScreenshot", format="png")
        Path(path).write_bytes(base64.b64decode(said["data"]))

    def pdf(self, path):
        said = self.ask("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        Path(path).write_bytes(base64.b64decode(said["data"]))
