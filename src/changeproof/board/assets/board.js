"use strict";

// Tracks become tabs; tables are sorted, filtered and compared. Everything is in the page already:
// scripts move and hide it, and write only text.
const data = JSON.parse(document.getElementById("data").textContent);

const startTheme = () => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = (theme) => {
    root.dataset.theme = theme;
    button.textContent = theme === "dark" ? "Light mode" : "Dark mode";
  };
  apply(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => apply(dark.matches ? "dark" : "light"));
  button.addEventListener("click", () => apply(root.dataset.theme === "dark" ? "light" : "dark"));
  button.hidden = false;
};

const startTabs = () => {
  const list = document.getElementById("tabs");
  const tabs = [...list.children];
  const panelOf = (tab) => document.getElementById(`track-${tab.dataset.track}`);
  const choose = (tab) => {
    for (const each of tabs) {
      const chosen = each === tab;
      each.setAttribute("aria-selected", chosen);
      each.tabIndex = chosen ? 0 : -1;
      panelOf(each).hidden = !chosen;
    }
    tab.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  list.setAttribute("role", "tablist");
  document.body.classList.add("tabbed");
  for (const [place, tab] of tabs.entries()) {
    const panel = panelOf(tab);
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panel.id);
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      history.replaceState(null, "", tab.hash);
      choose(tab);
    });
    tab.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: -1, " ": place };
      if (!(event.key in steps)) return;
      event.preventDefault();
      const next = tabs.at(steps[event.key] % tabs.length);
      choose(next);
      next.focus();
    });
  }
  if (tabs.length) choose(tabs.find((tab) => tab.hash === location.hash) ?? tabs[0]);
};

const fixed = (value, digits = 1) => (value === null ? "" : value.toFixed(digits));
const signed = (value, digits) => {
  const text = fixed(Math.abs(value), digits);
  return Number(text) === 0 ? text : `${value > 0 ? "+" : "−"}${text}`;
};

// Less of an entry is better where distances or seconds are compared.
const compare = (one, other, ascending) => {
  if (one === other) return 0;
  if (one === "" || other === "") return one === "" ? 1 : -1;
  const numbers = [Number(one), Number(other)];
  const order = numbers.some(Number.isNaN) ? one.localeCompare(other) : numbers[0] - numbers[1];
  return ascending ? order : -order;
};

