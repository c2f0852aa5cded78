"use strict";

// What every section uses. Names from the data only ever become text nodes, or, inside charts,
// text whose markup has been taken away by `page.plain`.
const page = {
  embedded: (id) => JSON.parse(document.getElementById(id).textContent),
  scripts: {},
  unpacked: new Map(),
  // What happens when an element comes near, and what fills details; see printing.js.
  near: new Map(),
  folded: new WeakMap(),
  printing: null,
};
page.data = page.embedded("data");

page.make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
};

page.plain = (text) => String(text)
  .replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

page.fixed = (value, digits = 1) => value?.toFixed(digits) ?? "undefined";

for (const kind of ["datasets", "methods", "families"]) page[kind] = page.data.shown[kind];

page.say = (parent, reason) => parent.append(page.make("p", { class: "nothing" }, reason));

// Where there is nothing to choose, there is no choice.
page.select = (label, options, onchange, { id = null, chosen = 0, least = 2 } = {}) => {
  if (options.length < least) return null;
  const list = page.make("select", { id, onchange: () => onchange(Number(list.value)) },
    ...options.map((text, place) => page.make("option", { value: place }, text)));
  list.value = String(chosen);
  return page.make("label", {}, page.make("span", {}, label), list);
};

page.button = (text, onclick, attributes = {}) =>
  page.make("button", { type: "button", onclick, ...attributes }, text);

page.controls = (...choices) => page.make("div", { class: "controls" }, ...choices);

// A table that scrolls inside its own box; the first `texts` columns hold text.
page.table = (name, columns, rows, { texts = 1, long = -1, tall = false } = {}) => {
  const kind = (place) => (place === long ? "long" : place < texts ? "text" : null);
  const head = page.make("tr", {}, ...columns.map((column, place) =>
    page.make("th", { scope: "col", class: place === long ? "text" : kind(place) }, column)));
  const body = page.make("tbody", {}, ...rows.map((row) =>
    page.make("tr", {}, ...row.map((value, place) =>
      page.make("td", { class: kind(place) }, ...page.linked(String(value ?? "")))))));
  const table = page.make("table", {}, page.make("thead", {}, head), body);
  return page.make("div", {
    class: tall ? "scroll tall" : "scroll", tabindex: 0, role: "region", "aria-label": name,
  }, table);
};

// A text, with links where it has addresses.
page.linked = (text) => text.split(/(https:\/\/[\w./-]*\w)/).map((part, place) =>
  (place % 2 ? page.make("a", { href: part, rel: "noopener noreferrer" }, part) : part));

// Names with what there is to say of each.
page.facts = (pairs) => page.make("dl", { class: "facts" }, ...pairs.flatMap(([name, text]) =>
  [page.make("dt", {}, name), page.make("dd", {}, text)]));

// Details whose inside is built when they are opened; `fill` builds it anew. Those of the class
// "long" stay folded in print.
page.lazily = (summary, build, attributes = {}, outer = {}) => {
  const inside = page.make("div");
  const fill = () => inside.replaceChildren(...(details.open ? [build()] : []));
  const details = page.make("details", { ontoggle: fill, ...outer },
    page.make("summary", attributes, summary), inside);
  page.folded.set(details, fill);
  return { details, fill };
};

page.csv = (columns, rows) => {
  const cell = (value) => {
    const text = String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll("\"", "\"\"")}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
};

page.download = (name, text, type = "text/csv") => {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  page.make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
};

page.csvButton = (text, name, columns, rows, attributes = {}) => page.button(text, () =>
  page.download(`changeproof-${name}.csv`, page.csv(columns, rows)), attributes);

// What was compressed with gzip, as text.
page.unzipped = async (letters) => {
  const bytes = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
};

// The chart library, then the people and single changed models of each dataset. A print that does
// not wait comes right after the page is loaded, and loading waits for images: so there is one
// until everything is unpacked.
page.unpackAll = async () => {
  const image = new Image();
  let waiting = true;
  const wait = (turn) => {
    image.onload = () => { if (waiting) wait(turn + 1); };
    image.src = `data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>#${turn}`;
  };
  wait(0);
  [page.library, ...page.bulk] = await Promise.all(page.embedded("packed").map(page.unzipped));
  waiting = false;
};

page.unpack = (dataset) => {
  if (!page.unpacked.has(dataset)) page.unpacked.set(dataset, JSON.parse(page.bulk[dataset]));
  return page.unpacked.get(dataset);
};

// A mark for text, as charts have it: colour is never the only cue.
page.marker = ({ colour, shape, open }) => {
  const box = document.createElement("template");
  const look = open ? `fill: none; stroke-width: 3; stroke: var(--${colour})` : `fill: var(--${colour})`;
  box.innerHTML = "<svg viewBox='0 0 20 20' class='marker' aria-hidden='true'>" +
    `<path d='${page.data.shapes[shape]}' style='${look}'></path></svg>`;
  return box.content.firstChild;
};

page.legend = (marks) => page.make("p", { class: "legend", "aria-hidden": "true" },
  ...marks.map(([mark, name]) => page.make("span", {}, page.marker(mark), name)));

// What comes near before everything is unpacked waits for it.
page.whenNear = (element, action) => {
  const act = () => {
    watcher.disconnect();
    page.near.delete(element);
    return action();
  };
  const watcher = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    page.unpacking.then(() => { if (page.near.has(element)) act(); });
  }, { rootMargin: "800px" });
  watcher.observe(element);
  page.near.set(element, act);
};

// The navigation shows which section is being read.
page.follow = (links) => {
  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      const link = links.get(target);
      const bar = link.closest("nav");
      link.ariaCurrent = isIntersecting ? "true" : null;
      if (isIntersecting) bar.scrollLeft = link.offsetLeft - bar.offsetLeft - 60;
    }
  }, { rootMargin: "-25% 0px -70%" });
  for (const section of links.keys()) watcher.observe(section);
};

// Whoever follows a link to what is folded sees it.
page.openLinked = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const first = target?.querySelector(":scope > details") ?? target?.closest("details");
  for (let each = first; each; each = each.parentElement.closest("details")) each.open = true;
  if (first) target.scrollIntoView();
};

page.start = () => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  const apply = (theme) => {
    document.documentElement.dataset.theme = theme;
    button.textContent = theme === "dark" ? "Light mode" : "Dark mode";
    page.redraw();
  };
  apply(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => apply(dark.matches ? "dark" : "light"));
  button.addEventListener("click", () =>
    apply(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  const { state, sections } = page.data;
  if (state.notes.length) document.getElementById("state").append(page.notice(state));
  const links = new Map();
  for (const section of document.querySelectorAll("main > section")) {
    const folded = section.querySelector(":scope > details");
    const link = folded ? "more" : section.id;
    links.set(section, document.querySelector(`#navigation a[href="#${link}"]`));
    (folded ?? section).lastElementChild.append(...page.built(sections[section.id]));
  }
  page.follow(links);
  page.openLinked();
  window.addEventListener("hashchange", page.openLinked);
  page.startPrinting();
  // The answer is there before the chart library is: that one takes most of the time.
  page.unpacking = page.unpackAll();
  page.unpacking.then(() => requestAnimationFrame(() => setTimeout(page.startCharts)));
};
