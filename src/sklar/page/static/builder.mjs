// The form fields for conditions: any number of them, each a column and the values that rows may have.

import { writeTime } from "./csv.mjs";
import { isNumber } from "./decode.mjs";
import { h } from "./dom.mjs";

// A tick of a datetime from text, rounded down or up to the resolution.
export function readTime(text, resolution, up) {
  const milliseconds = Date.parse(/T/.test(text) ? `${text}Z` : `${text}T00:00:00Z`);
  const unit = { day: 86_400_000, hour: 3_600_000, minute: 60_000, second: 1_000, millisecond: 1, microsecond: 0.001 }[resolution];
  const end = up && !/T/.test(text) && resolution !== "day" ? milliseconds + 86_399_999 : milliseconds;
  return Math.floor(end / unit);
}

// Returns { element, read }: read() gives the conditions, and their text for the command line.
export function conditionBuilder(columns, changed = () => {}) {
  const usable = columns.filter((column) => column.kind !== "id"), lines = [];
  const list = h("ul", { class: "plain conditions" });
  const add = h("button", { type: "button", class: "quiet", onclick: () => addLine() }, "+ Add a condition");
  function addLine() {
    const pick = h("select", { "aria-label": "Column of the condition" }, usable.map((column) => h("option", { value: column.name }, column.name)));
    const fields = h("span", { class: "fields" }), line = { column: usable[0], read: null };
    const remove = h("button", { type: "button", class: "quiet", "aria-label": "Remove the condition", onclick: () => {
      lines.splice(lines.indexOf(line), 1);
      item.remove();
      changed();
    } }, "✕");
    const item = h("li", pick, fields, remove);
    const choose = () => {
      line.column = usable.find((column) => column.name === pick.value);
      line.read = isNumber(line.column) ? rangeFields(line.column, fields) : labelFields(line.column, fields);
    };
    pick.addEventListener("change", choose);
    lines.push(line);
    list.append(item);
    choose();
    pick.focus();
  }
  return { element: h("fieldset", h("legend", "Only rows where"), list, add), read: () => lines.map((line) => line.read()).filter(Boolean) };
}

function rangeFields(column, place) {
  const time = column.kind === "datetime", show = (x) => (time ? writeTime(x, column.resolution).slice(0, 10) : String(x));
  const box = (label, value) => h("input", { type: time ? "date" : "number", step: "any", "aria-label": `${column.name} ${label}`, value });
  const low = box("from", show(column.lower)), high = box("to", show(column.upper));
  place.replaceChildren(low, " to ", high);
  return () => {
    const end = (input, up) => (time ? readTime(input.value, column.resolution, up) : Number(input.value));
    return { name: column.name, low: Math.max(end(low, false), column.lower), high: Math.min(end(high, true), column.upper), text: `${column.name}=${low.value}..${high.value}` };
  };
}

function labelFields(column, place) {
  const words = column.values ? [...column.values, column.other].map(String) : ["true", "false"];
  const pick = h("select", { multiple: true, size: Math.min(words.length, 5), "aria-label": `Values of ${column.name}` },
    words.map((word, i) => h("option", { value: word, selected: i === 0 }, word)));
  place.replaceChildren(" is any of ", pick);
  return () => {
    const chosen = Array.from(pick.selectedOptions, (option) => option.value);
    const labels = column.values ? chosen : chosen.map((word) => (word === "true" ? 1 : 0));
    return chosen.length ? { name: column.name, labels, text: `${column.name}=${chosen.join(",")}` } : null;
  };
}
