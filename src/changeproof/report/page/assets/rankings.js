"use strict";

// Do rankings hold: ranks per family, and Kendall's correlation between families.
page.section("rankings", (body) => {
  const { data } = page;
  const { rankings } = data;
  if (rankings.nothing) { page.say(body, rankings.nothing); return; }
  const { views } = rankings;
  const families = data.families.map((family) => family.name);
  const choice = page.select("Data", views.map((view) => view.name), (value) => show(views[value]));
  const ranks = page.figure("ranks", "Rank of every method under each family",
    "1 is the most robust end to end; methods that tie share the mean of their ranks.",
    { single: true });
  const alike = page.figure("kendall", "How alike two families rank the methods (Kendall's tau)",
    "1: the same order. 0: no relation. −1: the opposite order.", { single: true });
  body.append(page.make("div", { class: "controls" }, choice.element),
    page.make("div", { class: "panels" }, ranks.element, alike.element));
  const cells = (values, digits, rows, word) => values.map((row, i) => row.map((value, j) => ({
    value,
    text: value === null ? "" : String(Number(value.toFixed(digits))).replace(/^(-?)0\./, "$1."),
    hover: `<b>${page.plain(rows[i])}</b>, ${page.plain(families[j])}<br>${word} ` +
      (value === null ? "undefined" : value.toFixed(2)),
  })));
  const show = (view) => {
    ranks.show({
      words: view.rank_words, texts: 1, columns: ["method", ...families],
      rows: () => view.ranks.map((row, place) => [page.names()[place], ...row]),
      panels: [page.heatMap(page.names(), families, cells(view.ranks, 1, page.names(), "rank"),
        { low: 1, high: page.names().length, reversed: true })],
    });
    alike.show({
      words: view.tau_words, texts: 1, columns: ["family", ...families],
      rows: () => view.tau.map((row, place) => [families[place], ...row]),
      panels: [page.heatMap(families, families, cells(view.tau, 2, families, "tau"),
        { low: 0, high: 1 })],
    });
  };
  show(views[0]);
});
