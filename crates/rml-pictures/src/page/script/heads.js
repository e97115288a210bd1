// The numbers of the cycles above the table, and the names of the rows at its left, with a small picture of each row.
const paintHeads = ({ firstColumn, lastColumn }, scroll, width) => {
  pen.fillStyle = colours.ground;
  pen.fillRect(0, 0, width, HEAD);
  pen.strokeStyle = colours.line;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(0, HEAD - 0.5);
  pen.lineTo(width, HEAD - 0.5);
  pen.stroke();
  pen.save();
  pen.beginPath();
  pen.rect(view.left, 0, width - view.left, HEAD);
  pen.clip();
  pen.translate(view.left - scroll.x, 0);
  pen.font = FONT;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  const pitch = cycles > 1 ? view.columns[1] - view.columns[0] : 1;
  const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000].find((n) => n * pitch >= 32) ?? 10000;
  for (let n = firstColumn; n < lastColumn; n++) {
    if (n % every) continue;
    pen.fillStyle = tips.at !== undefined && cycleOf(tips.at) === n ? colours.text : colours.dim;
    pen.fillText(n, view.columns[n] + view.column / 2, HEAD / 2);
  }
  // The end of a window is a flag, or a mark where there is no room beside the numbers.
  pen.fillStyle = colours.end;
  for (const window of data.windows)
    for (const n of window.cycles) {
      if (n < firstColumn - 1 || n > lastColumn) continue;
      const x = endOf(n);
      const top = isWave() ? HEAD - 5 : 6;
      pen.fillRect(x - 1, top, 2, HEAD - top);
      if (isWave()) continue;
      pen.beginPath();
      pen.moveTo(x, 6);
      pen.lineTo(x - 7, 9.5);
      pen.lineTo(x, 13);
      pen.fill();
    }
  pen.restore();
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  pen.font = FONT;
  pen.fillStyle = colours.dim;
  pen.fillText(data.axis, view.labels - 8, HEAD / 2);
};

const paintLabels = ({ firstLine, lastLine }, scroll, height) => {
  pen.save();
  pen.beginPath();
  pen.rect(0, HEAD, view.left, height - HEAD);
  pen.clip();
  pen.fillStyle = colours.ground;
  pen.fillRect(0, HEAD, view.left, height);
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  for (let i = firstLine; i < lastLine; i++) {
    const line = lines[i];
    const [top, tall] = [view.tops[i] - scroll.y, view.heights[i]];
    const chosen = cursor.line === i;
    if (chosen) {
      pen.fillStyle = colours.mark;
      pen.fillRect(0, top, view.labels - 4, tall);
      if (cursor.cycle < 0 && document.activeElement === $("table")) {
        pen.strokeStyle = colours.forward;
        pen.lineWidth = 2;
        pen.strokeRect(1, top + 1, view.labels - 6, tall - 2);
      }
    }
    const indent = 8 + 14 * line.depth;
    pen.fillStyle = colours.text;
    if (line.group) {
      pen.font = FONT;
      const count = rowsIn(line.group);
      pen.fillText(unfolded.has(line.group.path) ? "▾" : "▸", indent, top + tall / 2);
      const room = Math.floor((view.labels - indent - 24) / 7.3);
      pen.fillText(line.label.slice(0, room), indent + 14, top + tall / 2);
      pen.fillStyle = colours.dim;
      const note = ` ${count} rows`;
      if (line.label.length + note.length <= room)
        pen.fillText(note, indent + 14 + textWidth(line.label), top + tall / 2);
      continue;
    }
    pen.font = `600 ${FONT}`;
    const most = Math.floor((view.labels - indent - 10) / 7.3);
    const text = line.label.length > most ? `${line.label.slice(0, Math.max(1, most - 1))}…` : line.label;
    pen.textAlign = "right";
    pen.fillText(text, view.labels - 10, top + tall / 2);
    pen.textAlign = "left";
    if (view.strip) strip(line.row, view.labels, top + 4, view.strip - 10, tall - 8);
  }
  pen.strokeStyle = colours.line;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(view.left - 0.5, 0);
  pen.lineTo(view.left - 0.5, height);
  pen.stroke();
  pen.restore();
};
// A row in small: a line for numbers, high and low for truth values, colours for tensors.
const strip = (r, left, top, width, height) => {
  const row = data.rows[r];
  const x = (n) => left + (n / cycles) * width;
  if (row.kind === "tensor") {
    const picture = columns(r);
    pen.imageSmoothingEnabled = false;
    if (picture)
      for (let n = 0; n < cycles; n++)
        if (isKnown(place(r, n)) && isValue(place(r, n)))
          pen.drawImage(picture, n, 0, 1, picture.height, x(n), top, width / cycles + 0.5, height);
    return;
  }
  if (row.kind === "text") return;
  pen.strokeStyle = colours.more;
  pen.lineWidth = 1.3;
  pen.beginPath();
  let before = false;
  for (let n = 0; n < cycles; n++) {
    const cell = row.cells[n];
    const value = row.kind === "bool" ? Number(cell === "T") : row.numbers[n];
    if (typeof cell !== "string" || !isKnown(place(r, n)) || !Number.isFinite(value)) {
      before = false;
      continue;
    }
    const range = row.kind === "bool" ? 1 : row.high - row.low;
    const share = range > 0 ? (value - (row.kind === "bool" ? 0 : row.low)) / range : 0.5;
    const y = top + height - 1 - share * (height - 2);
    if (before) pen.lineTo(x(n), y);
    else pen.moveTo(x(n), y);
    pen.lineTo(x(n + 1), y);
    before = true;
  }
  pen.stroke();
};
