// The table as data: rows in groups that fold, a filter, what each cell comes from, and when it becomes known.
const cycles = data.cycles;
const place = (row, cycle) => row * cycles + cycle;
const rowOf = (at) => Math.floor(at / cycles);
const cycleOf = (at) => at % cycles;
const SIGNS = ["□", "?", "⊥", ""];
const cellText = (at) => {
  const cell = data.rows[rowOf(at)].cells[cycleOf(at)];
  return typeof cell === "string" ? cell : SIGNS[cell];
};
// A number with the digits that a column has room for.
const fitting = (text, most) =>
  text.length > most && /^-?\d+\.\d+(e-?\d+)?$/.test(text) ? String(Number(Number(text).toPrecision(4))) : text;
const isValue = (at) => typeof data.rows[rowOf(at)].cells[cycleOf(at)] === "string";

// What a row holds: truth values, numbers or tensors, and their range.
for (const [r, row] of data.rows.entries()) {
  const texts = row.cells.filter((cell) => typeof cell === "string");
  // A tensor of one element is a number.
  const isTensor = row.cells.some((_, n) => flat(place(r, n)).length > 1);
  const number = (cell) =>
    typeof cell === "string" ? Number(cell.replace(/^\[+|\]+$/g, "").replace("inf", "Infinity")) : undefined;
  const isNumber = texts.length > 0 && texts.every((text) => /^\[*(-?[\d.]+(e[+-]?\d+)?|NaN|-?inf)\]*$/i.test(text));
  row.kind = isTensor
    ? "tensor"
    : texts.length && texts.every((t) => t === "T" || t === "F")
      ? "bool"
      : isNumber
        ? "number"
        : "text";
  if (row.kind === "number") {
    row.numbers = row.cells.map(number);
    const finite = row.numbers.filter(Number.isFinite);
    [row.low, row.high] = [Math.min(...finite), Math.max(...finite)];
  }
  if (row.kind === "tensor") {
    row.most = 1e-12;
    for (let n = 0; n < cycles; n++)
      for (const x of flat(place(r, n))) if (Number.isFinite(x)) row.most = Math.max(row.most, Math.abs(x));
  }
}
// The elements of a tensor.
function flat(at) {
  const tensor = data.tensors[at];
  return tensor === undefined ? [] : [tensor].flat(Infinity).map(Number);
}
// Its rows and columns; a vector is one row.
const sizes = (at) => {
  const count = flat(at).length;
  let inner = data.tensors[at];
  while (Array.isArray(inner) && Array.isArray(inner[0])) inner = inner[0];
  const columns = Math.max(1, Array.isArray(inner) ? inner.length : 1);
  return [Math.max(1, count / columns), columns];
};

// Instances are groups of rows: `net_0.layer_1.h` is in `net_0`, and there in `layer_1`.
const instances = new Map();
const tree = [];
{
  const group = (path) => {
    if (path === "") return tree;
    if (!instances.has(path)) {
      const [, around, name] = /^(?:(.*)\.)?([^.]*)$/.exec(path);
      const own = { path, name, depth: path.split(".").length - 1, items: [] };
      instances.set(path, own);
      group(around ?? "").push(own);
    }
    return instances.get(path).items;
  };
  data.rows.forEach((row, r) => {
    const isPath = /^[A-Za-z_][\w.[\]]*$/.test(row.name) && row.name.includes(".");
    row.path = isPath ? row.name.replace(/\.[^.]*$/, "") : "";
    row.label = isPath ? row.name.slice(row.path.length + 1) : row.name;
    group(row.path).push(r);
  });
}
const unfolded = new Set();
const rowsIn = (item) => (typeof item === "number" ? 1 : item.items.reduce((sum, inner) => sum + rowsIn(inner), 0));

// The lines of the table: rows, and the heads of groups.
let lines = [];
const lineOfRow = new Map();
const arrange = (filter) => {
  lines = [];
  lineOfRow.clear();
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (row) => words.every((word) => `${row.name}: ${row.type}`.toLowerCase().includes(word));
  const add = (items, depth) => {
    for (const item of items)
      if (typeof item === "number") {
        const row = data.rows[item];
        if (!words.length || fits(row)) {
          lineOfRow.set(item, lines.length);
          lines.push({ row: item, depth: words.length ? 0 : depth, label: words.length ? row.name : row.label });
        }
      } else if (words.length) add(item.items, depth);
      else {
        lines.push({ group: item, depth, label: item.name });
        if (unfolded.has(item.path)) add(item.items, depth + 1);
      }
  };
  add(tree, 0);
};
const reveal = (row) => {
  for (let path = data.rows[row].path; path; path = path.includes(".") ? path.replace(/\.[^.]*$/, "") : "")
    unfolded.add(path);
};

// What each cell comes from, and what comes of it.
const causes = new Map();
const effects = new Map();
{
  const push = (map, at, other) => (map.get(at) ?? map.set(at, []).get(at)).push(other);
  for (const [r, n, r2, n2] of data.arrows) {
    push(causes, place(r2, n2), place(r, n));
    push(effects, place(r, n), place(r2, n2));
  }
}
// The nearest cells of rows on the page; rows that are folded away are passed through.
const nearest = (at, map) => {
  const found = new Set();
  const seen = new Set();
  const open = [...(map.get(at) ?? [])];
  while (open.length) {
    const other = open.pop();
    if (seen.has(other)) continue;
    seen.add(other);
    if (lineOfRow.has(rowOf(other))) found.add(other);
    else open.push(...(map.get(other) ?? []));
  }
  found.delete(at);
  return [...found].sort((a, b) => a - b);
};
// Arrows from a cell on, as many steps: from, to, step.
const cone = (from, map, steps) => {
  const edges = [];
  const seen = new Set([from]);
  for (let front = [from], depth = 0; front.length && depth < steps && edges.length < 400; depth++) {
    const next = [];
    for (const at of front)
      for (const other of nearest(at, map)) {
        edges.push([at, other, depth]);
        if (!seen.has(other)) next.push(other);
        seen.add(other);
      }
    front = next;
  }
  return edges;
};

// When cells become known: in the last of the cycles that they come from, then step by step. Cells that are not
// determined stay unknown.
const known = (() => {
  const count = data.rows.length * cycles;
  const cycle = Int32Array.from({ length: count }, (_, at) => cycleOf(at));
  const depth = new Int32Array(count);
  const waiting = Int32Array.from({ length: count }, (_, at) => (causes.get(at) ?? []).length);
  let front = [];
  for (let at = 0; at < count; at++) if (waiting[at] === 0) front.push(at);
  while (front.length) {
    const next = [];
    for (const at of front)
      for (const other of effects.get(at) ?? []) {
        const later = cycle[at] > cycle[other] || (cycle[at] === cycle[other] && depth[at] + 1 > depth[other]);
        if (later) [cycle[other], depth[other]] = [cycle[at], depth[at] + 1];
        if (--waiting[other] === 0) next.push(other);
      }
    front = next;
  }
  const ranks = [...new Set(Array.from(cycle, (n, at) => n * 1e6 + depth[at]))].sort((a, b) => a - b);
  const index = new Map(ranks.map((rank, i) => [rank, i]));
  return { cycle, rank: Array.from(cycle, (n, at) => index.get(n * 1e6 + depth[at])), steps: ranks.length, ranks };
})();
