"""A push service for Chromium, in the place of Google's: browsers check in and register over HTTP,
and get their messages over a connection of their own (MCS), in the form of Google's checkin.proto
and mcs.proto. What it delivers is encrypted for the browser, which decrypts it by itself.
"""

import itertools
import pathlib
import socket
import ssl
import struct
import subprocess
import threading
import urllib.parse

from services import Service

MCS_VERSION = 41
LOGIN_REQUEST, LOGIN_RESPONSE, DATA_MESSAGE = 2, 3, 8


def varint(number):
    made = b""
    while number > 127:
        made += bytes([number & 127 | 128])
        number >>= 7
    return made + bytes([number])


def field(number, value):
    """A field of bytes of a protocol buffer."""
    return varint(number << 3 | 2) + varint(len(value)) + value


def framed(tag, message):
    return bytes([tag]) + varint(len(message)) + message


def read_message(file):
    """Tag and bytes of the next message; None at the end."""
    tag = file.read(1)
    length = shift = 0
    while tag:
        byte = file.read(1)
        if not byte:
            return None
        length |= (byte[0] & 127) << shift
        shift += 7
        if byte[0] < 128:
            return tag[0], file.read(length)
    return None


class PushService(Service):
    def __init__(self, directory):
        self._numbers = itertools.count(1)
        # By token: the app and the key that it is registered for.
        self._registered = {}
        self.refuses = False
        self._connected = threading.Event()
        self._connection = None
        certificate, key = pathlib.Path(directory, "mcs.pem"), pathlib.Path(directory, "mcs.key")
        subprocess.run(
            ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-keyout", key, "-out", certificate, "-days", "2",
             "-subj", "/CN=localhost"], check=True, stderr=subprocess.DEVNULL)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()
        super().__init__()

    @property
    def browser_flags(self):
        return [f"--gcm-checkin-url={self.url}/checkin",
                f"--gcm-registration-url={self.url}/register",
                f"--gcm-mcs-endpoint=https://127.0.0.1:{self._listener.getsockname()[1]}",
                # The certificate is signed by nobody.
                "--ignore-certificate-errors"]

    def answer(self, method, path, headers, body):
        if path == "/checkin":
            # stats_ok = 1; android_id = 7 and security_token = 8, as fixed64.
            return 200, b"\x08\x01\x39" + struct.pack("<Q", 1) + b"\x41" + struct.pack("<Q", 2)
        form = dict(urllib.parse.parse_qsl(body.decode()))
        if form.get("delete") == "true":
            return 200, b"token="
        if self.refuses:
            return 200, b"Error=INVALID_PARAMETERS"
        token = f"device-{next(self._numbers)}:APA91b"
        self._registered[token] = form
        return 200, f"token={token}".encode()

    def _accept(self):
        while True:
            try:
                accepted, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(accepted,), daemon=True).start()

    def _serve(self, accepted):
        try:
            connection = self._context.wrap_socket(accepted, server_side=True)
            file = connection.makefile("rb")
            file.read(1)
            while message := read_message(file):
                if message[0] == LOGIN_REQUEST:
                    connection.sendall(
                        bytes([MCS_VERSION]) + framed(LOGIN_RESPONSE, field(1, b"login")))
                    self._connection = connection
                    self._connected.set()
        except OSError:
            # The browser has gone; it connects again.
            return

    def deliver(self, endpoint, body, seconds=30):
        """Sends a body, encrypted by RFC 8291. False: the browser has not connected in time."""
        if not self._connected.wait(seconds):
            return False
        form = self._registered[urllib.parse.unquote(endpoint.rpartition("/")[2])]
        data = [(b"subtype", form["X-subtype"].encode()), (b"content-encoding", b"aes128gcm")]
        # DataMessageStanza: from = 3, category = 5, app_data = 7, persistent_id = 9, raw_data = 21.
        self._connection.sendall(framed(DATA_MESSAGE, b"".join([
            field(3, form["sender"].encode()), field(5, form["app"].encode()),
            *(field(7, field(1, name) + field(2, value)) for name, value in data),
            field(9, f"message-{next(self._numbers)}".encode()), field(21, body)])))
        return True

    def stop(self):
        self._listener.close()
        super().stop()
