// One user: what became of an event for the user and why, the devices, the profile. No token.

import { h } from "./dom.js";
import { Question } from "./net.js";
import {
  chip, facts, field, go, isNumber, notice, number, phone, platforms, table, time, unknown,
} from "./text.js";

const person = new Question();
const trace = new Question();

const good = new Set(["accepted", "presumably-accepted"]);
const pending = new Set(["running", "waiting", "paused"]);
const mark = (verdict) =>
  good.has(verdict) ? "done" : pending.has(verdict) ? "waiting" : "incomplete";

const deviceColumns = [
  { text: "Device" }, { text: "App" }, { text: "State" }, { text: "Since" }, { text: "Push" },
  { text: "Why, and what to do" }];

function tracedDevices(devices, now) {
  return table("Devices and their push", deviceColumns, devices.map((each, index) => ({
    key: index,
    cells: [
      `${platforms[each.environment] ?? each.environment ?? "Device"} ${index + 1}`,
      each.topic ?? "–", each.state === "set_aside" ? "set aside" : each.state,
      isNumber(each.since_ms) ? time(each.since_ms, now) : unknown("not known"),
      h("div", {}, chip(mark(each.verdict), each.verdict),
        isNumber(each.at_ms) ? h("small", {}, time(each.at_ms, now)) : null,
        isNumber(each.sends) ? h("small", {}, ` sent ${number(each.sends)} ×`) : null),
      h("div", {}, each.explanation, each.next ? h("small", {}, each.next) : null),
    ],
  })), "No device.");
}

function outcome(data, now) {
  const rendered = data.rendered_now ?? {};
  const alert = rendered.payload?.aps?.alert;
  return [
    h("div", { class: "lead" }, chip(mark(data.verdict), data.verdict),
      h("p", {}, h("strong", {}, data.explanation)),
      data.next ? h("p", {}, "What to do: ", data.next) : null),
    facts([
      ["Reason", data.reason ? h("code", {}, data.reason) : null],
      ["Follows the streamer now", data.follows_now == null ? unknown("cannot be told")
        : data.follows_now ? "yes" : "no"],
      ["A rule would keep it back now", data.suppressed_now ?? "no"],
      ["Segment", data.segment ? h("code", {}, data.segment) : null,
        data.segment_settled ? "settled" : "not settled"],
    ]),
    (data.problems ?? []).map((each) => notice("bad", "Redis:", each)),
    h("h3", {}, "Each device"), tracedDevices(data.devices ?? [], now),
    h("h3", {}, "The push as it would be now"),
    rendered.problem ? h("p", {}, rendered.problem) : null,
    alert ? h("div", { class: "phones" }, phone(data.fanout?.app, rendered.locale,
      alert.title ?? (typeof alert === "string" ? alert : ""), alert.body)) : null,
    rendered.locale ? h("p", { class: "quiet" }, "Locale ", h("code", {}, rendered.locale),
      isNumber(rendered.bytes) ? `, ${number(rendered.bytes)} bytes` : "",
      alert ? "" : ". Its text needs a key of scope app-server or admin.") : null,
  ];
}

const boundColumns = [
  { text: "Device" }, { text: "App" }, { text: "Environment" }, { text: "Bound" },
  { text: "State" }];

function devices(data, now) {
  const all = [
    ...(data.devices ?? []).map((each) => ({ ...each, state: "bound" })),
    ...(data.set_aside ?? []).map((each) => ({ ...each, state: "set aside" }))];
  return table("Devices", boundColumns, all.map((each, index) => ({
    key: index,
    cells: [`${platforms[each.platform] ?? each.platform} ${index + 1}`, each.topic ?? "–",
      each.environment ?? "–", isNumber(each.bound_at_ms) ? time(each.bound_at_ms, now)
        : unknown("not known"), each.reason ? `${each.state}: ${each.reason}` : each.state],
  })), "No device: bind one with PUT /v1/users/{user}/devices/{token}.");
}

const profile = (data) => facts(Object.entries(data.profile ?? {})
  .sort(([one], [other]) => one.localeCompare(other))
  .map(([name, value]) => [name, h("bdi", { class: "lines" }, value)]));

function found(data, now) {
  return [
    h("h2", {}, "Devices"), devices(data, now),
    h("h2", {}, "Profile, as rules and templates see it"),
    Object.keys(data.profile ?? {}).length > 0 ? profile(data)
      : h("p", { class: "quiet" }, "No profile: rules keep nothing back, templates use fallbacks."),
    // Only counted where a rule limits them.
    data.events_last_hour > 0 ? h("p", {}, "Events that reached the user in the last hour: ",
      number(data.events_last_hour)) : null,
  ];
}

const failed = (question, missing) => question.refusal
  && notice("bad", question.refusal.status === 404 ? missing : question.refusal.title,
    question.refusal.status === 401 ? "" : question.refusal.detail);

const form = (route) => h("form", { class: "controls", role: "search",
  onsubmit: (event) => go(event, "user", ["user", "event"]) },
  field("User", "input", { id: "search", name: "user", required: true, maxlength: "128",
    value: route.query.user ?? "" }),
  field("Event", "input", { name: "event", maxlength: "64", value: route.query.event ?? "",
    placeholder: "optional: why this push?" }),
  h("button", { type: "submit", class: "main" }, "Look up"));

export const user = {
  title: "One user",
  questions: [person, trace],
  enter(route) {
    person.clear();
    trace.clear();
    const { user: id, event } = route.query;
    if (!id) return;
    person.ask(`/v1/users/${encodeURIComponent(id)}`);
    if (event) {
      trace.ask(`/v1/fanouts/${encodeURIComponent(event)}/recipients/${encodeURIComponent(id)}`);
    }
  },
  render({ route, now }) {
    const { user: id, event } = route.query;
    return [
      form(route),
      id ? null : h("p", { class: "quiet" },
        "Give a user's id to see devices and profile; give an event's id too to see what became "
        + "of its push, and why."),
      id && event ? [h("h2", {}, "What became of ", h("code", {}, event), " for ",
        h("bdi", {}, id)),
      failed(trace, "Nothing is known:"), trace.data ? outcome(trace.data, now) : null] : null,
      id ? [failed(person, "Unknown user:"), person.data ? found(person.data, now) : null] : null,
      id && (person.isBusy || trace.isBusy) ? h("p", { role: "status" }, "Looking up…") : null,
    ];
  },
};
