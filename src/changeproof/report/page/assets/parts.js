"use strict";

// What sections are made of; each kind is shown in one way.
page.notice = (state) => {
  const title = state.complete ? null
    : page.make("p", {}, page.make("strong", {}, "This run is not finished."));
  const list = state.missing.length === 0 ? null
    : page.make("details", { open: state.missing.length <= 10 },
      page.make("summary", {}, "Missing pieces"),
      page.make("ul", {}, ...state.missing.map((label) => page.make("li", {}, label)),
        state.more ? page.make("li", {}, `… and ${state.more} more`) : null));
  return page.make("div", { class: "notice", role: "status" }, title,
    ...state.notes.map((note) => page.make("p", {}, note)), list);
};

// The elements of parts. With `charts`, a chart that is there stays and shows the other data.
page.built = (parts, charts = null) => parts.flatMap((part) =>
  page.parts[Object.keys(part).find((name) => name in page.parts)](part, charts));

page.parts = {
  nothing: ({ nothing }) => [page.make("p", { class: "nothing" }, nothing)],
  heading: ({ heading }) => [page.make("h3", {}, heading)],
  code: ({ code }) => [page.make("pre", { tabindex: 0 }, code)],
  facts: ({ facts }) => [page.facts(facts)],
  list: ({ list, id }) => [page.make("ul", { id }, ...list.map((text) => page.make("li", {}, text)))],

  cards: ({ cards }) => [page.make("div", { class: "cards" }, ...cards.map((card) =>
    page.make("div", { class: "card" },
      page.make("h3", {}, page.marker(card.mark), card.title),
      page.make("p", {}, card.words), page.make("p", { class: "muted" }, card.small))))],

  table: ({ table, columns, rows, look, file }) => [page.table(table, columns, rows, look),
    ...(file ? page.parts.file({ file, button: `${file[0].toUpperCase()}${file.slice(1)} as CSV`, columns, rows }) : [])],

  // A button for a file: a table, or what it holds.
  file: ({ file, button, columns, rows, content }) => [page.make("p", {}, content === undefined
    ? page.csvButton(button, file, columns, rows)
    : page.button(button, () => page.download(file, content, "text/plain")))],

  folded: ({ folded, parts, long }) => [page.lazily(folded, () =>
    page.make("div", {}, ...page.built(parts)), {}, { class: long ? "long" : null }).details],

  beside: ({ beside }, charts) => [page.make("div", { class: "panels" },
    ...beside.map((parts) => page.make("div", {}, ...page.built(parts, charts))))],

  chart: ({ chart }, charts) => {
    const there = charts?.get(chart.id);
    const shown = there ?? page.chart(chart);
    there?.show(chart);
    charts?.set(chart.id, shown);
    return [shown.element];
  },

  choice: ({ choice, views, chosen }) => {
    const place = page.make("div");
    const charts = new Map();
    const own = [...chosen];
    const show = () => {
      const view = own.reduce((sum, each, n) => sum * choice[n][1].length + each, 0);
      place.replaceChildren(...page.built(views[view], charts));
    };
    show();
    return [page.controls(...choice.map(([label, names], n) => page.select(label, names,
      (value) => { own[n] = value; show(); }, { chosen: own[n] }))), place];
  },

  script: ({ script, data }) => {
    const place = page.make("div");
    page.scripts[script](place, data);
    return [place];
  },

  text: ({ text, class: kind, id }) =>
    [page.make("p", { class: kind ?? null, id: id ?? null }, text)],
};
