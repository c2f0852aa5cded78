"use strict";

// Letters that are out: what the real successor does to them, beside what was simulated.
page.section("letters", (body) => {
  const views = page.data.letters;
  const place = page.make("div");
  const share = (value, digits = 3) => value?.toFixed(digits) ?? "–";
  const from = (text) => (text.startsWith("<=") ? `up to ${text.slice(2)}` : `from ${text}`);
  const at = (text) => Math.abs(Number(text.replace("<=", "")));
  const digits = (view) => (view.thresholds.some((text) => at(text) > 1) ? 1 : 3);
  const range = (least, median, most, places) => [least, median, most]
    .map((value) => share(value, places)).join(" / ");
  const people = (view) => {
    const places = digits(view);
    const columns = ["id", "verdict", `today (${from(view.thresholds[0])})`, "margin",
      `successor (${from(view.thresholds[1])})`, "margin", "holds in simulated", "letter",
      ...view.features];
    const rows = () => view.people.map(([id, verdict, today, margin, next, nextMargin, held, letter,
      features]) => [id, verdict, share(today, places), share(margin, places),
      share(next, places), share(nextMargin, places), `${held[0]} of ${held[1]}`, letter,
      ...features]);
    return [page.table(`Letters: ${view.name}`, columns, rows(), { texts: 2, long: 7, tall: true }),
      page.controls(page.csvButton("Letters as CSV", "letters", () => [columns, rows()]))];
  };
  const renewed = (view) => (view.renewals.length === 0 ? [] : [
    page.make("h3", {}, "Renewals"),
    page.table(`Renewals: ${view.name}`, ["id", "further change", "distance of the letter",
      "of the further change", "of both", "more than the letter"],
    view.renewals.map(([id, words, ...far]) => [id, words, ...far.map((each) => share(each, 2))]),
    { texts: 1, long: 1, tall: true })]);
  const simulated = (view) => page.lazily("Beside the simulated families", () =>
    page.table("Successor and simulated models", ["family", "models",
      "letters broken (least / median / most)", "decisions changed % (least / median / most)",
      "models that break as many", "models that change as many"],
    view.families.map(([name, models, b0, b1, b2, d0, d1, d2, breaking, changing]) => [name, models,
      range(b0, b1, b2, 0), range(d0, d1, d2, 1), breaking, changing ?? "–"])));
  const show = (view) => {
    const beside = simulated(view);
    place.replaceChildren(...view.words.map((text) => page.make("p", {}, text)),
      beside.details, ...people(view), ...renewed(view));
  };
  if (views.length > 1) {
    body.append(page.controls(page.select("Letters and successor", views.map((view) => view.name),
      (chosen) => show(views[chosen]))));
  }
  body.append(place, page.make("p", { class: "muted" },
    "A letter breaks if today's model accepts it and the successor does not. Margin: how far the " +
    "score is on the favourable side of the threshold. Columns behind the letter are what the " +
    "person had before any change. Simulated models are fitted on the training part of these " +
    "data. All of it is in tables/letters.csv."));
  show(views[0]);
});
