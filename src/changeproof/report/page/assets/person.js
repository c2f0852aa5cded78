"use strict";

// A person: what each method tells them to change, and how often it would still hold.
page.sum = (counts) => page.data.averaged.reduce((sum, family) => sum + counts[family], 0);

page.scripts.person = (body, words) => {
  page.words = words;
  const chosen = { dataset: page.data.present[0], network: 0, person: 0 };
  const controls = page.controls();
  const shown = page.make("div", { id: "person-shown", "aria-live": "polite" });
  const summary = page.make("div");
  body.append(summary, controls, shown);
  const show = () => {
    const { people } = page.unpack(chosen.dataset);
    controls.replaceChildren(...page.personControls(chosen, people, show));
    shown.replaceChildren();
    summary.replaceChildren();
    if (people === null) {
      return page.say(shown, "The pieces with the people of this dataset are missing.");
    }
    const network = people.networks[chosen.network];
    const recommended = page.recommendedTo(network);
    if (recommended) summary.append(recommended);
    if (network.ids.length === 0) page.say(shown, "This base model decides against nobody.");
    else page.personView(shown, chosen, people, network);
    if (network.asked > network.ids.length) {
      page.say(shown, `The page lists ${network.ids.length} of the ${network.asked} people of ` +
        "this base model, in the order in which they were drawn. All of them are in " +
        "tables/people.csv of the run directory.");
    }
  };
  // Unpacked when the reader comes near, not when the page opens.
  page.whenNear(body, show);
};

page.personControls = (chosen, people, show) => {
  const focused = document.activeElement?.id;
  const places = page.data.present;
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
        { id: "person-row", chosen: chosen.person, least: 1 }),
      page.button("Previous", step(-1), { id: "person-back" }),
      page.button("Next", step(1), { id: "person-next" }));
  }
  // The controls are made anew; the keyboard stays where it was.
  if (focused?.startsWith("person-")) {
    queueMicrotask(() => document.getElementById(focused)?.focus({ preventScroll: true }));
  }
  return controls.filter((control) => control !== null);
};

// Names of columns stay as they are.
page.capital = (text) => text.includes("_") ? text : text.charAt(0).toUpperCase() + text.slice(1);

// Names that are read from right to left do not turn the sentence around them.
page.isolated = (text) => (/[\u0590-\u08ff\ufb1d-\ufefc]/.test(text) ? `\u2068${text}\u2069` : text);

page.filled = (template, values) =>
  template.replace(/\{(\w+)\}/g, (_, name) => page.isolated(values[name]));

// To how many people of an audit whose advice is recommended.
page.recommendedTo = ({ recommended }) => {
  if (!page.data.subject || !recommended) return null;
  const counts = new Map();
  for (const [method] of recommended) counts.set(method, (counts.get(method) ?? 0) + 1);
  const nobody = counts.get(null) ?? 0;
  counts.delete(null);
  const people = recommended.length;
  const listed = [...counts].sort((a, b) => b[1] - a[1])
    .map(([method, count]) => `${page.methods[method]} ${count}`).join(", ");
  return page.make("p", { class: "muted", id: "recommended-to" }, listed
    ? `Recommended to these ${people} people: ${listed}${nobody ? `; nothing ${nobody}` : ""}.`
    : `For none of these ${people} people is advice known to hold often enough.`);
};

page.personView = (parent, chosen, people, network) => {
  const { features } = people;
  const factual = network.factuals[chosen.person];
  const unknown = network.filled[chosen.person] ?? [];
  const facts = page.make("details", {},
    page.make("summary", {}, `What is known of row ${network.ids[chosen.person]}`),
    page.facts(features.map((feature, place) => [feature, unknown.includes(place)
      ? page.filled(page.words.filled_in, { value: factual[place] }) : factual[place]])));
  const [best, words] = network.recommended?.[chosen.person] ?? [null, ""];
  const rank = ([method, answer]) => (method === best ? Infinity
    : Array.isArray(answer) && answer[0] ? page.sum(answer[2]) : -1);
  const given = network.methods.map((answers, method) => [method, answers?.[chosen.person]])
    .filter(([, answer]) => answer !== undefined).sort((a, b) => rank(b) - rank(a));
  const left = page.methods.length - given.length;
  const told = given.map(([, answer]) => answer).filter(Array.isArray);
  parent.append(facts);
  if (unknown.length) {
    page.say(parent, "Not known about this person: " + unknown.map((place) =>
      `${features[place]} (${factual[place]} was filled in)`).join(", ") +
      ". Advice was tested with what was filled in.");
  }
  page.principal(parent, network.principal?.[chosen.person] ?? []);
  if (words) parent.append(page.make("p", { class: "sentence", id: "recommended" }, words));
  page.rules(parent, people, told.length > 0, told.some(([, , , , breach]) => breach));
  parent.append(page.make("div", { class: "cards" }, ...given.map(([method, answer]) =>
    page.answerCard(method, answer, people, factual, network.models, method === best,
      network.others[method]?.[chosen.person] ?? []))));
  const unfinished = `${left} of ${page.methods.length} methods are not finished`;
  if (left) page.say(parent, `${unfinished} for this base model.`);
};

