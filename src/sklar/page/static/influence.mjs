// Influence functions of statistics: how much each row of a model changes them. Mirrors
// `sklar.inference.answers.influence`. Lines have the rows of the model first, and rows with a Gaussian copula behind.

import { conditionTest } from "./conditions.mjs";
import { meanOf } from "./linear.mjs";
import { groupValues, numbersOf, valueTest } from "./statistics.mjs";

export const MAX_CORRELATION = 1 - 1e-9;

// The rows of each group that meet the conditions, as 0 and 1: [{ group, kept }].
export function groupRows(question, conditions, facts, table) {
  const find = (name) => facts.columns.find((column) => column.name === name);
  const rows = Object.values(table)[0].data.length, meets = conditionTest(conditions, table);
  const kept = Uint8Array.from({ length: rows }, (_, i) => Number(meets(i)));
  if (!question.by) return [{ group: null, kept }];
  return groupValues(find(question.by)).map((group) => {
    const inside = valueTest(find(question.by), table[question.by], group);
    return { group, kept: kept.map((x, i) => Number(x && inside(i))) };
  });
}

export const shareOf = (kept, own) => meanOf(kept.subarray(0, own));

// Returns { model, psi } of one group; the answer is that of the first `own` rows, NaN where it is not defined.
export function influenceOf(question, facts, table, kept, own) {
  if (question.value !== null && question.value !== undefined) {
    const inside = valueTest(facts.columns.find((one) => one.name === question.columns[0]), table[question.columns[0]], question.value);
    return ofMean(Float64Array.from(kept, (_, i) => Number(inside(i))), kept, own);
  }
  const numbers = question.columns.map((name) => numbersOf(table[name]));
  const whole = kept.map((x, i) => Number(x && numbers.every((line) => !Number.isNaN(line[i]))));
  return question.statistic === "correlation" ? ofCorrelation(...numbers, whole, own) : ofMean(numbers[0], whole, own);
}

function ofMean(x, kept, own) {
  const model = meanWhere(x, kept, own), part = Math.max(shareOf(kept, own), 1e-12);
  return { model, psi: x.map((value, i) => (kept[i] ? (value - model) / part : 0)) };
}

function meanWhere(x, kept, own) {
  let sum = 0, count = 0;
  for (let i = 0; i < own; i++) {
    if (!kept[i]) continue;
    sum += x[i];
    count++;
  }
  return count ? sum / count : NaN;
}

// On Fisher's scale.
function ofCorrelation(x, y, kept, own) {
  const scaled = [x, y].map((line) => {
    const centre = meanWhere(line, kept, own), spread = Math.sqrt(meanWhere(line.map((value) => (value - centre) ** 2), kept, own));
    return line.map((value) => (value - centre) / spread);
  });
  const [a, b] = scaled, part = Math.max(shareOf(kept, own), 1e-12);
  const found = meanWhere(a.map((value, i) => value * b[i]), kept, own);
  const corr = Math.min(Math.max(found, -MAX_CORRELATION), MAX_CORRELATION);
  const psi = a.map((value, i) => (kept[i] ? (value * b[i] - (corr * (value ** 2 + b[i] ** 2)) / 2) / (1 - corr ** 2) / part : 0));
  let known = 0;
  for (let i = 0; i < own; i++) known += kept[i];
  return { model: known < 3 ? NaN : Math.atanh(corr), psi };
}
