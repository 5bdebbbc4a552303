// Simple questions about one column and about a pair of columns, and the sections of the page that answer them.
// Mirrors `list_questions` of `sklar.pipeline.release_page.answers`.

import { estimateAll } from "./ask.mjs";
import { isNumber } from "./decode.mjs";
import { h } from "./dom.mjs";
import { groupValues } from "./statistics.mjs";

const MAX_VALUES = 12;
const MAX_GROUP_VALUES = 3;
const LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95];

const isCounted = (column) => isNumber(column) && column.kind !== "datetime";
const isGrouping = (column) => Boolean(column.values) || column.kind === "boolean";
const values = (column, most) => (column.values ? groupValues(column).slice(0, most) : ["true"]);
const question = (statistic, columns, more = {}) => ({ statistic, columns, value: null, at: 0.5, by: null, ...more });

export function questionsOnColumn(column) {
  const own = [column.name];
  if (isGrouping(column)) return values(column, MAX_VALUES).map((value) => question("share", own, { value }));
  return isCounted(column) ? [question("mean", own), ...LEVELS.map((at) => question("quantile", own, { at }))] : [];
}

export function questionsOnPair(first, second) {
  const found = isCounted(first) && isCounted(second) ? [question("correlation", [first.name, second.name])] : [];
  for (const [column, groups] of [[first, second], [second, first]]) {
    if (!isGrouping(groups)) continue;
    const by = groups.name, own = [column.name];
    if (isGrouping(column)) found.push(...values(column, MAX_GROUP_VALUES).map((value) => question("share", own, { value, by })));
    if (isCounted(column)) found.push(question("mean", own, { by }));
    if (isCounted(column) && groupValues(groups).length === 2) found.push(question("difference", own, { by }));
  }
  return found;
}

// A section that shows answers: stored ones, or those that are computed when it is shown.
export function answersSection(page, names, stored, draw) {
  const columns = names.map((name) => page.content.schema.columns.find((one) => one.name === name));
  const place = h("section", h("h3", "Estimates, with 95% intervals"), h("p", { class: "soft", role: "status" }, "Computing …"));
  const show = (answers) => (answers.length ? place.replaceChildren(place.firstChild, draw(answers)) : place.remove());
  if (stored.length || !columns.every(Boolean)) show(stored);
  else estimateAll(page, (names.length === 1 ? questionsOnColumn : questionsOnPair)(...columns).map((one) => ({ question: one, conditions: [] }))).then(show, () => place.remove());
  return stored.length || page.content.measured ? place : null;
}
