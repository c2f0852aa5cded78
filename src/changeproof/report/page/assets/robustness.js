"use strict";

// The paper's three figures: by family, what the score hides, and the price.
page.at = (name) => page.data.metrics.indexOf(name);
page.names = () => page.data.methods.map((method) => method.name);
page.SPREAD = ["mean", "sd", "low", "high"];

// Datasets that have something to show, by position.
page.present = () => page.data.datasets.map((_, place) => place)
  .filter((place) => page.data.scores[place][0].some((score) => score !== null));

page.scoreRows = (metrics, families) => {
  const rows = [];
  for (const dataset of page.present()) {
    families.forEach((family) => {
      page.data.scores[dataset][family].forEach((score, method) => {
        if (score === null) return;
        const values = metrics.flatMap((name) => score[page.at(name)]);
        const where = family === 0 ? [] : [page.data.families[family - 1].name];
        rows.push([page.data.datasets[dataset], page.data.methods[method].name, ...where,
          ...values]);
      });
    });
  }
  return rows;
};

page.section("families", (body) => {
  const { data } = page;
  if (page.present().length === 0) { page.say(body, "No method is finished yet."); return; }
  const robust = page.at("empirical_robustness");
  const scale = page.make("div", { class: "scale", "aria-hidden": "true" }, "0 %",
    page.make("i"), "100 %");
  const figure = page.figure("families", "Empirical robustness by dataset, method and family (%)",
    "Each cell is the mean over base models, with the changed models of the family for each. " +
    "Point at a cell for its standard deviation and 95 % interval. “?”: undefined, because " +
    "no CFE was valid to begin with.", { extra: scale });
  body.append(figure.element);
  const cell = (dataset, method, family) => {
    const score = data.scores[dataset][family + 1][method];
    const values = score === null ? [null, null, null, null] : score[robust];
    return {
      value: values[0], text: values[0] === null ? "" : values[0].toFixed(0),
      hover: `<b>${page.plain(data.methods[method].name)}</b>, ` +
        `${page.plain(data.families[family].name)}<br>${page.spread(values, 1, " %")}`,
    };
  };
  figure.show({
    words: data.words.heat, texts: 3,
    columns: ["dataset", "method", "family", ...page.SPREAD],
    rows: () => page.scoreRows(["empirical_robustness"], data.families.map((_, i) => i + 1)),
    panels: page.present().map((dataset) => ({
      title: data.datasets[dataset],
      ...page.heatMap(page.names(), data.families.map((family) => family.name),
        data.methods.map((_, method) =>
          data.families.map((__, family) => cell(dataset, method, family)))),
    })),
  });
});

page.section("hidden", (body) => {
  const { data } = page;
  if (page.present().length === 0) { page.say(body, "No method is finished yet."); return; }
  const kinds = [["coverage", "coverage", "circle-open", 15, 0],
    ["empirical_robustness", "empirical robustness", "diamond-open", 12, 2],
    ["end_to_end_robustness", "end-to-end robustness", "square", 5, 1]];
  const legend = page.make("p", { class: "muted", "aria-hidden": "true" },
    "○ coverage   ◇ empirical robustness   ■ end-to-end robustness");
  const figure = page.figure("hidden", "Coverage, empirical and end-to-end robustness (%)",
    "Means over base models and all families. The line spans the gap between the three.",
    { extra: legend });
  body.append(figure.element);
  const names = page.names().map(page.plain);
  const height = page.tall(names.length, 30, 70);
  const draw = (dataset) => () => {
    const scores = data.scores[dataset][0];
    const lines = { x: [], y: [] };
    scores.forEach((score, method) => {
      if (score === null) return;
      const values = kinds.map(([name]) => score[page.at(name)][0]).filter((v) => v !== null);
      if (values.length === 0) return;
      lines.x.push(Math.min(...values), Math.max(...values), null);
      lines.y.push(names[method], names[method], null);
    });
    const traces = kinds.map(([name, title, symbol, size, series]) => ({
      type: "scatter", mode: "markers", y: names,
      x: scores.map((score) => (score === null ? null : score[page.at(name)][0])),
      marker: { symbol, size, color: page.series(series),
        line: { width: 2, color: page.series(series) } },
      text: scores.map((score, method) => (score === null ? ""
        : `<b>${names[method]}</b><br>${title}: ${page.spread(score[page.at(name)], 1, " %")}`)),
      hoverinfo: "text",
    }));
    return {
      data: [{ type: "scatter", mode: "lines", ...lines, hoverinfo: "skip",
        line: { width: 4, color: page.colour("line") } }, ...traces],
      layout: page.layout(height, {
        xaxis: page.axis({ range: [-4, 104], ticksuffix: " %" }),
        yaxis: page.categories(page.names(), { autorange: "reversed" }),
      }),
    };
  };
  const metrics = kinds.map(([name]) => name);
  figure.show({
    words: data.words.hidden, texts: 2,
    columns: ["dataset", "method",
      ...metrics.flatMap((name) => page.SPREAD.map((part) => `${name}_${part}`))],
    rows: () => page.scoreRows(metrics, [0]),
    panels: page.present().map((dataset) => ({
      title: data.datasets[dataset], height, draw: draw(dataset),
    })),
  });
});

