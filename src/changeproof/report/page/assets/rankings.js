"use strict";

// Do rankings hold: ranks per family, and Kendall's correlation between families.
page.section("rankings", (body) => {
  const { rankings } = page.data;
  if (rankings.nothing) return page.say(body, rankings.nothing);
  const { views } = rankings;
  const { families: references } = page.data;
  const both = page.make("div", { class: "panels" });
  body.append(page.controls(page.select("Data", views.map((view) => view.name),
    (value) => show(views[value]))), both);
  const ranks = page.figure(both, "ranks", "Rank of every method under each family",
    "1 is the highest end-to-end robustness. Methods that tie share the mean of their ranks.",
    { single: true });
  const alike = page.figure(both, "kendall",
    "How alike two families rank the methods (Kendall's tau)",
    "1: the same order. 0: no relation. −1: the opposite order.", { single: true });
  const heat = (rows, values, digits, word, range) => page.heatMap(rows, page.families, values,
    (value) => String(Number(value.toFixed(digits))).replace(/^(-?)0\./, "$1."),
    (i, j) => `${word} ${page.fixed(values[i][j], 2)}`, range);
  const show = (view) => {
    ranks.show({
      words: view.rank_words, texts: 1, columns: ["method", ...references],
      rows: () => view.ranks.map((row, place) => [page.data.methods[place], ...row]),
      panels: [heat(page.methods, view.ranks, 1, "rank",
        { low: 1, high: page.methods.length, reversed: true })],
    });
    alike.show({
      words: view.tau_words, texts: 1, columns: ["family", ...references],
      rows: () => view.tau.map((row, place) => [references[place], ...row]),
      panels: [heat(page.families, view.tau, 2, "tau", { low: 0, high: 1 })],
    });
  };
  show(views[0]);
});
