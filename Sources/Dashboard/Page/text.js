// Numbers, times and sizes as text, and the small parts that views share.

import { h, isElement } from "./dom.js";

const grouped = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });

export const platforms = { apns: "Apple", fcm: "Android", webpush: "Browser",
  production: "Apple", sandbox: "Apple, sandbox" };

export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

/** A count with its thousands apart; "–" where it is not known. */
export const number = (value) => (isNumber(value) ? grouped.format(value) : "–");

/** A dash, and why there is no number. */
export const unknown = (why) => h("span", { class: "unknown" }, "– ", h("small", {}, why));

export const count = (value, one, many) => `${number(value)} ${value === 1 ? one : many}`;

export function percent(part, whole) {
  if (!isNumber(part) || !isNumber(whole) || whole <= 0) return "–";
  const share = (100 * part) / whole;
  if (share > 0 && share < 0.1) return "< 0.1 %";
  // Never "100 %" while something is missing.
  if (share > 99.9 && share < 100) return "> 99.9 %";
  // More devices than users, for instance.
  if (share > 100) return `${(part / whole).toFixed(2)} ×`;
  return `${share < 10 ? share.toFixed(1).replace(".0", "") : Math.floor(share)} %`;
}

export const rate = (value) => {
  if (!isNumber(value)) return "–";
  return value > 0 && value < 10 ? `${value.toFixed(1)}/s` : `${number(value)}/s`;
};

/** A length of time in two units at most. */
export function span(milliseconds) {
  if (!isNumber(milliseconds)) return "–";
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 1) return `${Math.round(seconds * 1000)}\u00a0ms`;
  if (seconds < 10) return `${seconds.toFixed(1).replace(".0", "")}\u00a0s`;
  if (seconds < 120) return `${Math.floor(seconds)}\u00a0s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}\u00a0min`;
  if (minutes < 2880) return `${Math.floor(minutes / 60)}\u00a0h ${minutes % 60}\u00a0min`;
  return `${Math.floor(minutes / 1440)}\u00a0d`;
}

/** As `span`, in whole seconds, for what is counted each second. */
export const roughSpan = (milliseconds) => span(milliseconds < 10_000
  ? 1000 * Math.floor(milliseconds / 1000) : milliseconds).replace(/^0\u00a0ms/, "0\u00a0s");

/** The time of day; with its date when that is another day. */
export function clock(milliseconds, now) {
  if (!isNumber(milliseconds) || milliseconds <= 0) return "–";
  const date = new Date(milliseconds);
  const text = date.toLocaleTimeString("en-GB");
  if (date.toDateString() === new Date(now).toDateString()) return text;
  return `${date.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} ${text}`;
}

/** A time that programs can read, too. */
export function time(milliseconds, now) {
  if (!isNumber(milliseconds) || milliseconds <= 0) return "–";
  const iso = new Date(milliseconds).toISOString();
  return h("time", { datetime: iso, title: iso }, clock(milliseconds, now));
}

