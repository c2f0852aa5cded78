"use strict";

// The answer: the methods in order for the data and the change that somebody expects.
page.scripts.answer = (body, { changes, columns, answers, behind, meaning }) => {
  const sentence = page.make("p", { class: "sentence", "aria-live": "polite", id: "sentence" });
  const place = page.make("div", { id: "ranking" });
  const intervals = page.make("p", { class: "muted", id: "ranking-intervals" });
  let [dataset, family] = [0, 0];
  body.append(page.controls(
    page.select("Data", page.datasets, (value) => { dataset = value; show(); },
      { id: "choose-dataset" }),
    page.select("Change expected next", changes, (value) => { family = value; show(); },
      { id: "choose-change" })), sentence, place, intervals, page.make("p", { class: "muted" },
      "“Frontier”: no other method beats this one. To beat it, a method must be at least as good " +
      "in both end-to-end robustness and distance, and better in one. Choose a method to read " +
      "its sentence."));

  const small = (text) => (text ? page.make("span", { class: "interval" }, text) : null);
  const row = (answer, buttons, tell) => (method, rank) => {
    const button = page.button(page.methods[method], () => tell(method), { class: "plain" });
    buttons.set(method, button);
    return page.make("tr", { "data-method": method },
      page.make("td", { class: "text wide" }, `${rank + 1}. `,
        page.marker(page.data.marks[method]), button,
        answer.frontier.includes(method) ? page.make("span", { class: "badge" }, "frontier") : null,
        small(behind[dataset][method])),
      ...answer.values[method].map(([value, text, interval], column) =>
        page.make("td", { "data-label": columns[column + 1], class: column ? null : "wide" },
          column ? null : page.make("span", { class: "meter", "aria-hidden": "true" },
            page.make("i", { style: `width: ${value}%` })),
          page.make("span", { class: "value" }, text), small(interval))));
  };
  const show = () => {
    const answer = answers[dataset][family];
    intervals.textContent = meaning[dataset];
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
    place.replaceChildren(page.make("div", { class: "scroll" },
      page.make("table", { class: "ranking" },
        page.make("thead", {}, page.make("tr", {}, ...columns.map((text, column) =>
          page.make("th", { scope: "col", class: column ? null : "text" }, text)))),
        page.make("tbody", {}, ...answer.order.map(row(answer, buttons, tell))))));
    tell(answer.order[0]);
  };
  show();
};
