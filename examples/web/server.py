#!/usr/bin/env python3
"""The site's own backend: it knows who is logged in, and alone knows the key of Fanfare's API.

    export FANFARE_URL=http://127.0.0.1:8080 FANFARE_KEY=ffk_...
    VAPID_PUBLIC_KEY=B... VAPID_KEY_ID=main python3 examples/web/server.py

Browsers take service workers and pushes from https and from localhost only. Log-in is a name
without a password here: put your own in its place.
"""
import http.cookies
import http.server
import json
import os
import pathlib
import secrets
import urllib.error
import urllib.parse
import urllib.request

URL, KEY = os.environ.get("FANFARE_URL", "http://127.0.0.1:8080"), os.environ["FANFARE_KEY"]
VAPID = {"publicKey": os.environ["VAPID_PUBLIC_KEY"], "id": os.environ["VAPID_KEY_ID"]}
TOPIC = os.environ.get("FANFARE_APP", "com.example.live")
HERE = pathlib.Path(__file__).parent
FILES = {"/": ("index.html", "text/html"), "/page.js": ("page.js", "text/javascript"),
         "/service-worker.js": ("service-worker.js", "text/javascript")}
sessions = {}


def fanfare(method, user, endpoint, body=None):
    """The endpoint is one step of the path, so its slashes are escaped, too. Returns the status."""
    path = "/v1/users/{}/devices/webpush/{}".format(
        *(urllib.parse.quote(part, safe="") for part in (user, endpoint)))
    request = urllib.request.Request(URL + path, method=method, headers={
        "Authorization": "Bearer " + KEY, "Content-Type": "application/json"},
        data=json.dumps(body).encode() if body else None)
    try:
        with urllib.request.urlopen(request, timeout=15) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 502


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = urllib.parse.urlsplit(self.path).path
        if path == "/vapid":
            return self.answer(200, json.dumps(VAPID).encode(), "application/json")
        # Each other page is the one page of this example.
        name, kind = FILES.get(path, FILES["/"])
        self.answer(200, (HERE / name).read_bytes(), kind)

    def do_POST(self):
        # A form of another site cannot send JSON.
        if self.headers.get("Content-Type") != "application/json":
            return self.answer(415)
        try:
            length = int(self.headers["Content-Length"])
            body = json.loads(self.rfile.read(min(max(length, 0), 8192)))
            cookie = http.cookies.SimpleCookie(self.headers.get("Cookie", "")).get("session")
            session = cookie.value if cookie else ""
            if self.path == "/login":
                session = secrets.token_urlsafe()
                sessions[session] = str(body["user"])
                return self.answer(204, cookie=session)
            if session not in sessions:
                return self.answer(401)
            if self.path == "/subscribe":
                return self.answer(fanfare("PUT", sessions[session], body["endpoint"], {
                    "topic": TOPIC, "keys": body["keys"], "vapid_key": VAPID["id"]}))
            if self.path == "/unsubscribe":
                return self.answer(fanfare("DELETE", sessions[session], body["endpoint"]))
            if self.path == "/logout":
                del sessions[session]
                return self.answer(204, cookie="")
        except (KeyError, TypeError, ValueError):
            return self.answer(400)
        self.answer(404)

    def answer(self, status, body=b"", kind="text/plain", cookie=None):
        self.send_response(status)
        if cookie is not None:
            self.send_header("Set-Cookie", f"session={cookie}; HttpOnly; SameSite=Strict; Path=/")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", "default-src 'self'")
        self.send_header("Cache-Control", "no-cache")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Endpoints are secrets: nothing is logged."""


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", int(os.environ.get("PORT", "8000"))), Site)
    print(f"http://localhost:{server.server_port}/", flush=True)
    server.serve_forever()
