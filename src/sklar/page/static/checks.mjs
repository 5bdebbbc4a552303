// The view of checks: what was verified in this browser, what was not, and how to check the rest.

import { h } from "./dom.mjs";

const MARKS = { true: ["✓", "good", "holds"], false: ["✕", "wrong", "wrong"], null: ["–", "open", "not checked"] };

export function checksView(page) {
  const list = h("ul", { class: "checks plain", "aria-live": "polite" }, h("li", "Checking …"));
  page.checks.then((checks) => list.replaceChildren(...checks.map(line)), (error) => list.replaceChildren(line({ part: "page", ok: false, says: error.message })));
  const file = new Blob([page.parts.model]), name = `${page.content.title}.sklar`;
  return [
    h("h2", { class: "title", tabindex: "-1" }, "Verify"),
    h("p", "These checks ran in this browser. They show that the parts of this page belong together. Whoever can replace the whole page can replace its checks, too: compare the hashes and the key with those that the custodian publishes."),
    list,
    h("h3", "Check the rest"),
    h("p", h("a", { class: "button", href: URL.createObjectURL(file), download: name }, `Save the model file (${Math.round(page.parts.model.length / 1000)} kB)`)),
    h("p", "The model file contains every noisy number that was released. This command fits the model again from them and recomputes the claim:"),
    h("pre", { tabindex: "0" }, h("code", `sklar verify ${name}`)),
  ];
}

function line({ part, ok, says }) {
  const [mark, kind, word] = MARKS[String(ok)];
  return h("li", { class: `check ${kind}` }, h("span", { class: "mark", "aria-hidden": "true" }, mark), h("div", h("strong", part), h("span", { class: "visually-hidden" }, `, ${word}: `), h("p", says)));
}

// A sentence for the head of the page.
export function verdict(checks) {
  const wrong = checks.filter((check) => check.ok === false);
  if (wrong.length) return { kind: "wrong", text: `CHANGED: ${wrong.map((check) => check.part).join(", ")}` };
  return { kind: "good", text: `${checks.filter((check) => check.ok).length} checks hold` };
}
