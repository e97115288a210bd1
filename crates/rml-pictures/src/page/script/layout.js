// Where everything in the table is: columns with gutters between them, lines with gaps between them.
const HEAD = 26;
const LANE = 7;
const CLEAR = 12;
const FONT = "12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";
const pen = $("canvas").getContext("2d");
const view = {
  // The width of a column, the widths of labels and of the strip of sparklines beside them.
  column: 48,
  labels: 80,
  strip: 64,
  left: 0,
  columns: [],
  tops: [],
  heights: [],
  width: 0,
  height: 0,
  // All arrows, if they are few; else those of the chosen cell.
  resting: [],
  chosen: [],
};
const isWave = () => view.column < 26;
const textWidth = (text) => {
  pen.font = FONT;
  return pen.measureText(text).width;
};
// The width at which most texts of numbers and truth values can be read.
const readable = () => {
  let most = 34;
  for (const row of data.rows)
    for (const [n, cell] of row.cells.slice(0, 200).entries()) {
      const isText =
        typeof cell === "string" && (row.kind !== "tensor" || flat(place(data.rows.indexOf(row), n)).length <= 3);
      if (isText) most = Math.max(most, fitting(cell, 8).length * 7.3 + 14);
    }
  return Math.min(most, 100);
};
const heightOf = (line) => {
  if (line.group) return 24;
  const kind = data.rows[line.row].kind;
  if (isWave()) return kind === "tensor" ? 44 : kind === "bool" ? 22 : 32;
  return kind === "tensor" ? 42 : 26;
};
const breadth = (lanes, least) => (lanes ? Math.max(least, 2 * CLEAR + (lanes - 1) * LANE) : least);
// Arrows with the lines of their ends.
const arrowOf = ([from, to, depth], kind) => {
  const end = (at) => ({ line: lineOfRow.get(rowOf(at)), cycle: cycleOf(at), at });
  return { from: end(from), to: end(to), depth, kind };
};
const FEW = 90;
const allArrows = () => {
  const all = [];
  for (const row of lineOfRow.keys())
    for (let n = 0; n < cycles; n++)
      for (const from of nearest(place(row, n), causes)) {
        all.push(arrowOf([from, place(row, n), 0], "rest"));
        if (all.length > FEW) return [];
      }
  return all;
};
const measure = () => {
  view.resting = isWave() || data.arrows.length > 40 * FEW ? [] : allArrows();
  const routes = routing(view.resting);
  const narrow = $("table").clientWidth < 560;
  const labels = lines.map((line) => textWidth(line.label) + 14 * line.depth + (line.group ? 74 : 0));
  view.labels = clamp(Math.max(46, ...labels) + 26, 60, narrow ? 118 : 260);
  const drawn = lines.some((line) => line.row !== undefined && data.rows[line.row].kind !== "text");
  view.strip = isWave() || !drawn || cycles < 4 ? 0 : narrow ? 44 : 76;
  view.left = view.labels + view.strip;
  const least = isWave() ? (view.column > 12 ? 2 : 0) : view.resting.length ? 22 : 14;
  let x = 12;
  view.columns = [];
  for (let n = 0; n < cycles; n++) {
    if (n > 0) x += breadth(routes.gutters.get(n), least);
    view.columns.push(x);
    x += view.column;
  }
  view.width = view.left + x + breadth(routes.gutters.get(cycles), 28);
  let y = HEAD;
  view.tops = [];
  view.heights = [];
  lines.forEach((line, i) => {
    y += breadth(routes.gaps.get(i), isWave() ? 6 : 12);
    view.tops.push(y);
    view.heights.push(heightOf(line));
    y += view.heights[i];
  });
  view.height = y + breadth(routes.gaps.get(lines.length), 16);
  $("size").style.width = `${Math.max(view.width, 10)}px`;
  $("size").style.height = `${Math.max(view.height, 10)}px`;
};
// The first index at or after `from` whose place is not before `at`; places ascend.
const firstAt = (places, at) => {
  let [low, high] = [0, places.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (places[middle] < at) low = middle + 1;
    else high = middle;
  }
  return low;
};
// The range of columns and lines that the window shows.
const shown = (scroll, size) => {
  const firstColumn = Math.max(0, firstAt(view.columns, scroll.x + 12) - 1);
  const lastColumn = Math.min(cycles, firstAt(view.columns, scroll.x + size.width - view.left) + 1);
  const firstLine = Math.max(0, firstAt(view.tops, scroll.y + HEAD) - 1);
  const lastLine = Math.min(lines.length, firstAt(view.tops, scroll.y + size.height) + 1);
  return { firstColumn, lastColumn, firstLine, lastLine };
};
// The cell, or the head of a line, at a place of the window.
const cellAt = (x, y) => {
  const [scrollX, scrollY] = [$("table").scrollLeft, $("table").scrollTop];
  if (y < HEAD) return undefined;
  const line = firstAt(view.tops, y + scrollY + 0.5) - 1;
  if (line < 0 || y + scrollY > view.tops[line] + view.heights[line] + 3) return undefined;
  if (x < view.left) return { line, cycle: -1 };
  const cycle = firstAt(view.columns, x - view.left + scrollX + 0.5) - 1;
  if (cycle < 0 || x - view.left + scrollX > view.columns[cycle] + view.column + 3) return undefined;
  return { line, cycle };
};
