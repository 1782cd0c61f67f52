// The one dialog of the page: for the key, for what is to be confirmed, and for the list of keys.

import { h, patch, redraw, say } from "./dom.js";
import { forgetKey, key, useKey } from "./net.js";

const SHORTCUTS = "fanfare-shortcuts";
let content = null;

const element = () => document.getElementById("dialog");

export const isOpen = () => content !== null;

/** Opens the dialog. `content()` describes what is in it, each time that the page is drawn. */
export function open(describe) {
  content = describe;
  drawDialog();
  element().showModal();
  element().querySelector("[data-first]")?.focus();
}

export function close() {
  element().close();
}

/** The browser has closed it: by a button, by Escape, or by `close`. */
export function closed() {
  content = null;
  patch(element(), []);
  redraw();
}

export function drawDialog() {
  if (content) patch(element(), content());
}

export const heading = (text) => h("h2", { id: "dialog-title" }, text);

/** Cancel at the left, then what the dialog is for. */
export const buttons = (...more) => h("div", { class: "buttons" },
  h("button", { type: "button", onclick: close }, "Close"), more);

/** Asks for the API key. `why` is a sentence; `then` is called with the key in place. */
export function askForKey(why, then) {
  if (isOpen()) return;
  let problem = "";
  const submit = (event) => {
    event.preventDefault();
    const text = event.target.elements.key.value.trim();
    // Headers take nothing else.
    if (!/^[!-~]+$/.test(text)) {
      problem = "A key has visible ASCII characters only, such as ffk_…";
      return drawDialog();
    }
    useKey(text);
    close();
    then();
  };
  open(() => h("form", { onsubmit: submit },
    heading("API key"),
    h("p", {}, why),
    h("label", { for: "key" }, "Key"),
    h("input", {
      id: "key", name: "key", type: "password", autocomplete: "off", spellcheck: "false",
      required: true, "data-first": true, "aria-describedby": "key-note",
      "aria-invalid": problem ? "true" : null }),
    problem ? h("p", { class: "error", role: "alert" }, problem) : null,
    h("p", { id: "key-note", class: "quiet" }, "Scope read-only sees everything but texts; admin "
      + "also pauses, resumes, cancels and replays. The key stays in this tab until it is closed."),
    buttons(
      key() ? h("button", { type: "button", onclick: () => {
        forgetKey();
        close();
        say("The key is forgotten.");
        then();
      } }, "Forget the key") : null,
      h("button", { type: "submit", class: "main" }, "Use this key"))));
}

export const shortcutsAreOn = () => localStorage.getItem(SHORTCUTS) !== "off";

/** Shows the keys of the keyboard. */
export function showShortcuts(list) {
  open(() => [
    heading("Keyboard"),
    h("dl", { class: "keys" }, list.map(([keys, what]) => h("div", { key: keys },
      h("dt", {}, keys.split(" ").map((each) => h("kbd", {}, each))), h("dd", {}, what)))),
    h("label", { class: "check" }, h("input", {
      type: "checkbox", checked: shortcutsAreOn(), "data-first": true,
      onchange: (event) => localStorage.setItem(SHORTCUTS, event.target.checked ? "on" : "off") }),
    " Single keys work (off for speech input)"),
    buttons(),
  ]);
}
