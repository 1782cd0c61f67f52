// All fan-outs: the running ones by how likely they miss their expiry, then the finished ones.

import { canAct, haltButton } from "./acts.js";
import { h, redraw } from "./dom.js";
import {
  bar, chip, count, facts, field, isNumber, number, percent, rate, roughSpan, row, span, table,
  time, unknown,
} from "./text.js";

const ENDED = new Set(["done", "expired", "cancelled", "incomplete"]);
// Rows stay where they are so long after the last sign of a hand among them.
const HOLD_MS = 5000;

const filter = { text: "", state: "" };
let limit = 100;
let order = [];
let touchedAt = -Infinity;
// Descriptions of finished rows, by event: they are many and do not change.
let finishedRows = new Map();

export const hasEnded = (fanOut) => ENDED.has(fanOut.state);

/** Pushes with an outcome. */
export const settledPushes = (fanOut) => ["accepted", "rejected", "expired", "cancelled",
  "suppressed"].reduce((sum, name) => sum + (fanOut[name] ?? 0), 0);

export const outcomeBar = (fanOut) => bar(
  hasEnded(fanOut) ? settledPushes(fanOut) : fanOut.expected_pushes,
  ["accepted", "rejected", "expired", "cancelled", "suppressed"]
    .map((name) => [name, fanOut[name]]));

/** "812,400 of 1,200,000", pushes, as far as it is known. */
export function progress(fanOut) {
  const settled = settledPushes(fanOut);
  if (isNumber(fanOut.expected_pushes)) {
    return `${number(settled)} of ${number(fanOut.expected_pushes)}`;
  }
  if (!isNumber(fanOut.segments) || fanOut.segments === 0) return unknown("not planned yet");
  return `${number(settled)} pushes · ${number(fanOut.settled)} of `
    + count(fanOut.segments, "segment", "segments");
}

/** Why it stands still, and since when. */
export function why(fanOut, now) {
  const since = fanOut.halted_at_ms > 0 ? [" since ", time(fanOut.halted_at_ms, now)] : null;
  const by = fanOut.halted_by ? ` by ${fanOut.halted_by}` : "";
  if (!fanOut.state_why && !since && !by) return null;
  return h("small", {}, by.trim(), since, by || since ? (fanOut.state_why ? ": " : "") : null,
    fanOut.state_why);
}

/** The time until it is done, or why nobody knows. */
export function timeLeft(fanOut) {
  if (["paused", "scheduled"].includes(fanOut.state)) return unknown(fanOut.state);
  if (isNumber(fanOut.seconds_left)) return `${roughSpan(1000 * fanOut.seconds_left)} left`;
  return unknown(isNumber(fanOut.rate) && fanOut.rate === 0
    ? "nothing was sent in the last 10 s" : "no rate yet");
}

export function expiry(fanOut, now) {
  if (!isNumber(fanOut.expires_ms)) return unknown("no expiry known");
  const left = fanOut.expires_ms - now;
  return left > 0 ? `expires in ${roughSpan(left)}` : `expired ${roughSpan(-left)} ago`;
}

/** It will not be done before it expires. */
export const isLate = (fanOut, now) => !hasEnded(fanOut) && isNumber(fanOut.expires_ms)
  && (isNumber(fanOut.seconds_left) ? now + 1000 * fanOut.seconds_left : now)
    > fanOut.expires_ms;

export function firstPush(fanOut, now) {
  if (!isNumber(fanOut.first_push_ms)) return unknown("no push yet");
  return isNumber(fanOut.started_ms)
    ? `first after ${span(fanOut.first_push_ms - fanOut.started_ms)}`
    : time(fanOut.first_push_ms, now);
}

/** The buttons that its state allows. */
export function haltButtons(fanOut) {
  if (!canAct() || (hasEnded(fanOut) && fanOut.state !== "incomplete")) return null;
  const isPaused = fanOut.state === "paused";
  return h("div", { class: "acts" },
    fanOut.state === "incomplete" ? null : haltButton(isPaused ? "resume" : "pause", fanOut),
    haltButton("cancel", fanOut));
}

