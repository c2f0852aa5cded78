"use strict";

// Charts as the report specifies them, drawn by Plotly when they come near: with a caption, what
// they show in words, and their data as CSV and as a table.
page.waiting = new Map();
page.drawn = new Map();

page.colour = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// A colour that lets others through.
page.faint = (name) => {
  const [red, green, blue] = page.colour(name).match(/[0-9a-f]{2}/gi).map((hex) =>
    parseInt(hex, 16));
  return `rgba(${red},${green},${blue},0.18)`;
};

// Long names are cut where they are shown, never where they are used. Their end stays: there two
// settings of one method differ.
page.LONGEST = 26;
page.cut = (name, longest = page.LONGEST) => page.plain(name.length > longest
  ? `${name.slice(0, longest / 2 - 1)}…${name.slice(-longest / 2)}` : name);

// Room is made below and to the left only: labels at the right edge would come and go with it.
// Names beside a wide panel may be longer.
page.WIDE = { width: 600, longest: 38 };
page.axis = ({ title, unit, low, high, names, log, step } = {}, down = false, width = 0) => ({
  automargin: "bottom+left", fixedrange: true, gridcolor: page.colour("grid"), zeroline: false,
  linecolor: page.colour("line"), tickfont: { size: 11 },
  ...(title ? { title: { text: title, standoff: 6 } } : {}),
  ...(unit ? { ticksuffix: unit } : {}),
  ...(low !== undefined && high !== undefined ? { range: [low, high] } : {}),
  ...(low === 0 && high === undefined ? { rangemode: "tozero" } : {}),
  ...(log ? { type: "log", dtick: 1 } : step ? { dtick: step } : {}),
  ...(names ? { type: "category", tickmode: "array", tickvals: names.map(page.plain),
    ticktext: names.map((name) =>
      page.cut(name, width > page.WIDE.width ? page.WIDE.longest : page.LONGEST)),
    categoryorder: "array", categoryarray: names.map(page.plain),
    ...(down ? { autorange: "reversed" } : { tickangle: -40 }) } : {}),
});

page.layout = (changes) => ({
  margin: { l: 8, r: 22, t: 10, b: 8 },
  paper_bgcolor: "rgba(0,0,0,0)",
  plot_bgcolor: "rgba(0,0,0,0)",
  font: { family: "system-ui, -apple-system, Segoe UI, Roboto, sans-serif", size: 12,
    color: page.colour("text") },
  hoverlabel: { bgcolor: page.colour("surface"), bordercolor: page.colour("muted"),
    font: { color: page.colour("text"), size: 12 }, align: "left" },
  hovermode: "closest", dragmode: false, showlegend: false,
  ...changes,
});

page.CONFIG = { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: false };

// What is told of a point: its first line is the most important.
page.hover = (text) => {
  const [first, ...rest] = page.plain(text).split("\n");
  return [`<b>${first}</b>`, ...rest].join("<br>");
};

// The traces of a layer; `chosen` is the name of the one whose intervals are drawn.
page.traces = (layer, panel, chosen, width, scale) => {
  if (layer.kind === "cells") return page.cells(layer, panel, width, scale);
  const at = (values, { names } = {}) => (names
    ? values.map((value) => (value === null ? null : page.plain(names[value]))) : values);
  const [x, y] = [at(layer.x, panel.x), at(layer.y, panel.y)];
  const { colour, shape, open = false } = layer.mark;
  const told = layer.hover ? { text: layer.hover.map(page.hover), hoverinfo: "text" }
    : { hoverinfo: "skip" };
  if (layer.kind === "bars") {
    return [{ type: "bar", orientation: "h", x, y, ...told, textposition: "none",
      marker: { color: page.colour(colour) },
      ...(layer.spread ? { error_x: { type: "data", array: layer.spread.map((sd) => sd ?? 0),
        color: page.colour("muted"), thickness: 1.2, width: 3 } } : {}) }];
  }
  const ring = (yes, no) => (layer.ringed === undefined ? no
    : layer.x.map((_, place) => (place === layer.ringed ? yes : no)));
  const size = layer.size ?? 8;
  const marker = { symbol: open ? `${shape}-open` : shape, color: page.colour(colour),
    size: ring(size + 4, size), opacity: layer.faint ? 0.75 : 1,
    line: { width: open ? 2 : ring(3, size > 10 ? 1 : 0),
      color: open ? page.colour(colour) : page.colour(layer.ringed === undefined ? "surface" : "text") } };
  const steps = layer.kind === "steps";
  const bold = chosen !== undefined && chosen === layer.name;
  const line = { color: page.colour(colour), width: bold ? 3 : layer.width ?? 1,
    ...(steps ? { shape: "hv" } : {}), ...(layer.dashed ? { dash: "dash" } : {}) };
  const mode = layer.kind === "points" ? "markers" : shape ? "lines+markers" : "lines";
  const band = bold && layer.low && layer.low[1] !== null ? [layer.high, layer.low] : [];
  return [...band.map((ends, end) => ({ type: "scatter", mode: "lines", x, y: ends,
    hoverinfo: "skip", line: { ...line, width: 1, dash: "dot" },
    ...(end ? { fill: "tonexty", fillcolor: page.faint(colour) } : {}) })),
  { type: "scatter", mode, x, y, ...(mode === "markers" ? {} : { line }),
    ...(mode === "lines" ? {} : { marker }), ...told, cliponaxis: false,
    ...(layer.name && panel.legend ? { name: page.cut(layer.name), showlegend: true }
      : { showlegend: false }) }];
};

