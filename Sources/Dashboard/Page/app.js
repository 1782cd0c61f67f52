// The page: which view is shown, its stream, the age of its data, and the keys of the keyboard.

import * as acts from "./acts.js";
import * as dialog from "./dialog.js";
import { drawWith, h, patch, redraw, say } from "./dom.js";
import { key, Live, readConfig, server, useKey } from "./net.js";
import { clock, isNumber, notice, number, roughSpan, runbook, span } from "./text.js";

const titles = { fanouts: "Fan-outs", user: "User", letters: "Dead letters",
  health: "Health", templates: "Templates" };
// A view is loaded when it is wanted, or after the first paint.
const sources = {
  fanouts: async () => (await import("./fanouts.js")).fanOuts,
  "fanouts/": async () => (await import("./fanout.js")).fanOut,
  user: async () => (await import("./user.js")).user,
  letters: async () => (await import("./letters.js")).letters,
  "letters/": async () => (await import("./letters.js")).oneLetter,
  health: async () => (await import("./health.js")).health,
  templates: async () => (await import("./templates.js")).templates,
};
const views = {};
// An idle stream is confirmed each 5 s at least.
const STALE_MS = 8000;
// The page ticks each second while it is visible.
const SLEEP_MS = 15_000;

let route = null;
let view = null;
let live = null;
// While the display is held: what it shows, and how much has come since.
let held = null;
let alertsKnown = new Set();
let isLost = false;

const healthStream = new Live("/v1/live/health", streamChanged);

const shortcuts = [
  ["1 2 3 4 5", "Fan-outs, one user, dead letters, health, templates"],
  ["/", "Go to the first field of the view"], ["j k", "Next and previous row"],
  ["h", "Hold the display, and let it go on"], ["o", "Operate mode on or off"],
  ["?", "This list"]];

/** A link of `fanfare dev` brings the key, `#key=ffk_…`. The address loses it at once. */
function takeKey() {
  const given = /^#key=([!-~]+)$/.exec(location.hash)?.[1];
  if (!given) return;
  useKey(given);
  history.replaceState(null, "", "/");
  dialog.close();
  connectStreamsAgain();
}

function readRoute() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, id] = path.split("/");
  const found = { name: Object.hasOwn(titles, name) ? name : "fanouts", id: "", query: {} };
  try {
    found.id = Object.hasOwn(sources, `${name}/`) && id ? decodeURIComponent(id) : "";
  } catch {
    // Somebody has mistyped the address: the list is shown.
  }
  found.query = Object.fromEntries(new URLSearchParams(query));
  return found;
}

function enter(isNavigation) {
  route = readRoute();
  const name = route.id ? `${route.name}/` : route.name;
  view = views[name] ?? placeholder(name);
  held = null;
  open();
  view.enter?.(route, server.config);
  drawNow();
  if (isNavigation) {
    window.scrollTo(0, 0);
    document.getElementById("main").focus({ preventScroll: true });
  }
}

/** What is shown until a view is loaded. */
function placeholder(name) {
  const mine = route;
  let text = "Loading…";
  const load = async () => {
    views[name] ??= await sources[name]();
    if (route === mine) enter(false);
  };
  load().catch(() => {
    text = "This view could not be loaded: the server does not answer. Open it again.";
    redraw();
  });
  return { title: titles[route.name], render: () => h("p", {}, text) };
}

/** Loads what the first view did not need, so that it is there when the server is not. */
async function loadAll() {
  for (const [name, load] of Object.entries(sources)) {
    views[name] ??= await load().catch(() => undefined);
  }
}

/** Opens the stream of the view in place of the one before. */
function open() {
  if (live && live !== healthStream) live.stop();
  live = view.usesHealth ? healthStream
    : view.stream ? new Live(view.stream(route), streamChanged) : null;
  if (document.visibilityState === "visible") live?.start();
}

function streamChanged(stream, what) {
  if (what === "state" && held && stream === live) held.passed += 1;
  if (what === "lost" && stream === live) {
    isLost = true;
    say("The connection is lost. The page connects again by itself.");
  }
  if (what === "connected" && stream === live && isLost) {
    isLost = false;
    say("Connected again.");
  }
  if (stream.refusal?.status === 401) askForKey();
  if (stream === healthStream) sayNewAlerts();
}

function askForKey() {
  dialog.askForKey(key() ? "The server does not know this key. Give another one."
    : "This server asks for a key.", connectAgain);
}

function connectStreamsAgain() {
  for (const stream of new Set([healthStream, live])) {
    stream?.stop();
    if (document.visibilityState === "visible") stream?.start();
  }
}

