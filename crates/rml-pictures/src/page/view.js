"use strict";
// The page of a chronogram: the source beside the table. The cell under the pointer shows what it comes from and what comes of it.
const data = JSON.parse(document.getElementById("data").textContent);
const make = (tag, text, kind) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
};
const table = document.getElementById("table");
const arrows = document.getElementById("arrows");
const key = (row, cycle) => row * data.cycles + cycle;

// What is known of the program, what is wrong with it, and its forms behind tabs.
document.getElementById("findings").textContent = data.findings;
for (const line of data.verdict) document.getElementById("verdict").append(make("p", line));
const panels = [];
const tab = (name) => {
  const panel = make("div");
  const button = make("button", name);
  button.type = "button";
  button.setAttribute("role", "tab");
  const choose = () => {
    for (const [other, its] of panels) {
      other.hidden = other !== panel;
      its.setAttribute("aria-selected", other === panel);
    }
  };
  button.addEventListener("click", choose);
  panels.push([panel, button]);
  document.getElementById("tabs").append(button);
  document.getElementById("source").append(panel);
  choose();
  return panel;
};
for (const form of data.forms) tab(form.name).append(make("pre", form.text));
for (const side of data.sides) {
  // The lines that it comes from at the left, once for all that follow each other from the same ones.
  const list = make("table", undefined, "side");
  list.append(make("caption", `${side.name}, and the lines that its equations come from`));
  const head = make("tr");
  head.append(make("th", "line"), make("th", side.name));
  list.append(head);
  let last = "";
  for (const row of side.rows) {
    const line = make("tr");
    const from = make("td");
    const places = row.from.map((origin) => origin.place).join();
    if (places !== last)
      for (const origin of row.from) {
        const place = make(origin.line ? "button" : "b", origin.place);
        if (origin.line) {
          place.type = "button";
          place.addEventListener("click", () => jump(origin.line));
        }
        const part = make("div");
        part.append(place, make("code", origin.text));
        from.append(part);
      }
    last = places;
    const text = make("td");
    text.append(make("code", row.text));
    line.append(from, text);
    list.append(line);
  }
  tab(side.name).append(list);
}
const text = tab("source");
document.getElementById("tabs").hidden = data.forms.length + data.sides.length === 0;
document.getElementById("tabs").prepend(panels.at(-1)[1]);

// The source, with the types of variables in the margin.
const lines = new Map();
for (const [file, source] of data.sources.entries()) {
  const list = make("ol");
  source.text.split("\n").forEach((text, n) => {
    const item = make("li");
    item.append(make("b", n + 1), make("span", text));
    lines.set(file + ":" + (n + 1), item);
    list.append(item);
  });
  text.append(make("h2", source.name), list);
}
// From a line of an adjoint to the source.
const jump = (line) => {
  panels.at(-1)[1].click();
  const item = lines.get(line.join(":"));
  item.scrollIntoView({ block: "center" });
  for (const other of document.querySelectorAll("li.on")) other.classList.remove("on");
  item.classList.add("on");
};
// What a line costs, at its right end.
const amount = (x, units) => {
  const unit = Math.max(0, Math.min(units.length - 1, Math.floor(Math.log10(Math.max(x, 1)) / 3)));
  return `${(x / 1000 ** unit).toPrecision(3).replace(/\.0+$/, "")} ${units[unit]}`;
};
for (const cost of data.costs) {
  const parts = [amount(cost.bytes, ["B", "kB", "MB", "GB"])];
  if (cost.ns > 0) parts.push(amount(cost.ns, ["ns", "µs", "ms", "s"]));
  const note = make("s", parts.join(", "));
  note.title = "bytes of the values that this line computes in a cycle, and its time in this run, gradients included";
  lines.get(cost.line.join(":"))?.append(note);
}
const lineOf = (row) => (row.line ? lines.get(row.line.join(":")) : undefined);

