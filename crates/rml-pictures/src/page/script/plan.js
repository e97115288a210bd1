// The plan as a picture: its regions from top to bottom, which way each runs over the ticks, what it fills, and which
// regions it reads.
const WAYS = {
  over: ["at all ticks at once", "M4 6v12M12 6v12M20 6v12M28 6v12M36 6v12"],
  forward: ["tick by tick, forward in time", "M2 12h34M30 6l7 6l-7 6"],
  backward: ["tick by tick, backward in time", "M38 12H4M10 6l-7 6l7 6"],
};
const showPlan = (panel) => {
  const list = make("ol", undefined, "plan");
  const regions = merged(data.plan.regions);
  const count = (way) => data.plan.regions.filter((region) => region.way === way).length;
  const sums = data.plan.regions.flatMap((region) => region.parts).filter((part) => part.sum).length;
  const loops = [
    [count("forward"), "loop forward"],
    [count("backward"), "loop backward"],
    [sums, "sum over time"],
  ].filter(([n]) => n > 0);
  const facts = loops.map(([n, word]) => `${n} ${n === 1 ? word : word.replace(/^(loop|sum)/, "$1s")}`);
  panel.append(
    prose(
      `What runs in a window, from top to bottom${facts.length ? `: ${facts.join(", ")}` : ""}. A value opens to show how it is computed.`,
    ),
  );
  for (const [i, region] of regions.entries()) {
    const item = make("li", undefined, `region ${region.way}`);
    item.id = `region-${i}`;
    const head = make("h2");
    const icon = draw("svg", { viewBox: "0 0 40 24", class: "way", "aria-hidden": true });
    icon.append(draw("path", { d: WAYS[region.way][1] }));
    head.append(make("b", i + 1), icon, make("span", WAYS[region.way][0]));
    if (region.by.length) head.append(make("span", `; restarts after ${region.by.join(" or ")}`));
    if (region.reads.length) {
      const reads = make("span", "reads ", "reads");
      for (const other of region.reads) {
        const link = make("a", other + 1);
        link.href = `#region-${other}`;
        link.addEventListener("click", (event) => {
          event.preventDefault();
          $(`region-${other}`).scrollIntoView({ block: "nearest", behavior: calm.matches ? "auto" : "smooth" });
        });
        reads.append(link, " ");
      }
      head.append(reads);
    }
    item.append(head);
    const parts = make("div", undefined, "parts");
    for (const part of region.parts) {
      const own = make("details", undefined, part.sum ? "sum" : "");
      const summary = make("summary");
      // A value without a name is called by its operator.
      const operator = part.rules[0]?.match(/^[a-z_]+/)?.[0];
      const name = /^t\d+$/.test(part.name) && operator ? operator : part.name.split(".").slice(-2).join(".");
      summary.append(
        make("code", (part.sum ? "Σ " : "") + name, name === operator ? "dim" : ""),
        make("span", part.type, "type"),
      );
      summary.title = part.name;
      own.append(summary);
      for (const rule of part.rules) own.append(make("pre", `${part.name} = ${rule}`));
      parts.append(own);
    }
    item.append(parts);
    for (const write of region.writes) item.append(make("pre", `keeps ${write}`));
    list.append(item);
  }
  panel.append(list);
  if (data.plan.commits.length)
    panel.append(make("pre", data.plan.commits.map((write) => `keeps ${write}`).join("\n")));
};
// Regions in a row that all run at all ticks at once are one step in the picture.
const merged = (regions) => {
  const steps = [];
  const of = [];
  for (const region of regions) {
    const last = steps.at(-1);
    if (region.way === "over" && last?.way === "over") last.parts = [...last.parts, ...region.parts];
    else steps.push({ ...region, reads: [] });
    const own = steps.length - 1;
    of.push(own);
    for (const other of region.reads)
      if (of[other] !== own && !steps[own].reads.includes(of[other])) steps[own].reads.push(of[other]);
  }
  for (const step of steps) step.reads.sort((a, b) => a - b);
  return steps;
};
