"use strict";

// The head of the page: what is missing, and the answer.
page.section("answer", (body) => {
  const { datasets, families, methods, base_seeds: seeds, state } = page.data;
  document.getElementById("scope").textContent =
    `${datasets.length === 1 ? "One dataset" : `${datasets.length} datasets`}, ` +
    `${methods.length === 1 ? "one method" : `${methods.length} methods`}, ` +
    `${families.length === 1 ? "one family" : `${families.length} families`} of change, ` +
    `${seeds.length === 1 ? "one base model" : `${seeds.length} base models`} per dataset.`;
  page.notices(document.getElementById("state"), state);

  const sentence = page.make("p", { class: "sentence", "aria-live": "polite", id: "sentence" });
  const place = page.make("div", { id: "ranking" });
  let dataset = 0;
  let family = 0;
  const dataChoice = page.select("Data", datasets, (value) => { dataset = value; show(); });
  const changes = ["Don't know (all kinds)",
    ...families.map((each) => `${each.name}: ${each.summary}`)];
  const changeChoice = page.select("Change expected next", changes,
    (value) => { family = value; show(); });
  dataChoice.list.id = "choose-dataset";
  changeChoice.list.id = "choose-change";
  body.append(page.make("div", { class: "controls" }, dataChoice.element, changeChoice.element),
    sentence, place, page.make("p", { class: "muted" },
      "Marked “frontier”: no other method is at least as good in both end-to-end robustness " +
      "and distance, and better in one. Choose a method's name to read its sentence."));

  const show = () => {
    const answer = page.data.answers[dataset][family];
    if (answer.order.length === 0) {
      sentence.textContent = `Nothing is finished yet on ${datasets[dataset]}.`;
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

page.notices = (parent, state) => {
  if (state.notes.length === 0) return;
  const title = state.complete ? null
    : page.make("p", {}, page.make("strong", {}, "This run is not finished."));
  const list = state.missing.length === 0 ? null
    : page.make("details", { open: state.missing.length <= 10 },
      page.make("summary", {}, "Missing pieces"),
      page.make("ul", {}, ...state.missing.map((label) => page.make("li", {}, label)),
        state.more ? page.make("li", {}, `… and ${state.more} more`) : null));
  parent.append(page.make("div", { class: "notice", role: "status" }, title,
    ...state.notes.map((note) => page.make("p", {}, note)), list));
};

page.ranking = (dataset, family, answer, buttons, tell) => {
  const { methods, metrics, finished, base_seeds: seeds } = page.data;
  const at = (name) => metrics.indexOf(name);
  const scores = page.data.scores[dataset][family];
  const interval = (values, digits) => (values[2] === null ? null
    : page.make("span", { class: "interval" },
      `${values[2].toFixed(digits)} to ${values[3].toFixed(digits)}`));
  const row = (method, rank) => {
    const score = scores[method];
    const whole = score[at("end_to_end_robustness")];
    const button = page.make("button", {
      type: "button", class: "plain", onclick: () => tell(method),
    }, methods[method].name);
    buttons.set(method, button);
    const bar = page.make("i", { style: `width: ${whole[0] ?? 0}%` });
    const behind = finished[dataset][method];
    return page.make("tr", { "data-method": method },
      page.make("td", { class: "text wide" }, `${rank + 1}. `, page.marker(method), button,
        answer.frontier.includes(method)
          ? page.make("span", { class: "badge" }, "frontier") : null,
        behind < seeds.length
          ? page.make("span", { class: "interval" }, `${behind} of ${seeds.length} base models`)
          : null),
      page.make("td", { "data-label": "End-to-end robustness (%)", class: "wide" },
        page.make("span", { class: "meter", "aria-hidden": "true" }, bar),
        page.make("span", { class: "value" }, page.fixed(whole[0])), interval(whole, 1)),
      ...[["empirical_robustness", "Of CFEs given (%)", 1], ["coverage", "Coverage (%)", 1],
        ["distance", "Distance", 2]].map(([name, label, digits]) =>
        page.make("td", { "data-label": label },
          page.make("span", { class: "value" }, page.fixed(score[at(name)][0], digits)),
          interval(score[at(name)], digits))));
  };
  const head = ["Method", "End-to-end robustness (%)", "Of CFEs given (%)", "Coverage (%)",
    "Distance"];
  return page.make("div", { class: "scroll" },
    page.make("table", { class: "ranking" },
      page.make("thead", {}, page.make("tr", {}, ...head.map((text, place) =>
        page.make("th", { scope: "col", class: place ? null : "text" }, text)))),
      page.make("tbody", {}, ...answer.order.map(row))));
};
