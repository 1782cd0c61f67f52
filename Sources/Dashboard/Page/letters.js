// Dead letters: found by a filter, replayed or dropped by the same filter after a dry run, looked
// at one by one, and sent in again with a correction.

import { canAct, confirm, withKey, words } from "./acts.js";
import { drawDialog } from "./dialog.js";
import { h, redraw } from "./dom.js";
import { ask, Question } from "./net.js";
import {
  bytes, chip, facts, field, go, isNumber, notice, number, table, time, unknown,
} from "./text.js";

const FILTERS = ["event", "streamer", "code", "text"];
const found = new Question();
const letter = new Question();
let limit = 100;
// The corrected copy that is being written: null, or its text.
let correction = null;

const filterOf = (route) => Object.fromEntries(FILTERS
  .filter((name) => route.query[name]).map((name) => [name, route.query[name]]));

const inWords = (filter) => Object.entries(filter)
  .map(([name, value]) => (name === "text" ? `with “${value}”` : `of ${name} ${value}`))
  .join(" ");

function search(route) {
  const wanted = new URLSearchParams({ ...filterOf(route), limit });
  found.ask(`/v1/dead-letters?${wanted}`);
}

const labels = { event: "Event", streamer: "Streamer", code: "Code", text: "Text" };
const hints = { code: "wrong_type", text: "in reason or headers" };

const form = (route) => h("form", { class: "controls", role: "search",
  onsubmit: (event) => go(event, "letters", FILTERS) },
  FILTERS.map((name) => field(labels[name], "input", {
    // The key "/" leads to the field of this id.
    id: name === "event" ? "search" : null, name, value: route.query[name] ?? "",
    placeholder: hints[name] ?? null })),
  h("button", { type: "submit", class: "main", key: "search" }, "Search"));

const acts = {
  replay: { verb: "Replay", path: "/v1/dead-letters/replay",
    line: "The original bytes go to their original topic again. The ids stay: what was already "
      + "sent is not sent twice." },
  drop: { verb: "Drop", path: "/v1/dead-letters/drop", isGrave: true,
    line: "They are marked as dropped and leave this list. Kafka keeps them until its retention." },
};

/** "1,180 replayed, 24 skipped: 20 expired, 4 already done". */
function result(word, answer) {
  const skipped = [["expired", "expired"], ["already", "already done"], ["refused", "refused"]]
    .filter(([name]) => answer[name] > 0).map(([name, text]) => `${number(answer[name])} ${text}`);
  const done = word === "replay" ? `${number(answer.replayed)} replayed`
    : `${number(answer.dropped ?? answer.replayed)} dropped`;
  return `${done}, ${number(answer.skipped ?? 0)} skipped`
    + `${skipped.length > 0 ? `: ${skipped.join(", ")}` : ""}.`
    + (answer.stopped ? " The time was over before the rest: search again and go on." : "");
}

const dryRun = (answer) => h("div", {}, facts([
  ["Fit today's rules", number(answer.fits)], ["Expired", number(answer.expired)],
  ["Already replayed or dropped", number(answer.already)], ["Refused", number(answer.refused)]]),
h("ul", { class: "plain" }, (answer.reasons ?? []).slice(0, 10).map((each, index) =>
  h("li", { key: index }, h("strong", {}, number(each.count)), ` ${each.why}`))));

/** A button that replays or drops: a dry run first, then the reason, then the act. */
function actButton(word, chosen, many, what, again) {
  const act = acts[word];
  const title = `${act.verb} ${what}?`;
  const start = async () => {
    let preview = null;
    let problem = "";
    confirm({
      title, isGrave: act.isGrave, staysOpen: true,
      count: () => many,
      isReady: () => preview !== null,
      button: () => `${act.verb} ${many === 1 ? "it" : number(many)}`,
      lines: () => [act.line, preview ? dryRun(preview)
        : problem ? h("p", { class: "error", role: "alert" }, problem)
          : h("p", { role: "status" }, "Trying it without writing…")],
      run: async (reason) => {
        const answer = await ask(act.path, { ...chosen, reason, dry_run: false });
        again();
        return result(word, answer);
      },
    });
    try {
      preview = await ask(act.path, { ...chosen, dry_run: true });
    } catch (error) {
      problem = error.status === 409
        ? `${words(error)} Search again: the number has changed.` : words(error);
    }
    drawDialog();
  };
  return h("button", {
    type: "button", key: word, class: act.isGrave ? "grave" : "", onclick: () => withKey(start),
  }, `${act.verb} ${what}…`);
}