page.section("price", (body) => {
  const { data } = page;
  const [robust, far] = [page.at("empirical_robustness"), page.at("distance")];
  const defined = page.present().filter((dataset) => data.price[dataset].length > 0);
  if (defined.length === 0) {
    page.say(body, "There is no CFE yet that the base model accepts, so there is no price.");
    return;
  }
  const figure = page.figure("price", "Empirical robustness against distance",
    "Means over base models; both are measured among base-valid CFEs. The pale line joins the " +
    "methods that no other beats. Up and to the left is better.",
    { extra: page.legend(page.names()) });
  body.append(figure.element);
  const draw = (dataset) => () => {
    const scores = data.scores[dataset][0];
    const kept = data.price[dataset];
    const known = scores.map((_, method) => method).filter((method) =>
      scores[method] !== null && scores[method][far][0] !== null);
    const highest = Math.max(...known.map((method) => scores[method][far][0]));
    const lowest = Math.min(...known.map((method) => scores[method][robust][0]));
    return {
      data: [
        { type: "scatter", mode: "lines", hoverinfo: "skip",
          x: kept.map((method) => scores[method][far][0]),
          y: kept.map((method) => scores[method][robust][0]),
          line: { width: 6, color: page.colour("bar") } },
        ...known.map((method) => {
          const [x, y] = [scores[method][far][0], scores[method][robust][0]];
          return {
            type: "scatter", mode: "markers", x: [x], y: [y], cliponaxis: false,
            marker: { symbol: page.SYMBOLS[method % 10], size: 12, color: page.series(method),
              line: { width: 1, color: page.colour("surface") } },
            hovertext: [`<b>${page.plain(data.methods[method].name)}</b><br>robustness ` +
              `${page.spread(scores[method][robust], 1, " %")}<br>distance ` +
              `${page.spread(scores[method][far], 2)}`],
            hoverinfo: "text",
          };
        }),
      ],
      layout: page.layout(330, {
        xaxis: page.axis({ range: [0, highest * 1.08], title: { text: "distance", standoff: 6 } }),
        yaxis: page.axis({ range: [Math.max(-4, lowest - 8), 105], ticksuffix: " %" }),
      }),
    };
  };
  figure.show({
    words: data.words.price, texts: 2,
    columns: ["dataset", "method",
      ...["empirical_robustness", "distance"].flatMap((name) =>
        page.SPREAD.map((part) => `${name}_${part}`)), "frontier"],
    rows: () => page.scoreRows(["empirical_robustness", "distance"], [0]).map((row) => [...row,
      data.price[data.datasets.indexOf(row[0])].includes(page.names().indexOf(row[1]))
        ? "yes" : "no"]),
    panels: defined.map((dataset) => ({
      title: data.datasets[dataset], height: 330, draw: draw(dataset),
    })),
  });
});
