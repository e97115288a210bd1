// The table on a canvas: only what the window shows is drawn.
const canvas = $("canvas");
const tips = { at: undefined, fresh: -1 };
// What is known so far; all of it unless the reader plays.
let upTo = known.steps;
const isKnown = (at) => known.rank[at] < upTo;

let asked = false;
const repaint = () => {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    paint();
  });
};
const paint = () => {
  const table = $("table");
  const [width, height, ratio] = [table.clientWidth, table.clientHeight, devicePixelRatio || 1];
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const scroll = { x: table.scrollLeft, y: table.scrollTop };
  const range = shown(scroll, { width, height });
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.fillStyle = colours.ground;
  pen.fillRect(0, 0, width, height);
  pen.save();
  pen.beginPath();
  pen.rect(view.left, HEAD, width - view.left, height - HEAD);
  pen.clip();
  pen.translate(view.left - scroll.x, -scroll.y);
  paintCells(range);
  paintEnds(range, scroll.y, height);
  paintArrows();
  pen.restore();
  paintHeads(range, scroll, width);
  paintLabels(range, scroll, height);
};

const paintCells = ({ firstColumn, lastColumn, firstLine, lastLine }) => {
  pen.font = FONT;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (let i = firstLine; i < lastLine; i++) {
    const line = lines[i];
    const [top, height] = [view.tops[i], view.heights[i]];
    if (line.group) {
      paintGroup(line, top, height, firstColumn, lastColumn);
      continue;
    }
    if (isWave()) paintWave(line.row, top, height, firstColumn, lastColumn);
    else for (let n = firstColumn; n < lastColumn; n++) paintCell(place(line.row, n), view.columns[n], top, height);
  }
  for (const at of tips.at === undefined ? [] : [tips.at]) {
    const i = lineOfRow.get(rowOf(at));
    if (i === undefined) continue;
    pen.strokeStyle = colours.forward;
    pen.lineWidth = 2.5;
    pen.strokeRect(view.columns[cycleOf(at)] - 1, view.tops[i] - 1, view.column + 2, view.heights[i] + 2);
  }
};
const paintCell = (at, x, top, height) => {
  const cell = data.rows[rowOf(at)].cells[cycleOf(at)];
  const open = !isKnown(at);
  const isText = typeof cell === "string";
  pen.fillStyle = open
    ? colours.ground
    : isText
      ? colours.cell
      : cell === 0 || cell === 3
        ? colours.absent
        : colours.unknown;
  pen.fillRect(x, top, view.column, height);
  pen.lineWidth = known.rank[at] === tips.fresh ? 2.5 : 1;
  pen.strokeStyle = known.rank[at] === tips.fresh ? colours.forward : colours.line;
  if (open) pen.setLineDash([2, 3]);
  pen.strokeRect(x + 0.5, top + 0.5, view.column - 1, height - 1);
  pen.setLineDash([]);
  if (open) return;
  const count = isText ? flat(at).length : 0;
  const isPicture = count > 3 || (count > 1 && textWidth(cell) > view.column - 6);
  const picture = isPicture && heat(at, view.column - 6, height - 6);
  if (picture) {
    const [w, h] = fitted(picture, view.column - 6, height - 6);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(picture, x + (view.column - w) / 2, top + (height - h) / 2, w, h);
    return;
  }
  pen.fillStyle = isText ? colours.text : colours.dim;
  const most = Math.floor((view.column - 6) / 7.3);
  const text = fitting(cellText(at), most);
  pen.fillText(
    text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text,
    x + view.column / 2,
    top + height / 2 + 1,
  );
};
// A tensor as a map of colours, a pixel an element; vectors are broken into the shape of the cell.
const pictures = new Map();
const heat = (at, width, height) => {
  const key = `${at},${width > height}`;
  if (pictures.has(key)) return pictures.get(key);
  const values = flat(at);
  let [rows, columns] = sizes(at);
  if (rows === 1 && columns > 16) {
    columns = clamp(Math.round(Math.sqrt((columns * width) / Math.max(1, height))), 1, columns);
    rows = Math.ceil(values.length / columns);
  }
  const picture = drawn(values, rows, columns, data.rows[rowOf(at)].most);
  if (pictures.size > 4000) pictures.clear();
  pictures.set(key, picture);
  return picture;
};
const drawn = (values, rows, columns, most) => {
  const picture = document.createElement("canvas");
  picture.width = columns;
  picture.height = rows;
  const image = new ImageData(columns, rows);
  values.forEach((x, i) => {
    const [r, g, b] = Number.isFinite(x) ? shade(x / most) : [255, 0, 255];
    image.data.set([r, g, b, 255], i * 4);
  });
  picture.getContext("2d").putImageData(image, 0, 0);
  return picture;
};
const fitted = (picture, width, height) => {
  const scale = Math.min(width / picture.width, height / picture.height);
  // Flat pictures are stretched, so that they can be seen.
  return [picture.width * scale, Math.max(picture.height * scale, Math.min(height, 10))];
};

