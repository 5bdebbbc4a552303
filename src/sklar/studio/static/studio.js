// What the pages of the studio do in the browser: they also work without it, only less conveniently.
"use strict";

const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];

// Fields of the chosen kind only, in the editor of a column.
function showFieldsOfKind(row) {
  const kind = row.querySelector("select.kind")?.value;
  for (const field of all("[data-kinds]", row)) field.hidden = !field.dataset.kinds.split(" ").includes(kind);
}

function prepareColumns(body) {
  const rows = all("tr", body);
  const ticks = rows.map((row) => row.querySelector(".tick input")).filter(Boolean);
  const every = document.getElementById("tick-all");
  const find = document.getElementById("filter");
  const button = document.querySelector(".confirm button");

  const count = () => {
    const ticked = ticks.filter((tick) => tick.checked).length;
    if (every) every.checked = ticked === ticks.length;
    const answers = document.querySelectorAll("#rules input[type=radio]:checked").length;
    const rules = answers ? ` and keep ${answers} answer${answers > 1 ? "s" : ""} about rules` : "";
    if (every && button) button.textContent = `Confirm the ${ticked} ticked column${ticked === 1 ? "" : "s"}${rules}`;
  };
  const filter = () => {
    const text = find.value.trim().toLowerCase();
    const show = document.querySelector("input[name=show]:checked").value;
    for (const row of rows) {
      const wanted = show === "all" || (row.classList.contains("open") && (show === "open" || row.querySelector(".what > small")));
      row.hidden = !wanted || !row.dataset.name.includes(text);
    }
  };
  for (const row of rows) {
    showFieldsOfKind(row);
    row.querySelector("select.kind")?.addEventListener("change", () => showFieldsOfKind(row));
    row.querySelector("details.edit")?.addEventListener("input", () => {
      const tick = row.querySelector(".tick input");
      if (tick) tick.checked = true;
      count();
    });
  }
  every?.addEventListener("change", () => {
    for (const tick of ticks) if (!tick.closest("tr").hidden) tick.checked = every.checked;
    count();
  });
  body.addEventListener("change", count);
  document.getElementById("rules")?.addEventListener("change", count);
  find.addEventListener("input", filter);
  for (const one of all("input[name=show]")) one.addEventListener("change", filter);
  // Enter in the search field would send the whole form.
  find.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
  count();
}

// Sections become tabs, with the keys of the ARIA pattern: arrows, Home and End.
function prepareTabs(box) {
  const panels = all(":scope > section", box);
  const list = document.createElement("div");
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Results");
  const tabs = panels.map((panel) => {
    const heading = panel.querySelector("h2");
    const tab = document.createElement("button");
    tab.type = "button";
    tab.id = `tab-${panel.id}`;
    tab.textContent = heading.textContent;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panel.id);
    heading.classList.add("hidden");
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    list.append(tab);
    return tab;
  });
  const choose = (at) => {
    tabs.forEach((tab, k) => {
      tab.setAttribute("aria-selected", String(k === at));
      tab.tabIndex = k === at ? 0 : -1;
      panels[k].hidden = k !== at;
    });
    sessionStorage.setItem("tab", panels[at].id);
  };
  list.addEventListener("click", (event) => tabs.includes(event.target) && choose(tabs.indexOf(event.target)));
  list.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const next = (to + tabs.length) % tabs.length;
    choose(next);
    tabs[next].focus();
  });
  box.prepend(list);
  const last = panels.findIndex((panel) => panel.id === sessionStorage.getItem("tab"));
  choose(Math.max(last, 0));
}

// A dropped file is copied into the folder at once.
function prepareDrop(form) {
  const input = form.querySelector("input[type=file]");
  form.addEventListener("dragover", (event) => {
    event.preventDefault();
    form.classList.add("over");
  });
  form.addEventListener("dragleave", () => form.classList.remove("over"));
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    form.classList.remove("over");
    if (!event.dataTransfer.files.length) return;
    input.files = event.dataTransfer.files;
    form.requestSubmit();
  });
}

// The button names the epsilon that it will charge.
function prepareBegin(form) {
  const button = form.querySelector(":scope > button");
  form.addEventListener("change", () => {
    const chosen = form.querySelector("input[name=epsilon]:checked");
    if (button && chosen) button.textContent = `Fit a model with epsilon ${chosen.value}`;
  });
}

// The box of a job is replaced every second. Only a change of its stage is announced, in a region that stays.
function announceStage() {
  const region = document.getElementById("announce");
  const name = document.querySelector("#job .stages .running")?.firstChild.textContent.trim();
  const text = name ? `Running: ${name}` : "";
  if (region && region.textContent !== text) region.textContent = text;
}

const body = document.getElementById("columns-body");
if (body) prepareColumns(body);
all(".tabs").forEach(prepareTabs);
all("form.drop").forEach(prepareDrop);
all("#begin").forEach(prepareBegin);
// A job that has ended has its page loaded again: once, else each further request would begin that anew.
let leaving = false;
document.addEventListener("htmx:beforeOnLoad", (event) => {
  if (leaving) event.preventDefault();
  leaving ||= event.detail.xhr.getResponseHeader("HX-Refresh") === "true";
});
document.addEventListener("htmx:beforeRequest", (event) => leaving && event.preventDefault());
document.addEventListener("htmx:afterSwap", announceStage);
setTimeout(announceStage, 500); // a region that is filled as it appears is not read out
