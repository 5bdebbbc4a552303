// The view of questions: estimates with the intervals of `sklar estimate`, or the model's own answer without one.

import { conditionBuilder } from "./builder.mjs";
import { intervalChart } from "./charts.mjs";
import { isNumber } from "./decode.mjs";
import { h, number, table } from "./dom.mjs";
import { groupValues } from "./statistics.mjs";

const STATISTICS = { share: "share of rows", mean: "mean", quantile: "quantile", difference: "difference of means", correlation: "correlation" };

export function askView(page) {
  const { content } = page, columns = content.schema.columns.filter((column) => column.kind !== "id");
  const numeric = columns.filter((column) => isNumber(column) && column.kind !== "datetime"), grouped = columns.filter((column) => !isNumber(column));
  const fields = h("div", { class: "bar-of-tools" }), result = h("div", { "aria-live": "polite" });
  const pick = h("select", { id: "statistic" }, Object.entries(STATISTICS).map(([name, text]) => h("option", { value: name }, text)));
  const builder = conditionBuilder(columns);
  let read = () => null;
  const field = (id, label, options, none = null) => {
    const box = h("select", { id }, none ? h("option", { value: "" }, none) : null, options.map(([value, text = value]) => h("option", { value }, text)));
    fields.append(h("label", { for: id }, label), box);
    return box;
  };
  const names = (list) => list.map((column) => [column.name]);
  const choose = () => {
    fields.replaceChildren();
    const statistic = pick.value, base = { statistic, value: null, at: 0.5, by: null };
    if (statistic === "share") {
      const column = field("of", "of", names(grouped)), value = field("value", "=", []);
      const fill = () => value.replaceChildren(...groupValues(grouped.find((one) => one.name === column.value)).map((word) => h("option", { value: word }, word)));
      column.addEventListener("change", fill);
      if (grouped.length) fill();
      const by = field("by", "by", names(grouped), "(all rows)");
      read = () => ({ ...base, columns: [column.value], value: value.value, by: by.value || null });
    } else if (statistic === "correlation") {
      const [one, two] = [field("of", "of", names(numeric)), field("with", "and", names(numeric))];
      two.selectedIndex = Math.min(1, numeric.length - 1);
      read = () => ({ ...base, columns: [one.value, two.value] });
    } else {
      const column = field("of", "of", names(numeric));
      const level = statistic === "quantile" ? field("level", "at", [0.05, 0.25, 0.5, 0.75, 0.95].map((at) => [String(at)])) : null;
      if (level) level.value = "0.5";
      const groups = statistic === "difference" ? grouped.filter((one) => groupValues(one).length === 2) : grouped;
      const by = field("by", statistic === "difference" ? "between groups of" : "by", names(groups), statistic === "difference" ? null : "(all rows)");
      read = () => ({ ...base, columns: [column.value], at: level ? Number(level.value) : 0.5, by: by.value || null });
    }
  };
  pick.addEventListener("change", choose);
  choose();
  estimateAll(page, []); // draws the rows that answers start from
  const submit = (event) => {
    event.preventDefault();
    const question = read();
    if (question && question.columns.every(Boolean)) answer(page, question, builder.read(), result);
  };
  return [
    h("h2", { class: "title", tabindex: "-1" }, "Ask a question"),
    h("p", "Estimates of the real population, with 95% intervals for the noise of privacy and for sampling: those of ", h("code", "sklar estimate"), ". They cost no privacy."),
    h("form", { class: "panel", onsubmit: submit },
      h("div", { class: "bar-of-tools" }, h("label", { for: "statistic" }, "The"), pick), fields, builder.element,
      h("div", { class: "bar-of-tools" }, h("button", { class: "main" }, "Answer"))),
    result, allAnswers(content),
  ];
}

// The question as `sklar estimate` reads it.
export function questionText(question, conditions = []) {
  const inside = question.value !== null ? `${question.columns[0]}=${question.value}` : question.columns.join(", ") + (question.statistic === "quantile" ? `, ${question.at}` : "");
  const by = question.by ? ` by ${question.by}` : "", where = conditions.map((one) => one.text).join(" and ");
  return `${question.statistic}(${inside})${by}${where ? ` where ${where}` : ""}`;
}