// From far away: a line for numbers, high and low for truth values, a column of colours for each tensor.
const columnPictures = new Map();
const paintWave = (r, top, height, first, last) => {
  const row = data.rows[r];
  pen.fillStyle = colours.cell;
  const [left, right] = [view.columns[first] ?? 0, (view.columns[last - 1] ?? 0) + view.column];
  pen.fillRect(left, top, right - left, height);
  const pitch = view.column + (view.column > 12 ? 2 : 0);
  if (row.kind === "tensor") {
    const strip = columns(r);
    if (strip && upTo >= known.steps) {
      pen.imageSmoothingEnabled = false;
      pen.drawImage(strip, first, 0, last - first, strip.height, left, top, (last - first) * pitch, height);
    } else
      for (let n = first; n < last; n++)
        if (strip && isKnown(place(r, n)))
          pen.drawImage(strip, n, 0, 1, strip.height, view.columns[n], top, pitch, height);
  }
  const y = (share) => top + height - 3 - share * (height - 6);
  pen.beginPath();
  let before = false;
  for (let n = first; n < last; n++) {
    const at = place(r, n);
    const cell = row.cells[n];
    const x = view.columns[n];
    if (!isKnown(at) || cell !== String(cell)) {
      pen.fillStyle = !isKnown(at) ? colours.ground : cell === 0 || cell === 3 ? colours.absent : colours.unknown;
      pen.fillRect(x, top, pitch, height);
      before = false;
    } else if (row.kind === "bool" || row.kind === "number") {
      const range = row.high - row.low;
      const share = row.kind === "bool" ? Number(cell === "T") : range > 0 ? (row.numbers[n] - row.low) / range : 0.5;
      if (!Number.isFinite(share)) before = false;
      else {
        if (before) pen.lineTo(x, y(share));
        else pen.moveTo(x, y(share));
        pen.lineTo(x + pitch, y(share));
        before = true;
      }
    } else if (row.kind === "text") {
      pen.fillStyle = colours.mark;
      pen.fillRect(x, top + 3, pitch, height - 6);
    }
  }
  pen.strokeStyle = colours.more;
  pen.lineWidth = 1.5;
  pen.stroke();
};
// A row of tensors as one picture: a column of elements for each cycle.
const columns = (r) => {
  if (columnPictures.has(r)) return columnPictures.get(r);
  const counts = Array.from({ length: cycles }, (_, n) => flat(place(r, n)).length);
  const most = Math.min(64, Math.max(...counts));
  let picture;
  if (most > 0 && cycles <= 16000) {
    picture = document.createElement("canvas");
    picture.width = cycles;
    picture.height = most;
    const image = new ImageData(cycles, most);
    for (let n = 0; n < cycles; n++) {
      const values = flat(place(r, n));
      for (let i = 0; i < most && values.length; i++) {
        const x = values[Math.floor((i * values.length) / most)];
        const [red, green, blue] = Number.isFinite(x) ? shade(x / data.rows[r].most) : [255, 0, 255];
        image.data.set([red, green, blue, 255], (i * cycles + n) * 4);
      }
    }
    picture.getContext("2d").putImageData(image, 0, 0);
  }
  columnPictures.set(r, picture);
  return picture;
};
// The head of a folded group: where it computes something.
const paintGroup = (line, top, height, first, last) => {
  if (unfolded.has(line.group.path)) return;
  const rows = [];
  const collect = (items) =>
    items.forEach((item) => (typeof item === "number" ? rows.push(item) : collect(item.items)));
  collect(line.group.items);
  pen.fillStyle = colours.mark;
  for (let n = first; n < last; n++) {
    const present = rows.some((r) => isValue(place(r, n)) && isKnown(place(r, n)));
    if (present) pen.fillRect(view.columns[n], top + height / 2 - 3, view.column, 6);
  }
};

// The ends of windows: a line after the cycle, thicker for a window around others.
const paintEnds = ({ firstColumn, lastColumn }, scrollY, height) => {
  for (const window of data.windows) {
    pen.strokeStyle = colours.end;
    pen.lineWidth = window.depth === 0 ? 2 : 1;
    pen.setLineDash(window.depth === 0 ? [] : [6, 3]);
    // Where windows are narrow, their ends must not cover what is in them.
    pen.globalAlpha = clamp((view.column * cycles) / window.cycles.length / 40, 0.15, 1);
    pen.beginPath();
    for (const n of window.cycles) {
      if (n < firstColumn - 1 || n > lastColumn) continue;
      const x = endOf(n);
      pen.moveTo(x, scrollY);
      pen.lineTo(x, Math.min(scrollY + height, view.height - 6));
    }
    pen.stroke();
  }
  pen.globalAlpha = 1;
  pen.setLineDash([]);
};
// Where the end of a window is drawn after a cycle.
const endOf = (n) => {
  const right = view.columns[n] + view.column;
  return n + 1 < cycles ? (right + view.columns[n + 1]) / 2 : right + 6;
};

