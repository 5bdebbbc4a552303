// The view that draws rows: how many, with which seed and conditions; progress, a preview and the file.

import { conditionBuilder } from "./builder.mjs";
import { writeHeader } from "./csv.mjs";
import { h, table } from "./dom.mjs";

const MAX_ROWS = 1_000_000;
const SHOWN_ROWS = 100;

export function samplingView(page) {
  const { content, engine } = page;
  if (content.schema.unsupported) return withoutSampling(content);
  const rows = h("input", { type: "number", id: "rows", min: "1", max: String(MAX_ROWS), step: "1", required: true, value: "1000" });
  const seed = h("input", { type: "number", id: "seed", min: "0", step: "1", required: true, value: "1" });
  const builder = conditionBuilder(content.schema.columns);
  const draw = h("button", { class: "main" }, "Draw rows"), cancel = h("button", { type: "button", hidden: true }, "Cancel");
  const bar = h("progress", { max: "1", value: "0", hidden: true, "aria-label": "Rows drawn" }), status = h("p", { role: "status" });
  const result = h("div");
  const form = h("form", { class: "panel", onsubmit: (event) => start(event) },
    h("div", { class: "bar-of-tools" }, h("label", { for: "rows" }, "Rows"), rows, h("label", { for: "seed" }, "Seed"), seed), builder.element,
    h("div", { class: "bar-of-tools" }, draw, cancel, bar), status);
  cancel.addEventListener("click", () => engine.cancel());
  const running = (on) => {
    draw.disabled = on;
    cancel.hidden = bar.hidden = !on;
  };
  async function start(event) {
    event.preventDefault();
    const request = { rows: Number(rows.value), seed: Number(seed.value), conditions: builder.read() };
    running(true);
    status.textContent = "Drawing …";
    result.replaceChildren();
    const began = performance.now();
    try {
      const lines = await engine.draw(request, (found) => {
        bar.value = found / request.rows;
        status.textContent = `${found.toLocaleString("en")} of ${request.rows.toLocaleString("en")} rows`;
      }, (text) => result.replaceChildren(preview(content.schema, text)));
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      status.textContent = `${request.rows.toLocaleString("en")} rows in ${seconds} s.`;
      result.prepend(download(content, lines, request));
    } catch (error) {
      status.textContent = error.message === "cancelled" ? "Cancelled." : `No rows: ${error.message}.`;
      if (error.message !== "cancelled" && request.conditions.length) result.replaceChildren(sampleCommand(content, request));
    }
    running(false);
  }
  return [
    h("h2", { class: "title", tabindex: "-1" }, "Draw synthetic rows"),
    h("p", "The model in this page draws the rows, here in the browser. They cost no privacy, however many there are. Nothing leaves this page."),
    form, result,
    h("p", { class: "soft" }, "Rows are independent. The same seed gives the same rows as ", h("code", "model.stream(rows, seed=…)"), " in Python, where no conditions are given. Do not take a synthetic row for a person."),
  ];
}

// The command that draws rows under conditions without rejection.
function sampleCommand({ title }, { rows, conditions }) {
  const given = conditions.map((one) => ` --given "${one.text.replaceAll('"', "'")}"`).join("");
  return h("div", h("p", "Save the model file under “Verify”, install Sklar, and run:"), h("pre", { tabindex: "0" }, h("code", `sklar sample ${title}.sklar -o rows.csv -n ${rows}${given}`)));
}

function withoutSampling(content) {
  return [
    h("h2", { class: "title", tabindex: "-1" }, "Draw synthetic rows"),
    h("p", { class: "panel fair" }, `This page cannot draw rows: ${content.schema.unsupported}. Save the model file under “Verify”, install Sklar, and run:`),
    h("pre", { tabindex: "0" }, h("code", `sklar sample ${content.title}.sklar -o ${content.schema.sample_file} -n 1000`)),
  ];
}

// Cells of CSV lines; quotes as in csv.mjs.
export function splitLine(line) {
  const cells = [], pattern = /(?:"((?:[^"]|"")*)"|([^,]*))(,|$)/g;
  for (let found; (found = pattern.exec(line)); ) {
    cells.push(found[1] !== undefined ? found[1].replaceAll('""', '"') : found[2]);
    if (found[3] === "") break;
  }
  return cells;
}

function preview(facts, text) {
  const lines = text.split("\n").filter(Boolean).slice(0, SHOWN_ROWS);
  return h("section", h("h3", `The first ${lines.length} rows`), table(facts.columns.map((column) => column.name), lines.map(splitLine), { label: "First rows" }));
}

function download(content, lines, request) {
  const file = new Blob([writeHeader(content.schema), ...lines], { type: "text/csv" });
  const name = `${content.title}-${request.rows}-rows-seed-${request.seed}.csv`;
  return h("p", h("a", { class: "button", href: URL.createObjectURL(file), download: name }, `Save as CSV (${(file.size / 1e6).toFixed(1)} MB)`));
}
