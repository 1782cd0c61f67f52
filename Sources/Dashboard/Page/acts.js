// The acts that change something: operate mode, and the confirmation with a reason before each act.

import * as dialog from "./dialog.js";
import { h, isElement, redraw, say } from "./dom.js";
import { ask, key, server } from "./net.js";
import { number } from "./text.js";

const OPERATE_MS = 10 * 60_000;
// Above this many, a click is too little.
const TYPED_FROM = 1001;

let operatesUntil = null;

/** Milliseconds until operate mode ends; 0: it is off, and the page changes nothing. */
export const operateLeft = () =>
  operatesUntil === null ? 0 : Math.max(0, operatesUntil - Date.now());

export const canAct = () => server.config?.can_act === true;

export function startOperating() {
  operatesUntil = Date.now() + OPERATE_MS;
  say("Operate mode is on for 10 minutes.");
  redraw();
}

export function stopOperating() {
  operatesUntil = null;
  say("Operate mode is off.");
  redraw();
}

/** Ends operate mode when its time is over; called each second. */
export function checkOperating() {
  if (operatesUntil !== null && operateLeft() === 0) stopOperating();
}

/**
 * Asks for a confirmation with a reason, then acts.
 *
 * @param act `title`, `lines()` (what will happen), `button()` (its words), `count()` (how many
 *   are concerned; more than 1,000 are typed), `isReady()`, `run(reason)` (returns a sentence).
 */
export function confirm(act) {
  const state = { problem: "", isBusy: false, result: "" };
  dialog.open(() => describe(act, state));
}

function describe(act, state) {
  const count = act.count?.() ?? 1;
  const isTyped = count >= TYPED_FROM;
  if (state.result) {
    return [dialog.heading(act.title), h("p", { role: "status" }, state.result), dialog.buttons()];
  }
  return h("form", { onsubmit: (event) => submit(event, act, state, isTyped ? count : null) },
    dialog.heading(act.title),
    act.lines().map((line) => (isElement(line) ? line : line ? h("p", {}, line) : null)),
    h("label", { for: "reason" }, "Reason (goes into the audit log)"),
    h("input", {
      id: "reason", name: "reason", required: true, autocomplete: "off", maxlength: "512",
      "data-first": true, placeholder: "wrong title" }),
    isTyped ? [
      h("label", { for: "typed" }, `Type the number, ${number(count)}`),
      h("input", { id: "typed", name: "typed", inputmode: "numeric", autocomplete: "off",
        required: true })] : null,
    operateLeft() > 0 ? null : h("label", { class: "check" },
      h("input", { type: "checkbox", name: "operate", required: true }),
      " Switch on operate mode for 10 minutes"),
    state.problem ? h("p", { class: "error", role: "alert" }, state.problem) : null,
    dialog.buttons(h("button", {
      type: "submit", class: act.isGrave ? "grave" : "main",
      disabled: state.isBusy || act.isReady?.() === false },
    state.isBusy ? "Sending…" : act.button())));
}

async function submit(event, act, state, typed) {
  event.preventDefault();
  const fields = event.target.elements;
  const reason = fields.reason.value.trim();
  state.problem = refusal(reason, typed, fields);
  if (state.problem || state.isBusy) return dialog.drawDialog();
  if (operateLeft() === 0) startOperating();
  state.isBusy = true;
  dialog.drawDialog();
  try {
    const sentence = await act.run(reason);
    say(sentence);
    if (act.staysOpen) state.result = sentence;
    else dialog.close();
  } catch (error) {
    state.problem = words(error);
  }
  state.isBusy = false;
  dialog.drawDialog();
  redraw();
}

function refusal(reason, typed, fields) {
  if (!reason) return "Give a reason.";
  if (typed !== null && fields.typed.value.replace(/[\s,.']/g, "") !== String(typed)) {
    return `The number is ${number(typed)}.`;
  }
  if (operateLeft() === 0 && !fields.operate?.checked) {
    return "Operate mode has ended. Switch it on again.";
  }
  return "";
}

/** An error in words, with what to do. */
export function words(error) {
  if (error.status === 401) return "The server does not know the key. Give another one.";
  if (error.status === 403) {
    return `This key may not do that. ${error.detail || "It needs a key of scope admin."}`;
  }
  return [error.title, error.detail].filter(Boolean).map((text) => text.replace(/\.$/, ""))
    .join(". ") + ".";
}

const halts = {
  pause: { verb: "Pause", done: "is paused", button: "Pause it",
    line: "Workers send no further push of it within 2 seconds. Its expiry goes on." },
  resume: { verb: "Resume", done: "goes on", button: "Resume it",
    line: "Workers go on within 2 seconds where they stopped. Nobody gets it twice." },
  cancel: { verb: "Cancel", done: "is cancelled", button: "Cancel it", isGrave: true,
    line: "Workers stop within 2 seconds. A cancelled fan-out cannot go on again." },
};

/** A button that pauses, resumes or cancels a fan-out. */
export function haltButton(word, fanOut) {
  const halt = halts[word];
  const name = fanOut.title || fanOut.event;
  const run = async (reason) => {
    await ask(`/v1/fanouts/${encodeURIComponent(fanOut.event)}/${word}`, { reason });
    return `${name} ${halt.done}.`;
  };
  const lines = () => [
    h("p", {}, h("strong", {}, name), ` of ${fanOut.streamer ?? "?"}`),
    h("p", { class: "quiet" }, h("code", {}, fanOut.event)), halt.line];
  return h("button", {
    key: word, type: "button", class: word === "cancel" ? "grave" : "",
    "aria-label": `${halt.verb} ${name}`,
    onclick: () => withKey(() => confirm({
      title: `${halt.verb} this fan-out?`, lines, run, button: () => halt.button,
      isGrave: halt.isGrave })),
  }, `${halt.verb}…`);
}

/** Acts need a key where the server has keys. */
export function withKey(then) {
  if (!server.config?.needs_key || key()) return then();
  dialog.askForKey("This needs a key of scope admin.", then);
}
