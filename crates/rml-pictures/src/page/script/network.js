// The network as a picture: instances as boxes in layers from the inputs at the top to the outputs at the bottom. A box
// opens to show what is in it.
const opened = new Set();
const within = (path, instance) => instance === "" || path === instance || path.startsWith(`${instance}.`);
// The instance that stands for a box while those around it are closed; none if the box itself is shown.
const closedAround = (path) => {
  if (path === "") return undefined;
  const parts = path.split(".");
  for (let i = 1; i <= parts.length; i++) {
    const instance = parts.slice(0, i).join(".");
    if (!opened.has(instance)) return instance;
  }
  return undefined;
};
const elements = (type) =>
  (type.match(/\[([^\]]*)\]/)?.[1] ?? "").split(",").reduce((n, d) => n * (parseInt(d, 10) || 1), 1);
// What is shown: boxes of the program, and one for each closed instance.
const folded = () => {
  const shown = new Map();
  const of = data.network.boxes.map((box, i) => {
    // A parameter is part of what it is a parameter of.
    const instance = closedAround(box.path);
    const key = instance ?? `#${i}`;
    if (!shown.has(key))
      shown.set(
        key,
        instance === undefined
          ? { key, name: box.name, what: box.what, type: box.type, role: box.role, path: box.path }
          : { key, instance, role: "instance", parameters: [], count: 0 },
      );
    const own = shown.get(key);
    if (instance !== undefined) {
      own.count++;
      if (box.role === "parameter") own.parameters.push(box);
    }
    return key;
  });
  const lines = new Map();
  for (const [a, b, time] of data.network.lines) {
    const [from, to] = [of[a], of[b]];
    if (from === to && time === 0) continue;
    if (from === to && shown.get(from).instance !== undefined) {
      shown.get(from).state = true;
      continue;
    }
    const key = `${from} ${to} ${time}`;
    const line = lines.get(key) ?? { from: shown.get(from), to: shown.get(to), time, types: new Set() };
    line.types.add(data.network.boxes[a].type);
    lines.set(key, line);
  }
  return { boxes: [...shown.values()], lines: [...lines.values()] };
};
// Layers: each box is below those that it reads in the same cycle. A circle between closed instances is cut. A line
// that passes a layer has a point there, so that it runs beside the boxes.
const layered = ({ boxes, lines }) => {
  const reads = new Map(boxes.map((box) => [box, []]));
  for (const line of lines) if (line.time === 0) reads.get(line.to).push(line.from);
  const state = new Map();
  const layer = (box) => {
    if (state.get(box) === "open") return -1;
    if (box.layer !== undefined) return box.layer;
    state.set(box, "open");
    let deepest = -1;
    for (const from of reads.get(box)) deepest = Math.max(deepest, layer(from));
    state.set(box, "done");
    box.layer = deepest + 1;
    return box.layer;
  };
  boxes.forEach(layer);
  // Parameters and what starts a delay stand just above what reads them.
  for (const box of boxes) {
    const readers = lines.filter((line) => line.from === box && line.time === 0).map((line) => line.to.layer);
    if (reads.get(box).length === 0 && box.role !== "input" && readers.length)
      box.layer = Math.max(0, Math.min(...readers) - 1);
  }
  const layers = [];
  for (const box of boxes) (layers[box.layer] ??= []).push(box);
  for (const line of lines) {
    line.points = [];
    for (let at = line.from.layer + 1; line.time === 0 && at < line.to.layer; at++) {
      const point = { layer: at, point: true };
      line.points.push(point);
      (layers[at] ??= []).push(point);
    }
  }
  return Array.from(layers, (layer) => layer ?? []).filter((layer) => layer.length);
};
const shapeOf = (type) => type.match(/\[[^\]]*\]/)?.[0] ?? type;
// The texts in a box: what it is called, what it is, and the parameters in it.
const labelOf = (box) => {
  if (box.instance !== undefined) {
    const parameters = box.parameters.map((p) => `${p.name.replace(/^.*\./, "")} ${shapeOf(p.type)}`);
    const count = box.parameters.reduce((n, p) => n + elements(p.type), 0);
    const note = count
      ? `${amount(count, ["", "k", "M", "G"]).replace(" ", "").trim()} parameters`
      : `${box.count} values`;
    return [box.instance.replace(/^.*\./, ""), note, ...(parameters.length <= 4 ? parameters : [])];
  }
  const name = box.name.replace(/^.*\./, "");
  if (box.role !== "value") return [name, box.role === "parameter" ? shapeOf(box.type) : box.type];
  const what = box.what.length > 30 ? `${box.what.slice(0, 29)}…` : box.what;
  return name ? [name, what, box.type] : [what, box.type];
};
const arrangeBoxes = (layers, lines) => {
  const gap = 26;
  for (const layer of layers)
    for (const box of layer) {
      box.label = box.point ? [] : labelOf(box);
      box.width = box.point
        ? 8
        : Math.max(74, 22 + Math.max(box.label[0].length * 8, ...box.label.slice(1).map((text) => text.length * 6.3)));
      box.height = box.point ? 0 : 14 + 15 * box.label.length;
    }
  const near = new Map();
  for (const { from, to, time, points } of lines) {
    if (time !== 0) continue;
    const chain = [from, ...points, to];
    for (let i = 1; i < chain.length; i++)
      for (const [a, b] of [
        [chain[i - 1], chain[i]],
        [chain[i], chain[i - 1]],
      ])
        (near.get(a) ?? near.set(a, []).get(a)).push(b);
  }
  const spreadOut = (layer) => {
    let x = 0;
    for (const box of layer) {
      box.x = x + box.width / 2;
      x += box.width + gap;
    }
    for (const box of layer) box.x -= (x - gap) / 2;
  };
  layers.forEach(spreadOut);
  const mean = (box, fits) => {
    const others = (near.get(box) ?? []).filter(fits);
    return others.length ? others.reduce((sum, other) => sum + other.x, 0) / others.length : box.x;
  };
  for (let pass = 0; pass < 8; pass++) {
    const down = pass % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      const fits = (other) => (down ? other.layer < layer[0].layer : other.layer > layer[0].layer);
      for (const box of layer) box.wish = mean(box, fits);
      layer.sort((a, b) => a.wish - b.wish);
      // As near to the wish as neighbours leave room, from the middle outwards.
      let left = -Infinity;
      for (const box of layer) {
        box.x = Math.max(box.wish, left + box.width / 2);
        left = box.x + box.width / 2 + gap;
      }
      const shift = layer.reduce((sum, box) => sum + box.wish - box.x, 0) / layer.length;
      for (const box of layer) box.x += shift;
    }
  }
  let y = 24;
  for (const layer of layers) {
    const tall = Math.max(...layer.map((box) => box.height));
    for (const box of layer) {
      if (box.point) box.height = tall;
      box.y = y + (tall - box.height) / 2;
    }
    y += tall + 46;
  }
  return y;
};
// Opens instances of other instances, the largest first, as long as the picture stays small.
const openSome = () => {
  opened.add("");
  const refused = new Set();
  for (;;) {
    const closed = folded().boxes.filter((box) => box.instance !== undefined && !refused.has(box.instance));
    const next = closed
      .filter((box) => data.network.boxes.some((b) => b.path.startsWith(`${box.instance}.`)))
      .sort((a, b) => b.count - a.count)[0];
    if (!next) return;
    opened.add(next.instance);
    if (folded().boxes.length <= 18) continue;
    opened.delete(next.instance);
    refused.add(next.instance);
  }
};
const showNetwork = (panel) => {
  if (!opened.size) openSome();
  const graph = folded();
  const layers = layered(graph);
  const height = arrangeBoxes(layers, graph.lines);
  const left = Math.min(...graph.boxes.map((box) => box.x - box.width / 2)) - 100;
  const width = Math.max(...graph.boxes.map((box) => box.x + box.width / 2)) + 100 - left;
  const svg = draw("svg", {
    viewBox: `${left} 0 ${width} ${height}`,
    width,
    height,
    class: "network",
    role: "group",
    "aria-label": "The network",
  });
  const defs = draw("defs", {});
  for (const kind of ["same", "forward", "backward"]) {
    const marker = draw("marker", {
      id: `tip-${kind}`,
      viewBox: "0 0 8 8",
      refX: 7,
      refY: 4,
      markerWidth: 7,
      markerHeight: 7,
      orient: "auto",
    });
    marker.append(draw("path", { d: "M0,0 L8,4 L0,8 z", class: `tip ${kind}` }));
    defs.append(marker);
  }
  svg.append(defs);
  for (const line of graph.lines) svg.append(connection(line));
  for (const box of graph.boxes) svg.append(boxOf(box, panel));
  const tools = make("p", undefined, "hint");
  tools.append("A click or Enter opens an instance. ");
  for (const path of [...opened].filter((path) => path !== "" && closedAround(path) === undefined)) {
    tools.append(
      button(`close ${path}`, () => {
        for (const other of [...opened]) if (within(other, path)) opened.delete(other);
        showNetwork(panel);
      }),
    );
  }
  const legend = make("p", undefined, "legend");
  for (const [kind, text] of words)
    if (kind === "same" || graph.lines.some((l) => l.time === (kind === "forward" ? 1 : -1)))
      legend.append(make("span", text, kind));
  const box = make("div", undefined, "scrolls");
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", "The network");
  box.append(svg);
  panel.replaceChildren(tools, legend, box);
  box.scrollLeft = (box.scrollWidth - box.clientWidth) / 2;
};
const connection = ({ from, to, time, types, points }) => {
  const kind = time === 0 ? "same" : time > 0 ? "forward" : "backward";
  const group = draw("g", { class: `connection ${kind}` });
  const [x, y, x2, y2] = [from.x, from.y + from.height, to.x, to.y];
  let d = `M${x},${y}`;
  let [left, top] = [x, y];
  // Between boxes of a layer a line runs straight down.
  for (const [right, bottom, tall] of [...points.map((point) => [point.x, point.y, point.height]), [x2, y2, 0]]) {
    const bend = (bottom - top) / 2;
    d += ` C${left},${top + bend} ${right},${bottom - bend} ${right},${bottom}${tall ? ` v${tall}` : ""}`;
    [left, top] = [right, bottom + tall];
  }
  let label = points.length ? [points[0].x, points[0].y] : [(x + x2) / 2, (y + y2) / 2];
  if (to.y <= from.y) {
    // Upwards: around the right side of both.
    const side = Math.max(from.x + from.width / 2, to.x + to.width / 2) + 26;
    const [a, b] = [from.y + from.height / 2, to.y + to.height / 2];
    d = `M${from.x + from.width / 2},${a} C${side},${a} ${side},${b} ${to.x + to.width / 2},${b}`;
    if (from === to)
      d = `M${from.x + from.width / 2},${a + 8} C${side},${a + 14} ${side},${a - 14} ${from.x + from.width / 2},${a - 8}`;
    label = [side - 8, (a + b) / 2];
  }
  group.append(draw("path", { d, "marker-end": `url(#tip-${kind})` }));
  const text = types.size === 1 ? [...types][0] : `${types.size} values`;
  if (from.instance !== undefined || from.role === "input")
    group.append(draw("text", { x: label[0] + 5, y: label[1] + 3 }, text));
  group.append(
    draw(
      "title",
      {},
      `${[...types].join(", ")}${time === 0 ? "" : time > 0 ? ", of the previous cycle" : ", of the next cycle"}`,
    ),
  );
  return group;
};
const boxOf = (box, panel) => {
  const group = draw("g", { class: `box ${box.role}`, transform: `translate(${box.x - box.width / 2},${box.y})` });
  group.append(
    draw("rect", { width: box.width, height: box.height, rx: box.role === "input" || box.role === "output" ? 20 : 5 }),
  );
  box.label.forEach((text, i) =>
    group.append(draw("text", { x: box.width / 2, y: 18 + 15 * i, class: i ? "" : "title" }, text)),
  );
  const lists =
    box.instance === undefined
      ? [`${box.name || box.what}: ${box.type}`, box.what]
      : [box.instance, ...box.parameters.map((p) => `${p.name.replace(/^.*\./, "")}: ${p.type}`)];
  group.append(draw("title", {}, lists.join("\n")));
  if (box.state) group.append(draw("text", { x: box.width - 8, y: 12, class: "state" }, "↻"));
  if (box.instance === undefined) return group;
  group.setAttribute("tabindex", 0);
  group.setAttribute("role", "button");
  group.setAttribute("aria-label", `open ${box.instance}, ${box.label[1]}`);
  const act = () => {
    opened.add(box.instance);
    showNetwork(panel);
  };
  group.addEventListener("click", act);
  group.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    act();
  });
  return group;
};