// The table.
const cells = [];
const grid = make("table");
grid.setAttribute("role", "grid");
const head = make("tr");
head.append(make("th", data.axis));
for (let n = 0; n < data.cycles; n++) head.append(make("th", n));
const body = make("tbody");
const texts = ["□", "?", "⊥", ""];
const heads = [];
for (const [r, row] of data.rows.entries()) {
  const line = make("tr");
  const name = make("th", row.name);
  name.title = row.type;
  line.append(name);
  heads.push(line);
  row.cells.forEach((cell, n) => {
    const known = typeof cell === "string";
    const td = make("td", known ? cell : texts[cell], known ? "" : cell === 0 || cell === 3 ? "a" : "u");
    td.tabIndex = r === 0 && n === 0 ? 0 : -1;
    td.dataset.at = key(r, n);
    td.setAttribute("aria-label", `${row.name}, cycle ${n}: ${td.textContent}`);
    cells[key(r, n)] = td;
    line.append(td);
  });
  body.append(line);
  const place = lineOf(row);
  if (place) {
    // Where the type is written it need not be said again.
    if (!place.textContent.includes(row.name + ":")) {
      const notes = place.querySelector("i") ?? place.appendChild(make("i", ""));
      notes.textContent += (notes.textContent ? "  " : "") + `${row.name}: ${row.type}`;
    }
    place.classList.add("known");
    place.addEventListener("mouseenter", () => heads[r].classList.add("on"));
    place.addEventListener("mouseleave", () => heads[r].classList.remove("on"));
    place.addEventListener("click", () => cells[key(r, 0)]?.scrollIntoView({ block: "center" }));
  }
}
const thead = make("thead");
thead.append(head);
grid.append(thead, body);
table.prepend(grid);

// What each cell comes from, and what comes of it.
const causes = new Map();
const effects = new Map();
const push = (map, at, other) => (map.get(at) ?? map.set(at, []).get(at)).push(other);
for (const [r, n, r2, n2] of data.arrows) {
  push(causes, key(r2, n2), key(r, n));
  push(effects, key(r, n), key(r2, n2));
}
const cone = (from, map) => {
  const edges = [];
  const seen = new Set([from]);
  for (let front = [from], depth = 0; front.length && edges.length < 600; depth++) {
    const next = [];
    for (const at of front)
      for (const other of map.get(at) ?? []) {
        edges.push([at, other, depth]);
        if (!seen.has(other)) {
          seen.add(other);
          next.push(other);
        }
      }
    front = next;
  }
  return edges;
};
const centre = (at) => {
  const td = cells[at];
  return [td.offsetLeft + td.offsetWidth / 2, td.offsetTop + td.offsetHeight / 2];
};
const clear = () => {
  arrows.replaceChildren();
  for (const td of grid.querySelectorAll(".cone, .at")) td.classList.remove("cone", "at");
  for (const item of document.querySelectorAll(".on")) item.classList.remove("on");
};
const draw = (from, to, depth, kind) => {
  const [x, y] = centre(from);
  const [x2, y2] = centre(to);
  const [n, n2] = [from % data.cycles, to % data.cycles];
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  const bend = y === y2 ? 14 : 0;
  path.setAttribute("d", `M${x},${y} Q${(x + x2) / 2},${(y + y2) / 2 - bend} ${x2},${y2}`);
  path.setAttribute("marker-end", "url(#tip)");
  path.setAttribute("class", (n === n2 ? "same" : n < n2 ? "forward" : "backward") + " " + kind);
  path.style.opacity = Math.max(0.2, 1 - depth * 0.16);
  arrows.append(path);
};
const marker = arrows.querySelector("defs");
const show = (at) => {
  clear();
  arrows.append(marker);
  arrows.setAttribute("width", grid.offsetWidth);
  arrows.setAttribute("height", grid.offsetHeight);
  cells[at].classList.add("at");
  for (const [to, from, depth] of cone(at, causes)) {
    draw(from, to, depth, "cause");
    cells[from].classList.add("cone");
  }
  for (const [from, to, depth] of cone(at, effects)) draw(from, to, depth, "effect");
  const row = data.rows[Math.floor(at / data.cycles)];
  heads[Math.floor(at / data.cycles)].classList.add("on");
  const line = lineOf(row);
  if (line) line.classList.add("on");
  value(at, row);
};

// The value of a cell: its numbers, and as a map of colours where there are two dimensions or many numbers.
const value = (at, row) => {
  const panel = document.getElementById("value");
  panel.replaceChildren(make("h2", `${row.name}: ${row.type}, cycle ${at % data.cycles}`));
  const tensor = data.tensors[at];
  if (tensor === undefined) {
    panel.append(make("pre", cells[at].textContent));
    return;
  }
  const flat = tensor.flat(Infinity).map(Number);
  const columns = Array.isArray(tensor[0]) ? tensor.flat(Infinity).length / tensor.length : flat.length;
  const most = Math.max(...flat.map(Math.abs).filter(Number.isFinite), 1e-12);
  const map = make("div", undefined, "map");
  map.style.gridTemplateColumns = `repeat(${Math.min(columns, 64)}, 14px)`;
  for (const x of flat) {
    const box = make("span");
    const share = Math.round((Math.abs(x) / most) * 100);
    box.title = x;
    box.style.background = Number.isFinite(x)
      ? `color-mix(in srgb, var(${x < 0 ? "--backward" : "--forward"}) ${share}%, var(--absent))`
      : "repeating-linear-gradient(45deg, #000, #000 2px, #f0f 2px, #f0f 4px)";
    map.append(box);
  }
  panel.append(map, make("pre", JSON.stringify(tensor)));
};

