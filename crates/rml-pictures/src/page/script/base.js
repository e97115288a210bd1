"use strict";
// What all parts of the page use: the data, elements, numbers as text, colours.
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const make = (tag, text, kind) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
};
const draw = (tag, attributes, text) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
};
const button = (text, act, kind) => {
  const element = make("button", text, kind);
  element.type = "button";
  element.addEventListener("click", act);
  return element;
};
// Text in which names stand between backticks.
const prose = (text) => {
  const line = make("p");
  text.split("`").forEach((part, i) => line.append(i % 2 ? make("code", part) : part));
  return line;
};
const clamp = (x, low, high) => Math.max(low, Math.min(high, x));
const short = (x) => (Number.isFinite(x) ? String(Number(x.toPrecision(4))) : String(x));
// An amount with its unit: 1.5 kB.
const amount = (x, units) => {
  const unit = clamp(Math.floor(Math.log10(Math.max(x, 1)) / 3), 0, units.length - 1);
  return `${(x / 1000 ** unit).toPrecision(3).replace(/\.0+$/, "")} ${units[unit]}`;
};
const calm = matchMedia("(prefers-reduced-motion: reduce)");

// The colours of the style sheet, for what is drawn on a canvas.
const colours = {};
const readColours = () => {
  const style = getComputedStyle(document.documentElement);
  for (const name of [
    "ground",
    "text",
    "dim",
    "line",
    "cell",
    "absent",
    "unknown",
    "mark",
    "same",
    "forward",
    "backward",
    "more",
    "less",
    "end",
  ])
    colours[name] = style.getPropertyValue(`--${name}`).trim();
  colours.scale = [colours.less, colours.cell, colours.more].map(rgb);
};
const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
// The colour of a number from -1 to 1: one hue for each sign, no colour at 0.
const shade = (x) => {
  const [less, zero, more] = colours.scale;
  const end = x < 0 ? less : more;
  const share = Math.sqrt(Math.min(1, Math.abs(x)));
  return zero.map((from, i) => Math.round(from + (end[i] - from) * share));
};

// Views behind tabs; arrow keys go from tab to tab.
const views = [];
const choose = (view) => {
  for (const other of views) {
    const chosen = other === view;
    other.panel.hidden = !chosen;
    other.tab.setAttribute("aria-selected", chosen);
    other.tab.tabIndex = chosen ? 0 : -1;
  }
  if (view.open) view.open();
};
const addView = (name, panel, open) => {
  const view = { panel, open };
  view.tab = button(name, () => choose(view));
  view.tab.setAttribute("role", "tab");
  panel.id ||= `view-${views.length}`;
  view.tab.setAttribute("aria-controls", panel.id);
  panel.setAttribute("role", "tabpanel");
  panel.setAttribute("aria-label", name);
  panel.hidden = true;
  views.push(view);
  $("views").append(view.tab);
  if (!panel.isConnected) $("panels").append(panel);
  return view;
};
$("views").addEventListener("keydown", (event) => {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!by) return;
  const at = views.findIndex((view) => view.tab === document.activeElement);
  const next = views[(at + by + views.length) % views.length];
  choose(next);
  next.tab.focus();
});
