"use strict";

// A figure: panels drawn by Plotly when they come near, a caption, what it shows in words, and
// its data as CSV and as a table.
page.waiting = new Map();
page.drawn = new Map();

page.colour = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
page.series = (place) => page.colour(`series-${page.hue(place)}`);

// Room is made below and to the left only: labels at the right edge would come and go with it.
page.axis = (changes = {}) => ({
  automargin: "bottom+left", fixedrange: true, gridcolor: page.colour("grid"), zeroline: false,
  linecolor: page.colour("line"), tickfont: { size: 11 }, ...changes,
});

// An axis with a name per line; long names are cut where they are shown, never where they are used.
page.LONGEST = 26;
// The end of a long name stays: there two settings of one method differ.
page.cut = (name) => page.plain(name.length > page.LONGEST
  ? `${name.slice(0, page.LONGEST / 2 - 1)}…${name.slice(-page.LONGEST / 2)}` : name);
page.categories = (names, changes = {}) => page.axis({
  type: "category", tickmode: "array", tickvals: names.map(page.plain),
  ticktext: names.map(page.cut),
  categoryorder: "array", categoryarray: names.map(page.plain), ...changes,
});

// Plotly cannot place the labels of a chart that is too low for them.
page.tall = (lines, each, rest) => Math.max(200, rest + each * lines);

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

// In print, so that two panels and their caption are on one page.
page.FLATTER = 0.74;

// A panel is {title, height, draw}; `draw` gives the traces, and what is special in the layout.
page.paint = (plot, panel) => {
  const width = plot.clientWidth || 600;
  const { data, ...layout } = panel.draw(width);
  const height = page.printing ? Math.max(200, page.FLATTER * panel.height) : panel.height;
  // On paper nothing grows and shrinks with a window.
  const fixed = page.printing ? { width } : {};
  plot.style.minHeight = `${height}px`;
  page.drawn.set(plot, panel);
  page.waiting.delete(plot);
  Plotly.react(plot, data, page.layout({ height, ...fixed, ...layout }), page.CONFIG);
};

page.redraw = () => {
  for (const [plot, panel] of page.drawn) if (plot.isConnected) page.paint(plot, panel);
};

page.loadCharts = () => {
  if (!window.Plotly) {
    document.head.append(page.make("script", {}, page.unzipped(page.embedded("plotly"))));
  }
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

// content: {words, columns, rows, texts, panels}; `show` changes it.
page.figure = (parent, name, title, caption, { extra = null, single = false } = {}) => {
  const words = page.make("p", { id: `${name}-words`, class: "words" });
  const panels = page.make("div", {
    class: single ? "panels single" : "panels", role: "img", "aria-label": title,
    "aria-describedby": words.id,
  });
  let shown = null;
  const csv = page.csvButton("CSV", name, () => [shown.columns, shown.rows()],
    { "aria-label": `Download the data of "${title}" as CSV` });
  const { details, fill } = page.lazily("Table", () => page.table(title, shown.columns,
    shown.rows(), { texts: shown.texts, tall: true }), { "aria-label": `Table of "${title}"` });
  const element = page.make("figure", { id: `${name}-figure` },
    page.make("h3", {}, title), extra, panels,
    page.make("figcaption", {}, page.make("p", {}, caption), words),
    page.make("div", { class: "tools" }, csv, details));
  const show = (content) => {
    shown = content;
    words.textContent = `In words: ${content.words}`;
    while (panels.childElementCount > content.panels.length) {
      page.drawn.delete(panels.lastElementChild.lastElementChild);
      panels.lastElementChild.remove();
    }
    content.panels.forEach((panel, place) => {
      if (!panels.children[place]) {
        panels.append(page.make("div", { class: "panel" }, page.make("h4"),
          page.make("div", { class: "plot" })));
      }
      const [heading, plot] = panels.children[place].children;
      heading.textContent = panel.title ?? "";
      heading.hidden = !panel.title;
      plot.style.minHeight = `${panel.height}px`;
      if (page.drawn.has(plot) || page.printing) return page.paint(plot, panel);
      page.waiting.set(plot, panel);
      page.watch?.(plot);
    });
    fill();
  };
  parent.append(element);
  return { element, show };
};

// A panel for each dataset; `draw` is given its position.
page.panels = (datasets, height, draw) => datasets.map((dataset) =>
  ({ title: page.datasets[dataset], height, draw: () => draw(dataset) }));

// A marker that is told from others of its kind by its outline.
page.outlined = (symbol, size, place) =>
  ({ symbol, size, color: page.series(place), line: { width: 2, color: page.series(place) } });

// Points, and what is told of each when it is pointed at.
page.points = (x, y, marker, text, more = {}) =>
  ({ type: "scatter", mode: "markers", x, y, marker, text, hoverinfo: "text", ...more });

page.bars = (x, y, text, more = {}) => ({ type: "bar", orientation: "h", x, y, text,
  hoverinfo: "text", textposition: "none", marker: { color: page.colour("bar") }, ...more });

page.line = (x, y, line) => ({ type: "scatter", mode: "lines", x, y, line, hoverinfo: "skip",
  showlegend: false });

// Cells with numbers on colour-blind safe colours: `text` of a value is written into its cell, and
// `hover` of its place is told when it is pointed at.
page.heatMap = (rows, columns, values, text, hover, range = {}) => {
  const { low = 0, high = 100, reversed = false } = range;
  const [down, across] = [rows.map(page.plain), columns.map(page.plain)];
  const ink = (value) => {
    if (value === null) return page.colour("text");
    const share = (value - low) / (high - low);
    return (reversed ? 1 - share : share) > 0.45 ? "#000000" : "#ffffff";
  };
  const axis = { showgrid: false, ticks: "" };
  const draw = (width) => ({
    data: [{
      type: "heatmap", x: across, y: down, z: values, hoverinfo: "text",
      hovertext: down.map((row, i) => across.map((column, j) =>
        `<b>${row}</b>, ${column}<br>${hover(i, j)}`)),
      colorscale: "Cividis", reversescale: reversed, zmin: low, zmax: high, showscale: false,
      xgap: 1, ygap: 1,
    }, {
      type: "scatter", mode: "text", hoverinfo: "skip", cliponaxis: false,
      x: down.flatMap(() => across), y: down.flatMap((row) => across.map(() => row)),
      text: values.flat().map((value) => (value === null ? "?" : text(value))),
      textfont: { size: width < 420 ? 9 : 11, color: values.flat().map(ink) },
    }],
    xaxis: page.categories(columns, { tickangle: -40, ...axis }),
    yaxis: page.categories(rows, { autorange: "reversed", ...axis }),
  });
  return { height: page.tall(rows.length, 27, 108), draw };
};