export function bytes(value) {
  if (!isNumber(value)) return "–";
  if (value < 10_240) return `${number(value)} bytes`;
  const units = ["KiB", "MiB", "GiB"];
  let size = value / 1024;
  while (size >= 1024 && units.length > 1) {
    size /= 1024;
    units.shift();
  }
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${units[0]}`;
}

export const chip = (state, text) => h("span", { class: `chip ${state}` }, text ?? state);

/** A bar of parts of a whole; what it shows stands beside it as text. */
export function bar(whole, parts) {
  return h("span", { class: "bar", "aria-hidden": "true" }, parts.map(([name, value]) =>
    h("span", { class: name, "--share": share(value, whole) })));
}

const share = (value, whole) =>
  isNumber(value) && isNumber(whole) && whole > 0
    ? `${Math.min(100, Math.max(0, (100 * value) / whole)).toFixed(2)}%` : "0%";

/**
 * A table that stays one for screen readers where a phone shows its rows as cards.
 *
 * @param columns heads, `{text, end, phone}`; `end` sets numbers to the right; `phone` says how
 *   wide a cell is in a card: `half`, `wide` (without its head), or else a line with its head.
 * @param rows `{key, cells}`, or descriptions of `row`.
 */
export function table(caption, columns, rows, empty) {
  const head = columns.map((column) => h("th", {
    scope: "col", role: "columnheader", class: column.end ? "end" : null }, column.text));
  return h("div", { class: "table" }, h("table", { role: "table", "aria-label": caption },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, head)),
    h("tbody", { role: "rowgroup" }, rows.length > 0
      ? rows.map((each) => (isElement(each) ? each : row(columns, each.key, each.cells)))
      : h("tr", { role: "row", key: "no rows" }, h("td", {
        role: "cell", class: "empty", colspan: columns.length }, empty)))));
}

export function row(columns, key, cells, attributes) {
  return h("tr", { role: "row", key, ...attributes }, cells.map((cell, index) => h("td", {
    role: "cell", "data-head": columns[index].text,
    class: `${columns[index].end ? "end" : ""} ${columns[index].phone ?? "line"}` },
  h("div", {}, cell))));
}

/** Names and values; pairs without a value are left out. */
export function facts(pairs) {
  return h("dl", { class: "facts" }, pairs.filter((pair) => pair && pair[1] != null)
    .map(([name, value, note]) => h("div", { key: name },
      h("dt", {}, name), h("dd", {}, value, note ? h("small", {}, ` ${note}`) : null))));
}

/** A field of a form with its name. */
export const field = (name, tag, attributes, ...children) =>
  h("label", { class: "field", key: name }, h("span", {}, name), h(tag, {
    autocomplete: "off", spellcheck: "false", ...attributes }, children));

/** Opens the view that a form asks for; the same again is read again. */
export function go(event, view, names) {
  event.preventDefault();
  const wanted = new URLSearchParams();
  for (const name of names) {
    const text = event.target.elements[name].value.trim();
    if (text) wanted.set(name, text);
  }
  const hash = `#/${view}?${wanted}`;
  if (location.hash === hash) window.dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = hash;
}

/** A notice above a view: `bad`, `warn` or `note`. */
export const notice = (kind, title, text, ...more) =>
  h("div", { class: `notice ${kind}` }, h("strong", {}, title), text ? ` ${text}` : null, more);

/** The push as a phone shows it. */
export function phone(app, locale, title, body) {
  return h("div", { class: "phone", lang: locale || null },
    h("span", { class: "phone-app" }, app || "Your app", h("span", {}, "now")),
    title ? h("strong", { dir: "auto" }, title) : null,
    h("span", { dir: "auto" }, body || (title ? "" : "(no text)")));
}

const languages = new Intl.DisplayNames("en", { type: "language" });

/** The name of a language; nothing for what is no tag. */
function language(tag) {
  try {
    return h("strong", {}, languages.of(tag));
  } catch {
    return null;
  }
}

/** Texts as phones show them: in a locale each once, with the platforms that have it. */
export function phones(app, texts) {
  const same = new Map();
  for (const each of texts) {
    const key = JSON.stringify([each.locale, each.title, each.body]);
    same.set(key, [...(same.get(key) ?? []), each]);
  }
  return h("div", { class: "phones" }, [...same].map(([key, list]) => h("figure", { key },
    h("figcaption", {}, language(list[0].locale), " ", h("code", {}, list[0].locale || "?"), " ",
      list.map((each) => platforms[each.platform] ?? each.platform).join(", ")),
    phone(app, list[0].locale, list[0].title, list[0].body),
    list.map((each) => size(each, list.length > 1)))));
}

/** Bytes of a payload against its limit; there is none where it does not fit. */
function size({ bytes: used, limit, platform }, isNamed) {
  if (!(limit > 0)) return null;
  return h("span", { class: "size" }, bar(limit, [[used > limit ? "rejected" : "accepted", used]]),
    h("small", {}, isNamed ? `${platforms[platform]}: ` : null,
      `${number(used)} of ${number(limit)} bytes`));
}

/** Where a fault is described; a link when the server says where the documentation is. */
export function runbook(page, config) {
  if (!page) return null;
  const base = config?.docs_url;
  return base?.startsWith("https://")
    ? h("a", { href: base + page.replace(/^docs\//, ""), rel: "noreferrer" }, "What to do")
    : h("small", {}, "What to do: ", h("code", {}, page));
}
