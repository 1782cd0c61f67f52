// The templates of this server: all locales side by side, as a phone shows them, against limits.

import { h, redraw } from "./dom.js";
import { count, field, isNumber, notice, phone, size } from "./text.js";

const names = { apns: "Apple", fcm: "Android", webpush: "Browser" };

// The template that is shown; "" for all.
let chosen = "";

function submit(event) {
  event.preventDefault();
  const fields = event.target.elements;
  const wanted = new URLSearchParams();
  for (const name of ["template", "user", "event"]) {
    const text = fields[name].value.trim();
    if (text) wanted.set(name, text);
  }
  location.hash = `#/templates?${wanted}`;
}

const form = (route, templates) => h("form", { class: "controls", onsubmit: submit },
  field("Template", "select", { name: "template", value: chosen, onchange: (event) => {
    chosen = event.target.value;
    redraw();
  } }, h("option", { value: "", key: "all" }, "all"),
  templates.map((each) => h("option", { value: each.name, key: `= ${each.name}` }, each.name))),
  field("For user", "input", { id: "search", name: "user", placeholder: "a real user's id",
    value: route.query.user ?? "" }),
  field("and event", "input", { name: "event", placeholder: "an event's id",
    value: route.query.event ?? "" }),
  h("button", { type: "submit", class: "main" }, "Show"));

const card = (app, each) => h("figure", { key: `${each.locale} ${each.platform}` },
  h("figcaption", {}, h("code", {}, each.locale ?? "?"),
    each.platform ? ` ${names[each.platform] ?? each.platform}` : null),
  phone(app, each.locale, each.title, each.body),
  isNumber(each.bytes) ? size(each.bytes, each.limit) : null);

function template(each) {
  const tooLong = (each.locales ?? []).filter((locale) => locale.bytes > locale.limit).length;
  return h("section", { key: each.name },
    h("h2", {}, each.name),
    each.trouble ? notice("bad", "Not used:", each.trouble) : null,
    tooLong > 0 ? notice("warn", `Too long in ${count(tooLong, "locale", "locales")}:`,
      "the text that shorten names is cut; without one nothing is sent.") : null,
    each.rendered?.problem ? notice("warn", "Not rendered:", each.rendered.problem) : null,
    each.rendered && !each.rendered.problem ? [
      h("h3", {}, "As this user gets it"),
      h("div", { class: "phones" }, card(null, each.rendered)), h("h3", {}, "All locales")] : null,
    h("div", { class: "phones" }, (each.locales ?? []).map((locale) => card(null, locale))));
}

export const templates = {
  title: "Templates",
  stream(route) {
    const wanted = new URLSearchParams();
    for (const name of ["user", "event"]) {
      if (route.query[name]) wanted.set(name, route.query[name]);
    }
    return `/v1/live/templates${wanted.size > 0 ? `?${wanted}` : ""}`;
  },
  enter(route) {
    chosen = route.query.template ?? "";
  },
  render({ data, route, config }) {
    if (!data.templates) {
      return notice("note", "No templates here.", config?.mode === "dashboard"
        ? "fanfare dashboard reads Redis alone. Open the page of fanfare api to see them."
        : "Set templates.directory of this server to see them.");
    }
    const wanted = data.templates.filter((each) =>
      !chosen || each.name === chosen);
    return [
      form(route, data.templates),
      h("p", { class: "quiet" }, route.query.user || route.query.event
        ? "With the values of this user and event."
        : "With sample values. Give a user and an event to see theirs."),
      wanted.length > 0 ? wanted.map(template)
        : h("p", {}, "This server has no such template."),
    ];
  },
};
