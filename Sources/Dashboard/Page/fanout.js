// One fan-out: where its followers went, outcomes with what to do, what is slow, and its texts.

import {
  expiry, firstPush, haltButtons, hasEnded, isLate, outcomeBar, progress, settledPushes, timeLeft,
  why,
} from "./fanouts.js";
import { h } from "./dom.js";
import {
  bar, chip, facts, isNumber, number, percent, phones, rate, span, table, time, unknown,
} from "./text.js";

function numbers(fanOut, now) {
  const ended = hasEnded(fanOut);
  return facts([
    ["Rate, last 10 s", ended ? null
      : isNumber(fanOut.rate) ? rate(fanOut.rate) : unknown("too early")],
    ["Time left", ended ? null : timeLeft(fanOut)],
    ["Expiry", ended ? time(fanOut.expires_ms, now) : h("span", {
      class: isLate(fanOut, now) ? "late" : null }, expiry(fanOut, now))],
    ["Started", time(fanOut.started_ms, now)],
    ["First push", firstPush(fanOut, now)],
    ["Last push", isNumber(fanOut.last_push_ms) ? time(fanOut.last_push_ms, now)
      : unknown("no push yet")],
    ["Ended", ended ? time(fanOut.ended_ms, now) : null, isNumber(fanOut.ended_ms)
      && isNumber(fanOut.started_ms) ? `after ${span(fanOut.ended_ms - fanOut.started_ms)}` : ""],
    ["Segments settled", isNumber(fanOut.segments)
      ? `${number(fanOut.settled)} of ${number(fanOut.segments)}` : unknown("not planned yet")],
    ["Pushes that wait", fanOut.waiting > 0 ? number(fanOut.waiting) : null],
    ["Dead letters", fanOut.dead_lettered > 0 ? h("a", {
      href: `#/letters?event=${encodeURIComponent(fanOut.event)}` },
    number(fanOut.dead_lettered)) : null],
    ["Template", fanOut.template ? h("a", {
      href: `#/templates?template=${encodeURIComponent(fanOut.template)}` }, fanOut.template)
      : null],
  ]);
}

const funnelColumns = [
  { text: "Step", phone: "wide" }, { text: "Count", end: true },
  { text: "Of the step before", end: true },
  { text: "Bar" }, { text: "Lost here" }];

function funnel(steps) {
  const highest = Math.max(0, ...steps.map((each) => each.count ?? 0));
  return table("From followers to accepted pushes", funnelColumns, steps.map((step, index) => ({
    key: step.name,
    cells: [
      step.name,
      isNumber(step.count) ? number(step.count) : unknown("not counted yet"),
      index === 0 ? "" : percent(step.count, steps[index - 1].count),
      bar(highest, [["accepted", step.count]]),
      (step.lost ?? []).length === 0 ? "" : h("ul", { class: "plain" }, step.lost.map((each) =>
        h("li", { key: each.why }, h("strong", {}, number(each.count)), ` ${each.why}`))),
    ],
  })), "Nothing is counted yet.");
}

const outcomeColumns = [
  { text: "Platform" }, { text: "Outcome" }, { text: "Reason" }, { text: "Count", end: true },
  { text: "Share", end: true }, { text: "What to do" }];

function outcomes(fanOut) {
  const rows = [...(fanOut.outcomes ?? [])].sort((one, other) => other.count - one.count);
  const whole = rows.reduce((sum, each) => sum + each.count, 0);
  return table("Outcomes by platform and reason", outcomeColumns, rows.map((each) => ({
    key: [each.platform, each.outcome, each.reason].join("\n"),
    cells: [each.platform ?? "all", h("span", { class: `dot ${each.outcome}` }, each.outcome),
      each.reason ? h("code", {}, each.reason) : "", number(each.count),
      percent(each.count, whole), each.advice ?? ""],
  })), "No push has an outcome yet.");
}

const segmentColumns = [
  { text: "Segment" }, { text: "Worker" }, { text: "Claimed for", end: true },
  { text: "Claim ends", end: true }];

const segments = (list, now) => table("Slowest segments", segmentColumns, list.map((each) => ({
  key: each.segment,
  cells: [h("code", {}, each.segment), each.worker ?? unknown("no worker known"),
    isNumber(each.since_ms) ? span(now - each.since_ms) : "–",
    !isNumber(each.claim_ends_ms) ? "–" : each.claim_ends_ms > now
      ? `in ${span(each.claim_ends_ms - now)}` : "over: another worker takes it"],
})), "No segment is being worked on.");

export const fanOut = {
  title: "Fan-out",
  parent: "fanouts",
  stream: (route) => `/v1/live/fanouts/${encodeURIComponent(route.id)}`,
  missing: "Redis knows no fan-out of this event: no worker has read the event yet, or it began "
    + "more than 7 days ago.",
  heading: (context) => context.data?.title || context.route.id,
  render(context) {
    const { data, now } = context;
    const explain = `#/user?event=${encodeURIComponent(data.event)}`;
    return [
      h("div", { class: "lead" }, chip(data.state), " ", why(data, now),
        h("p", {}, "Streamer ", h("bdi", {}, h("strong", {}, data.streamer ?? "–")), " · event ",
          h("code", {}, data.event)),
        h("div", { class: "progress big" }, outcomeBar(data),
          h("span", {}, hasEnded(data)
            ? `${number(data.accepted)} of ${number(settledPushes(data))} pushes accepted`
            : progress(data)),
          h("small", {}, "pushes since the start of this fan-out")),
        haltButtons(data)),
      numbers(data, now),
      h("h2", {}, "From followers to accepted"),
      funnel(data.funnel ?? []),
      h("h2", {}, "Outcomes"),
      h("p", { class: "quiet" }, "All pushes since the start of this fan-out. ",
        h("a", { href: explain }, "Why did one user get nothing?")),
      outcomes(data),
      hasEnded(data) ? null : [h("h2", {}, "Slowest segments"),
        data.slowest_segments ? segments(data.slowest_segments, now)
          : h("p", { class: "quiet" }, "Redis did not answer for all of them.")],
      h("h2", {}, "Texts"),
      data.texts ? phones(data.document?.app, data.texts)
        : h("p", { class: "quiet" }, "This server has no templates, so that it cannot render "
          + "them: see fanfare render."),
      h("h2", {}, "The event"),
      data.document ? h("details", {}, h("summary", {}, "JSON as it was read from Kafka"),
        h("pre", { tabindex: "0" }, JSON.stringify(data.document, null, 2)))
        : h("p", { class: "quiet" }, "Redis does not keep this event."),
    ];
  },
};
