// The fleet: what is wrong with its runbook line, workers, obstacles, today's counters, minutes.

import { h } from "./dom.js";
import {
  bytes, chip, facts, isNumber, notice, number, runbook, span, table, time, unknown,
} from "./text.js";

const workerColumns = [
  { text: "Worker", phone: "wide" }, { text: "State" }, { text: "Waits for" },
  { text: "Lag", end: true },
  { text: "In flight", end: true }, { text: "Streams", end: true },
  { text: "Connections", end: true }, { text: "Memory", end: true }, { text: "Heartbeat" }];

function worker(each, now) {
  const age = isNumber(each.beat_ms) ? now - each.beat_ms : null;
  // The server knows how often this worker writes.
  const isDead = each.silent === true;
  return {
    key: each.id,
    cells: [
      h("div", {}, h("strong", {}, each.id), h("small", {}, each.version ?? "")),
      h("div", {}, chip(isDead ? "incomplete" : each.ready ? "done" : "waiting",
        isDead ? "no heartbeat" : each.ready ? "ready" : "not ready"),
      isNumber(each.partitions)
        ? h("small", {}, `${number(each.partitions)} partitions`) : null),
      h("div", {}, each.waits_for || "nothing",
        each.held_routes ? h("small", {}, "obstacles: ", each.held_routes) : null,
        each.limits ? h("small", {}, "limits: ", each.limits) : null),
      number(each.lag), number(each.records_in_flight), number(each.streams),
      number(each.connections), bytes(each.rss_bytes),
      h("div", {}, age === null ? unknown("none") : `${span(age)} ago`,
        Math.abs(each.clock_ahead_ms ?? 0) > 1000 ? h("small", { class: "late" },
          `clock ${each.clock_ahead_ms > 0 ? "ahead" : "behind"} by `,
          span(Math.abs(each.clock_ahead_ms))) : null),
    ],
  };
}

/** Accepted and rejected pushes of each minute of the last hour; the table beside it has them. */
function sparkline(minutes) {
  const highest = Math.max(1, ...minutes.map((each) => each.accepted + each.rejected));
  const width = 600 / Math.max(60, minutes.length);
  const column = (each, index) => {
    const high = (80 * (each.accepted + each.rejected)) / highest;
    const low = (80 * each.rejected) / highest;
    const x = index * width;
    const at = { x, width: width - 2 };
    return [
      h("rect", { key: `a${each.ms}`, class: "accepted", ...at, y: 80 - high, height: high - low }),
      h("rect", { key: `r${each.ms}`, class: "rejected", ...at, y: 80 - low, height: low })];
  };
  return h("svg", { class: "spark", viewBox: "0 0 600 80", role: "img", preserveAspectRatio: "none",
    "aria-label": `Pushes of each minute, at most ${number(highest)}` }, minutes.map(column));
}

const minuteColumns = [
  { text: "Minute" }, { text: "Accepted", end: true }, { text: "Rejected", end: true }];

function minutes(stats, now) {
  const each = stats.minute ?? [];
  if (each.length === 0) return h("p", { class: "quiet" }, "No push in the last 60 minutes.");
  return [
    sparkline(each),
    h("details", {}, h("summary", {}, "As a table"), table("Pushes of each minute", minuteColumns,
      [...each].reverse().map((minute) => ({ key: minute.ms,
        cells: [time(minute.ms, now), number(minute.accepted), number(minute.rejected)] })), "")),
  ];
}

const obstacleColumns = [{ text: "Obstacle" }, { text: "For" }, { text: "Runbook" }];

const obstacles = (data, now, config) => table("Obstacles", obstacleColumns,
  (data.platform_obstacles ?? []).map((each) => ({
    key: each.text,
    cells: [each.text, isNumber(each.since_ms) ? span(now - each.since_ms) : "–",
      runbook(each.runbook, config) ?? ""],
  })), "Nothing keeps pushes from being sent.");

const shareColumns = [{ text: "Obstacle" }, { text: "Workers' time", end: true }];

const shares = (data) => data.obstacle_shares?.length > 0 ? [
  h("h3", {}, `Share of the last ${number(data.obstacle_window_s)} s watched`),
  table("Share of time", shareColumns, data.obstacle_shares.map((each) => ({
    key: each.obstacle, cells: [each.obstacle, `${number(each.percent)} %`] })), ""),
] : null;

const day = (stats) => facts(Object.entries(stats.day ?? {})
  .sort(([one], [other]) => one.localeCompare(other))
  .map(([name, value]) => [name.replaceAll("_", " "), number(value)]));

export const health = {
  title: "Health",
  // The health stream is always open: its alerts stand above every view.
  usesHealth: true,
  render({ data, now, config }) {
    const totals = data.totals ?? {};
    const workers = data.workers ?? [];
    const dead = workers.filter((each) => each.silent === true);
    const stats = data.stats ?? {};
    return [
      (data.alerts ?? []).length === 0 ? notice("fine", "No alert.",
        "None of the faults that this server can see is there now.") : null,
      facts([
        ["Workers alive", workers.length > 0
          ? `${number(workers.length - dead.length)} of ${number(workers.length)}`
          : unknown("no worker has written to Redis")],
        ["Unread records (lag)", isNumber(totals.lag) ? number(totals.lag)
          : unknown("no worker knows it")],
        ["Streams in use", `${number(totals.streams)} of ${number(totals.stream_limit)}`],
        ["Connections", number(totals.connections)],
        ["Redis memory used", isNumber(data.redis_memory)
          ? `${number(data.redis_memory)} %` : null],
        ["Records lost to retention", isNumber(data.records_lost) ? number(data.records_lost)
          : unknown("not counted here")],
      ]),
      h("h2", {}, "Obstacles"), obstacles(data, now, config), shares(data),
      h("h2", {}, "Workers"),
      table("Workers", workerColumns, workers.map((each) => worker(each, now)),
        "No worker has written to Redis: is one running, with the same redis.prefix?"),
      h("h2", {}, "Pushes of the last 60 minutes"), minutes(stats, now),
      h("h2", {}, "Counters"), h("p", { class: "quiet" }, `Window: ${stats.window ?? "–"}.`),
      Object.keys(stats.day ?? {}).length > 0 ? day(stats)
        : h("p", { class: "quiet" }, "Nothing is counted yet."),
      h("h2", {}, "Credentials"),
      data.credentials ? facts(data.credentials.map((each) =>
        [each.name, `used for ${span(1000 * each.age_seconds)}`]))
        : h("p", { class: "quiet" }, "No worker tells them."),
    ];
  },
};
