"use strict";

// What every section uses. Names from the data only ever become text nodes, or, inside charts,
// text whose markup has been taken away by `page.plain`.
const page = {
  embedded: (id) => JSON.parse(document.getElementById(id).textContent),
  builders: {},
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

// [mean, sd, low, high] as text, the interval with what it is over; sd only where there are several
// base models.
page.spread = ([mean, sd, low, high], digits, over, unit = "") => {
  if (mean === null) return "undefined";
  const both = sd === null ? mean.toFixed(digits) : `${mean.toFixed(digits)} ± ${sd.toFixed(digits)}`;
  return `${both}${unit}` + (low === null ? ""
    : ` (95 % interval over ${over}: ${low.toFixed(digits)} to ${high.toFixed(digits)})`);
};

// What standard deviations and intervals are over, once for all datasets that say the same.
page.meaning = (datasets) => [...new Set(datasets.map((dataset) => page.data.meaning[dataset]))]
  .join(" ");

// What people read; tables and CSV files keep the names of the plan.
page.name = (kind, reference) => page.data.shown[kind][reference] ?? reference;
for (const kind of ["datasets", "methods", "families"]) {
  page[kind] = page.data[kind].map((reference) => page.name(kind, reference));
}

// Datasets that have something to show, by position.
page.present = page.data.datasets.map((_, place) => place)
  .filter((place) => page.data.scores[place][0].some((score) => score !== null));

// Mean, sd and both ends of the interval; family 0 is all of them.
page.SPREAD = ["mean", "sd", "low", "high"];
page.measured = (metric, dataset, family, method) =>
  page.data.scores[dataset][family][method]?.[page.data.metrics.indexOf(metric)] ??
    [null, null, null, null];

page.section = (id, build) => { page.builders[id] = build; };

page.say = (parent, reason) => parent.append(page.make("p", { class: "nothing" }, reason));

// What a part of the data shows, or why it has nothing to show.
page.showOrSay = (parent, part, show) =>
  (part.nothing ? page.say(parent, part.nothing) : show(parent, part));

page.select = (label, options, onchange, { id = null, chosen = 0 } = {}) => {
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
      page.make("td", { class: kind(place) }, ...[value].flat().map((part) =>
        part instanceof Node ? part : String(part ?? "")))))));
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

// `content` gives columns and rows when it is asked for.
page.csvButton = (text, name, content, attributes = {}) => page.button(text, () =>
  page.download(`changeproof-${name}.csv`, page.csv(...content())), attributes);

// People and single changed models of a dataset, unpacked when they are first asked for.
page.unpack = (dataset) => {
  if (!page.unpacked.has(dataset)) {
    page.packed ??= page.embedded("bulk");
    page.unpacked.set(dataset, Promise.resolve(JSON.parse(page.unzipped(page.packed[dataset]))));
  }
  return page.unpacked.get(dataset);
};

// A symbol and a colour for every place: a hundred pairs before one comes again. Those of methods
// are in `data.marks`: a method that comes with the package has the same on every page.
page.hue = (place) => place % 10;
page.shape = (place) => (place + Math.floor(place / 10)) % 10;
page.mark = (place) => ({ symbol: page.SYMBOLS[page.shape(place)], color: page.series(place) });

// The shapes of the charts' markers, for text: colour is never the only cue.
page.SYMBOLS = ["circle", "square", "diamond", "cross", "triangle-up", "triangle-down", "star",
  "pentagon", "x", "hexagon"];
page.SHAPES = [
  "M10 2a8 8 0 1 0 .01 0z", "M3 3h14v14H3z", "M10 1l8 9-8 9-8-9z",
  "M7 2h6v5h5v6h-5v5H7v-5H2V7h5z", "M10 2l9 16H1z", "M10 18L1 2h18z",
  "M10 1l2.7 6 6.3.6-4.8 4.2 1.4 6.2L10 14.8 4.4 18l1.4-6.2L1 7.6 7.3 7z",
  "M10 1l9 6.6-3.4 10.6H4.4L1 7.6z", "M5 2l5 5 5-5 3 3-5 5 5 5-3 3-5-5-5 5-3-3 5-5-5-5z",
  "M5 2h10l4.5 8L15 18H5L.5 10z",
];

page.marker = (place) => {
  const box = document.createElement("template");
  box.innerHTML = "<svg viewBox='0 0 20 20' class='marker' aria-hidden='true'><path " +
    `d='${page.SHAPES[page.shape(place)]}' style='fill: var(--series-${page.hue(place)})'></path></svg>`;
  return box.content.firstChild;
};

// Markers with their names, where a chart has no room for them.
page.legend = (names, marks = [...names.keys()]) =>
  page.make("p", { class: "legend", "aria-hidden": "true" },
    ...names.map((name, place) => page.make("span", {}, page.marker(marks[place]), name)));

page.whenNear = (element, action) => {
  const act = () => {
    watcher.disconnect();
    page.near.delete(element);
    return action();
  };
  const watcher = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) act();
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
  const links = new Map();
  const navigation = document.getElementById("navigation");
  for (const section of document.querySelectorAll("main > section")) {
    // Some sections are about what only some runs have.
    if (section.dataset.only && page.data[section.dataset.only] === null) {
      section.remove();
      continue;
    }
    const title = section.querySelector("h2");
    title.id = `${section.id}-title`;
    section.setAttribute("aria-labelledby", title.id);
    const link = page.make("a", { href: `#${section.id}` }, section.dataset.name);
    links.set(section, link);
    navigation.append(page.make("li", {}, link));
    const body = page.make("div");
    section.append(body);
    page.builders[section.id](body);
  }
  page.follow(links);
  page.startPrinting();
  // The answer is there before the chart library is: that one takes most of the time.
  requestAnimationFrame(() => setTimeout(page.startCharts));
};
