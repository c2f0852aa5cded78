"use strict";

// The paper's three figures: by family, what the score hides, and the price.
page.scoreRows = (metrics, families) => page.present.flatMap((dataset) =>
  families.flatMap((family) => page.data.methods.flatMap((method, place) => {
    if (page.data.scores[dataset][family][place] === null) return [];
    const where = family === 0 ? [] : [page.data.families[family - 1]];
    return [[page.data.datasets[dataset], method, ...where,
      ...metrics.flatMap((metric) => page.measured(metric, dataset, family, place))]];
  })));

// A metric of all methods, over all families; and a method's robustness under each family.
page.spreadsOf = (metric, dataset) =>
  page.methods.map((_, method) => page.measured(metric, dataset, 0, method));
page.byFamily = (dataset, method) => page.families.map((_, family) =>
  page.measured("empirical_robustness", dataset, family + 1, method));

page.spreadColumns = (metrics) =>
  metrics.flatMap((metric) => page.SPREAD.map((part) => `${metric}_${part}`));

page.section("families", (body) => {
  if (page.present.length === 0) return page.say(body, "No method is finished yet.");
  const scale = page.make("div", { class: "scale", "aria-hidden": "true" }, "0 %",
    page.make("i"), "100 %");
  const figure = page.figure(body, "families",
    "Empirical robustness by dataset, method and family (%)",
    "Each cell is a mean over base models and the changed models of the family. Point at a cell " +
    "for its spread. “?”: undefined, because the base model accepts no CFE of this method. " +
    page.meaning(page.present), { extra: scale });
  const heat = (dataset) => {
    const spreads = page.methods.map((_, method) => page.byFamily(dataset, method));
    return page.heatMap(page.methods, page.families,
      spreads.map((row) => row.map(([mean]) => mean)), (value) => value.toFixed(0),
      (method, family) =>
        page.spread(spreads[method][family], 1, page.data.over[dataset], " %"));
  };
  figure.show({
    words: page.data.words.heat, texts: 3,
    columns: ["dataset", "method", "family", ...page.SPREAD],
    rows: () => page.scoreRows(["empirical_robustness"], page.families.map((_, i) => i + 1)),
    panels: page.present.map((dataset) =>
      ({ title: page.datasets[dataset], ...heat(dataset) })),
  });
});

page.section("hidden", (body) => {
  if (page.present.length === 0) return page.say(body, "No method is finished yet.");
  const kinds = [["coverage", "coverage", "circle-open", 15, 0],
    ["empirical_robustness", "empirical robustness", "diamond-open", 12, 2],
    ["end_to_end_robustness", "end-to-end robustness", "square", 5, 1]];
  const metrics = kinds.map(([metric]) => metric);
  const legend = page.make("p", { class: "muted", "aria-hidden": "true" },
    "○ coverage   ◇ empirical robustness   ■ end-to-end robustness");
  const figure = page.figure(body, "hidden", "Coverage, empirical and end-to-end robustness (%)",
    "Means over base models and all families. The line spans the gap between the three.",
    { extra: legend });
  const names = page.methods.map(page.plain);
  const draw = (dataset) => {
    const spreads = metrics.map((metric) => page.spreadsOf(metric, dataset));
    const known = names.map((_, method) => spreads.map((each) => each[method][0])
      .filter((value) => value !== null));
    const ends = known.map((values) =>
      (values.length ? [Math.min(...values), Math.max(...values), null] : [null, null, null]));
    return {
      data: [
        page.line(ends.flat(), names.flatMap((name) => [name, name, null]),
          { width: 4, color: page.colour("line") }),
        ...kinds.map(([, title, symbol, size, place], kind) => page.points(
          spreads[kind].map(([mean]) => mean), names, page.outlined(symbol, size, place),
          spreads[kind].map((values, method) =>
            `<b>${names[method]}</b><br>${title}: ` +
            page.spread(values, 1, page.data.over[dataset], " %"))))],
      xaxis: page.axis({ range: [-4, 104], ticksuffix: " %" }),
      yaxis: page.categories(page.methods, { autorange: "reversed" }),
    };
  };
  figure.show({
    words: page.data.words.hidden, texts: 2,
    columns: ["dataset", "method", ...page.spreadColumns(metrics)],
    rows: () => page.scoreRows(metrics, [0]),
    panels: page.panels(page.present, page.tall(names.length, 30, 70), draw),
  });
});

