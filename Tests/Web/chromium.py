"""Chromium without a screen, driven by the DevTools protocol over a pipe: messages of JSON, each
with a zero byte behind it, on file descriptors 3 and 4 of the browser."""

import itertools
import json
import os
import select
import shutil
import subprocess
import time


class Failure(Exception):
    """What is wrong, in a sentence."""


class Browser:
    """Commands of the protocol, one after the other; events are kept until they are asked for."""

    def __init__(self, program, profile, environment, more=()):
        reads, self._commands = os.pipe()
        self._answers, writes = os.pipe()
        flags = ["--headless=new", "--remote-debugging-pipe", f"--user-data-dir={profile}",
                 "--no-first-run", "--no-default-browser-check", "--disable-gpu",
                 "--disable-dev-shm-usage", "--window-size=800,600",
                 # Nothing outside of this machine is asked.
                 "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
                 *more]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")

        def prepare():
            # Above both numbers first: each pipe may have the other's.
            high_reads, high_writes = os.dup(reads), os.dup(writes)
            os.dup2(high_reads, 3)
            os.dup2(high_writes, 4)

        self.log = open(os.path.join(profile, "browser.log"), "w+b")
        self.process = subprocess.Popen(
            [program, *flags, "about:blank"], preexec_fn=prepare, close_fds=False,
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=environment,
            start_new_session=True)
        os.close(reads)
        os.close(writes)
        self._numbers = itertools.count(1)
        self._buffer = b""
        self.events = []

    def command(self, method, session=None, seconds=20, **parameters):
        """The result. Raises Failure for an error and where there is no answer in time."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + seconds
        while True:
            answer = self._receive(end, method)
            if answer.get("id") == number:
                break
            if "method" in answer:
                self.events.append(answer)
        if "error" in answer:
            raise Failure(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _receive(self, end, what):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0, end - time.monotonic()))
            data = os.read(self._answers, 1 << 16) if ready else b""
            if not data:
                raise Failure(f"{what}: the browser {'has ended' if ready else 'is silent'}")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def evaluate(self, session, script):
        """The value of a script, waited for. Raises Failure with what it throws."""
        result = self.command(
            "Runtime.evaluate", session, expression=script, awaitPromise=True,
            returnByValue=True, userGesture=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise Failure(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def attach(self, target):
        return self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def targets(self, kind):
        return [target for target in self.command("Target.getTargets")["targetInfos"]
                if target["type"] == kind]

    def stop(self):
        try:
            self.command("Browser.close", seconds=5)
            self.process.wait(5)
        except (Failure, OSError, subprocess.TimeoutExpired):
            pass
        if self.process.poll() is None:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        self.log.close()


def find():
    """The browser's path; None: there is none."""
    names = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)
