// The chosen cell: by pointer, by keys, by the address of the page. `cycle` is -1 at the head of a line.
const cursor = { line: 0, cycle: -1 };
const trail = [];
const chosenCell = () => {
  const line = lines[cursor.line];
  return line && line.row !== undefined && cursor.cycle >= 0 ? place(line.row, cursor.cycle) : undefined;
};
const stepsShown = () => Number($("steps").value);
// Shows what the cursor is at; `quiet` leaves the address and the place of the window as they are.
const show = (line, cycle, quiet) => {
  cursor.line = clamp(line, 0, Math.max(0, lines.length - 1));
  cursor.cycle = clamp(cycle, -1, cycles - 1);
  const at = chosenCell();
  tips.at = at;
  view.chosen =
    at === undefined
      ? []
      : [
          ...cone(at, causes, stepsShown()).map(([to, from, depth]) => arrowOf([from, to, depth], "cause")),
          ...cone(at, effects, 1).map((edge) => arrowOf(edge, "effect")),
        ];
  if (!view.resting.length) routing(view.chosen);
  announce();
  describe(at);
  markSource(lines[cursor.line]?.row);
  if (!quiet) {
    scrollTo(cursor.line, cursor.cycle);
    history.replaceState(null, "", at === undefined ? "#" : `#${rowOf(at)},${cycleOf(at)}`);
  }
  repaint();
};
const goTo = (at, remember = true) => {
  const row = rowOf(at);
  if (remember && tips.at !== undefined) trail.push(tips.at);
  if (!lineOfRow.has(row)) {
    $("filter").value = "";
    reveal(row);
    arrangeAgain();
  }
  show(lineOfRow.get(row), cycleOf(at));
};
// What a screen reader says of the cursor.
const announce = () => {
  const line = lines[cursor.line];
  const cell = $("cell");
  $("table").setAttribute("aria-rowcount", lines.length);
  $("table").setAttribute("aria-colcount", cycles);
  $("cell-row").setAttribute("aria-rowindex", cursor.line + 1);
  cell.setAttribute("aria-colindex", cursor.cycle + 1);
  const at = chosenCell();
  cell.removeAttribute("aria-expanded");
  if (at !== undefined)
    cell.setAttribute(
      "aria-label",
      `${data.rows[rowOf(at)].name}, ${data.axis} ${cycleOf(at)}: ${isKnown(at) ? cellText(at) : "not known yet"}`,
    );
  else if (line?.group) {
    cell.setAttribute("aria-expanded", unfolded.has(line.group.path));
    cell.setAttribute("aria-label", `instance ${line.group.path}, ${rowsIn(line.group)} rows`);
  } else cell.setAttribute("aria-label", line ? `${data.rows[line.row].name}: ${data.rows[line.row].type}` : "nothing");
};
// Brings a cell into the window.
const scrollTo = (line, cycle) => {
  const table = $("table");
  const [top, height] = [view.tops[line] ?? 0, view.heights[line] ?? 0];
  const edge = 34;
  if (top - edge < table.scrollTop + HEAD) table.scrollTop = top - HEAD - edge;
  else if (top + height + edge > table.scrollTop + table.clientHeight)
    table.scrollTop = top + height + edge - table.clientHeight;
  if (cycle < 0) return;
  const [x, width] = [view.columns[cycle], table.clientWidth - view.left];
  if (x - edge < table.scrollLeft) table.scrollLeft = x - edge;
  else if (x + view.column + edge > table.scrollLeft + width) table.scrollLeft = x + view.column + edge - width;
};
// Lines and places once more, after folding, a filter or another width of columns.
const arrangeAgain = () => {
  arrange($("filter").value);
  measure();
  $("fold").hidden = instances.size === 0 || $("filter").value !== "";
  $("fold").textContent = unfolded.size < instances.size ? "Unfold all" : "Fold all";
};
const rearrange = () => {
  const row = lines[cursor.line]?.row;
  const path = lines[cursor.line]?.group?.path;
  arrangeAgain();
  const line = lines.findIndex((line) => (row !== undefined ? line.row === row : line.group?.path === path));
  show(line < 0 ? 0 : line, line < 0 ? -1 : cursor.cycle, true);
};
const fold = (path, open = !unfolded.has(path)) => {
  if (open) unfolded.add(path);
  else unfolded.delete(path);
  rearrange();
};
const zoomTo = (column, aroundX) => {
  const table = $("table");
  const middle = aroundX ?? (table.clientWidth - view.left) / 2;
  const share = (table.scrollLeft + middle) / Math.max(1, view.width - view.left);
  view.column = clamp(column, 2, 160);
  $("zoom").value = zoomShare(view.column);
  rearrange();
  table.scrollLeft = share * (view.width - view.left) - middle;
};
const zoomShare = (column) => Math.round((Math.log(column / 2) / Math.log(80)) * 100);

