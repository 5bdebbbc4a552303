// Charts as SVG, drawn from numbers: margins with error bands, intervals, heat maps, boxes and mosaics.

import { number, percent, s } from "./dom.mjs";

const WIDTH = 360;
const LETTER = 6.2;

const clip = (text, letters) => (text.length > letters ? `${text.slice(0, letters - 1)}…` : text);

function frame(width, height, label, ...content) {
  return s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...content);
}

// Shares of the model as bars, released shares as dots with 95% bands of their noise.
export function marginChart(finding) {
  return finding.numeric || finding.labels.length > 14 ? columnChart(finding) : barChart(finding);
}

function columnChart({ labels, released, bands, model, ticks, column, seen }) {
  const height = 150, floor = 122, count = labels.length;
  const top = Math.max(...model, ...released.map((x, i) => x + bands[i]), 1e-9);
  const x = (i) => 6 + ((WIDTH - 12) * i) / count, y = (share) => floor - (floor - 8) * Math.max(share, 0) / top;
  const step = (WIDTH - 12) / count;
  return frame(WIDTH, height, `${column}: ${seen}`,
    model.map((share, i) => s("rect", { class: "bar", x: x(i) + step * 0.08, y: y(share), width: step * 0.84, height: Math.max(floor - y(share), 0) },
      s("title", {}, `${labels[i]}: model ${percent(share)}, released ${percent(released[i])} ± ${percent(bands[i], 2)}`))),
    released.map((share, i) => s("line", { class: "band", x1: x(i + 0.5), x2: x(i + 0.5), y1: y(share - bands[i]), y2: y(share + bands[i]) })),
    released.map((share, i) => s("circle", { class: "dot", cx: x(i + 0.5), cy: y(share), r: Math.min(step * 0.28, 2.6) })),
    s("line", { class: "axis", x1: 6, x2: WIDTH - 6, y1: floor, y2: floor }),
    spread(ticks).map(([at, text]) => s("text", { x: 6 + (WIDTH - 12) * at, y: floor + 16, class: at < 0.04 ? "tick start" : "tick" }, clip(text, 12))));
}

// Ticks that are far enough apart to be read.
function spread(ticks) {
  const kept = [];
  for (const tick of ticks) {
    const needed = kept.length ? (LETTER * (clip(kept.at(-1)[1], 12).length + clip(tick[1], 12).length)) / 2 + 8 : 0;
    if (!kept.length || (tick[0] - kept.at(-1)[0]) * WIDTH * 0.72 > needed) kept.push(tick);
  }
  return kept;
}

function barChart({ labels, released, bands, model, column, seen }) {
  const line = 22, height = labels.length * line + 6, left = 118;
  const top = Math.max(...model, ...released.map((x, i) => x + bands[i]), 1e-9);
  const x = (share) => left + (WIDTH - left - 48) * Math.max(share, 0) / top;
  return frame(WIDTH, height, `${column}: ${seen}`, labels.map((label, i) => {
    const y = 4 + i * line;
    return s("g", {},
      s("title", {}, `${label}: model ${percent(model[i])}, released ${percent(released[i])} ± ${percent(bands[i], 2)}`),
      s("text", { class: "label end", x: left - 8, y: y + 14 }, clip(label, 17)),
      s("rect", { class: "bar", x: left, y: y + 3, width: Math.max(x(model[i]) - left, 0.5), height: line - 8, rx: 2 }),
      s("line", { class: "band", x1: x(released[i] - bands[i]), x2: x(released[i] + bands[i]), y1: y + 10, y2: y + 10 }),
      s("circle", { class: "dot", cx: x(released[i]), cy: y + 10, r: 2.6 }),
      s("text", { class: "value end", x: WIDTH - 2, y: y + 14 }, percent(model[i])));
  }));
}

// Estimates with intervals, one a line: [{ label, value, low, high }].
export function intervalChart(rows, label) {
  const line = 24, left = 120, height = rows.length * line + 26;
  const known = rows.filter((row) => row.value !== null);
  const low = Math.min(...known.map((row) => row.low)), high = Math.max(...known.map((row) => row.high));
  const span = high - low || 1, x = (value) => left + ((WIDTH - left - 16) * (value - low)) / span;
  return frame(WIDTH, height, label,
    rows.map((row, i) => {
      const y = 12 + i * line;
      return s("g", {},
        s("text", { class: "label end", x: left - 10, y: y + 4 }, clip(row.label, 17)),
        row.value === null ? s("text", { class: "label", x: left, y: y + 4 }, "–") : [
          s("line", { class: "reach", x1: x(row.low), x2: x(row.high), y1: y, y2: y }),
          s("circle", { class: "dot", cx: x(row.value), cy: y, r: 4 }, s("title", {}, `${number(row.value)} (${number(row.low)} to ${number(row.high)})`))]);
    }),
    s("line", { class: "axis", x1: left, x2: WIDTH - 16, y1: height - 20, y2: height - 20 }),
    s("text", { class: "tick start", x: left, y: height - 6 }, number(low)),
    s("text", { class: "tick end", x: WIDTH - 16, y: height - 6 }, number(high)));
}

