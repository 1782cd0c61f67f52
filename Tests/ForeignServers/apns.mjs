// Apple's part, played by Node's own http2 module: PORT CERTIFICATE KEY PROVIDER_KEY
// Tokens that begin with dead are gone (410), those that begin with b057 are put off once (429). Each
// connection is told to go after 100 requests. SIGTERM prints what was seen, as one line of JSON.
import crypto from "node:crypto";
import fs from "node:fs";
import http2 from "node:http2";

const [port, certificate, key, providerKey] = process.argv.slice(2);
const publicKey = crypto.createPublicKey(fs.readFileSync(providerKey));
const requestsPerConnection = 100;

const seen = { requests: 0, connections: 0, goaways: 0, accepted: 0, doubled: 0, gone: 0, putOff: 0, violations: [] };
const accepted = new Set();
const putOff = new Set();
const verified = new Set();

function violation(text) {
  if (seen.violations.length < 20) seen.violations.push(text);
}

function expect(isSo, text) {
  if (!isSo) violation(text);
}

function checkBearer(value) {
  const [scheme, token] = (value ?? "").split(" ");
  expect(scheme === "bearer", `authorization: ${scheme}`);
  if (verified.has(token)) return;
  const [header, claims, signature] = (token ?? "").split(".");
  const isSigned = crypto.verify(
    "sha256", Buffer.from(`${header}.${claims}`), { key: publicKey, dsaEncoding: "ieee-p1363" },
    Buffer.from(signature ?? "", "base64url"));
  expect(isSigned, "the provider token is not signed by the key");
  const { iat } = JSON.parse(Buffer.from(claims, "base64url"));
  const age = Date.now() / 1000 - iat;
  expect(age > -5 && age < 3600, `the provider token is ${age} s old`);
  verified.add(token);
}

function check(headers, rawHeaders, body) {
  const names = rawHeaders.filter((_, index) => index % 2 === 0);
  expect(new Set(names).size === names.length, `a header twice: ${names}`);
  expect(names.every((name) => name === name.toLowerCase()), `upper case: ${names}`);
  expect(headers[":method"] === "POST", `method ${headers[":method"]}`);
  expect(headers[":scheme"] === "https", `scheme ${headers[":scheme"]}`);
  expect(/^127\.0\.0\.1(:\d+)?$/.test(headers[":authority"]), `authority ${headers[":authority"]}`);
  checkBearer(headers.authorization);
  expect(headers["apns-topic"] === "com.example.live", `topic ${headers["apns-topic"]}`);
  expect(headers["apns-push-type"] === "alert", `push type ${headers["apns-push-type"]}`);
  expect(["10", "5", "1"].includes(headers["apns-priority"]), `priority ${headers["apns-priority"]}`);
  expect(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(headers["apns-id"]), `id ${headers["apns-id"]}`);
  const expires = Number(headers["apns-expiration"]) - Date.now() / 1000;
  expect(expires > 0 && expires < 30 * 86_400, `expires in ${expires} s`);
  expect(Buffer.byteLength(headers["apns-collapse-id"] ?? "") <= 64, "collapse id over 64 bytes");
  expect(!("content-encoding" in headers), "compressed");
  expect(body.length > 0 && body.length <= 4096, `body of ${body.length} bytes`);
  try {
    expect(typeof JSON.parse(body.toString("utf8")).aps.alert.title === "string", "no title");
  } catch (error) {
    violation(`body: ${error.message}`);
  }
}

function answer(stream, token, identifier) {
  const headers = { "apns-id": identifier };
  const refuse = (status, body) => {
    stream.respond({ ":status": status, ...headers, "content-type": "application/json" });
    stream.end(JSON.stringify(body));
  };
  if (token.startsWith("dead")) {
    seen.gone += 1;
    return refuse(410, { reason: "Unregistered", timestamp: Date.now() });
  }
  if (token.startsWith("b057") && !putOff.has(token)) {
    putOff.add(token);
    seen.putOff += 1;
    return refuse(429, { reason: "TooManyRequests" });
  }
  if (accepted.has(token)) seen.doubled += 1;
  accepted.add(token);
  seen.accepted += 1;
  stream.respond({ ":status": 200, ...headers }, { endStream: true });
}

const server = http2.createSecureServer({
  cert: fs.readFileSync(certificate), key: fs.readFileSync(key), settings: { maxConcurrentStreams: 50 },
});
server.on("session", (session) => {
  seen.connections += 1;
  let requests = 0;
  session.on("error", (error) => violation(`connection: ${error.message}`));
  session.on("stream", (stream, headers, _flags, rawHeaders) => {
    requests += 1;
    seen.requests += 1;
    const path = /^\/3\/device\/([0-9a-f]{64})$/.exec(headers[":path"]);
    expect(path, `path ${headers[":path"]}`);
    const chunks = [];
    stream.on("data", (chunk) => chunks.push(chunk));
    stream.on("end", () => {
      check(headers, rawHeaders, Buffer.concat(chunks));
      answer(stream, path?.[1] ?? "", headers["apns-id"]);
    });
    stream.on("error", (error) => violation(`stream: ${error.message}`));
    if (requests === requestsPerConnection) {
      seen.goaways += 1;
      session.close();
    }
  });
});
server.listen(Number(port), "127.0.0.1", () => console.log("listening"));
process.on("SIGTERM", () => {
  console.log(JSON.stringify(seen));
  process.exit(0);
});