const startTrack = (panel) => {
  const table = panel.querySelector("table.results");
  if (table === null) return;
  const { ranks, pairs, priced } = data[panel.dataset.track];
  const head = [...table.tHead.rows[0].cells];
  const column = Object.fromEntries(head.map((cell, place) => [cell.dataset.key, place]));
  const rows = [...table.tBodies[0].rows];
  const controls = panel.querySelector("[data-controls]");
  const rank = controls.querySelector("[data-rank]");
  const against = controls.querySelector("[data-compare]");
  const filters = [...controls.querySelectorAll("[data-filter]")];
  const titles = {
    all: "Entries in one group have no clear difference to the first of the group.",
    family: "Groups and numbers end to end are those under this family alone.",
    bar: `Groups are by ${priced === "price" ? "price over the limit" : "distance"}: no clear ` +
      "difference to the first of the group, on the people to whom both give valid advice.",
  };

  const sort = (key, ascending) => {
    for (const cell of head) cell.removeAttribute("aria-sort");
    head[column[key]].setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const value = (row) => row.cells[column[key]].dataset.v ?? "";
    rows.sort((one, other) => compare(value(one), value(other), ascending));
    table.tBodies[0].append(...rows);
    // The cells by family and data are in the same order.
    const heat = new Map([...panel.querySelectorAll(".heat [data-entry]")].map((row) => [row.dataset.entry, row]));
    for (const row of rows) {
      const line = heat.get(row.dataset.entry);
      line?.parentNode.append(line);
    }
  };

  const showEnd = (cell, numbers) => {
    const [value, low, high] = numbers ?? [null, null, null];
    cell.dataset.v = value ?? "";
    cell.querySelector(".meter i").style.width = `${value ?? 0}%`;
    cell.querySelector(".value").textContent = fixed(value);
    const interval = cell.querySelector(".interval");
    if (interval) interval.textContent = low === null ? "" : `${fixed(low)} to ${fixed(high)}`;
  };

  // One entry less the other; pairs are kept in one direction only.
  const difference = (kind, name, other) => {
    const there = pairs[kind]?.[name]?.[other];
    if (there) return there;
    const back = pairs[kind]?.[other]?.[name];
    return back && back.map((value) => value && -value).map((_, place, all) => all[[0, 2, 1][place]]);
  };

  const showDifferences = () => {
    const other = against.value;
    const bar = rank.value in { 95: 1, 99: 1 };
    const kind = bar ? `${priced}_above_${rank.value}` : "end_to_end";
    const unit = bar ? { price: "times the limit", distance: "distance" }[priced] : "points, all families";
    const cell = head[column.difference];
    cell.hidden = !other;
    cell.firstElementChild.textContent = other
      ? `Difference to ${against.selectedOptions[0].textContent} (${unit})` : "Difference";
    table.classList.toggle("comparing", Boolean(other));
    for (const row of rows) {
      const shown = row.cells[column.difference];
      const found = other ? difference(kind, row.dataset.entry, other) : null;
      shown.hidden = !other;
      shown.replaceChildren();
      shown.dataset.v = found?.[0] ?? "";
      shown.classList.toggle("clear", Boolean(found) && (found[1] > 0 || found[2] < 0));
      if (found && found[0] !== null) {
        const digits = bar ? 3 : 1;
        const interval = document.createElement("span");
        interval.className = "interval";
        interval.textContent = `${signed(found[1], digits)} to ${signed(found[2], digits)}`;
        shown.append(signed(found[0], digits), " ", interval);
      }
      row.classList.toggle("chosen", row.dataset.entry === other);
    }
  };

  const show = () => {
    const ranked = ranks[rank.value] ?? {};
    const bar = rank.value in { 95: 1, 99: 1 };
    const shown = new Set();
    for (const row of rows) {
      const name = row.dataset.entry;
      const fits = filters.every(({ value, dataset }) => !value || row.dataset[dataset.filter] === value);
      row.hidden = !fits || (bar && !(name in ranked));
      if (!row.hidden) shown.add(name);
      if (row.classList.contains("waiting")) continue;
      const group = row.cells[column.group];
      group.dataset.v = group.firstElementChild.textContent = ranked[name]?.[3] ?? "";
      showEnd(row.cells[column.end], (bar ? ranks.all : ranked)[name]);
    }
    for (const each of panel.querySelectorAll(".heat [data-entry], .dot")) {
      each.style.display = shown.has(each.dataset.entry) ? "" : "none";
    }
    panel.querySelector("[data-shown]").textContent = `${shown.size} of ${rows.length} entries shown.`;
    panel.querySelector("[data-explained]").textContent =
      titles[bar ? "bar" : rank.value === "all" ? "all" : "family"];
    showDifferences();
  };

  const rerank = () => {
    show();
    const bar = rank.value in { 95: 1, 99: 1 };
    sort(bar ? priced : "end", bar);
  };

  for (const cell of head) {
    cell.querySelector("button").addEventListener("click", ({ currentTarget }) => {
      const first = currentTarget.dataset.first;
      const before = cell.getAttribute("aria-sort");
      sort(cell.dataset.key, before ? before !== "ascending" : first === "ascending");
    });
  }
  const point = (name, on) => {
    for (const each of panel.querySelectorAll(".dot")) {
      if (each.dataset.entry !== name) continue;
      each.classList.toggle("chosen", on);
      if (on) each.parentNode.append(each);
    }
  };
  for (const row of rows) {
    for (const [event, on] of [["mouseenter", true], ["mouseleave", false], ["focusin", true], ["focusout", false]]) {
      row.addEventListener(event, () => point(row.dataset.entry, on));
    }
  }
  rank.addEventListener("change", rerank);
  for (const each of filters) each.addEventListener("change", show);
  against.addEventListener("change", showDifferences);
  controls.addEventListener("submit", (event) => event.preventDefault());
  controls.reset();
  controls.hidden = false;
  rerank();
};

const startCopying = () => {
  for (const button of document.querySelectorAll(".copy")) {
    const text = button.parentNode.querySelector("pre").textContent;
    const words = button.textContent;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        // No clipboard is there for files: the text is selected instead.
        getSelection().selectAllChildren(button.parentNode.querySelector("pre"));
        button.textContent = "Selected: copy it with the keyboard";
      }
      setTimeout(() => { button.textContent = words; }, 3000);
    });
    button.hidden = false;
  }
};

startTheme();
startTabs();
for (const panel of document.querySelectorAll(".track")) startTrack(panel);
startCopying();
document.documentElement.dataset.ready = "";