// A table of numbers as cells; positive and negative ones in two colours if `signed`.
export function heatMap({ cells, xTicks = [], yTicks = [], label, signed = false, top = null, titles = null, xName = "", yName = "" }) {
  const left = 88, bottom = 36, width = WIDTH, height = 250, inner = [width - left - 8, height - bottom - 8];
  const most = top ?? Math.max(...cells.flat().map(Math.abs), 1e-12);
  const [across, down] = [cells.length, cells[0]?.length ?? 0], [w, t] = [inner[0] / across, inner[1] / down];
  return frame(width, height, label,
    s("rect", { class: "ground", x: left, y: 8, width: inner[0], height: inner[1] }),
    cells.map((row, i) => row.map((value, j) => {
      const share = Math.min(Math.abs(value) / most, 1);
      if (share < 0.004) return null;
      return s("rect", { class: signed && value < 0 ? "cell less" : "cell more", "fill-opacity": share.toFixed(3), x: left + i * w, y: 8 + inner[1] - (j + 1) * t,
        width: w, height: t }, titles && s("title", {}, titles(i, j)));
    })),
    spread(xTicks).map(([at, text]) => s("text", { class: at > 0.97 ? "tick end" : "tick", x: left + inner[0] * at, y: height - bottom + 16 }, clip(text, 12))),
    sparse(yTicks, inner[1]).map(([at, text]) => s("text", { class: "tick end", x: left - 6, y: 12 + inner[1] * (1 - at) }, clip(text, 13))),
    s("text", { class: "name end", x: width - 8, y: height - 4 }, clip(`${xName} →`, 44)),
    s("text", { class: "name", x: 2, y: height - 4 }, clip(`↑ ${yName}`, 26)));
}

function sparse(ticks, length) {
  const kept = [];
  for (const tick of ticks) if (!kept.length || Math.abs(tick[0] - kept.at(-1)[0]) * length > 13) kept.push(tick);
  return kept;
}

// Boxes by group: { label, share, at: [5%, 25%, 50%, 75%, 95%] }.
export function boxChart(groups, low, high, label, name) {
  const line = 26, left = 118, height = groups.length * line + 30;
  const span = high - low || 1, x = (value) => left + ((WIDTH - left - 12) * (Math.min(Math.max(value, low), high) - low)) / span;
  return frame(WIDTH, height, label,
    groups.map(({ label: group, share, at }, i) => {
      const y = 14 + i * line;
      return s("g", {},
        s("title", {}, `${group} (${percent(share)} of rows): median ${number(at[2])}, middle half ${number(at[1])} to ${number(at[3])}`),
        s("text", { class: "label end", x: left - 8, y: y + 4 }, clip(group, 17)),
        s("line", { class: "whisker", x1: x(at[0]), x2: x(at[4]), y1: y, y2: y }),
        s("rect", { class: "bar", x: x(at[1]), y: y - 7, width: Math.max(x(at[3]) - x(at[1]), 1.5), height: 14, rx: 2 }),
        s("line", { class: "median", x1: x(at[2]), x2: x(at[2]), y1: y - 8, y2: y + 8 }));
    }),
    s("line", { class: "axis", x1: left, x2: WIDTH - 12, y1: height - 24, y2: height - 24 }),
    s("text", { class: "tick start", x: left, y: height - 9 }, number(low)),
    s("text", { class: "tick end", x: WIDTH - 12, y: height - 9 }, number(high)),
    s("text", { class: "name", x: left + (WIDTH - left) / 2, y: height - 9, "text-anchor": "middle" }, clip(name, 24)));
}

// A mosaic: a column per label as wide as its share, cut by the shares of the other; colours show more or less than
// independent columns would have.
export function mosaicChart(shares, first, second, label) {
  const left = 96, bottom = 40, height = 260, inner = [WIDTH - left - 6, height - bottom - 6];
  const across = shares.map((row) => row.reduce((sum, x) => sum + x, 0));
  const down = second.map((_, j) => shares.reduce((sum, row) => sum + row[j], 0));
  const marks = [], ticks = [];
  let x = left;
  across.forEach((share, i) => {
    const width = inner[0] * share;
    let y = 6;
    shares[i].forEach((cell, j) => {
      const part = share > 0 ? (inner[1] * cell) / share : 0, free = share * down[j];
      const lean = free > 0 ? Math.max(Math.min(Math.log2(Math.max(cell, 1e-9) / free), 1.5), -1.5) / 1.5 : 0;
      marks.push(s("rect", { class: lean < 0 ? "less tile" : "more tile", "fill-opacity": (0.08 + 0.85 * Math.abs(lean)).toFixed(3), x: x + 0.5, y: y + 0.5,
        width: Math.max(width - 1, 0.1), height: Math.max(part - 1, 0.1) },
        s("title", {}, `${first[i]} and ${second[j]}: ${percent(cell)} of rows, ${percent(free)} if independent`)));
      y += part;
    });
    if (width > 14) ticks.push([(x + width / 2 - left) / inner[0], first[i]]);
    x += width;
  });
  let y = 6;
  const lines = down.map((_, j) => {
    const widest = across.indexOf(Math.max(...across)), part = shares[0].length ? (inner[1] * (shares[0][j] ?? 0)) / (across[0] || 1) : 0;
    const at = y + part / 2;
    y += part;
    return part > 9 && widest >= 0 ? s("text", { class: "tick end", x: left - 6, y: at + 4 }, clip(second[j], 13)) : null;
  });
  return frame(WIDTH, height, label, marks, lines,
    spread(ticks).map(([at, text]) => s("text", { class: "tick", x: left + inner[0] * at, y: height - bottom + 16 }, clip(text, 12))));
}
