"use strict";

// A print holds everything, whether the reader has been there or not: what waits to come near is
// shown, folded parts are opened, and charts are drawn for paper. It has to be done at once.
page.beforePrint = () => {
  if (page.printing) return;
  const root = document.documentElement;
  page.printing = { theme: root.dataset.theme, opened: [] };
  Object.assign(root.dataset, { theme: "light", printing: "" });
  page.loadCharts();
  for (const act of [...page.near.values()]) act();
  page.openForPrint();
  page.redraw();
};

page.openForPrint = () => {
  if (!page.printing) return;
  for (const details of document.querySelectorAll("details:not([open], .tools *, .long)")) {
    details.open = true;
    page.folded.get(details)?.();
    page.printing.opened.push(details);
  }
  for (const [plot, what] of page.waiting) page.paint(plot, what);
  // A table that is wider than the paper would make everything small, or be cut.
  for (const table of document.querySelectorAll("main table")) {
    table.style.zoom = "";
    const room = table.parentElement.clientWidth;
    if (table.scrollWidth > room) table.style.zoom = Math.floor(100 * room / table.scrollWidth) / 100;
  }
};

page.afterPrint = () => {
  if (!page.printing) return;
  const { theme, opened } = page.printing;
  page.printing = null;
  delete document.documentElement.dataset.printing;
  document.documentElement.dataset.theme = theme;
  for (const details of opened) details.open = false;
  for (const table of document.querySelectorAll("main table")) table.style.zoom = "";
  page.redraw();
  for (const plot of page.drawn.keys()) if (plot.isConnected) Plotly.Plots.resize(plot);
};

page.startPrinting = () => {
  window.addEventListener("beforeprint", page.beforePrint);
  window.addEventListener("afterprint", page.afterPrint);
  const paper = window.matchMedia("print");
  const follow = () => (paper.matches ? page.beforePrint() : page.afterPrint());
  paper.addEventListener("change", follow);
  follow();
};
