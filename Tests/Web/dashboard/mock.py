"""A server that keeps the dashboard's contract without Fanfare: it serves the page's files, and a
deployment that moves. Tests change it while a browser looks.

    python3 mock.py [--port 8099]       # keys: ffk_admin, ffk_read
"""

import argparse
import json
import pathlib
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import mock_data as data

PAGE = pathlib.Path(__file__).resolve().parents[3] / "Sources/Dashboard/Page"
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css",
         ".svg": "image/svg+xml"}
SECURITY = {
    "content-security-policy":
        "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "x-content-type-options": "nosniff", "referrer-policy": "no-referrer",
    "cache-control": "no-cache"}
ALIVE_SECONDS = 5


class Answer(Exception):
    def __init__(self, status, body):
        super().__init__(status)
        self.status = status
        self.body = body


def problem(status, code, title, detail):
    return Answer(status, {"type": f"urn:fanfare:problem:{code}", "code": code, "title": title,
                           "status": status, "detail": detail, "request_id": "r-1"})


class Mock:
    """The deployment, and the server that shows it."""

    def __init__(self, mode="api", needs_key=True):
        self.mode = mode
        self.needs_key = needs_key
        self.version = "1.0.0"
        self.lock = threading.RLock()
        self.fan_outs = data.first_fan_outs()
        self.letters = [data.letter(number) for number in range(1, 2409)]
        self.alerts = []
        self.trouble = None
        self.as_of = data.now_ms()
        self.moved_at = time.monotonic()
        # What browsers asked: (method, path, body), and how many streams are open.
        self.requests = []
        self.streams = 0
        self.port = 0
        self.server = None
        self.says_gone = True

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        mock = self

        class Bound(Handler):
            pass
        Bound.mock = mock
        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), Bound)
        self.server.daemon_threads = True
        self.server.ended = threading.Event()
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self, says_gone=True):
        """Ends the server and its streams; with `gone` as a drain does, or without a word."""
        self.says_gone = says_gone
        self.server.ended.set()
        self.server.shutdown()
        self.server.server_close()

    def move(self):
        seconds = time.monotonic() - self.moved_at
        self.moved_at = time.monotonic()
        if self.trouble is None:
            self.as_of = data.now_ms()
            for each in self.fan_outs:
                data.advance(each, seconds)

    def find(self, event):
        for each in self.fan_outs:
            if each["event"] == event:
                return each
        raise problem(404, "not-found", "There is nothing here", "Redis knows no such event")

    def view(self, path, query):
        """The JSON of a live view, with its times."""
        with self.lock:
            self.move()
            name, _, event = path.removeprefix("/v1/live/").partition("/")
            if name == "fanouts" and event:
                body = data.detail(self.find(urllib.parse.unquote(event)))
            elif name == "fanouts":
                limit = int(query.get("limit", "100"))
                body = {"fanouts": self.fan_outs[:limit], "oldest_unsent_ms": None,
                        "window": "the newest 1,000 fan-outs of 7 days"}
            elif name == "health":
                body = data.health(self.alerts)
            elif name == "templates":
                body = {"templates": None} if self.mode == "dashboard" else data.templates(
                    query.get("user"))
            else:
                raise problem(404, "not-found", "There is nothing here", path)
            return {"now_ms": data.now_ms(), "as_of_ms": self.as_of, "trouble": self.trouble,
                    **json.loads(json.dumps(body))}

    def halt(self, event, word, reason):
        with self.lock:
            each = self.find(event)
            state = {"pause": "paused", "resume": "running", "cancel": "cancelled"}[word]
            each.update(state=state, state_why=reason or None, halted_by="admin",
                        halted_at_ms=data.now_ms(), rate=None if word == "cancel" else 0)
            if word == "resume":
                each.update(state_why=None, halted_by=None, halted_at_ms=None,
                            rate=data.PUSH_RATE)
            if word == "cancel":
                each["ended_ms"] = data.now_ms()
            return dict(each)

    def matching(self, wanted):
        return [each for each in self.letters if each["state"] != "dropped"
                and all(each[name] == wanted[name] for name in ("event", "streamer", "code")
                        if wanted.get(name))
                and wanted.get("text", "") in each["reason"]]

    def act_on_letters(self, word, body):
        with self.lock:
            chosen = self.matching(body["filter"]) if "filter" in body else [
                each for each in self.letters if each["letter"] in body["letters"]]
            if "expected" in body and body["expected"] != len(chosen):
                raise problem(409, "conflict", "The number has changed",
                              f"The filter matches {len(chosen)} now.")
            already = [each for each in chosen if each["state"] != "new"]
            fits = len(chosen) - len(already)
            if not body["dry_run"]:
                for each in chosen:
                    each.update(state="replayed" if word == "replay" else "dropped",
                                state_at_ms=data.now_ms())
            return {"fits": fits, "expired": 0, "already": len(already), "refused": 0,
                    "replayed": 0 if body["dry_run"] else fits, "skipped": len(already)}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    mock = None

    def log_message(self, format, *args):
        pass

    def do_GET(self):
        self.answer(None)

    def do_POST(self):
        text = self.rfile.read(int(self.headers.get("content-length", "0")))
        self.answer(json.loads(text or b"{}"))

    def answer(self, body):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        self.mock.requests.append((self.command, self.path, body))
        try:
            if not url.path.startswith("/v1/"):
                return self.file(url.path)
            key = self.key()
            is_live = url.path.startswith("/v1/live/") and not query.get("user")
            if is_live and "event-stream" in self.headers["accept"]:
                return self.stream(url.path, query)
            self.json(200, self.respond(url.path, query, body, key))
        except Answer as answer:
            self.json(answer.status, answer.body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def key(self):
        if not self.mock.needs_key:
            return "ffk_admin"
        key = self.headers.get("authorization", "").removeprefix("Bearer ")
        if key not in ("ffk_admin", "ffk_read"):
            raise problem(401, "unauthenticated", "No key that is good was shown", "")
        if self.command == "POST" and key != "ffk_admin":
            raise problem(403, "forbidden", "The key may not do this",
                          "This needs a key of scope admin.")
        return key

    def respond(self, path, query, body, key):
        mock = self.mock
        parts = [urllib.parse.unquote(part) for part in path.split("/")[2:]]
        whole = key == "ffk_admin"
        match parts:
            case ["live", *_]:
                return mock.view(path, query)
            case ["fanouts", event, "recipients", user]:
                mock.find(event)
                return data.trace(event, user, whole)
            case ["fanouts", event, ("pause" | "resume" | "cancel") as word]:
                return mock.halt(event, word, body.get("reason", ""))
            case ["users", "nobody"]:
                raise problem(404, "not-found", "There is nothing here",
                              "Redis holds nothing of this user")
            case ["users", user]:
                return data.user(user, whole)
            case ["dead-letters", ("replay" | "drop") as word]:
                return mock.act_on_letters(word, body)
            case ["dead-letters"]:
                found = mock.matching(query)
                return {"letters": found[:int(query.get("limit", "100"))], "matched": len(found),
                        "scanned": len(mock.letters),
                        "window": "the newest 10,000 dead letters, since 21 Nov"}
            case ["dead-letters", letter]:
                return data.letter_detail(next(
                    each for each in mock.letters if each["letter"] == letter))
        raise problem(404, "not-found", "There is nothing here", path)

    def stream(self, path, query):
        mock, ended = self.mock, self.server.ended
        first = mock.view(path, query)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        with mock.lock:
            mock.streams += 1
        try:
            self.send_states(path, query, first, ended)
        finally:
            with mock.lock:
                mock.streams -= 1

    def send_states(self, path, query, state, ended):
        sent, written_at = None, 0
        while True:
            timeless = {name: state[name] for name in state
                        if name not in ("now_ms", "as_of_ms", "workers")}
            if timeless != sent:
                self.chunk(f"event: state\ndata: {json.dumps(state)}\n\n")
                sent, written_at = timeless, time.monotonic()
            elif time.monotonic() - written_at >= ALIVE_SECONDS:
                self.chunk(": alive\n\n")
                written_at = time.monotonic()
            if ended.wait(1):
                break
            state = self.mock.view(path, query)
        if self.mock.says_gone:
            self.chunk("event: gone\ndata: {}\n\n")
            self.chunk("")

    def chunk(self, text):
        encoded = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(encoded), encoded))
        self.wfile.flush()

    def file(self, path):
        mock = self.mock
        if path == "/dashboard/config":
            return self.json(200, {
                "version": mock.version, "mode": mock.mode, "needs_key": mock.needs_key,
                "can_act": mock.mode == "api", "now_ms": data.now_ms()})
        file = PAGE / ("index.html" if path == "/" else path.removeprefix("/dashboard/"))
        if "/" in path.removeprefix("/dashboard/").strip("/") or not file.is_file():
            raise problem(404, "not-found", "There is nothing here", path)
        self.send(200, TYPES[file.suffix] + "; charset=utf-8", file.read_bytes())

    def json(self, status, body):
        kind = "application/json" if status < 400 else "application/problem+json"
        self.send(status, kind, json.dumps(body).encode())

    def send(self, status, kind, body):
        self.send_response(status)
        for name, value in {**SECURITY, "content-type": kind,
                            "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--port", type=int, default=8099)
    options.add_argument("--mode", choices=["api", "dashboard"], default="api")
    chosen = options.parse_args()
    mock = Mock(chosen.mode)
    mock.port = chosen.port
    mock.start()
    print(f"{mock.url}  keys: ffk_admin, ffk_read", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
