// Writes rows as CSV, as `sklar sample` does: quotes only where needed, ISO 8601, empty nulls.

import { isNumber } from "./decode.mjs";

const NEEDS_QUOTES = /["\r\n,]|^$|^\s|\s$/;
const MILLISECONDS = { day: 86_400_000, hour: 3_600_000, minute: 60_000, second: 1_000, millisecond: 1, microsecond: 0.001 };

export function quote(text) {
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// A tick of a datetime as text: ISO 8601, or in a format of digits as strftime writes it.
export function writeTime(tick, resolution, format = null) {
  return format === null ? writeIso(tick, resolution) : writeFormatted(writeIso(tick, resolution), format);
}

function writeFormatted(iso, format) {
  const [Y, m, d, H = "00", M = "00", S = "00", f = ""] = iso.split(/[-T:.]/);
  const parts = { Y, m, d, H, M, S, f: f.padEnd(6, "0"), y: Y.slice(2) };
  return format.replace(/%([YmdHMSfy])/g, (_, letter) => parts[letter]);
}

function writeIso(tick, resolution) {
  if (resolution === "microsecond") {
    const seconds = Math.floor(tick / 1e6), rest = tick - seconds * 1e6;
    return `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${String(rest).padStart(6, "0")}`;
  }
  const text = new Date(tick * MILLISECONDS[resolution]).toISOString();
  return resolution === "day" ? text.slice(0, 10) : resolution === "millisecond" ? text.slice(0, 23) : text.slice(0, 19);
}

function writeReal(x, whole) {
  const text = String(x).replace(/e([+-])(\d)$/, "e$10$2");
  return !whole && /^-?\d+$/.test(text) ? `${text}.0` : text;
}

// Returns a function from a row of a block to the text of one column.
function cellWriter(column, values) {
  const { data, null: missing, labels } = values;
  const texts = labels?.map(quote);
  if (texts) return (i) => (missing[i] ? "" : texts[data[i]]);
  if (column.kind === "boolean") {
    const words = column.spelling ?? ["false", "true"];
    return (i) => (missing[i] ? "" : String(words[data[i]]));
  }
  if (column.kind === "datetime") return (i) => (missing[i] ? "" : column.format ? quote(writeTime(data[i], column.resolution, column.format)) : writeTime(data[i], column.resolution));
  if (column.kind === "real") return (i) => (missing[i] ? "" : writeReal(data[i], column.whole));
  return (i) => (missing[i] ? "" : String(data[i]));
}

export function writeHeader(facts) {
  return facts.columns.map((column) => quote(column.name)).join(",") + "\n";
}

// The lines of a block whose first row is row `start` of the sample.
export function writeLines(facts, { start, count, table }) {
  const writers = facts.columns.map((column) =>
    column.kind === "id" ? (i) => `${column.prefix}${start + i + 1}` : cellWriter(column, table[column.name]),
  );
  const lines = new Array(count);
  for (let i = 0; i < count; i++) {
    let line = writers[0](i);
    for (let j = 1; j < writers.length; j++) line += "," + writers[j](i);
    lines[i] = writers.length === 1 && line === "" ? '""' : line;
  }
  return lines.join("\n") + "\n";
}

// One value as people read it.
export function showValue(column, values, i) {
  if (values.null[i]) return "";
  return isNumber(column) && column.kind === "real" ? String(values.data[i]) : cellWriter(column, values)(i);
}
