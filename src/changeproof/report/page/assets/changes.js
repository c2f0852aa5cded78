"use strict";

// How big the changes were, what each left standing, and what certificates promised.
page.section("changes", (body) => {
  const { magnitudes } = page.data;
  page.showOrSay(body, magnitudes, page.magnitudeFigure);
  page.survivalFigure(body);
});

page.magnitudeFigure = (body, magnitudes) => {
  const datasets = magnitudes.datasets.map((each) => page.name("datasets", each));
  const shown = magnitudes.families.map((each) => page.name("families", each));
  const figure = page.figure(body, "magnitude", "Size of the changes by family",
    "Bars: mean over datasets, with the mean standard deviation over a dataset's changed " +
    "models. Markers: the mean on each dataset.", { extra: page.legend(datasets) });
  const families = shown.map(page.plain);
  const draw = (measure, digits, unit) => {
    const means = magnitudes.values.map((row) => row[2 * measure]);
    const sds = magnitudes.values.map((row) => row[2 * measure + 1]);
    return {
      data: [
        page.bars(means, families, families.map((family, place) =>
          `<b>${family}</b><br>mean of datasets ` +
            page.spread([means[place], sds[place], null, null], digits, null, unit)),
        { error_x: { type: "data", array: sds.map((sd) => sd ?? 0), color: page.colour("muted"),
          thickness: 1.2, width: 3 } }),
        ...datasets.map((dataset, place) => page.points(
          magnitudes.by_dataset.map((row) => row[place][measure]), families,
          { ...page.mark(place), size: 8 },
          magnitudes.by_dataset.map((row, family) => `<b>${families[family]}</b><br>` +
            `${page.plain(dataset)}: ${page.fixed(row[place][measure], digits)}${unit}`),
          { cliponaxis: false })),
      ],
      xaxis: page.axis({ rangemode: "tozero", ticksuffix: unit }),
      yaxis: page.categories(shown, { autorange: "reversed" }),
      bargap: 0.45,
    };
  };
  const measures = ["hard_disagreement_percent", "probability_mae"];
  figure.show({
    words: magnitudes.words, texts: 1,
    columns: ["family", ...measures.flatMap((each) => [`${each}_mean`, `${each}_std`]),
      ...magnitudes.datasets.flatMap((dataset) => measures.map((each) => `${dataset}: ${each}`))],
    rows: () => magnitudes.families.map((family, place) =>
      [family, ...magnitudes.values[place], ...magnitudes.by_dataset[place].flat()]),
    panels: [["Predictions that flip", 2, " %"], ["Difference of probabilities", 3, ""]].map(
      ([title, digits, unit], measure) => ({ title, height: page.tall(families.length, 34, 70),
        draw: () => draw(measure, digits, unit) })),
  });
};

// The mean over the methods that are known; null where none is.
page.meanOf = (lists) => lists[0].map((_, place) => {
  const known = lists.map((list) => list[place]).filter((value) => value !== null);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
});

page.survivalFigure = (body) => {
  const { data } = page;
  if (page.present.length === 0) return;
  let [dataset, method] = [page.present[0], 0];
  const controls = page.controls(
    page.select("Data", page.present.map((place) => page.datasets[place]),
      (value) => { dataset = page.present[value]; show(); }),
    page.select("Method", ["Mean of all methods", ...page.methods],
      (value) => { method = value; show(); }));
  const figure = page.figure(body, "survival",
    "Every changed model: how much it changed, what survived",
    "Each marker is one changed model. Across: the share of test predictions that it flips. " +
    "Up: of the CFEs that the base model accepts, the share that it still accepts.",
    { extra: controls, single: true });
  const nothing = { texts: 1, columns: [], rows: () => [], panels: [] };
  figure.show({ words: "…", ...nothing });
  const show = async () => {
    const [asked, wanted] = [dataset, method];
    const { variants, words } = await page.unpack(asked);
    if (asked !== dataset || wanted !== method) return;
    if (variants === null) {
      return figure.show({ words: "the pieces of this dataset are missing.", ...nothing });
    }
    const values = wanted === 0 ? page.meanOf(variants.survived) : variants.survived[wanted - 1];
    figure.show({
      words: words[wanted], texts: 4,
      columns: ["family", "level", "base_seed", "replicate", "disagreement_percent",
        "probability_mae", "survived_percent"],
      rows: () => values.map((value, place) => [data.families[variants.family[place]],
        variants.level[place], variants.base_seed[place], variants.replicate[place],
        variants.disagreement[place], variants.mae[place],
        value === null ? null : Number(value.toPrecision(6))]),
      panels: [{ height: 430, draw: page.drawSurvival(variants, values) }],
    });
  };
  page.whenNear(figure.element, show);
};

