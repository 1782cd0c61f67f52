"""What the browser and the site ask: a push service that registers browsers as Google's does, and
Fanfare's API, which only notes what it is asked. Both on free ports of this machine."""

import http.server
import itertools
import json
import struct
import threading


class _Service:
    def __init__(self):
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, answer = service.answer(self.command, self.path, self.headers, body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST = do_PUT = do_DELETE = do_any

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


class PushRegistration(_Service):
    """Google's check-in and registration, as Chromium asks them: a new token each time."""

    def __init__(self):
        self._numbers = itertools.count(1)
        self.refuses = False
        super().__init__()

    def answer(self, method, path, headers, body):
        if path == "/checkin":
            # checkin.proto: stats_ok = 1, android_id = 7 and security_token = 8, as fixed64.
            return 200, b"\x08\x01\x39" + struct.pack("<Q", 1) + b"\x41" + struct.pack("<Q", 2)
        if b"delete=true" in body:
            return 200, b"token="
        if self.refuses:
            return 200, b"Error=INVALID_PARAMETERS"
        return 200, f"token=device-{next(self._numbers)}:APA91b".encode()

    @property
    def browser_flags(self):
        # Nobody listens at the last one: no push comes by it.
        return [f"--gcm-checkin-url={self.url}/checkin",
                f"--gcm-registration-url={self.url}/register",
                "--gcm-mcs-endpoint=https://127.0.0.1:9"]


class Fanfare(_Service):
    def __init__(self):
        self._changed = threading.Condition()
        self._requests = []
        super().__init__()

    def answer(self, method, path, headers, body):
        with self._changed:
            self._requests.append((method, path, dict(headers), body))
            self._changed.notify_all()
        return 200, json.dumps({}).encode()

    def take(self, count, seconds=15):
        """The next requests, of which there must be so many in time; they are forgotten."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._requests) >= count, seconds)
            taken, self._requests = self._requests, []
            return taken