// The order in which cells become known: when the last of the cycles is read that they come from, then by what they come from.
const order = () => {
  const when = cells.map((_, at) => [at % data.cycles, 0]);
  const waiting = cells.map((_, at) => (causes.get(at) ?? []).length);
  let front = [...cells.keys()].filter((at) => waiting[at] === 0);
  while (front.length) {
    const next = [];
    for (const at of front)
      for (const other of effects.get(at) ?? []) {
        const own = when[other];
        if (when[at][0] > own[0] || (when[at][0] === own[0] && when[at][1] + 1 > own[1])) {
          own[1] = when[at][1] + 1;
          own[0] = when[at][0];
        }
        if (--waiting[other] === 0) next.push(other);
      }
    front = next;
  }
  const keys = [...new Set(when.map(([cycle, step]) => cycle * 1e6 + step))].sort((a, b) => a - b);
  const rank = new Map(keys.map((k, i) => [k, i]));
  return [when.map(([cycle, step]) => rank.get(cycle * 1e6 + step)), keys.length];
};
const [ranks, steps] = order();
const step = document.getElementById("step");
step.max = steps;
step.value = steps;
const upTo = (rank) => cells.forEach((td, at) => td.classList.toggle("later", ranks[at] >= rank));
step.addEventListener("input", () => upTo(Number(step.value)));
let timer;
const play = document.getElementById("play");
const stop = () => {
  clearInterval(timer);
  timer = undefined;
  play.textContent = "Play";
};
play.addEventListener("click", () => {
  if (timer) return stop();
  if (Number(step.value) >= steps) step.value = 0;
  play.textContent = "Stop";
  timer = setInterval(() => {
    step.value = Number(step.value) + 1;
    upTo(Number(step.value));
    if (Number(step.value) >= steps) stop();
  }, Math.max(20, Math.min(400, 6000 / steps)));
});

// Pointer, keys, zoom; a cell can be held, and stands in the address then.
let held;
const of = (event) => {
  const at = event.target.dataset?.at;
  return at === undefined ? undefined : Number(at);
};
const hold = (at) => {
  held = at;
  history.replaceState(null, "", at === undefined ? "#" : `#${Math.floor(at / data.cycles)},${at % data.cycles}`);
  if (at === undefined) clear();
  else show(at);
};
table.addEventListener("mouseover", (event) => {
  const at = of(event);
  if (held === undefined && at !== undefined) show(at);
});
table.addEventListener("click", (event) => {
  const at = of(event);
  if (at !== undefined) hold(held === at ? undefined : at);
});
table.addEventListener("focusin", (event) => {
  const at = of(event);
  if (held === undefined && at !== undefined) show(at);
});
table.addEventListener("keydown", (event) => {
  const at = of(event);
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -data.cycles, ArrowDown: data.cycles }[event.key];
  if (at === undefined) return;
  if (event.key === "Enter") hold(held === at ? undefined : at);
  else if (event.key === "Escape") hold(undefined);
  else if (by && cells[at + by] && (Math.abs(by) > 1 || Math.floor((at + by) / data.cycles) === Math.floor(at / data.cycles))) {
    cells[at].tabIndex = -1;
    cells[at + by].tabIndex = 0;
    cells[at + by].focus();
  } else return;
  event.preventDefault();
});
document.getElementById("zoom").addEventListener("input", (event) => {
  document.documentElement.style.setProperty("--width", `${event.target.value}rem`);
  if (held !== undefined) show(held);
});
const address = /^#(\d+),(\d+)$/.exec(location.hash);
const start = address && key(Number(address[1]), Number(address[2]));
if (cells[start]) {
  cells[start].scrollIntoView({ block: "nearest", inline: "center" });
  hold(start);
}

// A page of a server is loaded again when there is another one.
if (data.live) {
  let state;
  const look = async () => {
    try {
      const answer = await (await fetch("state", { cache: "no-store" })).text();
      if (state !== undefined && answer !== state) location.reload();
      state = answer;
    } catch {
      document.getElementById("findings").textContent = "rml view has ended";
      state = "";
    }
    setTimeout(look, document.hidden ? 5000 : 500);
  };
  look();
}
