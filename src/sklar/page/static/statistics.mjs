// Statistics of drawn rows: the model's own answer to a question, without an interval.
// A question is { statistic, columns, value, at, by }.

import { quantiles } from "./joint.mjs";

const missing = NaN;

export function numbersOf(values) {
  return Float64Array.from(values.data, (x, i) => (values.null[i] ? NaN : x));
}

export function valueTest(column, values, wanted) {
  const words = column.values ? null : column.spelling ?? ["false", "true"];
  const code = words ? (["false", "true"].includes(wanted) ? Number(wanted === "true") : words.map(String).indexOf(wanted))
    : values.labels ? values.labels.indexOf(wanted) : Number(wanted);
  return (i) => !values.null[i] && values.data[i] === code;
}

// Values that rows are grouped by, as the schema lists them.
export function groupValues(column) {
  return column.values ? column.values.map(String) : ["true", "false"];
}

// Returns [{ group, value }], one for each group.
export function computeStatistic(question, facts, table) {
  const find = (name) => facts.columns.find((column) => column.name === name);
  const rows = table[question.columns[0]].data.length, all = Array.from({ length: rows }, (_, i) => i);
  const groups = question.by ? groupValues(find(question.by)) : [null];
  const found = groups.map((group) => {
    const inside = group === null ? null : valueTest(find(question.by), table[question.by], group);
    return { group, value: statistic(question, find, table, inside ? all.filter(inside) : all) };
  });
  if (question.statistic !== "difference") return found;
  return [{ group: `${found[0].group} - ${found[1].group}`, value: found[0].value - found[1].value }];
}

function statistic(question, find, table, rows) {
  const name = question.columns[0];
  if (!rows.length) return missing;
  if (question.value !== null && question.value !== undefined) {
    return rows.filter(valueTest(find(name), table[name], question.value)).length / rows.length;
  }
  const columns = question.columns.map((column) => numbersOf(table[column]));
  const known = rows.filter((i) => columns.every((data) => !Number.isNaN(data[i])));
  const [x, y] = columns.map((data) => Float64Array.from(known, (i) => data[i]));
  if (!x.length) return missing;
  if (question.statistic === "quantile") return quantiles(x.sort(), [question.at])[0];
  if (question.statistic === "correlation") return correlation(x, y);
  return mean(x);
}

const mean = (x) => x.reduce((sum, value) => sum + value, 0) / x.length;

function correlation(x, y) {
  const [a, b] = [mean(x), mean(y)];
  let xy = 0, xx = 0, yy = 0;
  for (let i = 0; i < x.length; i++) {
    xy += (x[i] - a) * (y[i] - b);
    xx += (x[i] - a) ** 2;
    yy += (y[i] - b) ** 2;
  }
  return xy / Math.sqrt(xx * yy);
}
