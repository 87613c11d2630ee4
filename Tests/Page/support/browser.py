"""Headless Chromium, driven by WebDriver (W3C) over plain HTTP with nothing but the standard library."""

import base64
import http.client
import json
import pathlib
import shutil
import subprocess
import tempfile

from support.clock import wait_for

KEYS = {"Down": "\ue015", "Up": "\ue013", "Left": "\ue012", "Right": "\ue014", "Home": "\ue011", "End": "\ue010",
        "Delete": "\ue017", "Enter": "\ue007", "Tab": "\ue004", "Escape": "\ue00c", "Shift": "\ue008", "Alt": "\ue00a", "Control": "\ue009"}

# Scripts wait as the tests in node do.
CLOCK = pathlib.Path(__file__).with_name("clock.mjs").read_text().replace("export ", "")


class WebDriverError(Exception):
    pass


class Driver:
    """One chromedriver; `open` starts a browser in it."""

    def __init__(self, port):
        self.port = port
        self.process = subprocess.Popen(["chromedriver", f"--port={port}", "--silent"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: self.call("GET", "/status"), "chromedriver starts")

    def call(self, method, path, body=None):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            link.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
            value = json.loads(link.getresponse().read())["value"]
        finally:
            link.close()
        if isinstance(value, dict) and value.get("error"):
            raise WebDriverError(f"{value['error']}: {value['message']}")
        return value

    def close(self):
        self.process.terminate()
        self.process.wait(10)


class Browser:
    def __init__(self, driver, width=1280, height=900, **features):
        self.driver = driver
        self.profile = tempfile.mkdtemp(prefix="page-test-")
        arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
                     "--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
                     "--disable-renderer-backgrounding", f"--user-data-dir={self.profile}", f"--window-size={width},{height}"]
        options = {"args": arguments, "binary": shutil.which("chromium")}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self.id = driver.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        self.features(width, height, **features)

    def call(self, method, path, body=None):
        return self.driver.call(method, f"/session/{self.id}{path}", body)

    def devtools(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def count_processor_time(self):
        self.devtools("Performance.enable", timeDomain="threadTicks")

    def processor_time(self):
        """Milliseconds that the page's main thread has computed, whoever else uses the machine."""
        metrics = self.devtools("Performance.getMetrics")["metrics"]
        return next(each["value"] for each in metrics if each["name"] == "TaskDuration") * 1_000

    def features(self, width, height, dark=False, still=False, phone=False, scale=1):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=phone)
        self.devtools("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"}])

    def go(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *values):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(values)})

    def run_async(self, script, *values):
        """`script` is the body of an async function that may call those of clock.mjs; errors in it are raised here."""
        wrapped = ("const done = arguments[arguments.length - 1], values = [...arguments].slice(0, -1);" + CLOCK +
                   "(async (...values) => {" + script + "})(...values).then((value) => done({ value }), (error) => done({ error: String(error.stack) }))")
        result = self.call("POST", "/execute/async", {"script": wrapped, "args": list(values)})
        if "error" in result:
            raise WebDriverError(result["error"])
        return result.get("value")

    def wait(self, expression, seconds=6, *values):
        return wait_for(lambda: self.run(f"return {expression}", *values), f"{expression} within {seconds} s", seconds, not_yet=())

    def press(self, *keys, hold=()):
        """Presses keys one after the other, with others held down."""
        actions = [{"type": "keyDown", "value": KEYS.get(key, key)} for key in hold]
        for key in keys:
            actions += [{"type": way, "value": KEYS.get(key, key)} for way in ("keyDown", "keyUp")]
        actions += [{"type": "keyUp", "value": KEYS.get(key, key)} for key in hold]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def drag(self, start, end, milliseconds=120, kind="mouse"):
        """Drags by the mouse, or by a finger, from one point of the page to another, each (x, y)."""
        moves = [{"type": "pointerMove", "x": round(x), "y": round(y), "duration": duration}
                 for (x, y), duration in ((start, 0), ((start[0], start[1] + 8), 20), (end, milliseconds))]
        actions = [moves[0], {"type": "pointerDown", "button": 0}, *moves[1:], {"type": "pointerUp", "button": 0}]
        self.call("POST", "/actions", {"actions": [
            {"type": "pointer", "id": kind, "parameters": {"pointerType": kind}, "actions": actions}]})

    def point(self, x, y):
        """Points at a place with the mouse."""
        move = {"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0}
        self.call("POST", "/actions", {"actions": [
            {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [move]}]})

    def errors(self):
        """The console's complaints since the last call."""
        log = self.call("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in log if entry["level"] in ("SEVERE", "WARNING")]

    def window(self):
        """Opens one more window; returns its handle."""
        return self.call("POST", "/window/new", {"type": "window"})["handle"]

    def switch(self, handle):
        self.call("POST", "/window", {"handle": handle})

    @property
    def handle(self):
        return self.call("GET", "/window")

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", "/screenshot")))

    def close(self):
        self.call("DELETE", "")
        shutil.rmtree(self.profile, ignore_errors=True)
