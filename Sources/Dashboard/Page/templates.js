// The templates of this server: all locales side by side, as a phone shows them, against limits.

import { h, redraw } from "./dom.js";
import { field, go, notice, phones } from "./text.js";

// The template that is shown; "" for all.
let chosen = "";

const form = (route, templates) => h("form", { class: "controls",
  onsubmit: (event) => go(event, "templates", ["template", "user", "event"]) },
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

function template(each) {
  return h("section", { key: each.name },
    h("h2", {}, each.name),
    !each.trouble ? null : each.locales?.length > 0 ? notice("bad", "Mistake:", each.trouble)
      : notice("bad", "Not used:", /:\d+:/.test(each.trouble) ? `${each.trouble}. Workers go on `
        + "with the text before it. Correct this line (the first number), and save."
        : each.trouble),
    each.rendered?.problem ? notice("warn", "Not rendered:", each.rendered.problem) : null,
    each.rendered && !each.rendered.problem ? [
      h("h3", {}, "As this user gets it"),
      phones(null, [each.rendered]), h("h3", {}, "All locales")] : null,
    phones(null, each.locales ?? []));
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
        ? "With the values of this user and event. Show reads all of it again."
        : "With sample values. Give a user and an event to see theirs. To change a text, edit the "
          + "template's .yaml file in templates.directory: this page shows it within seconds. "
          + "fanfare dev names the file, sends the text (key e) and undoes the change (key u)."),
      wanted.length > 0 ? wanted.map(template)
        : h("p", {}, "This server has no such template."),
    ];
  },
};
