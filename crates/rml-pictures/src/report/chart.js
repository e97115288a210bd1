"use strict";
// Curves over steps as SVG: as wide as their place, smoothed if asked for, on a linear or a logarithmic scale, with the
// values of the lines at the step under the pointer, or at the one that arrow keys choose.
const LEFT = 58;
const RIGHT = 14;
const HEIGHT = 190;
const BELOW = 24;
// The most lines whose values are told at once.
const TOLD = 14;
const svg = (tag, attributes, text) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
};
const made = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
const digits = (x) => (x === null || x === undefined ? "–" : String(Number(x.toPrecision(5))));

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

// A moving average that weighs what is further back less, without the bias of its beginning.
const smoothed = (points, weight) => {
  let [sum, all] = [0, 0];
  return points.map(([x, y]) => {
    if (y === null) return [x, null];
    sum = sum * weight + y * (1 - weight);
    all = all * weight + (1 - weight);
    return [x, sum / all];
  });
};

// The value of a line at a step: that of its last point up to there, if it goes so far.
const valueAt = (points, step) => {
  if (!points.length || points.at(-1)[0] < step) return undefined;
  let [low, high] = [-1, points.length];
  while (high - low > 1) {
    const mid = (low + high) >> 1;
    if (points[mid][0] <= step) low = mid;
    else high = mid;
  }
  return points[low]?.[1];
};

// What is drawn between the edges: a path with gaps where there is no value, and points that stand alone.
const traced = (points, x, y) => {
  let path = "";
  const alone = [];
  points.forEach(([step, value], i) => {
    if (value === null) return;
    const before = i > 0 && points[i - 1][1] !== null;
    const after = i + 1 < points.length && points[i + 1][1] !== null;
    path += `${before ? "L" : "M"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`;
    if (!before && !after) alone.push([x(step), y(value)]);
  });
  return [path || "M0 0", alone];
};

// A picture of lines `{name, colour, points, band, isStrong}`. `tell(at, step, values)` is called with what is under the
// pointer.
const chart = ({ width, unit, steps, lines, mark, isLog, weight, label, tell }) => {
  const shown = lines.map((line) => ({ ...line, smooth: weight > 0 ? smoothed(line.points, weight) : line.points }));
  const bands = shown.flatMap((line) => line.band ?? []);
  const numbers = shown
    .flatMap((line) => line.points.map(([, y]) => y))
    .concat(bands.flatMap(([, low, high]) => [low, high]))
    .filter((y) => y !== null && (!isLog || y > 0));
  let [low, high] = numbers.reduce(([a, b], y) => [Math.min(a, y), Math.max(b, y)], [Infinity, -Infinity]);
  if (!numbers.length) [low, high] = isLog ? [1, 10] : [0, 1];
  if (low === high)
    [low, high] = isLog ? [low / 2, high * 2] : [low - Math.abs(low || 1) / 10, high + Math.abs(high || 1) / 10];
  const edge = isLog ? 0 : (high - low) * 0.06;
  const scale = isLog ? Math.log : (x) => x;
  const [from, to] = [scale(isLog ? low / 1.1 : low - edge), scale(isLog ? high * 1.1 : high + edge)];
  const y = (value) => HEIGHT - ((scale(isLog ? Math.max(value, low / 1.1) : value) - from) / (to - from)) * (HEIGHT - 10);
  const [first, last] = [steps[0], steps.at(-1)];
  const x = (step) => LEFT + (steps.length < 2 ? 0.5 : (step - first) / (last - first)) * (width - LEFT - RIGHT - 8) + 4;
  const picture = svg("svg", {
    viewBox: `0 0 ${width} ${HEIGHT + BELOW}`,
    width,
    height: HEIGHT + BELOW,
    tabindex: 0,
    role: "img",
    "aria-label": label,
  });
  for (const at of isLog ? powers(low / 1.1, high * 1.1) : ticks(low - edge, high + edge))
    picture.append(
      svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(at), y2: y(at) }),
      svg("text", { class: "end", x: LEFT - 6, y: y(at) + 4 }, digits(at)),
    );
  for (const at of steps.length < 2 ? steps : ticks(first, last).filter(Number.isInteger))
    picture.append(svg("text", { class: "mid", x: x(at), y: HEIGHT + 16 }, at));
  picture.append(
    svg("text", { class: "end", x: LEFT - 6, y: HEIGHT + 16 }, unit),
    svg("path", { class: "frame", d: `M${LEFT} 8V${HEIGHT}H${width - RIGHT}` }),
  );
  if (mark) drawMark(picture, { ...mark, lines, x, y, width, unit });
  const pointer = svg("line", { class: "pointer", y1: 8, y2: HEIGHT, x1: -9, x2: -9 });
  const paths = shown.map((line) => {
    const group = svg("g", { class: "line", style: `--own:${line.colour}` });
    if (line.band?.length) {
      const upper = line.band.map(([s, , b]) => `${x(s).toFixed(1)} ${y(b).toFixed(1)}`);
      const lower = line.band.map(([s, a]) => `${x(s).toFixed(1)} ${y(a).toFixed(1)}`).reverse();
      group.append(svg("path", { class: "band", d: `M${upper.concat(lower).join("L")}Z` }));
    }
    if (weight > 0) group.append(svg("path", { class: "raw", d: traced(line.points, x, y)[0] }));
    const [path, alone] = traced(line.smooth, x, y);
    group.append(svg("path", { class: "curve", d: path }));
    for (const [cx, cy] of alone) group.append(svg("circle", { cx, cy, r: 2.6 }));
    picture.append(group);
    return group;
  });
  picture.append(pointer);
  const show = (step, height) => {
    const values = shown
      .map((line, i) => {
        const value = valueAt(line.smooth, step);
        return { line, i, value, raw: weight > 0 ? valueAt(line.points, step) : undefined };
      })
      .filter(({ value }) => value !== undefined && value !== null);
    const far = ({ value }) => Math.abs(y(value) - height);
    const near =
      height === undefined || !values.length ? undefined : values.reduce((a, b) => (far(b) < far(a) ? b : a)).i;
    for (const end of ["x1", "x2"]) pointer.setAttribute(end, x(step));
    tell(step, values, near, x(step));
  };
  const clear = () => {
    for (const end of ["x1", "x2"]) pointer.setAttribute(end, -9);
    tell();
  };
  let chosen;
  picture.addEventListener("pointermove", (event) => {
    const place = picture.getBoundingClientRect();
    const at = event.clientX - place.left;
    chosen = steps.reduce((best, step) => (Math.abs(x(step) - at) < Math.abs(x(best) - at) ? step : best), first);
    show(chosen, event.clientY - place.top);
  });
  picture.addEventListener("pointerleave", () => {
    chosen = undefined;
    clear();
  });
  picture.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const at = chosen === undefined ? steps.length - (by < 0 ? 0 : 1) : steps.indexOf(chosen);
    chosen = steps[Math.max(0, Math.min(steps.length - 1, at + by))];
    show(chosen);
  });
  picture.addEventListener("blur", () => {
    chosen = undefined;
    clear();
  });
  return { picture, paths };
};

