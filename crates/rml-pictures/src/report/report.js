// The learning curves of one training.
const data = JSON.parse(document.getElementById("curves-data").textContent);
const holder = document.getElementById("panels");
const colour = (i) => `var(--c${i % 6})`;
const stepsOf = (panel) => panel.lines.flatMap((line) => line.points.map(([x]) => x));
const all = [...new Set(data.panels.flatMap(stepsOf))].sort((a, b) => a - b);
const hasLog = (panel) => panel.lines.every((line) => isPositive(line.points));

const drawPanel = (panel) => {
  const values = made("output");
  const caption = made("figcaption", {}, made("b", {}, panel.title), values);
  const lines = panel.lines.map((line, i) => ({ ...line, colour: colour(i) }));
  const tell = (step, found) => {
    const at = step ?? all.at(-1);
    const of = (i) =>
      found ? found.find((entry) => entry.i === i) : { value: lines[i].points.find(([x]) => x === at)?.[1] };
    values.replaceChildren(
      made("span", {}, `${data.steps} ${at}`),
      ...lines.map((line, i) => {
        const entry = of(i);
        return made("span", { class: "key", style: `--own:${line.colour}` }, `${line.name} ${entry ? valueText(entry) : "–"}`);
      }),
    );
  };
  const { picture } = chart({
    width: Math.max(240, holder.clientWidth),
    unit: data.steps,
    steps: all,
    lines,
    mark: panel.mark,
    isLog: log.checked && hasLog(panel),
    weight: Number(smooth.value),
    label: summary(panel),
    tell,
  });
  tell();
  return made("figure", { class: "panel" }, caption, picture);
};
const summary = (panel) => {
  const last = panel.lines.map((line) => `${line.name} ${digits(line.points.at(-1)?.[1])}`).join(", ");
  const best = panel.mark
    ? `; best ${panel.lines[panel.mark.line].name} ${digits(panel.mark.value)} in ${data.steps} ${panel.mark.step}`
    : "";
  return `${panel.title}: at last ${last}${best}. Arrow keys tell the values of each ${data.steps}.`;
};
const drawAll = () => holder.replaceChildren(...data.panels.map(drawPanel));
document.getElementById("controls").hidden = false;
log.closest("label").hidden = !data.panels.some(hasLog);
controlled(drawAll);
fitted(holder, drawAll);
