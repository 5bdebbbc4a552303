// Starts the page: reads its parts, checks them, and shows one view at a time, by the fragment of its address.

import { askView } from "./ask.mjs";
import { checksView, verdict } from "./checks.mjs";
import { columnsView, columnView } from "./columns.mjs";
import { h } from "./dom.mjs";
import { samplingView } from "./draws.mjs";
import { unpackFacts, decodeColumn } from "./decode.mjs";
import { Engine } from "./engine.mjs";
import { readStrengths } from "./matrix.mjs";
import { overview } from "./overview.mjs";
import { pairsView, pairView } from "./pairs.mjs";
import { Generator } from "./random.mjs";
import { fromBase64, verifyPage } from "./verify.mjs";
import { startWorker } from "./worker.mjs";
import { gunzip } from "./zip.mjs";

const LOOK_ROWS = 20_000;
const VIEWS = {
  overview: ["Overview", overview],
  columns: ["Columns", (page, name) => (name ? columnView(page, name) : columnsView(page))],
  pairs: ["Pairs", (page, first, second) => (second ? pairView(page, first, second) : pairsView(page))],
  sample: ["Sample", samplingView],
  ask: ["Ask", askView],
  verify: ["Verify", checksView],
};

// The document around the parts, as it was written.
function emptyDocument() {
  const copy = document.documentElement.cloneNode(true);
  for (const part of copy.querySelectorAll("script, style")) part.textContent = "";
  return `<!doctype html>\n${copy.outerHTML}`;
}

function readParts() {
  const textOf = (selector) => document.querySelector(selector)?.textContent ?? null;
  const bytesOf = (name) => (document.getElementById(name) ? fromBase64(textOf(`#${name}`)) : null);
  return {
    document: emptyDocument(), program: textOf("#program"), style: textOf("style"), facts: textOf("#facts"),
    model: bytesOf("model"), ledger: bytesOf("ledger"), manifest: bytesOf("manifest"), signature: bytesOf("signature"),
  };
}

// Rows of the model as coordinates, drawn once; those in the page where this page cannot draw.
function lookedAt(page) {
  let rows = null;
  return () => {
    rows ??= page.content.schema.unsupported ? Promise.resolve(storedRows(page.content)) : page.engine.look(LOOK_ROWS).then((found) => found.columns);
    return rows;
  };
}

function storedRows({ schema, dependence }) {
  const codes = new Int32Array(fromBase64(dependence.rows).buffer), rows = codes.length / schema.coordinates.length;
  return schema.coordinates.map((column, j) => decodeColumn(column, codes.subarray(j * rows, (j + 1) * rows), new Generator(0n)));
}

async function startPage() {
  const parts = readParts(), app = document.getElementById("app");
  try {
    const content = JSON.parse(new TextDecoder().decode(await gunzip(fromBase64(parts.facts))));
    const engine = new Engine(parts.program, { model: parts.model, facts: structuredClone(content.schema), measured: content.measured });
    unpackFacts(content.schema);
    const page = { content, parts, engine, strength: readStrengths(content.dependence) };
    page.checks = nextFrame().then(() => verifyPage(parts));
    page.checks.finally(() => engine.first());
    page.rows = lookedAt(page);
    page.go = (...path) => (location.hash = path.map(encodeURIComponent).join("/"));
    show(page, app);
  } catch (error) {
    app.replaceChildren(h("h1", "This page is damaged"), h("p", { role: "alert" }, `It cannot be read (${error.message}), so do not trust it.`));
  }
}

// Work that can wait until the first view is shown.
function nextFrame() {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

function show(page, app) {
  const badge = h("a", { class: "badge", href: "#verify" }, "Checking …"), main = h("main", { id: "main", tabindex: "-1" });
  const links = Object.entries(VIEWS).map(([name, [text]]) => h("a", { href: `#${name}`, "data-view": name }, text));
  app.replaceChildren(
    h("a", { class: "skip", href: "#main", onclick: (event) => skip(event, main) }, "Skip to the content"),
    h("header", h("div", { class: "head" }, h("h1", page.content.title), h("p", { class: "soft" }, page.content.claim.label), badge), h("nav", { "aria-label": "Views" }, links)),
    main,
    h("footer", h("p", { class: "soft" }, `Written by Sklar ${page.content.claim.version}. It needs no network, and sends nothing.`)));
  page.checks.then((checks) => {
    const { kind, text } = verdict(checks);
    badge.className = `badge ${kind}`;
    badge.textContent = text;
  }, () => (badge.textContent = "not checked"));
  const route = (moved) => {
    const [name, ...path] = location.hash.slice(1).split("/").map(decodeURIComponent);
    const view = name in VIEWS ? name : "overview";
    for (const one of links) one.dataset.view === view ? one.setAttribute("aria-current", "page") : one.removeAttribute("aria-current");
    main.replaceChildren(...VIEWS[view][1](page, ...path).flat().filter(Boolean));
    if (moved) {
      (main.querySelector(".title") ?? main).focus({ preventScroll: true });
      scrollTo(0, 0);
    }
  };
  addEventListener("hashchange", () => route(true));
  route(false);
}

function skip(event, main) {
  event.preventDefault();
  main.focus();
}

if (typeof document === "undefined") startWorker(globalThis);
else startPage();