const link = (fanOut) => h("a", {
  href: `#/fanouts/${encodeURIComponent(fanOut.event)}`, "data-row": true, class: "title" },
h("bdi", {}, fanOut.title || fanOut.event));

const name = (fanOut) => h("div", {}, link(fanOut),
  h("small", {}, h("bdi", {}, fanOut.streamer ?? ""),
    fanOut.title ? [" · ", h("code", {}, fanOut.event)] : null));

const runningColumns = [
  { text: "Fan-out", phone: "wide" }, { text: "State", phone: "wide" },
  { text: "Progress", phone: "wide" }, { text: "Rate, last 10 s", phone: "half" },
  { text: "Time", phone: "half" }, { text: "First and last push" },
  { text: "Actions", phone: "wide" }];

/** What the bar shows, in numbers. */
const parts = (fanOut) => [
  `${number(fanOut.accepted)} accepted`,
  ...["rejected", "expired", "cancelled", "suppressed"].filter((each) => fanOut[each] > 0)
    .map((each) => `${number(fanOut[each])} ${each}`),
  fanOut.waiting > 0 ? `${number(fanOut.waiting)} wait` : null,
  fanOut.dead_lettered > 0 ? count(fanOut.dead_lettered, "dead letter", "dead letters") : null,
].filter(Boolean).join(" · ");

function runningRow(fanOut, now) {
  return row(runningColumns, fanOut.event, [
    name(fanOut),
    h("div", {}, chip(fanOut.state), why(fanOut, now)),
    h("div", { class: "progress" }, outcomeBar(fanOut), h("span", {}, progress(fanOut)),
      fanOut.segments > 0 ? h("small", {}, parts(fanOut)) : null),
    isNumber(fanOut.rate) ? h("span", {}, rate(fanOut.rate)) : unknown("too early"),
    h("div", {}, h("span", {}, timeLeft(fanOut)), h("small", {
      class: isLate(fanOut, now) ? "late" : null },
    isLate(fanOut, now) ? "too late: " : null, expiry(fanOut, now))),
    h("div", {}, h("span", {}, firstPush(fanOut, now)), isNumber(fanOut.last_push_ms)
      ? h("small", {}, "last ", time(fanOut.last_push_ms, now)) : null),
    haltButtons(fanOut),
  ], { class: isLate(fanOut, now) ? "late-row" : null });
}

const finishedColumns = [
  { text: "Fan-out", phone: "wide" }, { text: "State", phone: "wide" },
  { text: "Accepted", phone: "wide" }, { text: "Not accepted" }, { text: "Took", phone: "half" },
  { text: "Ended", phone: "half" }];

function finishedRow(fanOut, now, old) {
  const text = JSON.stringify(fanOut) + new Date(now).toDateString() + canAct();
  if (old?.text === text) return old;
  const lost = settledPushes(fanOut) - (fanOut.accepted ?? 0);
  const description = row(finishedColumns, fanOut.event, [
    name(fanOut),
    h("div", {}, chip(fanOut.state), why(fanOut, now)),
    h("div", { class: "progress" }, outcomeBar(fanOut),
      h("span", {}, `${number(fanOut.accepted)} of ${number(settledPushes(fanOut))} accepted`),
      h("small", {}, percent(fanOut.accepted, settledPushes(fanOut)))),
    h("div", {}, number(lost), fanOut.dead_lettered > 0
      ? h("small", {}, count(fanOut.dead_lettered, "dead letter", "dead letters")) : null),
    isNumber(fanOut.ended_ms) && isNumber(fanOut.started_ms)
      ? span(fanOut.ended_ms - fanOut.started_ms) : unknown("not ended"),
    h("div", {}, time(fanOut.ended_ms, now), haltButtons(fanOut)),
  ]);
  return { text, description };
}

