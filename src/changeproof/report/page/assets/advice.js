"use strict";

// What people are told: what answers ask of them, and which rules they broke before.
page.section("advice", (body) => {
  const { advice } = page.data;
  if (advice.nothing) return page.say(body, advice.nothing);
  const place = page.make("div");
  const digits = [1, 1, 2, 1, 1, 1, 3];
  const shown = (values) => values.map((value, i) => value?.toFixed(digits[i]) ?? "–");
  const columns = ["method", "features changed", "inside data (%)", "plausibility",
    "no answer (%)", advice.realisable ? "mended (%)" : "cannot be told (%)",
    ...(advice.realisable ? ["validity lost", "distance added"] : [])];
  const mine = (rows, dataset) => rows.filter((row) => row[0] === dataset);
  const broken = (rows) => {
    const used = advice.ways.map((_, i) => i).filter((i) => rows.some((row) => row[2 + i] > 0));
    if (used.length === 0) return [];
    return [page.lazily("Why answers could not be told as they were", () =>
      page.table("The gravest rule that an answer broke (% of a method's own answers)",
        ["method", ...used.map((i) => `${advice.ways[i]} (%)`)], rows.map((row) =>
          [page.methods[row[1]], ...used.map((i) => row[2 + i]?.toFixed(1) ?? "–")]))).details];
  };
  const show = (dataset) => place.replaceChildren(
    page.table("What answers ask of people", columns, mine(advice.rows, dataset).map((row) =>
      [page.methods[row[1]], ...shown(row.slice(2))].slice(0, columns.length))),
    ...broken(mine(advice.breaches, dataset)));
  body.append(page.make("p", {}, advice.words),
    page.controls(page.select("Data", page.present.map((dataset) => page.datasets[dataset]),
      (chosen) => show(page.present[chosen]))), place,
    page.make("p", { class: "muted" },
      "Features changed, inside data and plausibility are of answers that the base model " +
      "accepts. Inside data: no value beyond those of the training rows. Plausibility: the " +
      "distance to the nearest favourable training rows, where 1 is usual among them. No answer: " +
      "requests without an answer that the person can be told." +
      (advice.realisable ? " Mended: of the method's own answers, those that could not be told " +
        "as they were. Validity lost (in points) and distance added are what that cost." : "")));
  show(page.present[0]);
});
