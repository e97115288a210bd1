"use strict";
// The learning curves as wide as the window, with the values under the pointer, the best step, and a logarithmic scale.
const data = JSON.parse(document.getElementById("curves-data").textContent);
const LEFT = 58;
const RIGHT = 14;
const HEIGHT = 190;
const BELOW = 24;
const svg = (tag, attributes, text) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
};
const digits = (x) => (x === null ? "–" : String(Number(x.toPrecision(5))));
const log = document.getElementById("log");
const holder = document.getElementById("panels");
const stepsOf = (panel) =>
  [...new Set(panel.lines.flatMap((line) => line.points.map(([x]) => x)))].sort((a, b) => a - b);
const all = [...new Set(data.panels.flatMap(stepsOf))].sort((a, b) => a - b);
const isPositive = (panel) => panel.lines.every((line) => line.points.every(([, y]) => y === null || y > 0));

// Round numbers, about five of them.
const ticks = (low, high) => {
  const least = (high - low) / 5 || 1;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((f) => f * power).find((f) => f >= least * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high * (1 + 1e-9) && found.length < 12; i++)
    found.push(Number((i * step).toPrecision(10)));
  return found;
};
const powers = (low, high) => {
  const found = [];
  for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p++)
    for (const f of Math.log10(high / low) > 2 ? [1] : [1, 2, 5]) found.push(f * 10 ** p);
  return found.filter((x) => x >= low && x <= high).map((x) => Number(x.toPrecision(6)));
};

const drawPanel = (panel) => {
  const figure = document.createElement("figure");
  figure.className = "panel";
  const caption = document.createElement("figcaption");
  const title = document.createElement("b");
  title.textContent = panel.title;
  const values = document.createElement("output");
  caption.append(title, values);
  const width = Math.max(240, holder.clientWidth);
  const isLog = log.checked && isPositive(panel);
  const numbers = panel.lines.flatMap((line) => line.points.map(([, y]) => y)).filter((y) => y !== null);
  let [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  if (!numbers.length) [low, high] = [0, 1];
  if (low === high)
    [low, high] = isLog ? [low / 2, high * 2] : [low - Math.abs(low || 1) / 10, high + Math.abs(high || 1) / 10];
  const edge = isLog ? 0 : (high - low) * 0.06;
  const scale = isLog ? Math.log : (x) => x;
  const [from, to] = [scale(isLog ? low / 1.1 : low - edge), scale(isLog ? high * 1.1 : high + edge)];
  const y = (value) => HEIGHT - ((scale(value) - from) / (to - from)) * (HEIGHT - 10);
  const x = (step) =>
    LEFT + (all.length < 2 ? 0.5 : (step - all[0]) / (all.at(-1) - all[0])) * (width - LEFT - RIGHT - 8) + 4;
  const picture = svg("svg", {
    viewBox: `0 0 ${width} ${HEIGHT + BELOW}`,
    width,
    height: HEIGHT + BELOW,
    tabindex: 0,
    role: "img",
    "aria-label": summary(panel),
  });
  for (const at of isLog ? powers(low / 1.1, high * 1.1) : ticks(low - edge, high + edge))
    picture.append(
      svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(at), y2: y(at) }),
      svg("text", { class: "end", x: LEFT - 6, y: y(at) + 4 }, digits(at)),
    );
  for (const at of all.length < 2 ? all : ticks(all[0], all.at(-1)).filter(Number.isInteger))
    picture.append(svg("text", { class: "mid", x: x(at), y: HEIGHT + 16 }, at));
  picture.append(
    svg("text", { class: "end", x: LEFT - 6, y: HEIGHT + 16 }, data.steps),
    svg("path", { class: "frame", d: `M${LEFT} 8V${HEIGHT}H${width - RIGHT}` }),
  );
  const isHigh =
    Boolean(panel.mark) && panel.lines[panel.mark.line].points.every(([, v]) => v === null || v <= panel.mark.value);
  if (panel.mark) {
    const { step, value, line } = panel.mark;
    const right = x(step) > width / 2;
    picture.append(
      svg("line", { class: "best", x1: x(step), x2: x(step), y1: 8, y2: HEIGHT }),
      svg(
        "text",
        { class: `best ${right ? "end" : ""}`, x: x(step) + (right ? -6 : 6), y: isHigh ? HEIGHT - 22 : 20 },
        `best ${panel.lines[line].name}: ${digits(value)}, ${data.steps} ${step}`,
      ),
      svg("circle", { class: `c${line % 6} best`, cx: x(step), cy: y(value), r: 5 }),
    );
  }
  panel.lines.forEach((line, i) => {
    let path = "";
    let before = false;
    for (const [step, value] of line.points) {
      if (value === null) before = false;
      else {
        path += `${before ? "L" : "M"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`;
        if (!before || line.points.length < 3)
          picture.append(svg("circle", { class: `c${i % 6}`, cx: x(step), cy: y(value), r: 2.2 }));
        before = true;
      }
    }
    picture.append(svg("path", { class: `curve c${i % 6}`, d: path || "M0 0" }));
  });
  const pointer = svg("line", { class: "pointer", y1: 8, y2: HEIGHT, x1: -9, x2: -9 });
  picture.append(pointer);
  const tell = (step) => {
    values.replaceChildren();
    const at = step ?? all.at(-1);
    const head = document.createElement("span");
    head.textContent = `${data.steps} ${at}`;
    values.append(head);
    panel.lines.forEach((line, i) => {
      const found = line.points.find(([x]) => x === at);
      const item = document.createElement("span");
      item.className = `key c${i % 6}`;
      item.textContent = `${line.name} ${found ? digits(found[1]) : "–"}`;
      values.append(item);
    });
    for (const end of ["x1", "x2"]) pointer.setAttribute(end, step === undefined ? -9 : x(step));
  };
  let chosen;
  picture.addEventListener("pointermove", (event) => {
    const at = event.clientX - picture.getBoundingClientRect().left;
    chosen = all.reduce((best, step) => (Math.abs(x(step) - at) < Math.abs(x(best) - at) ? step : best), all[0]);
    tell(chosen);
  });
  picture.addEventListener("pointerleave", () => tell((chosen = undefined)));
  picture.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const at = chosen === undefined ? all.length - (by < 0 ? 0 : 1) : all.indexOf(chosen);
    chosen = all[Math.max(0, Math.min(all.length - 1, at + by))];
    tell(chosen);
  });
  picture.addEventListener("blur", () => tell((chosen = undefined)));
  tell();
  figure.append(caption, picture);
  return figure;
};
const summary = (panel) => {
  const last = panel.lines.map((line) => `${line.name} ${digits(line.points.at(-1)?.[1] ?? null)}`).join(", ");
  const best = panel.mark
    ? `; best ${panel.lines[panel.mark.line].name} ${digits(panel.mark.value)} in ${data.steps} ${panel.mark.step}`
    : "";
  return `${panel.title}: at last ${last}${best}. Arrow keys tell the values of each ${data.steps}.`;
};
const drawAll = () => holder.replaceChildren(...data.panels.map(drawPanel));
document.getElementById("scale").hidden = !data.panels.some(isPositive);
// The choice of the scale is kept while a server sends the page again and again.
try {
  log.checked = sessionStorage.getItem("log") === "true";
} catch {}
log.addEventListener("change", () => {
  try {
    sessionStorage.setItem("log", log.checked);
  } catch {}
  drawAll();
});
let wide = 0;
new ResizeObserver(() => {
  if (holder.clientWidth === wide) return;
  wide = holder.clientWidth;
  requestAnimationFrame(drawAll);
}).observe(holder);