/** The server's order, or the one that a hand is working with. */
function ordered(fanOuts) {
  const isHeld = performance.now() - touchedAt < HOLD_MS;
  if (!isHeld) order = fanOuts.map((each) => each.event);
  const positions = new Map(order.map((event, index) => [event, index]));
  return [...fanOuts].sort((one, other) =>
    (positions.get(one.event) ?? Infinity) - (positions.get(other.event) ?? Infinity) || 0);
}

const matches = (fanOut) => {
  if (filter.state === "running" && hasEnded(fanOut)) return false;
  if (filter.state && filter.state !== "running" && fanOut.state !== filter.state) return false;
  const text = [fanOut.event, fanOut.streamer, fanOut.title, fanOut.template].join("\n");
  return text.toLowerCase().includes(filter.text.toLowerCase());
};

function summary(data, now) {
  const running = data.fanouts.filter((each) => !hasEnded(each));
  const rates = running.map((each) => each.rate).filter(isNumber);
  const late = running.filter((each) => isLate(each, now)).length;
  return facts([
    ["Not finished", number(running.length)],
    ["Pushes, last 10 s", rates.length > 0 ? rate(rates.reduce((sum, each) => sum + each, 0))
      : unknown(running.length > 0 ? "no rate yet" : "nothing runs")],
    ["Oldest unsent event", isNumber(data.oldest_unsent_ms)
      ? span(data.oldest_unsent_ms) : unknown("none waits")],
    ["Will miss their expiry", running.length > 0 ? number(late) : unknown("nothing runs")],
  ]);
}

function controls(context, shown, all) {
  const change = (member) => (event) => {
    filter[member] = event.target.value;
    redraw();
  };
  const stay = (event) => event.preventDefault();
  return h("form", { class: "controls", role: "search", onsubmit: stay },
    field("Filter", "input", { id: "search", type: "search", value: filter.text,
      placeholder: "event, streamer, title, template", oninput: change("text") }),
    field("State", "select", { value: filter.state, onchange: change("state") },
      [["", "all"], ["running", "not finished"], ...["scheduled", "paused", "limited", "waiting",
        "incomplete", "done", "expired", "cancelled"].map((state) => [state, state])]
        .map(([value, text]) => h("option", { value, key: `= ${value}` }, text))),
    h("output", { class: "quiet" }, shown === all ? count(all, "fan-out", "fan-outs")
      : `${number(shown)} of ${count(all, "fan-out", "fan-outs")}`),
    all >= limit && limit < 1000 ? h("button", { type: "button", onclick: () => {
      limit = 1000;
      context.reopen();
    } }, "Load up to 1,000") : null);
}

export const fanOuts = {
  title: "Fan-outs",
  stream: () => `/v1/live/fanouts?limit=${limit}`,
  render(context) {
    const { data, now } = context;
    const all = ordered(data.fanouts);
    const shown = all.filter(matches);
    const running = shown.filter((each) => !hasEnded(each));
    const finished = shown.filter(hasEnded);
    finishedRows = new Map(finished.map((each) =>
      [each.event, finishedRow(each, now, finishedRows.get(each.event))]));
    const touch = () => {
      touchedAt = performance.now();
    };
    const nothing = shown.length < all.length ? "None matches the filter." : null;
    return [
      summary(data, now), controls(context, shown.length, all.length),
      h("section", { onpointermove: touch, onpointerdown: touch, onkeydown: touch },
        h("h2", {}, `Not finished (${number(running.length)})`),
        h("p", { class: "quiet" }, "First: those that are closest to missing their expiry."),
        table("Fan-outs that are not finished", runningColumns,
          running.map((each) => runningRow(each, now)), nothing ?? "No fan-out runs."),
        h("h2", {}, `Finished (${number(finished.length)})`),
        h("p", { class: "quiet" }, `Newest first. Window: ${data.window ?? "–"}.`),
        table("Fan-outs that have finished", finishedColumns,
          finished.map((each) => finishedRows.get(each.event).description),
          nothing ?? "No fan-out has finished yet.")),
    ];
  },
};
