// Computes declared columns back from drawn coordinates: dates, differences, choices, and nulls that come together.

import { putTogether, takeApart } from "./calendar.mjs";
import { decodeColumn, roundHalfEven } from "./decode.mjs";
import { computeColumns } from "./rules.mjs";

// Returns declared columns from coordinates, and 1 for rows whose coordinates are inconsistent.
export function assemble(facts, drawn, rows, rng) {
  const table = {}, bent = new Uint8Array(rows);
  for (const names of facts.together) shareNulls(names, drawn, rows, rng);
  for (const part of facts.coordinates) if (part.part === "same") table[part.name] = drawn[part.name];
  for (const [name, calendar] of Object.entries(facts.calendars)) {
    table[name] = fromCalendar(calendar, drawn, rows, bent, rng);
  }
  for (const step of facts.steps) STEPS[step.step](facts, step, table, drawn[step.name], bent);
  computeColumns(facts, table, rows);
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

// The first column decides which rows are null; values that others lack are copied from other rows.
function shareNulls(names, drawn, rows, rng) {
  const decided = drawn[names[0]].null.slice();
  for (const name of names) {
    const { data, null: empty } = drawn[name], having = [], lacking = [];
    for (let i = 0; i < rows; i++) {
      if (!empty[i]) having.push(i);
      else if (!decided[i]) lacking.push(i);
    }
    const donors = lacking.map((row) => (having.length ? having[rng.upto(having.length - 1)] : row));
    const copied = data.slice(), missing = empty.slice();
    lacking.forEach((row, k) => {
      copied[row] = data[donors[k]];
      missing[row] = empty[donors[k]];
    });
    for (let i = 0; i < rows; i++) {
      if (decided[i]) copied[i] = 0;
      missing[i] |= decided[i];
    }
    drawn[name] = { ...drawn[name], data: copied, null: missing };
  }
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