function filterActs(route, data) {
  const filter = filterOf(route);
  if (!canAct() || data.matched === 0) return null;
  if (Object.keys(filter).length === 0) {
    return h("p", { class: "quiet" },
      "To replay or drop many, give a filter first. No button acts on all of them.");
  }
  const chosen = { filter, expected: data.matched };
  const what = `${number(data.matched)} ${inWords(filter)}`;
  const again = () => search(route);
  return h("div", { class: "acts" }, actButton("replay", chosen, data.matched, what, again),
    actButton("drop", chosen, data.matched, what, again));
}

const columns = [
  { text: "Letter", phone: "wide" }, { text: "At" }, { text: "Code and reason" }, { text: "Event" },
  { text: "State" }, { text: "Size", end: true }];

const stateChip = (each) => chip(
  { new: "waiting", replayed: "done", dropped: "cancelled" }[each.state] ?? "planned", each.state);

function list(route, now) {
  const { data } = found;
  return [
    h("p", { role: "status" }, h("strong", {}, `${number(data.matched)} match`),
      ` of ${number(data.scanned)} read. `,
      h("span", { class: "quiet" }, `Window: ${data.window ?? "–"}.`),
      data.matched > data.letters.length
        ? ` The newest ${number(data.letters.length)} are shown.` : null),
    filterActs(route, data),
    table("Dead letters", columns, data.letters.map((each) => ({
      key: each.letter,
      cells: [
        h("div", {}, h("a", { class: "title", "data-row": true,
          href: `#/letters/${encodeURIComponent(each.letter)}` }, each.letter),
        h("small", {}, each.topic)),
        time(each.at_ms, now),
        h("div", {}, h("code", {}, each.code), h("small", {}, each.reason)),
        h("div", {}, each.event ? h("code", {}, each.event) : unknown("cannot be read"),
          each.streamer ? h("small", {}, h("bdi", {}, each.streamer)) : null),
        h("div", {}, stateChip(each), isNumber(each.state_at_ms)
          ? h("small", {}, time(each.state_at_ms, now)) : null),
        bytes(each.bytes)],
    })), "No dead letter matches."),
    data.matched > data.letters.length && limit < 1000 ? h("button", {
      type: "button", onclick: () => {
        limit = 1000;
        search(route);
      } }, "Show up to 1,000") : null,
  ];
}

const pretty = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

/** The lines that differ, between those that both have at the start and at the end. */
function difference(before, after) {
  const [old, new_] = [pretty(before).split("\n"), pretty(after).split("\n")];
  let start = 0;
  while (start < Math.min(old.length, new_.length) && old[start] === new_[start]) start += 1;
  let end = 0;
  const least = Math.min(old.length, new_.length) - start;
  while (end < least && old.at(-1 - end) === new_.at(-1 - end)) {
    end += 1;
  }
  const lines = (list_, tag) => list_.slice(start, list_.length - end).map((text) => [tag, text]);
  return [...lines(old, "del"), ...lines(new_, "ins")];
}

const diff = (lines) => lines.map(([tag, text]) =>
  h(tag, {}, `${tag === "del" ? "-" : "+"} ${text}\n`));

function corrected(data) {
  const lines = difference(data.value, correction);
  const send = () => withKey(() => confirm({
    title: `Send a corrected copy of ${data.letter}?`,
    staysOpen: true,
    button: () => "Send the copy",
    lines: () => ["The copy goes to the letter's topic. The original stays as it is.",
      h("pre", { class: "diff", tabindex: "0" }, diff(lines))],
    run: async (reason) => {
      const answer = await ask("/v1/dead-letters/replay",
        { letters: [data.letter], value: correction, reason, dry_run: false });
      correction = null;
      letter.ask(`/v1/dead-letters/${encodeURIComponent(data.letter)}`);
      return result("replay", answer);
    },
  }));
  return h("section", {},
    h("h2", {}, "Corrected copy"),
    h("label", { for: "copy" }, "Value of the copy"),
    h("textarea", { id: "copy", rows: "14", spellcheck: "false", value: correction,
      oninput: (event) => {
        correction = event.target.value;
        redraw();
      } }),
    h("pre", { class: "diff", tabindex: "0", "aria-label": "What differs" }, lines.length === 0
      ? "Nothing differs yet." : diff(lines)),
    h("div", { class: "acts" },
      h("button", { type: "button", onclick: () => {
        correction = null;
        redraw();
      } }, "Discard the copy"),
      h("button", { type: "button", class: "main", disabled: lines.length === 0, onclick: send },
        "Send the copy…")));
}

