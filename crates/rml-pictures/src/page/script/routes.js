// Where arrows run: in the gutters between columns and the gaps between rows, so that no line crosses a text. As in the
// SVG of a chronogram: gutter `g` is left of cycle `g`, gap `r` above line `r` of the table.
const routing = (arrows) => {
  const gutters = new Map();
  const gaps = new Map();
  const take = (lanes, at, a, b) => {
    const used = lanes.get(at) ?? lanes.set(at, []).get(at);
    const [low, high] = [Math.min(a, b), Math.max(a, b)];
    let lane = used.findIndex((spans) => spans.every(([from, to]) => to < low || high < from));
    if (lane < 0) lane = used.push([]) - 1;
    used[lane].push([low, high]);
    return lane;
  };
  const route = ({ from, to }) => {
    if (from.cycle === to.cycle && Math.abs(from.line - to.line) === 1) return { straight: true };
    const backward = from.cycle > to.cycle;
    const same = from.cycle === to.cycle;
    const leave = backward ? from.cycle : from.cycle + 1;
    const arrive = backward || same ? to.cycle + 1 : to.cycle;
    if (leave === arrive) return { gutter: leave, lane: take(gutters, leave, from.line, to.line) };
    // The gap next to the target, on the side of the source.
    const gap = from.line > to.line ? to.line + 1 : to.line;
    return {
      leave: [leave, take(gutters, leave, from.line, gap)],
      along: [gap, take(gaps, gap, leave, arrive)],
      arrive: [arrive, take(gutters, arrive, to.line, gap)],
    };
  };
  const order = arrows.map((_, i) => i);
  const extent = (arrow) => Math.abs(arrow.from.line - arrow.to.line);
  order.sort((a, b) => extent(arrows[a]) - extent(arrows[b]));
  for (const i of order) arrows[i].route = route(arrows[i]);
  spread(arrows);
  const lanes = (map) => new Map([...map].map(([at, used]) => [at, used.length]));
  return { gutters: lanes(gutters), gaps: lanes(gaps) };
};
// Spreads the ends of arrows over the sides of their cells: those that come from above stand above.
const spread = (arrows) => {
  const sides = new Map();
  for (const arrow of arrows) {
    const { from, to, route } = arrow;
    arrow.fromRight = from.cycle <= to.cycle;
    arrow.toRight = from.cycle >= to.cycle;
    if (route.straight) continue;
    const rise = to.line - from.line;
    for (const [cell, right, by, end] of [
      [from, arrow.fromRight, rise, "out"],
      [to, arrow.toRight, -rise, "in"],
    ]) {
      const key = `${cell.line},${cell.cycle},${right}`;
      (sides.get(key) ?? sides.set(key, []).get(key)).push([by, arrow, end]);
    }
  }
  for (const ends of sides.values()) {
    ends.sort((a, b) => a[0] - b[0]);
    ends.forEach(([, arrow, end], i) => (arrow[end] = (i + 1) / (ends.length + 1)));
  }
};
