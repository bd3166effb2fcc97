#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the scripts of this directory in Chromium itself, so that the tests need a browser and nothing else.

    browser.py FOLDER SCRIPT.cjs [ARGUMENT...]

Chromium is started with --remote-debugging-pipe. Its first page, the director, runs SCRIPT: director.js gives it
`require`, the files in FOLDER, and a way to call the DevTools protocol, by which page.cjs handles the pages under test.
This program only carries messages between the director and Chromium, writes the files that SCRIPT writes (only in
FOLDER and where it keeps pictures), and prints what it says. The exit code is the script's.
CHROMIUM is the browser (default: chromium).
"""
import base64
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update", "--disable-background-timer-throttling",
         "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding", "--disable-extensions",
         "--disable-dev-shm-usage", "--force-color-profile=srgb", "--font-render-hinting=none",
         "--remote-debugging-pipe"]


class Browser:
    """Chromium at the other end of two pipes: JSON messages, each ended by a 0 byte."""

    def __init__(self, program, profile):
        # Chromium reads descriptor 3 and writes 4.
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        started = ["sh", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "sh", program, *FLAGS,
                   f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(started, pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=open(os.path.join(profile, "log"), "wb"))
        os.close(to_browser)
        os.close(from_browser)
        self.rest = b""
        self.kept = []
        self.number = 0

    def send(self, method, parameters=None, session=None):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.output, data):]
        return self.number

    def read(self):
        parts = [self.rest]
        while b"\0" not in parts[-1]:
            data = os.read(self.input, 1 << 20)
            if not data:
                raise SystemExit("not ok browser\n  Chromium ended: exit code %s" % self.process.wait())
            parts.append(data)
        message, _, self.rest = b"".join(parts).partition(b"\0")
        return json.loads(message)

    def receive(self):
        return self.kept.pop(0) if self.kept else self.read()

    def call(self, method, parameters=None, session=None):
        wanted = self.send(method, parameters, session)
        while True:
            message = self.read()
            if message.get("id") == wanted:
                if "error" in message:
                    raise SystemExit("not ok browser\n  %s: %s" % (method, message["error"]["message"]))
                return message["result"]
            self.kept.append(message)


def evaluated(browser, session, expression):
    result = browser.call("Runtime.evaluate", {"expression": expression}, session)
    if "exceptionDetails" in result:
        raise SystemExit("not ok browser\n  " + json.dumps(result["exceptionDetails"]))


def texts_below(folder):
    """Files as the scripts read them. Bytes that are not UTF-8 come as U+FFFD, as JavaScript would have them."""
    found = {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            with open(path, "rb") as file:
                found[path] = file.read().decode("utf-8", "replace")
    return found


def direct(browser, folder, script, arguments):
    targets = browser.call("Target.getTargets")["targetInfos"]
    page = next(one["targetId"] for one in targets if one["type"] == "page")
    director = browser.call("Target.attachToTarget", {"targetId": page, "flatten": True})["sessionId"]
    browser.call("Runtime.enable", session=director)
    browser.call("Runtime.addBinding", {"name": "toHost"}, director)
    with open(os.path.join(HERE, "director.js"), encoding="utf-8") as file:
        evaluated(browser, director, file.read())
    for path, text in {**texts_below(HERE), **texts_below(folder)}.items():
        evaluated(browser, director, "addFile(%s, %s)" % (json.dumps(path), json.dumps(text)))
    browser.send("Runtime.evaluate", {"expression": "start(%s, %s)" % (
        json.dumps(os.path.join(HERE, script)), json.dumps([folder, *arguments]))}, director)
    asked = {}  # numbers of requests of the director: by the number that Chromium has got
    while True:
        message = browser.receive()
        if message.get("id") in asked:
            message["id"] = asked.pop(message["id"])
        elif "id" in message:
            continue
        elif message.get("sessionId") == director:
            if message["method"] == "Runtime.exceptionThrown":
                raise SystemExit("not ok browser\n  " + json.dumps(message["params"]["exceptionDetails"]))
            if message["method"] != "Runtime.bindingCalled":
                continue
            code = obey(browser, json.loads(message["params"]["payload"]), asked)
            if code is not None:
                return code
            continue
        browser.send("Runtime.evaluate", {"expression": "fromBrowser(%s)" % json.dumps(message)}, director)


def obey(browser, order, asked):
    """One wish of the director. Its exit code where it is done."""
    if order["do"] == "say":
        print(order["text"], flush=True)
    elif order["do"] == "write":
        data = base64.b64decode(order["data"]) if order.get("base64") else order["data"].encode()
        with open(order["path"], "wb") as file:
            file.write(data)
    elif order["do"] == "call":
        asked[browser.send(order["method"], order.get("params"), order.get("session"))] = order["id"]
    else:
        return order["code"]
    return None


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    folder, script, *arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(os.environ.get("CHROMIUM", "chromium"), profile)
        try:
            code = direct(browser, os.path.abspath(folder), script, arguments)
            browser.send("Browser.close")
            browser.process.wait(timeout=30)
        finally:
            if browser.process.poll() is None:
                browser.process.kill()
                browser.process.wait()
    sys.exit(code)


main()
