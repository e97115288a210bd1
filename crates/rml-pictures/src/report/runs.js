// Several trainings: their curves in one picture for each metric, and a table that shows, hides and sorts them.
const data = JSON.parse(document.getElementById("runs-data").textContent);
const holder = document.getElementById("panels");
const table = document.querySelector("#runs table");
const body = table.tBodies[0];
const rows = [...body.rows];
const means = document.getElementById("means");
const filter = document.getElementById("filter");
const hidden = new Set(JSON.parse(kept.get("hidden") ?? "[]"));
const colour = (i) => (i < 6 ? `var(--c${i})` : `hsl(${Math.round((i * 137.508) % 360)} 62% var(--lightness))`);
let order = JSON.parse(kept.get("order") ?? "null");
let strong;

const words = () => filter.value.toLowerCase().split(/\s+/).filter(Boolean);
const passes = (run) => words().every((word) => run.text.toLowerCase().includes(word));
const isShown = (run) => !hidden.has(run.name) && passes(run);

// The mean of the shown runs of a group at each step, in a band from the least to the greatest.
const meanOf = (runs, metric) => {
  const at = new Map();
  for (const run of runs)
    for (const [step, value] of run.curves[metric])
      if (value !== null) at.set(step, [...(at.get(step) ?? []), value]);
  const steps = [...at.keys()].sort((a, b) => a - b);
  const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
  return {
    points: steps.map((step) => [step, mean(at.get(step))]),
    band: steps.map((step) => [step, Math.min(...at.get(step)), Math.max(...at.get(step))]),
  };
};

const linesOf = (metric) => {
  const shown = data.runs.filter((run) => isShown(run) && run.curves[metric].length);
  if (!means?.checked)
    return shown.map((run) => ({ name: run.name, runs: [run], colour: colour(run.colour), points: run.curves[metric] }));
  const groups = [...new Set(shown.map((run) => run.group))];
  return groups.map((group) => {
    const runs = shown.filter((run) => run.group === group);
    const name = `${data.groups[group] || "all"} (${runs.length})`;
    return { name, runs, colour: colour(runs[0].colour), ...meanOf(runs, metric) };
  });
};

// The values of all lines, in a box beside the pointer.
const tipOf = (figure, lines) => {
  const tip = made("div", { class: "tip", hidden: "" });
  figure.append(tip);
  return (step, values, near, at) => {
    tip.hidden = step === undefined || !values.length;
    emphasize(near === undefined ? undefined : lines[near].runs);
    if (tip.hidden) return;
    const sorted = [...values].sort((a, b) => b.value - a.value);
    const place = Math.max(0, Math.min(sorted.findIndex(({ i }) => i === near) - 6, sorted.length - TOLD));
    const entries = sorted.slice(place, place + TOLD).map((entry) => {
      const name = made("span", { class: "key", style: `--own:${entry.line.colour}` }, entry.line.name);
      return made("div", entry.i === near ? { class: "near" } : {}, name, made("b", {}, valueText(entry)));
    });
    const left = sorted.length - entries.length;
    tip.replaceChildren(
      made("div", { class: "dim" }, `${data.steps} ${step}`),
      ...entries,
      ...(left > 0 ? [made("div", { class: "dim" }, `and ${left} more`)] : []),
    );
    // beside the pointer, or below a picture that has no room for it
    const wide = figure.clientWidth;
    const right = at > wide / 2;
    const [start, end] = wide < 480 ? [0, 0] : right ? [undefined, wide - at + 14] : [at + 14, undefined];
    tip.classList.toggle("below", wide < 480);
    tip.style.left = start === undefined ? "auto" : `${start}px`;
    tip.style.right = end === undefined ? "auto" : `${end}px`;
  };
};

let drawn = [];
// Points out runs: in the pictures, and in the table.
const emphasize = (runs) => {
  strong = runs;
  for (const { lines, paths } of drawn)
    paths.forEach((path, i) => {
      const is = !runs || lines[i].runs.some((run) => runs.includes(run));
      path.classList.toggle("weak", !is);
    });
  for (const row of rows) row.classList.toggle("strong", Boolean(runs?.includes(data.runs[row.dataset.run])));
};

