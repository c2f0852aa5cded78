"use strict";

// How big the changes were, what each left standing, and what certificates promised.
page.section("changes", (body) => {
  const { magnitudes } = page.data;
  if (magnitudes.nothing) page.say(body, magnitudes.nothing);
  else page.magnitudeFigure(body, magnitudes);
  page.survivalFigure(body);
});

page.magnitudeFigure = (body, magnitudes) => {
  const figure = page.figure("magnitude", "Size of the changes by family",
    "Bars: mean over datasets, with the mean standard deviation over a dataset's changed " +
    "models. Markers: the mean on each dataset.",
    { extra: page.legend(magnitudes.datasets) });
  body.append(figure.element);
  const families = magnitudes.families.map(page.plain);
  const height = page.tall(families.length, 34, 70);
  const draw = (measure, digits, unit) => () => ({
    data: [
      { type: "bar", orientation: "h", y: families,
        x: magnitudes.values.map((row) => row[2 * measure]),
        error_x: { type: "data", array: magnitudes.values.map((row) => row[2 * measure + 1] ?? 0),
          color: page.colour("muted"), thickness: 1.2, width: 3 },
        marker: { color: page.colour("bar") },
        text: magnitudes.values.map((row, place) => `<b>${families[place]}</b><br>` +
          "mean of datasets " +
          page.spread([row[2 * measure], row[2 * measure + 1], null, null], digits, unit)),
        hoverinfo: "text", textposition: "none" },
      ...magnitudes.datasets.map((dataset, place) => ({
        type: "scatter", mode: "markers", y: families, cliponaxis: false,
        x: magnitudes.by_dataset.map((row) => row[place][measure]),
        marker: { symbol: page.SYMBOLS[place % 10], size: 8, color: page.series(place) },
        text: magnitudes.by_dataset.map((row, family) => `<b>${families[family]}</b><br>` +
          `${page.plain(dataset)}: ${page.fixed(row[place][measure], digits)}${unit}`),
        hoverinfo: "text",
      })),
    ],
    layout: page.layout(height, {
      xaxis: page.axis({ rangemode: "tozero", ticksuffix: unit }),
      yaxis: page.categories(magnitudes.families, { autorange: "reversed" }),
      bargap: 0.45,
    }),
  });
  const columns = ["family", "hard_disagreement_percent_mean", "hard_disagreement_percent_std",
    "probability_mae_mean", "probability_mae_std",
    ...magnitudes.datasets.flatMap((dataset) =>
      [`${dataset}: hard_disagreement_percent`, `${dataset}: probability_mae`])];
  figure.show({
    words: magnitudes.words, texts: 1, columns,
    rows: () => magnitudes.families.map((family, place) =>
      [family, ...magnitudes.values[place], ...magnitudes.by_dataset[place].flat()]),
    panels: [
      { title: "Predictions that flip", height, draw: draw(0, 2, " %") },
      { title: "Difference of probabilities", height, draw: draw(1, 3, "") },
    ],
  });
};

// The mean over the methods that are known; null where none is.
page.meanOf = (lists) => lists[0].map((_, place) => {
  const known = lists.map((list) => list[place]).filter((value) => value !== null);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
});

