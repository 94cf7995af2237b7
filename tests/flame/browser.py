# A headless Chromium, driven by the DevTools protocol over a pipe.
"""Only Python's own library: no driver, no port, nothing to install beside the browser."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

START_SECONDS = 60  # for the browser's first answer, on a busy machine
CALL_SECONDS = 120


def find_browser():
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One process. Events that nobody waits for are kept in `events`."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="cprof-browser-")
        to_read, self.to_browser = os.pipe()
        self.from_browser, to_write = os.pipe()
        # The protocol is spoken on descriptors 3 and 4.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}', find_browser(),
             "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", f"--user-data-dir={self.profile}", "about:blank"],
            pass_fds=(to_read, to_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.pending = b""
        self.number = 0
        self.events = []
        self.call("Browser.getVersion", seconds=START_SECONDS)

    def close(self):
        try:
            self.call("Browser.close", seconds=10)
            self.process.wait(10)
        except (OSError, TimeoutError, EOFError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to_browser)
        os.close(self.from_browser)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.pending:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.from_browser], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.from_browser, 1 << 20)
            if not data:
                raise EOFError("the browser has gone")
            self.pending += data
        message, self.pending = self.pending.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, seconds=CALL_SECONDS, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to_browser, data):]
        while True:
            answer = self.receive(seconds)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)


class Page:
    """One tab."""

    def __init__(self, browser, width=1300, height=900):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target,
                                    flatten=True)["sessionId"]
        browser.events.clear()
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def call(self, method, **parameters):
        return self.browser.call(method, session=self.session, **parameters)

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def open(self, path):
        """Returns once it has loaded."""
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait_for("location.href.startsWith('file:') && document.readyState === 'complete'")

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait_for(self, expression, seconds=60):
        end = time.monotonic() + seconds
        while not self.value(expression):
            if time.monotonic() > end:
                raise TimeoutError("never true: " + expression)
            time.sleep(0.02)

    def mouse(self, kind, x, y):
        buttons = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **buttons)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)

    CODES = {"Enter": 13, "Escape": 27, "Tab": 9, " ": 32, "Home": 36, "ArrowLeft": 37,
             "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}

    def key(self, key, control=False):
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        code = self.CODES.get(key, ord(key[0].upper()))
        common = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 2 if control else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common,
                  **({"text": text} if text and not control else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def write(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def complaints(self):
        """Dialogs, exceptions and errors so far."""
        bad = []
        for event in self.browser.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method in ("Page.javascriptDialogOpening", "Runtime.exceptionThrown"):
                bad.append(event)
            if method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                bad.append(event)
        return bad
