// The chosen cell in words: its value, why it has it, and when that becomes known.
const sentence = (at) => {
  const row = data.rows[rowOf(at)];
  // Names of the row's own instance need no path.
  const written = data.reasons[row.why[cycleOf(at)]] ?? "";
  const text = row.path ? written.replaceAll(`${row.path}.`, "") : written;
  const cell = row.cells[cycleOf(at)];
  if (cell === 1 || cell === 2) {
    const awaited = (causes.get(at) ?? [])[0];
    return awaited === undefined
      ? text
      : text.replace(
          /\.$/,
          `; it waits for \`${data.rows[rowOf(awaited)].name}\` in ${data.axis} ${cycleOf(awaited)}.`,
        );
  }
  const when = known.cycle[at];
  return when > cycleOf(at) ? text.replace(/\.$/, `; it becomes known in ${data.axis} ${when}.`) : text;
};
const describe = (at) => {
  const panel = $("value");
  panel.replaceChildren();
  if (at === undefined) {
    const line = lines[cursor.line];
    if (line?.row !== undefined) describeRow(panel, line.row);
    else if (line?.group) panel.append(prose(`Instance \`${line.group.path}\`: ${rowsIn(line.group)} rows.`));
    return;
  }
  const row = data.rows[rowOf(at)];
  const head = make("h2");
  head.append(make("code", row.name), make("span", ` in ${data.axis} ${cycleOf(at)}`), make("span", row.type, "type"));
  panel.append(head);
  if (!isKnown(at)) {
    panel.append(make("p", "It is not known yet."));
    return;
  }
  panel.append(prose(sentence(at)));
  const tensor = data.tensors[at];
  if (tensor !== undefined) describeTensor(panel, at);
  else {
    const value = make("p", undefined, "number");
    value.append(make("strong", cellText(at)));
    if (row.kind === "number" && cycles > 2) value.append(curve(row, cycleOf(at)));
    panel.append(value);
  }
  panel.append(others("from", at, causes), others("used by", at, effects));
};
const describeRow = (panel, r) => {
  const row = data.rows[r];
  const head = make("h2");
  head.append(make("code", row.name), make("span", row.type, "type"));
  panel.append(head);
  if (row.kind === "number") {
    panel.append(make("p", `from ${short(row.low)} to ${short(row.high)}`), curve(row));
  } else if (row.kind === "tensor") panel.append(make("p", `The element that is farthest from 0: ${short(row.most)}`));
};
// The cells at the other ends of arrows, as buttons that go there.
const others = (word, at, map) => {
  const found = nearest(at, map);
  const list = make("p", undefined, "others");
  if (!found.length) return list;
  list.append(make("span", word));
  for (const other of found.slice(0, 24)) {
    const [a, b] = [cycleOf(other), cycleOf(at)];
    const forward = map === causes ? a < b : b < a;
    const kind = a === b ? "same" : forward ? "forward" : "backward";
    const item = button("", () => goTo(other), `${kind} ${map === causes ? "cause" : "effect"}`);
    item.append(make("code", data.rows[rowOf(other)].name), a === b ? "" : ` ${data.axis} ${a}`);
    item.title = `${cellText(other)} (${{ same: "same cycle", forward: "forward in time", backward: "backward in time" }[kind]})`;
    list.append(item);
  }
  if (found.length > 24) list.append(make("span", `and ${found.length - 24} more`));
  return list;
};
// The numbers of a row as a line, with a point at a cycle.
const curve = (row, at) => {
  const [width, height] = [220, 44];
  const svg = draw("svg", {
    viewBox: `0 0 ${width} ${height}`,
    class: "curve",
    role: "img",
    "aria-label": `${row.name} from ${short(row.low)} to ${short(row.high)}`,
  });
  const x = (n) => 4 + (n / Math.max(1, cycles - 1)) * (width - 8);
  const y = (v) => height - 5 - ((v - row.low) / (row.high - row.low || 1)) * (height - 10);
  let steps = "";
  let before = false;
  row.numbers.forEach((v, n) => {
    if (!isKnown(place(data.rows.indexOf(row), n)) || !Number.isFinite(v)) return;
    steps += `${before ? "L" : "M"}${x(n).toFixed(1)} ${y(v).toFixed(1)}`;
    before = true;
  });
  svg.append(draw("path", { d: steps || "M0 0" }));
  if (at !== undefined && Number.isFinite(row.numbers[at]))
    svg.append(draw("circle", { cx: x(at), cy: y(row.numbers[at]), r: 3.5 }));
  return svg;
};
// A tensor as a map of colours, and as numbers for who asks.
const describeTensor = (panel, at) => {
  const values = flat(at);
  const row = data.rows[rowOf(at)];
  const finite = values.filter(Number.isFinite);
  let [rows, columns] = sizes(at);
  if (rows === 1 && columns > 32) [rows, columns] = [Math.ceil(values.length / 32), 32];
  const picture = drawn(values, rows, columns, row.most);
  const box = clamp(Math.floor(Math.min(320 / columns, 120 / rows)), 3, 16);
  picture.style.width = `${columns * box}px`;
  picture.style.height = `${rows * box}px`;
  picture.className = "map";
  picture.setAttribute("role", "img");
  const mean = finite.reduce((a, b) => a + b, 0) / Math.max(1, finite.length);
  const facts = `least ${short(Math.min(...finite))}, mean ${short(mean)}, greatest ${short(Math.max(...finite))}`;
  picture.setAttribute("aria-label", `${values.length} elements, ${facts}`);
  const under = make("output", facts, "dim");
  picture.addEventListener("mousemove", (event) => {
    const area = picture.getBoundingClientRect();
    const [c, r] = [Math.floor((event.clientX - area.left) / box), Math.floor((event.clientY - area.top) / box)];
    const i = r * columns + c;
    if (i < values.length) under.textContent = `[${sizes(at)[0] === 1 ? i : `${r}, ${c}`}] = ${values[i]}`;
  });
  picture.addEventListener("mouseleave", () => (under.textContent = facts));
  const more = make("details");
  more.append(
    make("summary", values.length <= 16 ? "numbers" : `${values.length} numbers`),
    make("pre", JSON.stringify(data.tensors[at])),
  );
  more.open = values.length <= 8;
  panel.append(picture, under, more);
};