page.survivalFigure = (body) => {
  const { data } = page;
  if (page.present().length === 0) return;
  if (!page.canUnpack) {
    page.say(body, "This browser cannot unpack the single changed models; a newer one can.");
    return;
  }
  let dataset = page.present()[0];
  let method = 0;
  const choices = [
    page.select("Data", page.present().map((place) => data.datasets[place]),
      (value) => { dataset = page.present()[value]; show(); }),
    page.select("Method", ["Mean of all methods", ...page.names()],
      (value) => { method = value; show(); }),
  ];
  const controls = page.make("div", { class: "controls" }, ...choices.map((each) => each.element));
  const figure = page.figure("survival", "Every changed model: how much it changed, what survived",
    "Each marker is one changed model. Across: the share of test predictions that it flips. " +
    "Up: the share of base-valid CFEs that it still accepts.", { extra: controls, single: true });
  body.append(figure.element);
  figure.show({ words: "…", texts: 1, columns: [], rows: () => [], panels: [] });
  const show = async () => {
    const [asked, wanted] = [dataset, method];
    const { variants, words } = await page.unpack(asked);
    if (asked !== dataset || wanted !== method) return;
    if (variants === null) {
      figure.show({ words: "the pieces of this dataset are not there.", texts: 1, columns: [],
        rows: () => [], panels: [] });
      return;
    }
    const values = wanted === 0 ? page.meanOf(variants.survived) : variants.survived[wanted - 1];
    figure.show({
      words: words[wanted], texts: 4,
      columns: ["family", "level", "base_seed", "replicate", "disagreement_percent",
        "probability_mae", "survived_percent"],
      rows: () => values.map((value, place) => [data.families[variants.family[place]].name,
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
    data: page.data.families.map((family, place) => {
      const mine = [...variants.family.keys()].filter((i) => variants.family[i] === place);
      return {
        type: "scatter", mode: "markers", name: page.cut(family.name),
        x: mine.map((i) => variants.disagreement[i]), y: mine.map((i) => values[i]),
        marker: { symbol: page.SYMBOLS[place % 10], size: 7, opacity: 0.75,
          color: page.series(place) },
        text: mine.map((i) => `<b>${page.plain(family.name)}</b> ${page.plain(variants.level[i])}` +
          `<br>base model ${variants.base_seed[i]}, replicate ${variants.replicate[i]}` +
          `<br>flips ${page.fixed(variants.disagreement[i], 2)} %, ` +
          `survived ${page.fixed(values[i], 1)} %`),
        hoverinfo: "text",
      };
    }),
    layout: page.layout(width < 600 ? 520 : 430, {
      showlegend: true, legend: { orientation: "h", y: -0.2, font: { size: 11 } },
      xaxis: page.axis({ title: { text: "predictions that flip", standoff: 6 }, ticksuffix: " %",
        range: [-0.02 * farthest, 1.04 * farthest] }),
      yaxis: page.axis({ ticksuffix: " %", title: { text: "CFEs that survive", standoff: 6 } }),
    }),
  };
};

page.section("guarantees", (body) => {
  const { data } = page;
  const { guarantees } = data;
  if (guarantees.nothing) { page.say(body, guarantees.nothing); return; }
  const robust = page.at("empirical_robustness");
  const share = (value) => (value === null ? "not stated" : `${value} %`);
  body.append(page.make("div", { class: "cards" }, ...guarantees.methods.map((each) =>
    page.make("div", { class: "card" },
      page.make("h3", {}, page.marker(each.method), data.methods[each.method].name),
      page.make("p", {}, `Promise: ${each.words}.`),
      page.make("p", { class: "muted" }, each.level === null ? ""
        : `Promised share of changed models: ${share(each.level)}`)))));
  const lowest = (dataset, method) => {
    const found = data.families.map((family, place) => {
      const score = data.scores[dataset][place + 1][method];
      return [score === null ? null : score[robust][0], family.name];
    }).filter(([value]) => value !== null).sort((a, b) => a[0] - b[0]);
    return found.length ? `${found[0][0].toFixed(1)} (${found[0][1]})` : "undefined";
  };
  const rows = guarantees.methods.flatMap((each) => page.present()
    .filter((dataset) => data.scores[dataset][0][each.method] !== null)
    .map((dataset) => [data.methods[each.method].name, data.datasets[dataset],
      each.level === null ? "not stated" : each.level.toFixed(1),
      each.certified[dataset] !== null ? each.certified[dataset].toFixed(1)
        : each.always ? "every answer" : "not recorded",
      each.kept[dataset] === null ? "unknown" : each.kept[dataset].toFixed(1),
      lowest(dataset, each.method)]));
  body.append(page.table("Promises and what happened", ["method", "dataset", "promised (%)",
    "certified, of requests (%)", "held where promised (%)", "lowest in any family (%)"], rows,
  { texts: 2 }));
  body.append(page.make("p", { class: "muted" },
    "“Where promised”: the family that the promise speaks of, and of moved parameters only " +
    "those within its radius. A certified share is never mixed with robustness."));
  page.guaranteeFigure(body, guarantees, robust);
});

page.guaranteeFigure = (body, guarantees, robust) => {
  const { data } = page;
  const figure = page.figure("guarantees", "What happened in each family (%)",
    "Markers: empirical robustness of the methods that promise something. Dashed line: the " +
    "promised share. Ringed: the family that the promise speaks of.");
  body.append(figure.element);
  const families = data.families.map((family) => page.plain(family.name));
  const draw = (dataset) => () => {
    const traces = [];
    for (const { method, level, ground } of guarantees.methods) {
      const values = data.families.map((_, place) => data.scores[dataset][place + 1][method])
        .map((score) => (score === null ? [null, null, null, null] : score[robust]));
      const name = page.plain(data.methods[method].name);
      const colour = page.series(method);
      if (level !== null) {
        traces.push({ type: "scatter", mode: "lines", x: families, y: families.map(() => level),
          line: { dash: "dash", width: 1.5, color: colour }, hoverinfo: "skip",
          showlegend: false });
      }
      traces.push({
        type: "scatter", mode: "lines+markers", name: page.cut(data.methods[method].name),
        x: families, cliponaxis: false, y: values.map(([mean]) => mean), line: { width: 1, color: colour },
        marker: { symbol: page.SYMBOLS[method % 10], color: colour,
          size: values.map((_, place) => (place === ground ? 13 : 9)),
          line: { width: values.map((_, place) => (place === ground ? 3 : 0)),
            color: page.colour("text") } },
        text: values.map((each, place) => `<b>${name}</b>, ${families[place]}<br>` +
          page.spread(each, 1, " %")),
        hoverinfo: "text",
      });
    }
    return { data: traces, layout: page.layout(360, {
      showlegend: true, legend: { orientation: "h", y: 1.12, font: { size: 11 } },
      xaxis: page.categories(data.families.map((family) => family.name), { tickangle: -40 }),
      yaxis: page.axis({ range: [-3, 104], ticksuffix: " %" }),
    }) };
  };
  figure.show({
    words: guarantees.words, texts: 3,
    columns: ["dataset", "method", "family", "promised", ...page.SPREAD],
    rows: () => page.present().flatMap((dataset) => guarantees.methods.flatMap((each) =>
      data.families.map((family, place) => {
        const score = data.scores[dataset][place + 1][each.method];
        return [data.datasets[dataset], data.methods[each.method].name, family.name, each.level,
          ...(score === null ? [null, null, null, null] : score[robust])];
      }))),
    panels: page.present().map((dataset) => ({
      title: data.datasets[dataset], height: 360, draw: draw(dataset),
    })),
  });
};
