"""Apple's part, played by Python's h2, which refuses every frame that RFC 9113 forbids: PORT CERTIFICATE KEY

Tokens that begin with dead are gone (410, its body a byte a frame), those that begin with b057 are put off
once (429). Bodies must wait for windows of 100 bytes, answers come last asked first, the header table is
off, and the client is pinged now and then. SIGTERM prints what was seen, as one line of JSON.
"""

import asyncio
import json
import re
import signal
import ssl
import sys
import time

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated, DataReceived, PingAckReceived, RequestReceived, StreamEnded, StreamReset)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes

PORT, CERTIFICATE, KEY = sys.argv[1:4]
PATH = re.compile(r"^/3/device/([0-9a-f]{64})$")
IDENTIFIER = re.compile(r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
WINDOW = 100
BATCH = 8

seen = {"requests": 0, "connections": 0, "goaways": 0, "accepted": 0, "doubled": 0, "gone": 0, "putOff": 0,
        "violations": []}
accepted = set()
put_off = set()


def violation(text):
    if len(seen["violations"]) < 20:
        seen["violations"].append(text)


def expect(is_so, text):
    if not is_so:
        violation(text)


def check(headers, body):
    names = [name for name, _ in headers]
    fields = dict(headers)
    expect(len(set(names)) == len(names), f"a header twice: {names}")
    expect(fields.get(":method") == "POST", f"method {fields.get(':method')}")
    expect(fields.get("authorization", "").startswith("bearer "), "no bearer")
    expect(fields.get("apns-topic") == "com.example.live", f"topic {fields.get('apns-topic')}")
    expect(fields.get("apns-push-type") == "alert", f"push type {fields.get('apns-push-type')}")
    expect(IDENTIFIER.match(fields.get("apns-id", "")), f"id {fields.get('apns-id')}")
    expect(time.time() < int(fields.get("apns-expiration", 0)) < time.time() + 30 * 86_400, "expiration")
    expect(0 < len(body) <= 4096, f"body of {len(body)} bytes")
    try:
        expect(isinstance(json.loads(body)["aps"]["alert"]["title"], str), "no title")
    except (ValueError, KeyError) as error:
        violation(f"body: {error!r}")


class Apple(asyncio.Protocol):
    def connection_made(self, transport):
        seen["connections"] += 1
        self.transport = transport
        self.requests = {}
        self.waiting = []
        self.flush = None
        self.http2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        self.http2.initiate_connection()
        self.http2.update_settings({
            SettingCodes.MAX_CONCURRENT_STREAMS: 50, SettingCodes.INITIAL_WINDOW_SIZE: WINDOW,
            SettingCodes.HEADER_TABLE_SIZE: 0})
        self.write()

    def write(self):
        self.transport.write(self.http2.data_to_send())

    def data_received(self, data):
        try:
            for event in self.http2.receive_data(data):
                self.handle(event)
        except ProtocolError as error:
            violation(f"protocol: {error!r}")
            self.write()
            self.transport.close()
            return
        self.write()

    def handle(self, event):
        if isinstance(event, RequestReceived):
            seen["requests"] += 1
            self.requests[event.stream_id] = (event.headers, bytearray())
        elif isinstance(event, DataReceived):
            self.requests[event.stream_id][1].extend(event.data)
            self.http2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, StreamEnded):
            self.waiting.append(event.stream_id)
            if len(self.waiting) >= BATCH:
                self.answer_all()
            elif self.flush is None:
                self.flush = asyncio.get_running_loop().call_later(0.005, self.answer_late)
        elif isinstance(event, StreamReset):
            violation(f"a stream was reset: {event.error_code}")
            self.requests.pop(event.stream_id, None)
        elif isinstance(event, PingAckReceived):
            seen["pings"] = seen.get("pings", 0) + 1
        elif isinstance(event, ConnectionTerminated):
            expect(event.error_code == 0, f"GOAWAY {event.error_code}")

    def answer_late(self):
        self.flush = None
        self.answer_all()
        self.write()

    def answer_all(self):
        if self.flush is not None:
            self.flush.cancel()
            self.flush = None
        for stream in reversed(self.waiting):
            if stream in self.requests:
                self.answer(stream, *self.requests.pop(stream))
        self.waiting.clear()
        if seen["requests"] % 5 == 0:
            self.http2.ping(b"fanfare!")

    def answer(self, stream, headers, body):
        check(headers, bytes(body))
        fields = dict(headers)
        path = PATH.match(fields.get(":path", ""))
        expect(path, f"path {fields.get(':path')}")
        token = path.group(1) if path else ""
        identifier = ("apns-id", fields.get("apns-id", ""))
        if token.startswith("dead"):
            seen["gone"] += 1
            self.refuse(stream, 410, identifier, {"reason": "Unregistered", "timestamp": int(time.time() * 1000)})
        elif token.startswith("b057") and token not in put_off:
            put_off.add(token)
            seen["putOff"] += 1
            self.refuse(stream, 429, identifier, {"reason": "TooManyRequests"})
        else:
            seen["doubled"] += token in accepted
            accepted.add(token)
            seen["accepted"] += 1
            self.http2.send_headers(stream, [(":status", "200"), identifier], end_stream=True)

    def refuse(self, stream, status, identifier, answer):
        self.http2.send_headers(stream, [(":status", str(status)), identifier])
        for byte in json.dumps(answer).encode():
            self.http2.send_data(stream, bytes([byte]))
        self.http2.end_stream(stream)


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, KEY)
    context.set_alpn_protocols(["h2"])
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Apple, "127.0.0.1", int(PORT), ssl=context)
    ended = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    print("listening", flush=True)
    await ended.wait()
    server.close()
    print(json.dumps(seen), flush=True)


asyncio.run(main())
