// The way to the server: the key, single requests, and streams that come back by themselves.

import { redraw } from "./dom.js";

const KEY = "fanfare-key";
const PAUSES = [1, 2, 4, 8, 15];
// The server sends a comment at least each 5 s. Three missed ones: the connection is dead.
const SILENCE_MS = 15_000;
const REQUEST_MS = 20_000;
const MAXIMUM_TEXT = 16 << 20;

/** `/dashboard/config`, as last read; null before. */
export const server = { config: null, versionAtStart: null };

// Only this tab has the key, and only until it is closed.
export const key = () => sessionStorage.getItem(KEY) ?? "";
export const useKey = (text) => sessionStorage.setItem(KEY, text);
export const forgetKey = () => sessionStorage.removeItem(KEY);

/** An answer other than 2xx, or none: `status` is 0 then. */
class Refusal extends Error {
  constructor(status, title, detail) {
    super(detail || title);
    this.status = status;
    this.title = title;
    this.detail = detail ?? "";
  }
}

/** Sends a request, and returns the JSON of its answer. Throws `Refusal`. */
export async function ask(path, body) {
  const answer = await request(path, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(REQUEST_MS),
  });
  try {
    return await answer.json();
  } catch {
    throw new Refusal(0, "The answer cannot be read", "The connection ended within the answer.");
  }
}

async function request(path, options) {
  if (path.startsWith("/v1/") && server.config?.needs_key && !key()) {
    throw new Refusal(401, "The server asks for a key", "");
  }
  const headers = { ...options.headers };
  if (key()) headers.authorization = `Bearer ${key()}`;
  let answer;
  try {
    answer = await fetch(path, { ...options, headers, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0, "The server does not answer", error.name === "TimeoutError"
      ? `There was no answer for ${REQUEST_MS / 1000} seconds.` : "");
  }
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  throw new Refusal(
    answer.status, problem.title ?? `The server answered with ${answer.status}`, problem.detail);
}

/** Reads what the server is. Throws `Refusal`. */
export async function readConfig() {
  server.config = await ask("/dashboard/config");
  server.versionAtStart ??= server.config.version;
}

/** A stream of states of one path: the newest of them, its age, and whether it is connected. */
export class Live {
  /** @param on called with each new state, and when the connection comes or goes. */
  constructor(path, on) {
    this.path = path;
    this.on = on;
    this.data = null;
    // connecting, live, once (it is no stream), waiting (until `retryAt`), or refused (`refusal`
    // says why).
    this.phase = "connecting";
    this.refusal = null;
    this.tries = 0;
    this.stopped = true;
    this.clockOffset = null;
    this.confirmedAt = null;
  }

  start() {
    if (!this.stopped) return;
    this.stopped = false;
    this.tries = 0;
    this.connect();
  }

  stop() {
    this.stopped = true;
    clearTimeout(this.timer);
    this.abort?.abort();
  }

  retryNow() {
    if (this.stopped || this.phase === "live" || this.phase === "once") return;
    clearTimeout(this.timer);
    this.abort?.abort();
    this.connect();
  }

  /** The server's time, ms since 1970. */
  get now() {
    return this.clockOffset === null ? Date.now() : performance.now() + this.clockOffset;
  }

  /** How old the data is, in ms; null without data. */
  get age() {
    return this.confirmedAt === null ? null : Math.max(0, this.now - this.confirmedAt);
  }

  async connect() {
    const abort = new AbortController();
    this.abort = abort;
    this.phase = "connecting";
    this.timer = setTimeout(() => abort.abort(), SILENCE_MS);
    try {
      if (server.config === null || this.tries > 0) await readConfig();
      if (this.stopped || this.abort !== abort) return;
      const answer = await request(this.path, {
        headers: { accept: "text/event-stream" }, signal: abort.signal });
      if (!answer.headers.get("content-type")?.startsWith("text/event-stream")) {
        return await this.receiveOnce(answer);
      }
      await this.read(answer.body.getReader(), abort);
      this.lost(abort, new Refusal(0, "The server closed the connection", ""));
    } catch (error) {
      this.lost(abort, error);
    }
  }

  /** Takes the answer of a view that the server does not stream. */
  async receiveOnce(answer) {
    const data = await answer.json();
    clearTimeout(this.timer);
    this.receive(data);
    this.phase = "once";
  }

  async read(reader, abort) {
    const decoder = new TextDecoder();
    let text = "";
    const watch = () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => reader.cancel().catch(() => {}), SILENCE_MS);
    };
    watch();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || abort.signal.aborted) return;
      watch();
      text += decoder.decode(value, { stream: true }).replaceAll("\r\n", "\n");
      if (text.length > MAXIMUM_TEXT) return;
      const blocks = text.split("\n\n");
      text = blocks.pop();
      for (const block of blocks) if (this.take(block)) return;
    }
  }

  /** Takes an event or a comment. Returns whether the server goes away. */
  take(block) {
    const lines = block.split("\n");
    if (lines.every((line) => line.startsWith(":"))) {
      // The server has read again, and nothing has changed.
      if (this.data && !this.data.trouble) this.confirmedAt = this.now;
      return false;
    }
    const field = (name) => lines.filter((line) => line.startsWith(`${name}:`))
      .map((line) => line.slice(name.length + 1).trimStart()).join("\n");
    if (field("event") === "gone") return true;
    if (field("event") === "state") this.receive(JSON.parse(field("data")));
    return false;
  }

  receive(data) {
    const wasLive = this.phase === "live";
    this.phase = "live";
    this.tries = 0;
    this.refusal = null;
    this.clockOffset = data.now_ms - performance.now();
    this.confirmedAt = data.as_of_ms;
    this.data = data;
    this.on(this, wasLive ? "state" : "connected");
    redraw();
  }

  lost(abort, error) {
    if (this.stopped || this.abort !== abort) return;
    clearTimeout(this.timer);
    const wasLive = this.phase === "live";
    this.refusal = error instanceof Refusal
      ? error : new Refusal(0, "The connection was lost", "");
    const { status } = this.refusal;
    if (status >= 400 && status < 500 && status !== 408 && status !== 429) {
      this.phase = "refused";
    } else {
      const pause = PAUSES[Math.min(this.tries, PAUSES.length - 1)] * (0.8 + 0.4 * Math.random());
      this.tries += 1;
      this.phase = "waiting";
      this.retryAt = performance.now() + 1000 * pause;
      this.timer = setTimeout(() => this.connect(), 1000 * pause);
    }
    this.on(this, wasLive ? "lost" : "refused");
    redraw();
  }
}

/** One request whose answer a view shows: the newest one asked counts. */
export class Question {
  constructor() {
    this.clear();
  }

  clear() {
    this.data = null;
    this.refusal = null;
    this.isBusy = false;
    this.answeredAt = null;
    this.turn = {};
  }

  /** Asks, and calls `then` with the answer. The former answer stays until the new one comes. */
  async ask(path, then) {
    const turn = {};
    this.turn = turn;
    this.isBusy = true;
    redraw();
    let data = null;
    let refusal = null;
    try {
      data = await ask(path);
    } catch (error) {
      refusal = error instanceof Refusal ? error : new Refusal(0, "The request failed", "");
    }
    if (this.turn !== turn) return;
    Object.assign(this, { data, refusal, isBusy: false, answeredAt: Date.now() });
    if (data !== null) then?.(data);
    redraw();
  }
}
