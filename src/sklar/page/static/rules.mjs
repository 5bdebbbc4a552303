// Public rules on rows: which rows obey them. Each kind of rule here is checked as in Python.

import { roundHalfEven } from "./decode.mjs";

function equals(values, value) {
  if (values.labels) {
    const at = values.labels.indexOf(value);
    return (i) => !values.null[i] && values.data[i] === at;
  }
  return (i) => !values.null[i] && values.data[i] === Number(value);
}

const HOLDS = {
  // Not all of these values at once.
  never(rule, table) {
    const tests = rule.pairs.map(([name, value]) => equals(table[name], value));
    return (i) => !tests.every((test) => test(i));
  },
  // high - low is within limits, or either is null.
  at_most(rule, table) {
    const [low, high] = [table[rule.low], table[rule.high]];
    const plain = rule.at_least === 0 && rule.at_most === null;
    return (i) => {
      if (low.null[i] || high.null[i]) return true;
      const [a, b] = [low.data[i], high.data[i]];
      if (plain) return a <= b;
      const slack = rule.real ? 4 * ulp(Math.max(Math.abs(a), Math.abs(b))) : 0;
      return b - a >= rule.at_least - slack && (rule.at_most === null || b - a <= rule.at_most + slack);
    };
  },
  // One column is a function of another, where that is listed.
  function(rule, table) {
    const images = imagesOf(rule, table[rule.of], table[rule.column]), [of, column] = [table[rule.of], table[rule.column]];
    return (i) => column.null[i] || of.null[i] || !images.has(of.data[i]) || images.get(of.data[i]) === column.data[i];
  },
  // A total is the sum of its parts, and null where one of them is.
  sum(rule, table) {
    const found = table[rule.column], want = addUp(rule, table);
    return (i) => {
      if (found.null[i] !== want.null[i]) return false;
      if (found.null[i]) return true;
      const sizes = [found, ...rule.parts.map(([name]) => table[name])].map((values) => Math.abs(values.data[i]));
      const slack = rule.real ? 8 * ulp(Math.max(...sizes)) : 0;
      return Math.abs(found.data[i] - want.data[i]) <= slack && found.data[i] >= rule.lower && found.data[i] <= rule.upper;
    };
  },
  // One of the columns is set (or none may be); all are null or none is.
  one_hot(rule, table) {
    const columns = rule.columns.map((name) => table[name]);
    return (i) => {
      const nulls = columns.filter((values) => values.null[i]).length;
      if (nulls) return nulls === columns.length;
      const count = columns.filter((values, k) => values.data[i] === rule.switches[k]).length;
      return count === 1 || (rule.at_most_one && count === 0);
    };
  },
  together(rule, table) {
    const columns = rule.columns.map((name) => table[name]), may = mayBeFilled(rule, table);
    return (i) => columns.every((values) => values.null[i]) || (columns.every((values) => !values.null[i]) && may(i));
  },
  // The one expression that drafts propose: a column is filled where another one has one of these values.
  expression(rule, table) {
    const tests = rule.values.map((value) => equals(table[rule.of], value)), column = table[rule.column];
    return (i) => !column.null[i] || !tests.some((test) => test(i));
  },
};

// Whether the other columns have the values at which columns that are null together may be filled.
export function mayBeFilled(rule, table) {
  const tests = rule.wanted.map(([name, values]) => values.map((value) => equals(table[name], value)));
  return (i) => tests.every((several) => several.some((test) => test(i)));
}

function ulp(x) {
  return x === 0 ? Number.MIN_VALUE : 2 ** (Math.floor(Math.log2(x)) - 52);
}

function stored(values, value) {
  return values.labels ? values.labels.indexOf(String(value)) : Number(value);
}

function imagesOf(rule, of, values) {
  return new Map(rule.pairs.map(([key, image]) => [stored(of, key), stored(values, image)]));
}

// Returns a function from a row to whether it obeys all rules.
export function makeRuleTest(rules, table) {
  const tests = rules.map((rule) => HOLDS[rule.kind](rule, table));
  return (i) => tests.every((test) => test(i));
}

// Computes the columns that are functions of others, in order.
export function computeColumns(facts, table, rows) {
  for (const rule of facts.computed) {
    if (rule.kind === "sum") {
      table[rule.column] = addUp(rule, table);
      continue;
    }
    const of = table[rule.of], column = facts.columns.find((one) => one.name === rule.column);
    const known = table[rule.column];
    const values = known ?? missingValues(column, rows), images = imagesOf(rule, of, values);
    const data = values.data.slice(), missing = values.null.slice();
    for (let i = 0; i < rows; i++) {
      if (of.null[i] || !images.has(of.data[i]) || (known && known.null[i])) continue;
      data[i] = images.get(of.data[i]);
      missing[i] = 0;
    }
    table[rule.column] = { ...values, data, null: missing };
  }
}

// Sums of decimal numbers are added as whole ones.
function addUp(rule, table) {
  const parts = rule.parts.map(([name, factor]) => [table[name], factor]), scale = 10 ** rule.digits;
  const rows = parts[0][0].data.length, data = new Float64Array(rows), missing = new Uint8Array(rows);
  for (let i = 0; i < rows; i++) {
    let total = 0;
    for (const [values, factor] of parts) {
      total += factor * roundHalfEven(values.data[i] * scale);
      missing[i] |= values.null[i];
    }
    data[i] = missing[i] ? 0 : (total + roundHalfEven(rule.offset * scale)) / scale;
  }
  return { data, null: missing };
}

function missingValues(column, rows) {
  const labels = column.values && !column.integer_labels ? [...column.values, column.other] : undefined;
  const nullable = column.null_code !== null;
  const data = new Float64Array(rows).fill(nullable ? 0 : column.missing);
  return { data, null: new Uint8Array(rows).fill(nullable ? 1 : 0), labels };
}