// The stored answer to a question; correlations are the same in both orders.
export function findAnswer(answers, question) {
  const key = (one) => JSON.stringify([one.statistic, one.statistic === "correlation" ? [...one.columns].sort() : one.columns, one.value === null ? null : String(one.value).toLowerCase(), one.statistic === "quantile" ? one.at : null, one.by]);
  return answers.find((one) => !one.where && key(one) === key(question)) ?? null;
}

async function answer(page, question, conditions, place) {
  const { content } = page, text = questionText(question, conditions);
  const stored = conditions.length ? content.answers.find((one) => one.text === text) ?? null : findAnswer(content.answers, question);
  if (stored) return place.replaceChildren(withInterval(stored));
  place.replaceChildren(h("p", { class: "soft" }, "Computing from rows of the model and its measurements …"));
  const found = await estimate(page, question, conditions);
  if (found) return place.replaceChildren(withInterval(found));
  const command = h("pre", { tabindex: "0" }, h("code", commandOf(content, text))), own = h("div");
  place.replaceChildren(h("section", { class: "panel fair" }, h("h3", text), h("p", "The interval of this question needs replicas of the whole mechanism, which browsers do not make. This command makes them from the model file:"), command, own));
  if (!content.schema.unsupported) await showModelAnswer(page, question, conditions, own);
  return undefined;
}

const commandOf = (content, text) => `sklar estimate ${content.title}.sklar "${text.replaceAll('"', "'")}"`;

// The estimate as it is stored for other questions; null if it needs the command.
export async function estimate(page, question, conditions = []) {
  return (await estimateAll(page, [{ question, conditions }]))[0] ?? null;
}

// Estimates for several questions; those that need the command are left out.
export async function estimateAll(page, asked) {
  if (!page.content.measured) return [];
  const found = await page.engine.estimates(asked);
  return found.map((numbers, i) => numbers && { ...asked[i].question, text: questionText(asked[i].question, asked[i].conditions), numbers, how: numbers[0].how }).filter(Boolean);
}

async function showModelAnswer(page, question, conditions, place) {
  place.textContent = "Drawing rows of the model …";
  try {
    const { numbers, rows } = await page.engine.statistic(question, conditions);
    place.replaceChildren(h("p", h("strong", `The model's own answer, without an interval`), ` (from ${rows.toLocaleString("en")} rows drawn here; it may be off by noise, smoothing and chance):`),
      table(["group", "model"], numbers.map((one) => [one.group ?? "all rows", number(one.value)]), { label: "The model's own answer" }));
  } catch (error) {
    place.textContent = `The model gives no answer: ${error.message}.`;
  }
}

function withInterval(one) {
  const rows = one.numbers.map((x) => [x.group ?? x.term ?? "all rows", x.value === null ? "–" : number(x.value), x.low === null ? "–" : `${number(x.low)} to ${number(x.high)}`, x.effective_rows === null ? "–" : x.effective_rows.toLocaleString("en")]);
  return h("section", { class: "panel good" }, h("h3", one.text),
    h("figure", { class: "large" }, intervalChart(one.numbers.map((x) => ({ label: x.group ?? x.term ?? "all rows", ...x })), one.text)),
    table(["group", "estimate", "95% interval", "effective rows"], rows, { label: one.text }),
    h("p", { class: "soft" }, `${one.how[0].toUpperCase()}${one.how.slice(1)}.`));
}

function allAnswers(content) {
  if (!content.answers.length) return null;
  const list = h("div"), shown = () => {
    const wanted = find.value.trim().toLowerCase();
    const rows = content.answers.filter((one) => one.text.toLowerCase().includes(wanted)).flatMap((one) => one.numbers.map((x) =>
      [one.text, x.group ?? x.term ?? "", number(x.value), x.low === null ? one.how : `${number(x.low)} to ${number(x.high)}`]));
    list.replaceChildren(table(["question", "group", "estimate", "95% interval"], rows.slice(0, 400), { label: "Answers in this page" }));
  };
  const find = h("input", { type: "search", id: "find-answer", oninput: shown });
  shown();
  return h("details", h("summary", `All ${content.answers.length} answers that are stored in this page`),
    h("div", { class: "bar-of-tools" }, h("label", { for: "find-answer" }, "Search"), find), list);
}