// The best step of a line.
const drawMark = (picture, { step, value, line, lines, x, y, width, unit }) => {
  const right = x(step) > width / 2;
  const isHigh = lines[line].points.every(([, v]) => v === null || v <= value);
  picture.append(
    svg("line", { class: "best", x1: x(step), x2: x(step), y1: 8, y2: HEIGHT }),
    svg(
      "text",
      { class: `best ${right ? "end" : ""}`, x: x(step) + (right ? -6 : 6), y: isHigh ? HEIGHT - 22 : 20 },
      `best ${lines[line].name}: ${digits(value)}, ${unit} ${step}`,
    ),
    svg("circle", { class: "best", style: `--own:${lines[line].colour}`, cx: x(step), cy: y(value), r: 5 }),
  );
};

// A value with what it was before it was smoothed.
const valueText = ({ value, raw }) => (raw === undefined ? digits(value) : `${digits(value)} (${digits(raw)})`);

// What is chosen is kept while a server sends the page again and again.
const kept = {
  get(name) {
    try {
      return sessionStorage.getItem(name);
    } catch {
      return null;
    }
  },
  set(name, value) {
    try {
      sessionStorage.setItem(name, value);
    } catch {}
  },
};

// The controls of the scale and of smoothing, and what draws everything again.
const log = document.getElementById("log");
const smooth = document.getElementById("smooth");
const controlled = (draw) => {
  const smoothness = document.getElementById("smoothness");
  log.checked = kept.get("log") === "true";
  smooth.value = kept.get("smooth") ?? 0;
  const say = () => (smoothness.textContent = Number(smooth.value) > 0 ? Number(smooth.value).toFixed(2) : "none");
  log.addEventListener("change", () => {
    kept.set("log", log.checked);
    draw();
  });
  smooth.addEventListener("input", () => {
    kept.set("smooth", smooth.value);
    say();
    draw();
  });
  say();
};
const isPositive = (points) => points.every(([, y]) => y === null || y > 0);

// Whether the reader looks at values, or types.
const isPointing = () => Boolean(document.querySelector(".panel svg:hover, .panel svg:focus, input[type=search]:focus"));

// Draws again when the place has another width.
const fitted = (holder, draw) => {
  let wide = 0;
  new ResizeObserver(() => {
    if (holder.clientWidth === wide) return;
    wide = holder.clientWidth;
    requestAnimationFrame(draw);
  }).observe(holder);
};
