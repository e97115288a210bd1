// The program beside the table, with the types of variables after the lines that define them, and what lines cost.
const sourceLines = new Map();
const showSource = (line) => sourceLines.get(line.join(":"));
for (const [file, source] of data.sources.entries()) {
  const list = make("ol");
  source.text
    .replace(/\n$/, "")
    .split("\n")
    .forEach((text, n) => {
      const item = make("li");
      const code = make("span", undefined, "code");
      // Comments are dim.
      code.append(text);
      item.append(make("b", n + 1), code);
      sourceLines.set(`${file}:${n + 1}`, item);
      list.append(item);
    });
  $("source").append(make("h2", source.name), list);
}
for (const [r, row] of data.rows.entries()) {
  const item = row.line && showSource(row.line);
  if (!item) continue;
  item.classList.add("known");
  item.dataset.row ??= r;
  // Where the type is written it need not be said again, and the rows of instances have their own places.
  if (item.querySelector(".code").textContent.includes(`${row.name}:`) || row.path) continue;
  const notes = item.querySelector("i") ?? item.appendChild(make("i"));
  notes.append(make("span", `${row.name}: ${row.type}`));
}
for (const cost of data.costs) {
  const parts = [amount(cost.bytes, ["B", "kB", "MB", "GB"])];
  if (cost.ns > 0) parts.push(amount(cost.ns, ["ns", "µs", "ms", "s"]));
  const note = make("s", parts.join(", "));
  note.title = "bytes of the values that this line computes in a cycle, and its time in this run, gradients included";
  showSource(cost.line)?.append(note);
}
$("source").addEventListener("click", (event) => {
  const item = event.target.closest("li.known");
  if (item) goTo(place(Number(item.dataset.row), Math.max(0, cursor.cycle)));
});
const markSource = (row) => {
  for (const item of $("source").querySelectorAll("li.on")) item.classList.remove("on");
  const item = row === undefined ? undefined : data.rows[row].line && showSource(data.rows[row].line);
  if (!item) return;
  item.classList.add("on");
  const [box, own] = [$("source"), item];
  const top = own.offsetTop - box.offsetTop;
  if (top < box.scrollTop || top + own.offsetHeight > box.scrollTop + box.clientHeight)
    box.scrollTop = top - box.clientHeight / 3;
};
const goToSource = (line) => {
  choose(views[0]);
  const item = showSource(line);
  for (const other of $("source").querySelectorAll("li.on")) other.classList.remove("on");
  item.classList.add("on");
  item.scrollIntoView({ block: "center" });
};

// An adjoint beside the lines that its equations come from: side by side, or below each other where there is no room.
const sideBySide = (side) => {
  const list = make("div", undefined, "side");
  list.setAttribute("role", "table");
  const head = make("div", undefined, "pair head");
  head.append(make("h2", "line of the program"), make("h2", side.name));
  list.append(head);
  let last = "";
  for (const row of side.rows) {
    const pair = make("div", undefined, "pair");
    pair.setAttribute("role", "row");
    const from = make("div");
    const places = row.from.map((origin) => origin.place).join();
    if (places !== last)
      for (const origin of row.from) {
        const part = make("div");
        const name = origin.place.replace(/^.*\//, "");
        const label = origin.line ? button(name, () => goToSource(origin.line)) : make("b", name);
        label.title = origin.place;
        part.append(label, make("code", origin.text));
        from.append(part);
      }
    last = places;
    const own = make("div");
    own.append(make("code", row.text));
    for (const cell of [from, own]) cell.setAttribute("role", "cell");
    pair.append(from, own);
    list.append(pair);
  }
  return list;
};
