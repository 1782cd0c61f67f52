"""Servers on free ports of this machine; one of them is Fanfare's API, which only notes what it is
asked."""

import contextlib
import http.server
import json
import threading


class Service:
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

            def handle(self):
                # A browser that ends leaves answers unread.
                with contextlib.suppress(ConnectionError):
                    super().handle()

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


class Fanfare(Service):
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
