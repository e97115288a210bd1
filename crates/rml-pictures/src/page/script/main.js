// Puts the page together, and opens it where there is something to see.
$("findings").textContent = data.findings;
if (data.checkpoint) $("checkpoint").textContent = `trained: ${data.checkpoint.replace(/^.*[/\\]/, "")}`;
$("checkpoint").title = data.checkpoint ?? "";
for (const line of data.verdict) $("about").append(prose(line));
$("about").hidden = data.verdict.length === 0;
const run = addView(data.rows.length ? "Run" : "Source", $("run"), () => repaint());
$("right").hidden = data.rows.length === 0;
if (data.network.boxes.length > 1) {
  const panel = make("section", undefined, "view");
  addView("Network", panel, () => panel.childElementCount || showNetwork(panel));
}
for (const side of data.sides) {
  const panel = make("section", undefined, "view scrolls");
  panel.append(sideBySide(side));
  addView(side.name, panel);
}
if (data.plan.regions.length) {
  const panel = make("section", undefined, "view scrolls");
  addView("Plan", panel, () => panel.childElementCount || showPlan(panel));
}
for (const form of data.forms) {
  const panel = make("section", undefined, "view scrolls");
  panel.append(make("pre", form.text));
  addView(form.name, panel);
}
choose(run);
$("views").hidden = views.length < 2;

// The legend of the arrows and of the ends of windows.
const words = [
  ["same", "same cycle"],
  ["forward", "forward in time"],
  ["backward", "backward in time"],
];
const ways = new Set(data.arrows.map(([, n, , n2]) => (n === n2 ? "same" : n < n2 ? "forward" : "backward")));
for (const [kind, text] of words) if (ways.has(kind)) $("legend").append(make("span", text, kind));
if (ways.size) $("legend").append(make("span", "used by", "effect"));
for (const window of data.windows) {
  const span = make("span", undefined, window.depth ? "end inner" : "end");
  span.append("end of a window by ", make("code", window.name));
  $("legend").append(span);
}

// The cell that the address names, or one that shows most: a value of a row on the page that comes from the nearest
// later cycle, or else from an earlier one, or else from anything.
const first = () => {
  const address = /^#(\d+),(\d+)$/.exec(location.hash);
  if (address && Number(address[1]) < data.rows.length && Number(address[2]) < cycles)
    return place(Number(address[1]), Number(address[2]));
  let best;
  let least = Infinity;
  for (let n = 0; n < Math.min(cycles, 200); n++)
    for (const row of lineOfRow.keys())
      for (const from of nearest(place(row, n), causes)) {
        const by = cycleOf(from) - n;
        const cost = by > 0 ? by : by < 0 ? 1000 - by : 5000;
        if (cost < least) [best, least] = [place(row, n), cost];
      }
  return best;
};
const open = () => {
  readColours();
  view.column = readable();
  arrangeAgain();
  // What is far wider than the window is shown from far away.
  const room = table.clientWidth - view.left;
  if (view.width - view.left > 4 * room) view.column = clamp((room - 40) / cycles, 4, 20);
  arrangeAgain();
  $("zoom").value = zoomShare(view.column);
  const at = first();
  if (at !== undefined) goTo(at, false);
  else show(0, -1, true);
};
if (data.rows.length) {
  open();
  new ResizeObserver(() =>
    requestAnimationFrame(() => {
      measure();
      repaint();
    }),
  ).observe(table);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    readColours();
    pictures.clear();
    columnPictures.clear();
    repaint();
  });
}
stop();
if (data.live) loadAgain(() => ($("findings").textContent = "rml view has ended"));