const drawPanel = (metric, i, width) => {
  const figure = made("figure", { class: "panel" }, made("figcaption", {}, made("b", {}, metric.title)));
  const lines = linesOf(i);
  if (!lines.length) {
    figure.append(made("p", { class: "dim" }, "No run that is shown has it."));
    return figure;
  }
  const steps = [...new Set(lines.flatMap((line) => line.points.map(([x]) => x)))].sort((a, b) => a - b);
  const tip = tipOf(figure, lines);
  const { picture, paths } = chart({
    width,
    unit: data.steps,
    steps,
    lines,
    isLog: log.checked && lines.every((line) => isPositive(line.points)),
    weight: Number(smooth.value),
    label: `${metric.title} of ${lines.length} ${lines.length === 1 ? "line" : "lines"}. Arrow keys tell the values of each ${data.steps}.`,
    tell: tip,
  });
  drawn.push({ lines, paths });
  figure.append(picture);
  return figure;
};
const drawAll = () => {
  drawn = [];
  const columns = holder.clientWidth >= 860 && data.metrics.length > 1 ? 2 : 1;
  holder.style.setProperty("--columns", columns);
  const width = Math.max(240, Math.floor((holder.clientWidth - (columns - 1) * 24) / columns));
  holder.replaceChildren(...data.metrics.map((metric, i) => drawPanel(metric, i, width)));
};

// The best value of each metric among the runs that are shown.
const markBest = () => {
  data.metrics.forEach((metric, m) => {
    const cells = rows.map((row) => row.querySelector(`[data-metric="${m}"]`));
    const values = rows.map((row, i) => {
      const run = data.runs[row.dataset.run];
      return isShown(run) && cells[i].dataset.value !== "" ? Number(cells[i].dataset.value) : undefined;
    });
    const known = values.filter((value) => value !== undefined);
    const best = metric.best && known.length > 1 ? Math[metric.best](...known) : undefined;
    cells.forEach((cell, i) => cell.classList.toggle("best", best !== undefined && values[i] === best));
  });
};

const all = made("input", { type: "checkbox", "aria-label": "show all runs" });
const boxes = rows.map((row) => {
  const box = made("input", { type: "checkbox", "aria-label": `show ${data.runs[row.dataset.run].name}` });
  row.cells[0].prepend(box);
  box.addEventListener("change", () => {
    hidden[box.checked ? "delete" : "add"](data.runs[row.dataset.run].name);
    changed();
  });
  row.addEventListener("pointerenter", () => emphasize([data.runs[row.dataset.run]]));
  row.addEventListener("pointerleave", () => emphasize());
  return box;
});
all.addEventListener("change", () => {
  for (const run of data.runs) if (passes(run)) hidden[all.checked ? "delete" : "add"](run.name);
  changed();
});
const update = () => {
  rows.forEach((row, i) => {
    const run = data.runs[row.dataset.run];
    boxes[i].checked = !hidden.has(run.name);
    row.hidden = !passes(run);
    row.classList.toggle("off", hidden.has(run.name));
  });
  const passing = data.runs.filter(passes);
  const shown = passing.filter(isShown);
  all.checked = shown.length === passing.length;
  all.indeterminate = shown.length > 0 && shown.length < passing.length;
  document.getElementById("count").textContent = `${shown.length} of ${data.runs.length} runs shown`;
  markBest();
};
const changed = () => {
  kept.set("hidden", JSON.stringify([...hidden]));
  update();
  drawAll();
};

// The table in the order of a column. What has no value comes last.
const heads = [...table.tHead.rows[0].cells];
const sort = () => {
  heads.forEach((head, i) => {
    if (order?.column === i) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
  if (!order) return;
  const valueOf = (row) => row.cells[order.column]?.dataset.value ?? "";
  const compare = (a, b) => {
    const [x, y] = [valueOf(a), valueOf(b)];
    if (x === "" || y === "") return (x === "") - (y === "");
    const numbers = Number(x) - Number(y);
    const by = Number.isNaN(numbers) ? x.localeCompare(y, undefined, { numeric: true }) : numbers;
    return order.down ? -by : by;
  };
  body.append(...[...rows].sort(compare));
};
heads.forEach((head, i) => {
  const button = made("button", { type: "button" }, ...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => {
    const first = data.metrics[head.dataset.metric]?.best === "max";
    order = order?.column === i ? { column: i, down: !order.down } : { column: i, down: first };
    kept.set("order", JSON.stringify(order));
    sort();
  });
});
heads[0].prepend(all);

if (means) {
  means.checked = kept.get("means") === "true";
  means.addEventListener("change", () => {
    kept.set("means", means.checked);
    drawAll();
  });
}
filter.value = kept.get("filter") ?? "";
filter.addEventListener("input", () => {
  kept.set("filter", filter.value);
  changed();
});
document.getElementById("controls").hidden = false;
document.getElementById("choice").hidden = false;
log.closest("label").hidden = !data.runs.some((run) => run.curves.some((points) => points.length && isPositive(points)));
controlled(drawAll);
sort();
update();
fitted(holder, drawAll);
