"use strict";

// How long advice lasts under updates that follow each other.
page.section("life", (body) => {
  const { life, methods, datasets, marks } = page.data;
  const names = life.families.map((family) =>
    `${page.families[family]}: ${page.data.summaries[family]}`);
  // With one base model, these intervals are over futures as well.
  const over = (dataset) => (page.data.base_seeds.length > 1
    ? page.data.repeated[dataset] : "people and futures");
  let [sequence, measure, ringed] = [0, 0, 0];
  const change = (action) => (value) => { action(value); show(); };
  const controls = page.controls(
    ...(names.length > 1
      ? [page.select("Sequence", names, change((value) => { sequence = value; }))] : []),
    page.select("Share that", ["held through every update so far", "holds at each update"],
      change((value) => { measure = value; })),
    page.select("Show the interval of", ["none", ...page.methods],
      change((value) => { ringed = value; }), { id: "life-interval" }));
  const figure = page.figure(body, "life", "CFEs that last (%)",
    "Of the CFEs that the base model accepts, before the first update and after each. A CFE " +
    "that holds again after an update that broke it is still broken “so far”. 95 % intervals are " +
    `over ${[...new Set(page.present.map(over))].join(" or ")}.`,
  { extra: page.make("div", {}, controls, page.legend(page.methods, marks)) });
  const sums = page.make("div");
  body.append(sums);

  const shares = (dataset, method) => life.curves[sequence][dataset][method]
    ?.map((row) => row.slice(3 * measure, 3 * measure + 3)) ?? null;
  const draw = (dataset) => {
    const known = page.methods.map((_, method) => [method, shares(dataset, method)])
      .filter(([, rows]) => rows !== null && rows[0][0] !== null);
    const numbers = (rows) => [0, ...rows.map((_, place) => place + 1)];
    const band = known.filter(([method, rows]) => method === ringed - 1 && rows[0][1] !== null)
      .flatMap(([method, rows]) => [2, 1].map((end) => ({
        ...page.line(numbers(rows), [100, ...rows.map((row) => row[end])],
          { shape: "hv", width: 1, dash: "dot", color: page.series(marks[method]) }),
        ...(end === 1 ? { fill: "tonexty", fillcolor: page.faint(marks[method]) } : {}),
      })));
    const lowest = Math.min(...known.flatMap(([, rows]) =>
      rows.flatMap((row) => row.filter((value) => value !== null))), 100);
    const last = Math.max(...known.map(([, rows]) => rows.length), 1);
    return {
      data: [...band, ...known.map(([method, rows]) => page.points(numbers(rows),
        [100, ...rows.map(([mean]) => mean)], { ...page.mark(marks[method]), size: 7 },
        [[100, null, null], ...rows].map(([mean, low, high], update) =>
          `<b>${page.plain(page.methods[method])}</b><br>` + (update ? `update ${update}: ` +
            page.spread([mean, null, low, high], 1, over(dataset), " %") : "before the first update")),
        { mode: "lines+markers", cliponaxis: false,
          line: { shape: "hv", width: ringed - 1 === method ? 3 : 1.5,
            color: page.series(marks[method]) } }))],
      xaxis: page.axis({ range: [-0.02 * last, 1.03 * last], title: { text: "update", standoff: 6 },
        dtick: last > 20 ? null : last > 6 ? 2 : 1 }),
      yaxis: page.axis({ range: [Math.max(-3, lowest - 6), 103], ticksuffix: " %" }),
    };
  };
  const show = () => {
    const present = page.present.filter((dataset) =>
      page.methods.some((_, method) => shares(dataset, method) !== null));
    figure.show({
      words: life.words[sequence], texts: 3,
      columns: ["dataset", "method", "family", "update", ...life.columns],
      rows: () => present.flatMap((dataset) => methods.flatMap((name, method) =>
        (life.curves[sequence][dataset][method] ?? []).map((row, place) => [datasets[dataset],
          name, page.data.families[life.families[sequence]], place + 1, ...row]))),
      panels: page.panels(present, 340, draw),
    });
    const told = present.flatMap((dataset) => page.methods.flatMap((name, method) => {
      const texts = life.sums[sequence][dataset][method];
      return texts === null ? [] : [[page.datasets[dataset], name, ...texts]];
    }));
    sums.replaceChildren(page.table("How long advice lasts", ["dataset", "method",
      "held to the end (%)", "median life (updates)", "5 % broken by update",
      "broken per update (%)"], told, { texts: 2 }), page.make("p", { class: "muted" },
      "In brackets: 95 % intervals. Median life: half held through so many updates before the " +
      "first that broke them; with “>”, more than half held to the end. Broken per update: of " +
      "what held so far, the mean share that an update breaks."));
  };
  show();
});

// A colour that lets others through.
page.faint = (place) => {
  const [red, green, blue] = page.series(place).match(/[0-9a-f]{2}/gi).map((hex) =>
    parseInt(hex, 16));
  return `rgba(${red},${green},${blue},0.18)`;
};