// Cells with numbers on colour-blind safe colours.
page.cells = ({ values, shown, hover }, panel, width, [low, high, reversed]) => {
  const [down, across] = [panel.y.names.map(page.plain), panel.x.names.map(page.plain)];
  const ink = (value) => {
    if (value === null) return page.colour("text");
    const share = (value - low) / (high - low);
    return (reversed ? 1 - share : share) > 0.45 ? "#000000" : "#ffffff";
  };
  return [{
    type: "heatmap", x: across, y: down, z: values, hoverinfo: "text",
    hovertext: down.map((_, i) => across.map((_, j) => page.hover(hover[i * across.length + j]))),
    colorscale: "Cividis", reversescale: reversed, zmin: low, zmax: high, showscale: false,
    xgap: 1, ygap: 1,
  }, {
    type: "scatter", mode: "text", hoverinfo: "skip", cliponaxis: false,
    x: down.flatMap(() => across), y: down.flatMap((row) => across.map(() => row)),
    text: shown.flat(),
    textfont: { size: width < 420 ? 9 : 11, color: values.flat().map(ink) },
  }];
};

// In print, so that two panels and their caption are on one page.
page.FLATTER = 0.74;

page.paint = (plot, { panel, chosen, scale }) => {
  const width = plot.clientWidth || 600;
  const layers = panel.layers.filter(({ name }) => chosen !== undefined && name === chosen);
  const order = layers.length ? [...layers, ...panel.layers.filter((each) => !layers.includes(each))]
    : panel.layers;
  const tall = panel.height ?? 330;
  const height = page.printing ? Math.max(200, page.FLATTER * tall) : tall;
  const bare = scale ? { showgrid: false, ticks: "" } : {};
  plot.style.minHeight = `${height}px`;
  page.drawn.set(plot, { panel, chosen, scale });
  page.waiting.delete(plot);
  Plotly.react(plot, order.flatMap((layer) => page.traces(layer, panel, chosen, width, scale)),
    page.layout({
      height, bargap: 0.45,
      // On paper nothing grows and shrinks with a window.
      ...(page.printing ? { width } : {}),
      ...(panel.legend ? { showlegend: true, legend: panel.x.names
        ? { orientation: "h", y: 1.03, yanchor: "bottom", font: { size: 11 } }
        : { orientation: "h", y: -0.2, font: { size: 11 } } } : {}),
      xaxis: { ...page.axis(panel.x), ...bare },
      yaxis: { ...page.axis(panel.y, true, width), ...bare },
    }), page.CONFIG);
};

page.redraw = () => {
  for (const [plot, what] of page.drawn) if (plot.isConnected) page.paint(plot, what);
};

page.loadCharts = () => {
  if (!window.Plotly) document.head.append(page.make("script", {}, page.library));
};

page.startCharts = () => {
  page.loadCharts();
  // One at a time, so that the page answers in between.
  page.watch = (plot) => page.whenNear(plot, () => setTimeout(() => {
    if (page.waiting.has(plot)) page.paint(plot, page.waiting.get(plot));
  }));
  for (const plot of page.waiting.keys()) page.watch(plot);
  document.documentElement.dataset.ready = "";
};

// A chart on the page; `show` gives it other data.
page.chart = (first, extra = null) => {
  const { id, title, caption } = first;
  const words = page.make("p", { id: `${id}-words`, class: "words" });
  const panels = page.make("div", {
    class: first.single ? "panels single" : "panels", role: "img", "aria-label": title,
    "aria-describedby": words.id,
  });
  let [shown, chosen] = [first, undefined];
  const csv = page.button("CSV", () => page.download(`changeproof-${id}.csv`,
    page.csv(shown.columns, shown.rows)), { "aria-label": `Download the data of "${title}" as CSV` });
  const { details, fill } = page.lazily("Table", () => page.table(title, shown.columns,
    shown.rows, { texts: shown.texts ?? 1, tall: true }), { "aria-label": `Table of "${title}"` });
  const names = (first.legend ?? []).map(([, name]) => name);
  const intervals = first.intervals ? page.controls(page.select("Show the interval of",
    ["none", ...names], (value) => { chosen = names[value - 1]; draw(); },
    { id: `${id}-interval` })) : null;
  const scale = first.scale && !first.single ? page.make("div", { class: "scale", "aria-hidden": "true" },
    `${first.scale[0]} %`, page.make("i"), `${first.scale[1]} %`) : null;
  const element = page.make("figure", { id: `${id}-figure` },
    page.make("h3", {}, title), extra, intervals, scale,
    first.legend?.length ? page.legend(first.legend) : null, panels,
    page.make("figcaption", {}, page.make("p", {}, caption ?? ""), words),
    page.make("div", { class: "tools" }, csv, details));
  const draw = () => {
    while (panels.childElementCount > shown.panels.length) {
      page.drawn.delete(panels.lastElementChild.lastElementChild);
      panels.lastElementChild.remove();
    }
    shown.panels.forEach((panel, place) => {
      if (!panels.children[place]) {
        panels.append(page.make("div", { class: "panel" }, page.make("h4"),
          page.make("div", { class: "plot" })));
      }
      const [heading, plot] = panels.children[place].children;
      heading.textContent = panel.title ?? "";
      heading.hidden = !panel.title;
      plot.style.minHeight = `${panel.height ?? 330}px`;
      const what = { panel, chosen, scale: first.scale };
      if (page.drawn.has(plot) || page.printing) return page.paint(plot, what);
      page.waiting.set(plot, what);
      page.watch?.(plot);
    });
  };
  const show = (content) => {
    shown = { ...first, ...content };
    words.textContent = `In words: ${shown.words}`;
    draw();
    fill();
  };
  show(first);
  return { element, show };
};
