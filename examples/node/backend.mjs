// What a backend asks of `fanfare api`, with Node's standard library alone (18 or later).
//
//   FANFARE_URL=http://127.0.0.1:8080 FANFARE_KEY=ffk_... node examples/node/backend.mjs
import { randomUUID } from "node:crypto";

const url = process.env.FANFARE_URL ?? "http://127.0.0.1:8080";
const key = process.env.FANFARE_KEY;

/** One request. A refusal is an error that says what to change. */
async function ask(method, path, body, headers = {}) {
  const response = await fetch(url + path, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(15_000),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${answer.status}: ${answer.detail}`);
  return answer;
}

/** Ids may hold anything: each is escaped for itself. */
const path = (...names) => "/v1/" + names.map(encodeURIComponent).join("/");

/** At log-in and at each launch, with what the app was given: once more does no harm. */
const launched = (user, token, app, oldToken, environment = "production") =>
  ask("PUT", path("users", user, "devices", token), {
    topic: app,
    environment,
    ...(oldToken && oldToken !== token ? { replaces: oldToken } : {}),
  });

const loggedOut = (user, token) => ask("DELETE", path("users", user, "devices", token));

/** The event's id makes it one event however often it is sent; the key, one request. */
function wentLive(streamer, name, app, stream, title) {
  const id = "live-" + randomUUID().slice(0, 18);
  const event = {
    id,
    app,
    streamer: { id: streamer, name },
    stream: { id: stream, title },
    occurred_at: new Date().toISOString(),
  };
  return ask("POST", "/v1/fanouts", event, { "idempotency-key": id });
}

const app = "com.example.live";
const token = "00aa".repeat(16);
console.log(await launched("u1", token, app));
console.log(await ask("PATCH", path("users", "u1", "profile"), { locale: "ja", name: "Ken" }));
console.log(await ask("PUT", path("users", "u1", "follows", "s42")));
console.log(await wentLive("s42", "Aiko", app, "b-991", "Speedrun night"));
// Empty until a worker has read the event.
console.log(await ask("GET", "/v1/fanouts?limit=1"));
console.log(await loggedOut("u1", token));