page.drawSurvival = (variants, values) => (width) => {
  const farthest = Math.max(0.1, ...variants.disagreement);
  return {
    data: page.families.map((family, place) => {
      const mine = [...variants.family.keys()].filter((i) => variants.family[i] === place);
      return page.points(mine.map((i) => variants.disagreement[i]), mine.map((i) => values[i]),
        { ...page.mark(place), size: 7, opacity: 0.75 },
        mine.map((i) => `<b>${page.plain(family)}</b> ${page.plain(variants.level[i])}` +
          `<br>base model ${variants.base_seed[i]}, replicate ${variants.replicate[i]}` +
          `<br>flips ${page.fixed(variants.disagreement[i], 2)} %, ` +
          `survived ${page.fixed(values[i], 1)} %`), { name: page.cut(family) });
    }),
    height: width < 600 ? 520 : 430,
    showlegend: true, legend: { orientation: "h", y: -0.2, font: { size: 11 } },
    xaxis: page.axis({ title: { text: "predictions that flip", standoff: 6 }, ticksuffix: " %",
      range: [-0.02 * farthest, 1.04 * farthest] }),
    yaxis: page.axis({ ticksuffix: " %", title: { text: "CFEs that survive", standoff: 6 } }),
  };
};

page.section("guarantees", (body) => {
  const { data } = page;
  const { guarantees } = data;
  if (guarantees.nothing) return page.say(body, guarantees.nothing);
  body.append(page.make("div", { class: "cards" }, ...guarantees.methods.map((each) =>
    page.make("div", { class: "card" },
      page.make("h3", {}, page.marker(page.data.marks[each.method]), page.methods[each.method]),
      page.make("p", {}, `Promise: ${each.words}.`),
      page.make("p", { class: "muted" }, each.level === null ? ""
        : `Promised share of changed models: ${each.level} %`)))));
  const lowest = (dataset, method) => {
    const [found] = page.byFamily(dataset, method)
      .map(([mean], place) => [mean, page.families[place]])
      .filter(([mean]) => mean !== null).sort((a, b) => a[0] - b[0]);
    return found ? `${found[0].toFixed(1)} (${found[1]})` : "undefined";
  };
  const rows = guarantees.methods.flatMap((each) => page.present
    .filter((dataset) => data.scores[dataset][0][each.method] !== null)
    .map((dataset) => [page.methods[each.method], page.datasets[dataset],
      each.level?.toFixed(1) ?? "not stated",
      each.certified[dataset]?.toFixed(1) ?? (each.always ? "every answer" : "not recorded"),
      each.kept[dataset]?.toFixed(1) ?? "unknown", each.others[dataset]?.toFixed(1) ?? "none",
      lowest(dataset, each.method)]));
  body.append(page.table("Promises and what happened", ["method", "dataset", "promised (%)",
    "certified, of requests (%)", "certified held where promised (%)",
    "not certified, held there (%)", "lowest in any family (%)"], rows,
  { texts: 2 }), page.make("p", { class: "muted" },
    "“Where promised”: under the family that the promise is about. If it is about moved " +
    "parameters, only models within its radius count. A promise is about certified CFEs; those " +
    "that are not certified have a column of their own. Certified shares and robustness are " +
    "never mixed."));
  page.guaranteeFigure(body, guarantees);
});

page.guaranteeFigure = (body, guarantees) => {
  const { data } = page;
  const figure = page.figure(body, "guarantees", "What happened in each family (%)",
    "Markers: empirical robustness of the methods that promise something, of all their CFEs, " +
    "certified or not. Dashed line: the promised share. Ringed: the family that the promise is " +
    "about.");
  const families = page.families.map(page.plain);
  const draw = (dataset) => ({
    data: guarantees.methods.flatMap(({ method, level, ground }) => {
      const values = page.byFamily(dataset, method);
      const mark = page.mark(page.data.marks[method]);
      const ringed = (yes, no) => values.map((_, place) => (place === ground ? yes : no));
      const line = level === null ? [] : [page.line(families, families.map(() => level),
        { dash: "dash", width: 1.5, color: mark.color })];
      return [...line, page.points(families, values.map(([mean]) => mean),
        { ...mark, size: ringed(13, 9),
          line: { width: ringed(3, 0), color: page.colour("text") } },
        values.map((each, place) => `<b>${page.plain(page.methods[method])}</b>, ` +
          `${families[place]}<br>${page.spread(each, 1, page.data.over[dataset], " %")}`),
        { mode: "lines+markers", cliponaxis: false, name: page.cut(page.methods[method]),
          line: { width: 1, color: mark.color } })];
    }),
    showlegend: true, legend: { orientation: "h", y: 1.03, yanchor: "bottom", font: { size: 11 } },
    xaxis: page.categories(page.families, { tickangle: -40 }),
    yaxis: page.axis({ range: [-3, 104], ticksuffix: " %" }),
  });
  figure.show({
    words: guarantees.words, texts: 3,
    columns: ["dataset", "method", "family", "promised", ...page.SPREAD],
    rows: () => page.present.flatMap((dataset) => guarantees.methods.flatMap((each) =>
      page.byFamily(dataset, each.method).map((values, place) => [data.datasets[dataset],
        data.methods[each.method], data.families[place], each.level, ...values]))),
    panels: page.panels(page.present, 360, draw),
  });
};