page.section("price", (body) => {
  const { data } = page;
  const metrics = ["empirical_robustness", "distance"];
  const defined = page.present.filter((dataset) => data.price[dataset].length > 0);
  if (defined.length === 0) {
    return page.say(body, "The base model accepts no CFE yet, so there is no price.");
  }
  const { limit } = data;
  const figure = page.figure(body, "price", "Empirical robustness against distance",
    "Means over base models, among CFEs that the base model accepts. The pale line joins the " +
    "methods that no other beats. Up and to the left is better." + (limit === null ? "" :
      " The short line with dots is the limit, at 95, 99 and 100 %. No method can be left of " +
      "this line, as far as a search that knows the changes could find. It asks every person's " +
      "CFE to hold in that share of the changed models."),
    { extra: page.legend(page.methods, data.marks) });
  const priceOf = (dataset, method) => limit?.prices[dataset][method] ?? [null, null];
  const over = (dataset, method) => {
    const price = priceOf(dataset, method)[1];
    return price === null ? "" : `<br>${price.toFixed(2)} times the limit`;
  };
  // Where the limit was found, at which distance which share of the changed models accepts.
  const curve = (dataset) => (limit?.curves[dataset] ?? []).length === 0 ? [] : [{
    ...page.line(limit.curves[dataset].map(([far]) => far),
      limit.curves[dataset].map(([, share]) => share),
      { width: 2, color: page.colour("text") }),
    mode: "lines+markers", marker: { size: 5, color: page.colour("text") }, hoverinfo: "text",
    text: limit.curves[dataset].map(([far, share]) =>
      `<b>Limit</b><br>${share} % at distance ${far.toFixed(2)}`), cliponaxis: false,
  }];
  const draw = (dataset) => {
    const [robust, far] = metrics.map((metric) => page.spreadsOf(metric, dataset));
    const kept = data.price[dataset];
    const known = page.methods.map((_, method) => method)
      .filter((method) => far[method][0] !== null);
    const highest = Math.max(...known.map((method) => far[method][0]),
      ...(limit?.curves[dataset] ?? []).map(([distance]) => distance));
    const lowest = Math.min(...known.map((method) => robust[method][0]));
    return {
      data: [
        page.line(kept.map((method) => far[method][0]), kept.map((method) => robust[method][0]),
          { width: 6, color: page.colour("bar") }),
        ...known.map((method) => page.points([far[method][0]], [robust[method][0]],
          { ...page.mark(data.marks[method]), size: 12, line: { width: 1, color: page.colour("surface") } },
          [`<b>${page.plain(page.methods[method])}</b><br>robustness ` +
            `${page.spread(robust[method], 1, data.over[dataset], " %")}<br>distance ` +
            page.spread(far[method], 2, data.over[dataset]) + over(dataset, method)],
          { cliponaxis: false })),
        ...curve(dataset),
      ],
      xaxis: page.axis({ range: [0, highest * 1.08], title: { text: "distance", standoff: 6 } }),
      yaxis: page.axis({ range: [Math.max(-4, lowest - 8), 105], ticksuffix: " %" }),
    };
  };
  const places = ([dataset, method]) =>
    [data.datasets.indexOf(dataset), data.methods.indexOf(method)];
  const onFrontier = (row) => data.price[places(row)[0]].includes(places(row)[1]);
  figure.show({
    words: data.words.price, texts: 2,
    columns: ["dataset", "method", ...page.spreadColumns(metrics), "frontier",
      ...(limit === null ? [] : ["limit", "price"])],
    rows: () => page.scoreRows(metrics, [0]).map((row) => [...row, onFrontier(row) ? "yes" : "no",
      ...(limit === null ? [] : priceOf(...places(row)))]),
    panels: page.panels(defined, 330, draw),
  });
});