const table = $("table");
const pointed = (event) => {
  const box = table.getBoundingClientRect();
  return cellAt(event.clientX - box.left, event.clientY - box.top);
};
table.addEventListener("click", (event) => {
  const found = pointed(event);
  if (!found) return;
  const line = lines[found.line];
  if (line.group) {
    cursor.line = found.line;
    cursor.cycle = -1;
    fold(line.group.path);
    return;
  }
  trail.length = 0;
  show(found.line, found.cycle, true);
  const at = chosenCell();
  history.replaceState(null, "", at === undefined ? "#" : `#${rowOf(at)},${cycleOf(at)}`);
});
table.addEventListener("mousemove", (event) => {
  const found = pointed(event);
  const line = found && lines[found.line];
  const row = line?.row === undefined ? undefined : data.rows[line.row];
  table.style.cursor = line ? "pointer" : "";
  const at = row && found.cycle >= 0 ? place(line.row, found.cycle) : undefined;
  table.title =
    at !== undefined
      ? `${row.name}, ${data.axis} ${found.cycle}: ${isKnown(at) ? cellText(at) : "not known yet"}`
      : row
        ? `${row.name}: ${row.type}`
        : line
          ? line.group.path
          : "";
});
table.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { line, cycle } = cursor;
  const group = lines[line]?.group;
  const at = chosenCell();
  const page = Math.max(1, Math.floor(table.clientHeight / 40));
  const acts = {
    ArrowUp: () => show(line - 1, cycle),
    ArrowDown: () => show(line + 1, cycle),
    ArrowLeft: () => (group ? fold(group.path, false) : show(line, cycle - 1)),
    ArrowRight: () => (group ? fold(group.path, true) : show(line, cycle + 1)),
    PageUp: () => show(line - page, cycle),
    PageDown: () => show(line + page, cycle),
    Home: () => show(event.shiftKey ? 0 : line, 0),
    End: () => show(event.shiftKey ? lines.length - 1 : line, cycles - 1),
    Enter: () => (group ? fold(group.path) : follow(at)),
    " ": () => (group ? fold(group.path) : follow(at)),
    Backspace: () => trail.length && goTo(trail.pop(), false),
    Escape: () => show(line, -1),
    "+": () => zoomTo(view.column * 1.25),
    "-": () => zoomTo(view.column / 1.25),
    "/": () => $("filter").focus(),
    p: () => $("play").click(),
  };
  const act = acts[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});
// To the cell that is most worth a look: the one that comes from another cycle, if there is one.
const follow = (at) => {
  if (at === undefined) return;
  const from = nearest(at, causes);
  const next = from.find((other) => cycleOf(other) !== cycleOf(at)) ?? from[0];
  if (next !== undefined) goTo(next);
};
table.addEventListener("scroll", repaint, { passive: true });
table.addEventListener("focus", repaint);
table.addEventListener("blur", repaint);
table.addEventListener(
  "wheel",
  (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoomTo(view.column * Math.exp(-event.deltaY / 200), event.clientX - table.getBoundingClientRect().left - view.left);
  },
  { passive: false },
);
$("zoom").addEventListener("input", () => zoomTo(2 * 80 ** (Number($("zoom").value) / 100)));
$("steps").addEventListener("change", () => show(cursor.line, cursor.cycle, true));
$("filter").addEventListener("input", rearrange);
$("filter").addEventListener("keydown", (event) => {
  if (event.key !== "Escape" && event.key !== "Enter") return;
  if (event.key === "Escape") $("filter").value = "";
  rearrange();
  table.focus();
});
$("fold").addEventListener("click", () => {
  if (unfolded.size < instances.size) for (const path of instances.keys()) unfolded.add(path);
  else unfolded.clear();
  rearrange();
});

// Playing: how the table fills, step by step. What is not known yet is hidden.
let timer;
const setStep = (step) => {
  tips.fresh = timer ? step - 1 : -1;
  upTo = step;
  $("step").value = step;
  const rank = known.ranks[step - 1];
  $("stage").textContent = step >= known.steps || rank === undefined ? "" : `${data.axis} ${Math.floor(rank / 1e6)}`;
  announce();
  describe(chosenCell());
  repaint();
};
const stop = () => {
  clearInterval(timer);
  timer = undefined;
  $("play").textContent = calm.matches ? "Step" : "Play";
  $("play").setAttribute("aria-pressed", false);
  tips.fresh = -1;
  repaint();
};
const advance = () => {
  setStep(upTo + 1);
  if (upTo >= known.steps) stop();
};
$("play").addEventListener("click", () => {
  if (timer) return stop();
  if (upTo >= known.steps) setStep(0);
  // Who wants no motion goes step by step.
  if (calm.matches) return setStep(upTo + 1);
  timer = setInterval(advance, clamp(8000 / known.steps, 30, 600));
  $("play").textContent = "Pause";
  $("play").setAttribute("aria-pressed", true);
});
$("step").max = known.steps;
$("step").value = known.steps;
$("step").addEventListener("input", () => {
  stop();
  setStep(Number($("step").value));
});