// Why the model decided against the person, as far as was found.
page.principal = (parent, reasons) => {
  if (reasons.length === 0) return;
  parent.append(page.make("p", {}, "Principal reasons for the decision, derived from this model " +
    "and these rules:"),
    page.make("ol", { class: "principal" }, ...reasons.map(([sentence, worth]) =>
      page.make("li", {}, sentence, page.make("span", { class: "muted" }, ` (${worth})`)))));
};

// What must not change, and why.
page.rules = (parent, { rules, reasons }, told, broken) => {
  if (!rules) return;
  const begin = !told ? "Constraints" : broken ? "Some of this advice breaks a constraint" : "Respected";
  parent.append(page.make("p", { class: "rules" }, `${begin}: ${rules}.`));
  if (reasons.length) {
    parent.append(page.make("details", {}, page.make("summary", {}, "Why"),
      page.facts(reasons)));
  }
};

page.answerCard = (method, answer, people, factual, models, recommended, others) => {
  const { data } = page;
  const { counted } = people;
  const title = page.make("h3", {}, page.marker(page.data.marks[method]), page.methods[method],
    recommended ? page.make("span", { class: "badge" }, "recommended") : null);
  const attributes = { class: recommended ? "card recommended" : "card",
    "data-method": data.methods[method] };
  if (!Array.isArray(answer)) {
    return page.make("div", attributes, title, page.make("p", {}, `No advice: ${answer}.`));
  }
  const [valid, distance, counts, changes, breach, parts] = answer;
  const [total, held] = [page.sum(models), page.sum(counts)];
  const acted = changes.filter((change) => change[3] !== null).length;
  return page.make("div", attributes, title,
    page.make("p", {}, valid
      ? `Still holds in ${held} of ${total} changed models.`
      : `Today's model does not accept it; ${held} of ${total} changed models would.`),
    ...page.advice(changes, people, factual, parts ?? []),
    breach ? page.make("p", {}, `Not respected: ${breach}.`) : null,
    page.make("p", { class: "muted" }, `Distance ${distance.toFixed(2)}, ` +
      `the mean over ${counted} features` + (acted
        ? `; ${acted} of them ${acted === 1 ? "changes" : "change"}.` : ".")),
    ...others.map((words) => page.make("p", { class: "other" }, words)),
    page.make("dl", { class: "counts" }, ...page.families.map((family, place) =>
      page.make("div", { title: family, style: `--share: ${100 * counts[place] /
        Math.max(1, models[place])}%` },
        page.make("dt", {}, data.shown.short_families[place]),
        page.make("dd", {}, `${counts[place]} of ${models[place]}`)))));
};

// What to change: the largest changes, the others folded, and that there is nothing else.
page.advice = (changes, people, factual, parts) => {
  const { words } = page;
  const { features } = people;
  if (changes.length === 0) return [page.make("p", {}, words.only_parts)];
  const item = ([feature, template, after, size, before]) => page.make("li", {},
    page.filled(people.sentences[template], { feature: features[feature],
      Feature: page.capital(features[feature]),
      before: before ?? factual[feature], after }),
    size === null ? null : page.make("span", { class: "muted" },
      ` (${size < 0.005 ? "under 0.01" : size.toFixed(2)})`));
  const few = changes.slice(0, words.most_changes);
  const rest = changes.slice(words.most_changes);
  const partly = parts.map((feature) => features[feature]).join(", ");
  return [
    page.make("ul", {}, ...few.map(item)),
    rest.length ? page.lazily(`${rest.length} smaller ${rest.length === 1 ? "change" : "changes"}`,
      () => page.make("ul", {}, ...rest.map(item)), {}, { class: "long" }).details : null,
    page.make("p", {}, parts.length ? page.filled(words.in_parts, { features: partly })
      : people.nothing_else),
  ];
};
