// The matrix of dependence of all pairs, as a canvas: a pointer reads it, a click opens a pair.

import { h } from "./dom.mjs";

export function readStrengths(dependence) {
  const raw = atob(dependence.strength), size = dependence.names.length;
  return (i, j) => ((raw.charCodeAt(i * size + j) << 24) >> 24) / 100;
}

const parse = (colour) => colour.match(/\w\w/g).map((x) => parseInt(x, 16));

// `open(i, j)` is called with the pair that was chosen; `measured(i, j)` marks pairs whose table was released.
export function matrixView(names, strength, measured, open) {
  const size = names.length, cell = Math.max(Math.min(Math.floor(640 / size), 34), 3);
  const canvas = h("canvas", { width: size * cell, height: size * cell, role: "img", class: "matrix",
    "aria-label": `Strength of dependence of all ${size * (size - 1) / 2} pairs of columns; the list and the boxes beside it have the same content` });
  const line = h("p", { class: "readout", "aria-hidden": "true" }, "Point at a cell to read it, click to open the pair.");
  const draw = (marked) => {
    if (!canvas.isConnected) return;
    const style = getComputedStyle(canvas), context = canvas.getContext("2d");
    const [paper, more, less, ink] = ["--paper", "--more", "--less", "--ink"].map((name) => parse(style.getPropertyValue(name).trim()));
    for (let i = 0; i < size; i++) {
      for (let j = 0; j < size; j++) {
        const value = i === j ? 0 : strength(i, j), share = Math.sqrt(Math.min(Math.abs(value), 1)), to = value < 0 ? less : more;
        context.fillStyle = `rgb(${paper.map((x, k) => Math.round(x + (to[k] - x) * share)).join(" ")})`;
        context.fillRect(j * cell, i * cell, cell - (cell > 5), cell - (cell > 5));
        if (i !== j && cell > 7 && measured(i, j)) {
          context.fillStyle = `rgb(${ink.join(" ")})`;
          context.fillRect(j * cell + cell / 2 - 1.5, i * cell + cell / 2 - 1.5, 2, 2);
        }
      }
    }
    if (marked) {
      context.strokeStyle = `rgb(${ink.join(" ")})`;
      context.lineWidth = 2;
      context.strokeRect(marked[1] * cell + 1, marked[0] * cell + 1, cell - 2, cell - 2);
    }
  };
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    const place = (x, length) => Math.min(Math.max(Math.floor((x / length) * size), 0), size - 1);
    return [place(event.clientY - box.top, box.height), place(event.clientX - box.left, box.width)];
  };
  canvas.addEventListener("pointermove", (event) => {
    const [i, j] = at(event);
    line.textContent = i === j ? names[i] : `${names[i]} and ${names[j]}: ${strength(i, j).toFixed(2)}${measured(i, j) ? ", measured" : ""}`;
    draw([i, j]);
  });
  canvas.addEventListener("pointerleave", () => draw());
  canvas.addEventListener("click", (event) => {
    const [i, j] = at(event);
    if (i !== j) open(i, j);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
  requestAnimationFrame(() => draw());
  return h("div", canvas, line);
}
