"use strict";

// A person: what each method tells them to change, and how often it would still hold.
page.MOST_CHANGES = 5;

page.sum = (counts) => counts.reduce((sum, count) => sum + count, 0);

page.section("person", (body) => {
  if (page.present.length === 0) return page.say(body, "Nobody has been answered yet.");
  if (!page.canUnpack) return page.say(body, page.cannotUnpack("the people"));
  const chosen = { dataset: page.present[0], network: 0, person: 0 };
  const controls = page.controls();
  const shown = page.make("div", { id: "person-shown", "aria-live": "polite" });
  body.append(controls, shown);
  const show = async () => {
    const asked = chosen.dataset;
    const { people } = await page.unpack(asked);
    if (asked !== chosen.dataset) return;
    controls.replaceChildren(...page.personControls(chosen, people, show));
    shown.replaceChildren();
    if (people === null) {
      return page.say(shown, "The pieces with the people of this dataset are missing.");
    }
    const network = people.networks[chosen.network];
    if (network.ids.length === 0) page.say(shown, "This base model decides against nobody.");
    else page.personView(shown, chosen, people.features, network);
  };
  // Unpacked when the reader comes near, not when the page opens.
  page.whenNear(body, show);
});

page.personControls = (chosen, people, show) => {
  const focused = document.activeElement?.id;
  const places = page.present;
  const change = (changes) => { Object.assign(chosen, changes); show(); };
  const controls = [page.select("Data", places.map((place) => page.datasets[place]),
    (value) => change({ dataset: places[value], network: 0, person: 0 }),
    { id: "person-dataset", chosen: places.indexOf(chosen.dataset) })];
  if (people !== null) {
    const { ids } = people.networks[chosen.network];
    const step = (by) => () =>
      change({ person: (chosen.person + by + ids.length) % Math.max(1, ids.length) });
    controls.push(
      page.select("Base model", people.networks.map((each) => `seed ${each.seed}`),
        (network) => change({ network, person: 0 }),
        { id: "person-network", chosen: chosen.network }),
      page.select("Person", ids.map((id) => `row ${id}`), (person) => change({ person }),
        { id: "person-row", chosen: chosen.person }),
      page.button("Previous", step(-1), { id: "person-back" }),
      page.button("Next", step(1), { id: "person-next" }));
  }
  // The controls are made anew; the keyboard stays where it was.
  if (focused?.startsWith("person-")) {
    queueMicrotask(() => document.getElementById(focused)?.focus({ preventScroll: true }));
  }
  return controls;
};

page.personView = (parent, chosen, features, network) => {
  const factual = network.factuals[chosen.person];
  const facts = page.make("details", {},
    page.make("summary", {}, `What is known of row ${network.ids[chosen.person]}`),
    page.table("This person", ["feature", "value"],
      features.map((feature, place) => [feature, factual[place]])));
  const rank = ([, answer]) => (Array.isArray(answer) && answer[0] ? page.sum(answer[2]) : -1);
  const given = network.methods.map((answers, method) => [method, answers?.[chosen.person]])
    .filter(([, answer]) => answer !== undefined).sort((a, b) => rank(b) - rank(a));
  const left = page.methods.length - given.length;
  parent.append(facts, page.make("div", { class: "cards" }, ...given.map(([method, answer]) =>
    page.answerCard(method, answer, features, factual, network.models))));
  const unfinished = `${left} of ${page.methods.length} methods are not finished`;
  if (left) page.say(parent, `${unfinished} for this base model.`);
};

page.answerCard = (method, answer, features, factual, models) => {
  const { data } = page;
  const title = page.make("h3", {}, page.marker(method), page.methods[method]);
  const attributes = { class: "card", "data-method": data.methods[method] };
  if (!Array.isArray(answer)) {
    return page.make("div", attributes, title,
      page.make("p", {}, `No counterfactual: ${answer}.`));
  }
  const [valid, distance, counts, changes] = answer;
  const [total, held] = [page.sum(models), page.sum(counts)];
  const item = ([feature, direction, after, size, before]) => page.make("li", {},
    data.recourse[direction].replace(/\{(\w+)\}/g, (_, name) =>
      ({ feature: features[feature], before: before ?? factual[feature], after }[name])),
    page.make("span", { class: "muted" }, ` (${size < 0.005 ? "under 0.01" : size.toFixed(2)})`));
  const few = changes.slice(0, page.MOST_CHANGES);
  const rest = changes.slice(page.MOST_CHANGES);
  return page.make("div", attributes, title,
    page.make("p", {}, valid
      ? `Still holds in ${held} of ${total} changed models.`
      : `Today's model does not accept it; ${held} of ${total} changed models would.`),
    page.make("p", { class: "muted" },
      `Distance ${distance.toFixed(2)}; ${changes.length} of ${features.length} features change.`),
    page.make("ul", {}, ...few.map(item)),
    rest.length ? page.lazily(`${rest.length} smaller ${rest.length === 1 ? "change" : "changes"}`,
      () => page.make("ul", {}, ...rest.map(item))).details : null,
    page.make("dl", { class: "counts" }, ...page.families.map((family, place) =>
      page.make("div", { title: family, style: `--share: ${100 * counts[place] /
        Math.max(1, models[place])}%` },
        page.make("dt", {}, data.short_families[place]),
        page.make("dd", {}, `${counts[place]} of ${models[place]}`)))));
};