const headerColumns = [{ text: "Header" }, { text: "Value" }];

function one(data, now) {
  const again = () => letter.ask(`/v1/dead-letters/${encodeURIComponent(data.letter)}`);
  const chosen = { letters: [data.letter] };
  const what = `letter ${data.letter}`;
  // Records of stragglers name devices: the page shows no token, whatever the key may see.
  const isHidden = data.value_withheld || data.value == null || /stragglers/.test(data.topic);
  const isText = data.value_is_text !== false;
  const correct = () => {
    correction = pretty(data.value);
    redraw();
  };
  return [
    h("div", { class: "lead" }, stateChip(data), isNumber(data.state_at_ms)
      ? h("small", {}, " ", time(data.state_at_ms, now)) : null,
    h("p", {}, h("code", {}, data.code), " ", data.reason),
    data.preview ? h("p", {}, h("strong", {}, data.preview.fits
      ? "It fits today's rules." : "It does not fit today's rules."), " ", data.preview.why) : null,
    canAct() ? h("div", { class: "acts" }, actButton("replay", chosen, 1, what, again),
      isText && !isHidden && !data.value_is_cut
        ? h("button", { type: "button", key: "correct", onclick: correct }, "Correct a copy…")
        : null,
      actButton("drop", chosen, 1, what, again)) : null),
    facts([
      ["Topic", data.topic], ["Event", data.event ? h("a", {
        href: `#/fanouts/${encodeURIComponent(data.event)}` }, data.event)
        : unknown("cannot be read")],
      ["Streamer", data.streamer], ["At", time(data.at_ms, now)], ["Size", bytes(data.bytes)]]),
    correction === null ? null : corrected(data),
    h("h2", {}, "Value"),
    isHidden ? h("p", { class: "quiet" }, "It is not shown: it may name devices. See "
      + `fanfare dlq show ${data.letter}.`)
      : h("pre", { tabindex: "0" }, isText ? pretty(data.value) : data.value),
    data.value_is_cut && !isHidden ? h("p", { class: "quiet" }, "Only its beginning.") : null,
    h("h2", {}, "Headers"),
    table("Headers", headerColumns, Object.entries(data.headers ?? {}).map(([name, value]) =>
      ({ key: name, cells: [h("code", {}, name), h("bdi", { class: "lines" }, value)] })),
    "It has none."),
  ];
}

const absent = (config) => notice("note", "No dead letters here.", config?.mode === "dashboard"
  ? "fanfare dashboard reads Redis alone, and they are in Kafka: open the page of fanfare api, or "
    + "run fanfare dlq list." : "This server does not read them: run fanfare dlq list.");

const failed = (question, config) => {
  if (!question.refusal) return null;
  if (question.refusal.status === 404 && config?.mode === "dashboard") return absent(config);
  return notice("bad", question.refusal.title, question.refusal.detail);
};

export const letters = {
  title: "Dead letters",
  questions: [found],
  enter(route, config) {
    found.clear();
    if (config?.mode !== "dashboard") search(route);
  },
  render({ route, now, config }) {
    if (config?.mode === "dashboard") return absent(config);
    return [form(route), failed(found, config), found.data ? list(route, now) : null,
      found.isBusy && !found.data ? h("p", { role: "status" }, "Reading dead letters…") : null];
  },
};

export const oneLetter = {
  title: "Dead letter",
  parent: "letters",
  questions: [letter],
  heading: ({ route }) => `Dead letter ${route.id}`,
  enter(route) {
    letter.clear();
    correction = null;
    letter.ask(`/v1/dead-letters/${encodeURIComponent(route.id)}`);
  },
  render: ({ now, config }) => [failed(letter, config), letter.data ? one(letter.data, now) : null,
    letter.isBusy && !letter.data ? h("p", { role: "status" }, "Reading the letter…") : null],
};
