"use strict";

// The head of the page: what is missing, and the answer.
page.section("answer", (body) => {
  const { summaries, base_seeds: seeds, state } = page.data;
  const counted = (count, one, many) => (count === 1 ? `one ${one}` : `${count} ${many}`);
  const scope = [counted(page.datasets.length, "dataset", "datasets"),
    counted(page.methods.length, "method", "methods"),
    `${counted(page.families.length, "family", "families")} of change`,
    `${counted(seeds.length, "base model", "base models")} per dataset.`].join(", ");
  document.getElementById("scope").textContent = scope[0].toUpperCase() + scope.slice(1);
  if (state.notes.length) document.getElementById("state").append(page.notice(state));

  const sentence = page.make("p", { class: "sentence", "aria-live": "polite", id: "sentence" });
  const place = page.make("div", { id: "ranking" });
  const meaning = page.make("p", { class: "muted", id: "ranking-intervals" });
  let [dataset, family] = [0, 0];
  const some = page.data.averaged.length < page.families.length;
  const changes = [`Don't know (all kinds${some ? " that averages are about" : ""})`,
    ...page.families.map((each, i) => `${each}: ${summaries[i]}`)];
  body.append(page.controls(
    page.select("Data", page.datasets, (value) => { dataset = value; show(); },
      { id: "choose-dataset" }),
    page.select("Change expected next", changes, (value) => { family = value; show(); },
      { id: "choose-change" })), sentence, place, meaning, page.make("p", { class: "muted" },
      "“Frontier”: no other method beats this one. To beat it, a method must be at least as good " +
      "in both end-to-end robustness and distance, and better in one. Choose a method to read " +
      "its sentence."));

  const show = () => {
    const answer = page.data.answers[dataset][family];
    meaning.textContent = page.meaning([dataset]);
    if (answer.order.length === 0) {
      sentence.textContent = `Nothing is finished yet on ${page.datasets[dataset]}.`;
      place.replaceChildren();
      return;
    }
    const buttons = new Map();
    const tell = (method) => {
      sentence.textContent = answer.sentences[method];
      for (const [each, button] of buttons) button.setAttribute("aria-pressed", each === method);
    };
    place.replaceChildren(page.ranking(dataset, family, answer, buttons, tell));
    tell(answer.order[0]);
  };
  show();
});

page.notice = (state) => {
  const title = state.complete ? null
    : page.make("p", {}, page.make("strong", {}, "This run is not finished."));
  const list = state.missing.length === 0 ? null
    : page.make("details", { open: state.missing.length <= 10 },
      page.make("summary", {}, "Missing pieces"),
      page.make("ul", {}, ...state.missing.map((label) => page.make("li", {}, label)),
        state.more ? page.make("li", {}, `… and ${state.more} more`) : null));
  return page.make("div", { class: "notice", role: "status" }, title,
    ...state.notes.map((note) => page.make("p", {}, note)), list);
};

// The columns of the ranking: metric, label and digits.
page.RANKED = [["end_to_end_robustness", "End-to-end robustness (%)", 1],
  ["empirical_robustness", "Of CFEs given (%)", 1], ["coverage", "Coverage (%)", 1],
  ["distance", "Distance", 2]];

page.ranking = (dataset, family, answer, buttons, tell) => {
  const { finished, base_seeds: seeds } = page.data;
  const small = (text) => page.make("span", { class: "interval" }, text);
  const row = (method, rank) => {
    const button = page.button(page.methods[method], () => tell(method), { class: "plain" });
    buttons.set(method, button);
    const behind = finished[dataset][method];
    return page.make("tr", { "data-method": method },
      page.make("td", { class: "text wide" }, `${rank + 1}. `, page.marker(page.data.marks[method]), button,
        answer.frontier.includes(method)
          ? page.make("span", { class: "badge" }, "frontier") : null,
        behind < seeds.length ? small(`${behind} of ${seeds.length} base models`) : null),
      ...page.RANKED.map(([metric, label, digits], column) => {
        const [mean, , low, high] = page.measured(metric, dataset, family, method);
        const meter = column ? null : page.make("span", { class: "meter", "aria-hidden": "true" },
          page.make("i", { style: `width: ${mean ?? 0}%` }));
        return page.make("td", { "data-label": label, class: column ? null : "wide" }, meter,
          page.make("span", { class: "value" }, page.fixed(mean, digits)),
          low === null ? null : small(`${low.toFixed(digits)} to ${high.toFixed(digits)}`));
      }));
  };
  const head = ["Method", ...page.RANKED.map(([, label]) => label)];
  return page.make("div", { class: "scroll" },
    page.make("table", { class: "ranking" },
      page.make("thead", {}, page.make("tr", {}, ...head.map((text, place) =>
        page.make("th", { scope: "col", class: place ? null : "text" }, text)))),
      page.make("tbody", {}, ...answer.order.map(row))));
};