function connectAgain() {
  connectStreamsAgain();
  view.enter?.(route, server.config);
  redraw();
}

/** What stays the same of an alert while its numbers change. */
const nameOf = (alert) => alert.name ?? alert.what.replace(/\d[\d,.]*/g, "#");

function sayNewAlerts() {
  const now = healthStream.data?.alerts ?? [];
  const new_ = now.filter((each) => !alertsKnown.has(nameOf(each)));
  if (new_.length > 0) say(`New alert: ${new_.map((each) => each.what).join(", ")}.`);
  alertsKnown = new Set(now.map(nameOf));
}

const context = () => ({
  route, config: server.config, live,
  data: held ? held.data : live?.data, now: held ? held.now : (live ?? healthStream).now,
  reopen: open,
});

function toggleHold() {
  if (held) held = null;
  else if (live?.data) held = { data: live.data, now: live.now, passed: 0 };
  say(held ? "The display is held." : "The display goes on.");
  redraw();
}

function toggleOperating() {
  if (acts.operateLeft() > 0) acts.stopOperating();
  else if (acts.canAct()) acts.startOperating();
}

// Drawing.

const navigation = () => h("nav", { "aria-label": "Views" }, Object.entries(titles).map(
  ([name, title]) => h("a", { key: name, href: `#/${name}`,
    "aria-current": route.name === name ? "page" : null }, title)));

/** What the page says of its data: how old it is, and whether more will come. */
function dataState() {
  if (held) {
    return ["held", `held at ${clock(held.now, held.now)}, ${number(held.passed)} updates since`];
  }
  if (!live) {
    const answers = (view.questions ?? []).map((each) => each.answeredAt).filter(Boolean);
    return answers.length === 0 ? ["asked", "read when you ask"]
      : ["asked", `read ${roughSpan(Date.now() - Math.min(...answers))} ago`];
  }
  const age = live.age === null ? "no data yet" : `data ${roughSpan(live.age)} old`;
  if (live.phase === "refused") return ["stale", live.refusal.status === 401
    ? `${age}, needs a key` : `${age}, refused`];
  if (live.phase === "once") return ["asked", `read ${roughSpan(live.age)} ago`];
  if (live.phase === "waiting") {
    const left = Math.max(0, live.retryAt - performance.now());
    return ["stale", `not connected, ${age}, next try in ${roughSpan(left)}`];
  }
  if (live.data?.trouble) return ["stale", age];
  if (live.phase === "connecting") return ["asked", `connecting, ${age}`];
  return [live.age > STALE_MS ? "stale" : "live", age];
}

function header() {
  const [state, text] = dataState();
  const left = acts.operateLeft();
  return [
    h("div", { class: "top" },
      h("a", { class: "name", href: "#/fanouts" }, h("img", {
        src: "/dashboard/icon.svg", alt: "", width: "24", height: "24" }), "Fanfare"),
      navigation()),
    h("div", { class: "state" },
      h("span", { class: `age ${state}` }, text),
      live?.phase === "waiting" ? h("button", { type: "button", onclick: () => {
        live.retryNow();
        healthStream.retryNow();
      } }, "Try now") : null,
      h("span", { class: "grow" }),
      live ? h("button", { type: "button", "aria-pressed": String(held !== null),
        disabled: held === null && !live.data, onclick: toggleHold },
      held ? "Go on" : "Hold") : null,
      server.config?.needs_key ? h("button", { type: "button", onclick: () => dialog.askForKey(
        "The key of this tab.", connectAgain) }, key() ? "Key" : "Give a key") : null,
      server.config === null ? null : acts.canAct() ? h("button", {
        type: "button", class: left > 0 ? "operating" : "", "aria-pressed": String(left > 0),
        onclick: toggleOperating },
      left > 0 ? `Operate: off in ${roughSpan(left)}` : "Operate") : h("span", {
        class: "quiet" }, "read-only")),
  ];
}

function notices() {
  const { refusal, phase, data } = live ?? {};
  const config = server.config;
  return [
    data?.trouble ? notice("bad", "Stale:", data.trouble) : null,
    phase === "refused" && [401, 403].includes(refusal.status) ? notice("bad",
      refusal.status === 403 ? "This key may not see this." : "No access.",
      refusal.status === 403 ? refusal.detail : "The server asks for a key.", " ",
      h("button", { type: "button", onclick: askForKey }, "Give a key")) : null,
    phase === "waiting" && refusal ? notice("bad", `${refusal.title}.`,
      `${refusal.detail} The page connects again by itself.`) : null,
    config && server.versionAtStart !== config.version ? notice("note", "The server was updated.",
      `It is version ${config.version} now.`, " ",
      h("button", { type: "button", onclick: () => location.reload() }, "Load the page again"))
      : null,
    alerts(healthStream.data?.alerts ?? [], healthStream.now),
  ];
}

