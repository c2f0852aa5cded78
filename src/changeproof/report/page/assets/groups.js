"use strict";

// Who is let down: every metric by group of people, where a run was asked for groups.

page.METRICS = { coverage: "Coverage (%)", base_validity: "Base validity (%)",
  empirical_robustness: "Empirical robustness (%)",
  end_to_end_robustness: "End-to-end robustness (%)", distance: "Distance" };

page.section("groups", (body) => {
  const { by, views } = page.data.groups;
  if (views.length === 0) return page.say(body, "No method is finished yet.");
  const first = (dataset) => page.data.answers[dataset][0].order[0] ?? 0;
  let [dataset, grouping] = [page.present[0], 0];
  let method = first(dataset);
  const find = () => views.find(({ where }) =>
    where[0] === dataset && where[1] === grouping && where[2] === method);
  const sentence = page.make("p", { class: "sentence", "aria-live": "polite" });
  const small = page.make("p", { class: "muted", id: "groups-left-out" });
  body.append(page.controls(
    page.select("Data", page.present.map((place) => page.datasets[place]),
      (value) => { dataset = page.present[value]; show(); }),
    page.select("Groups", by, (value) => { grouping = value; show(); }),
    page.select("Method", page.methods, (value) => { method = value; show(); },
      { chosen: method })), sentence, small);
  const figure = page.figure(body, "groups", "Every metric by group of people",
    "Dots are the values, lines their 95 % intervals over people. The two groups that are " +
    "farthest apart were picked after all were seen, and the interval of their difference " +
    "allows for that. With many metrics and methods looked at, a few clear differences come " +
    "about by chance.");
  const panel = (rows, metric) => {
    const mine = rows.filter((row) => row[1] === metric && row[2] !== null);
    const name = page.data.metrics[metric];
    const digits = name === "distance" ? 2 : 1;
    const labels = mine.map((row) => row[0]);
    const ends = mine.flatMap((row) => row.slice(3, 5));
    const room = (Math.max(...ends) - Math.min(...ends)) * 0.06 || 1;
    const draw = () => ({
      data: [
        page.line(mine.flatMap((row) => [row[3], row[4], null]),
          labels.flatMap((label) => [page.plain(label), page.plain(label), null]),
          { width: 3, color: page.series(0) }),
        page.points(mine.map((row) => row[2]), labels.map(page.plain),
          { size: 11, color: page.series(0), line: { width: 1, color: page.colour("surface") } },
          mine.map((row) => `<b>${page.plain(row[0])}</b><br>${row[2].toFixed(digits)} (95 % ` +
            `interval ${row[3].toFixed(digits)} to ${row[4].toFixed(digits)})<br>` +
            `${row[5]} people`), { cliponaxis: false })],
      xaxis: page.axis({ range: [Math.min(...ends) - room, Math.max(...ends) + room],
        ticksuffix: name === "distance" ? "" : " %" }),
      yaxis: page.categories(labels, { autorange: "reversed" }),
    });
    return { title: page.METRICS[name], height: page.tall(mine.length, 34, 60), draw };
  };
  const show = () => {
    const view = find();
    sentence.textContent = view.sentence;
    small.textContent = view.left_out;
    small.hidden = view.left_out === "";
    const there = page.data.metrics.map((_, metric) => metric).filter((metric) =>
      view.rows.some((row) => row[1] === metric && row[2] !== null));
    figure.show({
      words: view.words, texts: 5,
      columns: ["dataset", "method", "by", "group", "metric", "value", "low", "high", "people"],
      rows: () => view.rows.map(([group, metric, ...values]) => [page.data.datasets[dataset],
        page.data.methods[method], by[grouping], group, page.data.metrics[metric], ...values]),
      panels: there.map((metric) => panel(view.rows, metric)),
    });
  };
  show();
});
