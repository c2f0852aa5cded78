"use strict";

// Every changed model: how much it changed, and what survived it.
page.scripts.survival = (body) => {
  const { present, references } = page.data;
  let [dataset, method] = [present[0], 0];
  const controls = page.controls(
    page.select("Data", present.map((place) => page.datasets[place]),
      (value) => { dataset = present[value]; show(); }),
    page.select("Method", ["Mean of all methods", ...page.methods],
      (value) => { method = value; show(); }));
  const nothing = { columns: [], rows: [], panels: [] };
  const figure = page.chart({ id: "survival", texts: 4, single: true, words: "…", ...nothing,
    title: "Every changed model: how much it changed, and what survived it",
    caption: "Each marker is one changed model. Across: the share of test predictions that it " +
      "flips. Up: of the CFEs that the base model accepts, the share that it still accepts." },
  controls);
  body.append(figure.element);
  const show = () => {
    const { variants, words } = page.unpack(dataset);
    if (variants === null) {
      return figure.show({ words: "the pieces of this dataset are missing.", ...nothing });
    }
    const values = method === 0 ? page.meanOf(variants.survived) : variants.survived[method - 1];
    figure.show({
      words: words[method],
      columns: ["family", "level", "base_seed", "replicate", "disagreement_percent",
        "probability_mae", "survived_percent"],
      rows: values.map((value, place) => [references.families[variants.family[place]],
        variants.level[place], variants.base_seed[place], variants.replicate[place],
        variants.disagreement[place], variants.mae[place],
        value === null ? null : Number(value.toPrecision(6))]),
      panels: [page.survivalPanel(variants, values)],
    });
  };
  page.whenNear(figure.element, show);
};

// The mean over the methods that are known; null where none is.
page.meanOf = (lists) => lists[0].map((_, place) => {
  const known = lists.map((list) => list[place]).filter((value) => value !== null);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
});

page.survivalPanel = (variants, values) => {
  const farthest = Math.max(0.1, ...variants.disagreement);
  const shapes = Object.keys(page.data.shapes);
  const layers = page.families.map((name, place) => {
    const mine = [...variants.family.keys()].filter((i) => variants.family[i] === place);
    return { kind: "points", name, size: 7, faint: true,
      mark: { colour: `series-${place % 10}`, shape: shapes[place % shapes.length] },
      x: mine.map((i) => variants.disagreement[i]), y: mine.map((i) => values[i]),
      hover: mine.map((i) => `${name} ${variants.level[i]}\nbase model ${variants.base_seed[i]}, ` +
        `replicate ${variants.replicate[i]}\nflips ${page.fixed(variants.disagreement[i], 2)} %, ` +
        `survived ${page.fixed(values[i], 1)} %`) };
  });
  return { layers, legend: true, height: window.innerWidth < 600 ? 520 : 430,
    x: { title: "predictions that flip", unit: " %", low: -0.02 * farthest, high: 1.04 * farthest },
    y: { title: "CFEs that survive", unit: " %" } };
};
