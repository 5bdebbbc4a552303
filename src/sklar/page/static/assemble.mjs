// Computes declared columns back from drawn coordinates: dates, differences, choices, and nulls that come together.

import { putTogether, takeApart } from "./calendar.mjs";
import { decodeColumn, roundHalfEven } from "./decode.mjs";
import { computeColumns, mayBeFilled } from "./rules.mjs";

// Returns declared columns from coordinates, and 1 for rows whose coordinates are inconsistent.
export function assemble(facts, drawn, rows, rng) {
  const table = {}, bent = new Uint8Array(rows);
  for (const { coordinates } of facts.together) shareNulls(coordinates, drawn, rows, rng);
  for (const part of facts.coordinates) if (part.part === "same") table[part.name] = drawn[part.name];
  for (const [name, calendar] of Object.entries(facts.calendars)) {
    table[name] = fromCalendar(calendar, drawn, rows, bent, rng);
  }
  for (const step of facts.steps) STEPS[step.step](facts, step, table, drawn[step.name], bent);
  computeColumns(facts, table, rows);
  for (const rule of facts.together) {
    if (!rule.wanted.length) continue;
    fillOnlyWhere(rule, table, rows, rng);
    computeColumns(facts, table, rows);
  }
  return { table, bent };
}

function fromCalendar(calendar, drawn, rows, bent, rng) {
  const missing = drawn[calendar.names.line].null.slice(), parts = {};
  for (const [part, name] of Object.entries(calendar.names)) {
    const { data, null: absent } = drawn[name], first = part === "line" ? calendar.first_line : part === "hour" ? 0 : 1;
    parts[part] = Float64Array.from(data, (x, i) => (absent[i] ? first : x));
  }
  const days = rng.fill(new Float64Array(rows)), times = rng.fill(new Float64Array(rows));
  const ticks = putTogether(calendar, parts, days, times);
  for (let i = 0; i < rows; i++) {
    if (missing[i]) {
      ticks[i] = 0;
      continue;
    }
    const got = takeApart(calendar, ticks[i]);
    for (const [part, name] of Object.entries(calendar.names)) {
      if (drawn[name].null[i] || got[part] !== parts[part][i]) bent[i] = 1;
    }
  }
  return { data: ticks, null: missing };
}

// The first column decides which rows are null; values that others lack are copied from other rows. Each column has
// one coordinate or several.
function shareNulls(coordinates, drawn, rows, rng) {
  const decided = drawn[coordinates[0][0]].null.slice();
  for (const names of coordinates) {
    const having = [], lacking = [];
    for (let i = 0; i < rows; i++) {
      if (!names.some((name) => drawn[name].null[i])) having.push(i);
      else if (!decided[i]) lacking.push(i);
    }
    const donors = lacking.map((row) => (having.length ? having[rng.upto(having.length - 1)] : row));
    for (const name of names) drawn[name] = nulled(copied(drawn[name], lacking, donors), (i) => decided[i]);
  }
}

// Values of rows where the rule allows none move to rows that lack them, all columns of a row together.
function fillOnlyWhere(rule, table, rows, rng) {
  const may = mayBeFilled(rule, table), empty = table[rule.columns[0]].null, giving = [], taking = [];
  for (let i = 0; i < rows; i++) {
    if (may(i) ? empty[i] : !empty[i]) (may(i) ? taking : giving).push(i);
  }
  const givers = rng.shuffle(giving), takers = rng.shuffle(taking), moved = Math.min(givers.length, takers.length);
  const [to, from] = [takers.slice(0, moved), givers.slice(0, moved)];
  for (const name of rule.columns) table[name] = nulled(copied(table[name], to, from), (i) => !may(i));
}

function copied(values, to, from) {
  const data = values.data.slice(), missing = values.null.slice();
  to.forEach((row, k) => {
    data[row] = values.data[from[k]];
    missing[row] = values.null[from[k]];
  });
  return { ...values, data, null: missing };
}

function nulled(values, isNull) {
  for (let i = 0; i < values.data.length; i++) {
    if (!isNull(i)) continue;
    values.data[i] = 0;
    values.null[i] = 1;
  }
  return values;
}

// The nearest value above (or below) that a column can take.
export function toGrid(column, value, up) {
  const toward = up ? Math.ceil : Math.floor;
  if (column.kind !== "real") {
    const step = column.grid.step || 1, whole = toward(value);
    return step === 1 ? whole : toward(whole / step) * step;
  }
  if (!column.unit) return value;
  const [over, under] = column.unit, shifted = toward((value * under) / over);
  const nearer = ((shifted - (up ? 1 : -1)) * over) / under;
  return (up ? nearer >= value : nearer <= value) ? nearer : (shifted * over) / under;
}

const STEPS = {
  // A column at a distance from its anchor, clipped to its bounds.
  difference(facts, step, table, length, bent) {
    const column = facts.columns.find((one) => one.name === step.column), anchor = table[step.anchor];
    const sign = step.above ? 1 : -1, { lower, upper } = column, data = new Float64Array(length.data.length);
    for (let i = 0; i < data.length; i++) {
      if (length.null[i]) continue;
      const known = !anchor.null[i], far = length.data[i];
      const value = known ? anchor.data[i] + sign * Math.min(far, step.most) : (step.above ? lower : upper) + sign * (far - step.least);
      const found = differenceOnGrid(column, step, value);
      if (found < lower || found > upper || (known && far > step.most)) bent[i] = 1;
      data[i] = Math.min(Math.max(found, lower), upper);
    }
    table[step.column] = { data, null: length.null.slice() };
  },
  // The dummy columns of a category.
  choice(facts, step, table, drawn, bent) {
    const places = Int32Array.from(drawn.data, (place, i) => {
      const none = !drawn.null[i] && place === step.columns.length;
      if (none && !step.at_most_one) bent[i] = 1;
      return none && !step.at_most_one ? 0 : place;
    });
    step.columns.forEach((name, at) => {
      const column = facts.columns.find((one) => one.name === name), [off, on] = step.codes[at];
      const codes = places.map((place, i) => (drawn.null[i] && column.null_code !== null ? column.null_code : place === at ? on : off));
      table[name] = decodeColumn(column, codes, null);
    });
  },
};

function differenceOnGrid(column, step, value) {
  if (column.kind !== "real") return toGrid(column, value, step.above);
  if (step.digits === null) return value;
  const scale = 10 ** step.digits;
  return toGrid(column, roundHalfEven(value * scale) / scale, step.above) + 0;
}
