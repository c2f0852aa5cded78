"use strict";

// Time, the published numbers, and what was run.
page.section("time", (body) => {
  const { generation, stages } = page.data;
  page.showOrSay(body, generation, page.generationFigure);
  page.showOrSay(body, stages, page.stagesFigure);
});

page.generationFigure = (body, generation) => {
  const figure = page.figure(body, "generation", "Milliseconds per request",
    "◆ median, ○ mean, | 90 % quantile, over all datasets, on a logarithmic scale.",
    { single: true });
  const shown = generation.methods.map((method) => page.name("methods", method));
  const names = shown.map(page.plain);
  const kinds = [["median", "diamond", 10], ["mean", "circle-open", 10],
    ["90 % quantile", "line-ns-open", 14]];
  const draw = () => ({
    data: kinds.map(([title, symbol, size], place) => page.points(
      generation.milliseconds.map((row) => row[place]), names, page.outlined(symbol, size, place),
      generation.milliseconds.map((row, method) =>
        `<b>${names[method]}</b><br>${title} ${Number(row[place].toPrecision(3))} ms`))),
    xaxis: page.axis({ type: "log", ticksuffix: " ms", dtick: 1 }),
    yaxis: page.categories(shown, { autorange: "reversed" }),
  });
  figure.show({
    words: generation.words, texts: 1,
    columns: ["method", "median_ms", "mean_ms", "p90_ms", "budget_exhausted"],
    rows: () => generation.methods.map((method, place) =>
      [method, ...generation.milliseconds[place], generation.budget_exhausted[place]]),
    panels: [{ height: page.tall(names.length, 30, 70), draw }],
  });
};

page.stagesFigure = (body, stages) => {
  const seconds = stages.columns.indexOf("seconds");
  const order = [...stages.rows].sort((a, b) => b[seconds] - a[seconds]);
  // The first two columns: the stage, and the method or family, if any.
  const named = (text) => page.name("methods", page.name("families", text));
  const label = (row) => row.slice(0, 2).filter(Boolean).map(named).join(" ");
  const figure = page.figure(body, "stages", "Where the time of the run went",
    "Seconds of work, summed over pieces.", { single: true });
  const draw = () => ({
    data: [page.bars(order.map((row) => row[seconds]), order.map(label).map(page.plain),
      order.map((row) => `${page.plain(label(row))}<br>${row[seconds]} s`))],
    xaxis: page.axis({ ticksuffix: " s" }),
    yaxis: page.categories(order.map(label), { autorange: "reversed" }),
  });
  figure.show({
    words: stages.words, texts: 2, columns: stages.columns, rows: () => stages.rows,
    panels: [{ height: page.tall(order.length, 22, 60), draw }],
  });
};

page.PUBLISHED = ["table", "dataset", "method or family", "metric", "published", "sd", "ours", "sd",
  "difference", "verdict", "reason"];

page.section("published", (body) => {
  const { published } = page.data;
  if (published.nothing) return page.say(body, published.nothing);
  body.append(page.make("p", {}, published.words),
    ...published.warnings.map((text) => page.make("p", { class: "muted" }, `${text}.`)));
  const verdict = page.PUBLISHED.indexOf("verdict");
  // Four digits are enough to compare by eye; the CSV has what the tables have.
  const rounded = (value) => (typeof value === "number" ? Number(value.toPrecision(4)) : value);
  const table = (name, lines) => page.table(name, page.PUBLISHED.slice(1),
    lines.map((line) => line.slice(1).map(rounded)),
    { texts: 3, long: page.PUBLISHED.length - 2, tall: true });
  const differs = published.lines.filter((line) =>
    ["outside", "explained"].includes(line[verdict]));
  if (differs.length) {
    body.append(page.make("h3", {}, "What differs"), table("What differs", differs));
  }
  const tables = [...new Set(published.lines.map((line) => line[0]))];
  const place = page.make("div");
  const show = (value) => place.replaceChildren(table(tables[value],
    published.lines.filter((line) => line[0] === tables[value])));
  body.append(page.make("h3", {}, "Number by number"), page.controls(
    page.select("Table", tables.map((name) => name.replaceAll("_", " ")), show,
      { id: "choose-published" }),
    page.csvButton("All as CSV", "published", () => [page.PUBLISHED, published.lines])), place);
  show(0);
});

// What was odd about people's own tables, as it was told when they were read.
page.noted = (datasets) => {
  const notes = datasets.flatMap((each) => each.notes.map((note) => `${each.name}: ${note}`));
  return notes.length ? [page.make("p", {}, "What was odd about the data, and what to do:"),
    page.make("ul", { id: "oddities" }, ...notes.map((note) => page.make("li", {}, note)))] : [];
};

// The data, in the columns that something is known about.
page.dataTable = (datasets) => {
  const columns = [["dataset", "name"], ["what it is", "title"], ["favourable", "favourable"],
    ["licence", "licence"], ["fingerprint", "fingerprint"]]
    .filter(([, key]) => datasets.some((each) => each[key]));
  return page.table("Data", columns.map(([label]) => label),
    datasets.map((each) => columns.map(([, key]) => each[key])), { texts: columns.length });
};

page.section("run", (body) => {
  const { run, fragile } = page.data;
  const pieces = ["piece", "fingerprint", "state"];
  const joined = (values) => Object.entries(values).map(([name, text]) => `${name} ${text}`)
    .join(", ");
  body.append(
    page.make("h3", {}, "The plan"), page.make("pre", { tabindex: 0 }, run.plan),
    page.make("p", {}, "Repeat it with ", page.make("code", {}, run.command), ". ",
      run.beside ? "It names files of the run directory: keep plan.toml there, beside plan.json. " +
        "The command can be given anywhere, with the path of plan.toml. " : "",
      page.button("plan.toml", () => page.download("plan.toml", run.plan, "application/toml"))),
    page.make("h3", {}, "Data"),
    page.dataTable(run.datasets),
    ...page.noted(run.datasets),
    page.make("h3", {}, "Methods and families of change"),
    page.table("Methods and families", ["name", "what it does", "where it is from"],
      run.sources.map(([name, does, from]) => [name, does, page.linked(from)]),
      { texts: 3, tall: true }),
    ...(fragile.length ? [page.make("h3", {}, "What tuning hung on"),
      page.make("p", {}, "Settings are chosen on validation rows of the first base model: the " +
        "highest base validity wins, and of equals the lower distance. These picks hang on one " +
        "row, or on none. Other rows may lead to other picks:"),
      page.make("ul", { id: "fragile" }, ...fragile.map((text) => page.make("li", {}, text)))] : []),
    page.make("h3", {}, "Versions and machine"),
    page.facts([["versions", joined(run.versions)],
      ["this page was written on", joined(run.machine)], ["and at", run.written],
      ["fingerprint of the run", run.fingerprint]]),
    page.make("p", { class: "muted" },
      "Fingerprints are hashes of data, settings, code and library versions. Equal fingerprints " +
      "mean the same bytes on every x86-64-v3 processor (those of the last ten years), with any " +
      "number of workers. Models from other libraries are only as exact as those libraries."),
    page.lazily(`Fingerprints of all ${run.pieces.length} pieces`, () =>
      page.table("Fingerprints", pieces, run.pieces, { texts: 3, tall: true }),
    {}, { class: "long" }).details,
    page.make("p", {},
      page.csvButton("Fingerprints as CSV", "fingerprints", () => [pieces, run.pieces])));
});