const directionOf = (arrow) =>
  arrow.from.cycle === arrow.to.cycle ? "same" : arrow.from.cycle < arrow.to.cycle ? "forward" : "backward";
const paintArrows = () => {
  const chosen = view.chosen.length > 0;
  const mine = new Set(view.chosen.map((a) => `${a.from.at},${a.to.at}`));
  for (const arrow of view.resting) {
    if (!isKnown(arrow.to.at) || mine.has(`${arrow.from.at},${arrow.to.at}`)) continue;
    pen.globalAlpha = chosen ? 0.28 : 1;
    paintArrow(arrow, arrow.route);
  }
  const routed = new Map(view.resting.map((a) => [`${a.from.at},${a.to.at}`, a]));
  for (const arrow of view.chosen) {
    if (!isKnown(arrow.to.at)) continue;
    pen.globalAlpha = Math.max(0.3, 1 - arrow.depth * 0.25);
    const own = routed.get(`${arrow.from.at},${arrow.to.at}`) ?? arrow;
    pen.setLineDash(arrow.kind === "effect" ? [5, 3] : []);
    pen.lineWidth = arrow.kind === "effect" ? 1.4 : 2;
    paintArrow(own, own.route, true);
  }
  pen.globalAlpha = 1;
  pen.setLineDash([]);
};
const paintArrow = (arrow, route, own) => {
  if (!own) pen.lineWidth = 1.4;
  pen.strokeStyle = pen.fillStyle = colours[directionOf(arrow)];
  const points = isWave() ? undefined : path(arrow, route);
  pen.beginPath();
  if (points) {
    pen.moveTo(...points[0]);
    for (let i = 1; i + 1 < points.length; i++) pen.arcTo(...points[i], ...points[i + 1], 4);
    pen.lineTo(...points.at(-1));
    pen.stroke();
    tip(points.at(-2), points.at(-1));
    return;
  }
  // From far away, arcs from the middle of a cell to that of another one.
  const middle = ({ line, cycle }) => [view.columns[cycle] + view.column / 2, view.tops[line] + view.heights[line] / 2];
  const [[x, y], [x2, y2]] = [middle(arrow.from), middle(arrow.to)];
  const control = [(x + x2) / 2, (y + y2) / 2 - (y === y2 ? Math.min(22, 6 + Math.abs(x - x2) / 4) : 0)];
  pen.moveTo(x, y);
  pen.quadraticCurveTo(...control, x2, y2);
  pen.stroke();
  tip(control, [x2, y2]);
};
// The corners of an arrow.
const path = ({ from, to, out, in: into, fromRight, toRight }, route) => {
  const top = (line) => view.tops[line];
  const side = (cell, right, share) => [
    view.columns[cell.cycle] + (right ? view.column : 0),
    top(cell.line) + view.heights[cell.line] * share,
  ];
  if (route.straight) {
    const x = view.columns[to.cycle] + view.column / 2;
    const down = to.line > from.line;
    return [
      [x, top(from.line) + (down ? view.heights[from.line] : 0)],
      [x, top(to.line) + (down ? 0 : view.heights[to.line])],
    ];
  }
  const lane = (gutter, n) => {
    const left = gutter > 0 ? view.columns[gutter - 1] + view.column : view.columns[0] - 12;
    const room = (gutter < cycles ? view.columns[gutter] : left + 28) - left;
    return left + Math.min(CLEAR + n * LANE, Math.max(room / 2, room - 5));
  };
  const gap = (line, n) => (line > 0 ? top(line - 1) + view.heights[line - 1] : HEAD) + 6 + Math.min(n * LANE, 40);
  const [start, end] = [side(from, fromRight, out ?? 0.5), side(to, toRight, into ?? 0.5)];
  if (route.gutter !== undefined) {
    const x = lane(route.gutter, route.lane);
    return [start, [x, start[1]], [x, end[1]], end];
  }
  const [a, y, b] = [lane(...route.leave), gap(...route.along), lane(...route.arrive)];
  return [start, [a, start[1]], [a, y], [b, y], [b, end[1]], end];
};
const tip = ([x, y], [x2, y2]) => {
  const [dx, dy] = [x2 - x, y2 - y];
  const length = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / length, dy / length];
  pen.setLineDash([]);
  pen.beginPath();
  pen.moveTo(x2, y2);
  pen.lineTo(x2 - 7 * ux + 3.4 * uy, y2 - 7 * uy - 3.4 * ux);
  pen.lineTo(x2 - 7 * ux - 3.4 * uy, y2 - 7 * uy + 3.4 * ux);
  pen.fill();
};