/** What is wrong, above every view. */
const alerts = (list, now) => h("section", { class: "alerts", "aria-label": "Alerts" },
  list.map((each) => h("div", { class: "notice bad", key: nameOf(each) },
    h("strong", {}, each.what),
    isNumber(each.since_ms) ? ` (seen for ${span(now - each.since_ms)}) ` : " ",
    runbook(each.runbook, server.config))));

function main() {
  const it = context();
  const heading = h("h1", {}, view.heading?.(it) ?? view.title);
  const back = view.parent ? h("a", { class: "back", href: `#/${view.parent}` },
    `All ${titles[view.parent].toLowerCase()}`) : null;
  if (!live || it.data) return [back, heading, h("div", { key: location.hash }, view.render(it))];
  if (live.phase === "refused" && ![401, 403].includes(live.refusal.status)) {
    return [back, heading, h("p", {}, view.missing ?? acts.words(live.refusal)),
      view.missing ? null : h("a", { href: `#/${route.name}` }, "Begin again")];
  }
  return [back, heading, h("p", {}, live.phase === "connecting" ? "Reading…" : "No data yet.")];
}

const footer = () => [
  dialog.shortcutsAreOn() ? h("span", { class: "hints" },
    [["1–5", "views"], ["/", "search"], ["j k", "rows"], ["h", "hold"], ["o", "operate"]].map(
      ([keys, what]) => h("span", { key: keys }, h("kbd", {}, keys), ` ${what}`))) : null,
  h("button", { type: "button", onclick: () => dialog.showShortcuts(shortcuts) }, "Keys ?"),
  h("span", {}, server.config ? `Fanfare ${server.config.version}` : ""),
];

function drawNow() {
  acts.checkOperating();
  const [state] = dataState();
  document.body.className = state;
  patch(document.getElementById("header"), header());
  patch(document.getElementById("notices"), notices());
  patch(document.getElementById("main"), main());
  patch(document.getElementById("footer"), footer());
  if (dialog.isOpen()) dialog.drawDialog();
  const count = healthStream.data?.alerts?.length ?? 0;
  document.title = `${count > 0 ? `(${count}) ` : ""}${view.heading?.(context()) ?? view.title}`
    + " – Fanfare";
}

// Keyboard, visibility, start.

function moveToRow(step) {
  const rows = [...document.querySelectorAll("[data-row]")];
  const at = rows.indexOf(document.activeElement);
  rows[Math.min(rows.length - 1, Math.max(0, at + step))]?.focus();
}

function pressed(event) {
  const isTyping = event.target.matches?.("input, textarea, select");
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping || dialog.isOpen()
    || !dialog.shortcutsAreOn()) return;
  const name = Object.keys(titles)[Number(event.key) - 1];
  const deeds = {
    "/": () => document.getElementById("search")?.focus(), j: () => moveToRow(1),
    k: () => moveToRow(-1), h: toggleHold, o: toggleOperating,
    "?": () => dialog.showShortcuts(shortcuts) };
  const deed = name ? () => {
    location.hash = `#/${name}`;
  } : deeds[event.key];
  if (!deed) return;
  event.preventDefault();
  deed();
}

let ticker = null;
let tickedAt = 0;

function tick() {
  // The machine has slept: the connections are dead, whatever they seem.
  if (Date.now() - tickedAt > SLEEP_MS) connectStreamsAgain();
  tickedAt = Date.now();
  redraw();
}

/** Streams and ticks while somebody can see the page, and never else. */
function visibilityChanged() {
  clearInterval(ticker);
  if (document.visibilityState === "visible") {
    healthStream.start();
    live?.start();
    tickedAt = Date.now();
    ticker = setInterval(tick, 1000);
    redraw();
  } else {
    healthStream.stop();
    live?.stop();
  }
}

async function start() {
  drawWith(drawNow);
  document.addEventListener("keydown", pressed);
  document.addEventListener("visibilitychange", visibilityChanged);
  window.addEventListener("hashchange", () => {
    takeKey();
    enter(true);
  });
  window.addEventListener("online", () => [healthStream, live].forEach((each) => each?.retryNow()));
  document.querySelector(".skip").addEventListener("click", (event) => {
    // As an address it would be another view.
    event.preventDefault();
    document.getElementById("main").focus();
  });
  document.getElementById("dialog").addEventListener("close", dialog.closed);
  // Without it the streams find out by themselves, and try again.
  await readConfig().catch(() => {});
  takeKey();
  enter(false);
  visibilityChanged();
  loadAll();
}

start();
