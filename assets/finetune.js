// Draws how a fine-tuning job stands into `element`: a line, its stages, numbers, small curves, notes, the end of its log.
// Text is only ever text.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 220, HEIGHT = 56, PAD = 5;

const make = (tag, name, text = "") => {
  const node = document.createElement(tag);
  node.className = name;
  node.textContent = text;
  return node;
};

const shape = (tag, attributes) => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
};

const listOf = (name, items) => {
  const list = make("ul", name);
  list.append(...items);
  return list;
};

const stage = ({ label, state, share }) => {
  const item = make("li", `ft-stage ft-${state}`);
  const bar = document.createElement("progress");
  bar.max = 1;
  bar.setAttribute("aria-label", label);
  if (share !== null) bar.value = share;
  const sign = { waiting: "○", now: "●", done: "✓" }[state];
  const name = make("span", "ft-stage-name", `${sign} ${label}`);
  item.append(name, bar, make("span", "ft-share", share === null || state === "waiting" ? "" : `${Math.floor(share * 100)} %`));
  return item;
};

const number = ([label, value]) => {
  const box = make("div", "ft-number");
  box.append(make("dt", "", label), make("dd", "", value));
  return box;
};

const written = (value, digits) => (digits > 3 ? value.toExponential(1) : value.toFixed(digits));

const curve = ({ label, help, points, digits, dots }) => {
  const figure = make("figure", "ft-curve");
  const values = points.map(([, value]) => value), steps = points.map(([step]) => step);
  const low = Math.min(...values), high = Math.max(...values), end = Math.max(...steps), begin = Math.min(...steps);
  const x = (step) => PAD + (WIDTH - 2 * PAD) * (end > begin ? (step - begin) / (end - begin) : 1);
  const y = (value) => HEIGHT - PAD - (HEIGHT - 2 * PAD) * (high > low ? (value - low) / (high - low) : 0.5);
  const first = values[0], last = values[values.length - 1];
  const caption = make("figcaption", "");
  caption.append(make("span", "ft-curve-name", label), make("b", "", written(last, digits)));
  if (help) caption.title = help;
  const picture = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", preserveAspectRatio: "none" });
  picture.setAttribute("aria-label",
    `${label}: ${written(first, digits)} at step ${begin}, ${written(last, digits)} at step ${end}. ${help}`);
  const path = points.map(([step, value]) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  picture.append(shape("polyline", { points: path, class: "ft-line", "vector-effect": "non-scaling-stroke" }));
  const marked = dots ? points : points.slice(-1);
  for (const [step, value] of marked) { // a stroke of no length: a circle would be stretched with the picture
    const dot = { d: `M${x(step)} ${y(value)}h0.01`, class: "ft-dot", "vector-effect": "non-scaling-stroke" };
    picture.append(shape("path", dot));
  }
  const range = make("p", "ft-range");
  range.append(make("span", "", `step ${begin}`), make("span", "", `${written(low, digits)} – ${written(high, digits)}`),
    make("span", "", `step ${end}`));
  figure.append(caption, picture, range);
  return figure;
};

const root = element.querySelector(".ft-root");
const line = make("p", "ft-text");
const rest = make("div", "ft-rest");
line.setAttribute("role", "status");
root.replaceChildren(line, rest);

let drawn = "";
let announced = "";
const draw = () => {
  if (!props.value || props.value === drawn) return;
  drawn = props.value;
  const { kind, text, stages, numbers, curves, notes, log } = JSON.parse(props.value);
  root.dataset.kind = kind;
  // counts and times are for the eye: a screen reader hears of a change of stage or state only
  const spoken = kind + text.replace(/[\d.,:]+/g, "");
  line.setAttribute("aria-live", spoken === announced ? "off" : kind === "error" ? "assertive" : "polite");
  announced = spoken;
  line.textContent = text;
  rest.replaceChildren();
  if (stages.length) rest.append(listOf("ft-stages", stages.map(stage)));
  if (numbers.length) {
    const grid = make("dl", "ft-numbers");
    grid.append(...numbers.map(number));
    rest.append(grid);
  }
  if (curves.length) {
    const grid = make("div", "ft-curves");
    grid.append(...curves.map(curve));
    rest.append(grid);
  }
  if (notes.length) rest.append(listOf("ft-notes", notes.map((note) => make("li", "", note))));
  if (log.length) {
    const output = make("pre", "ft-log", log.join("\n"));
    output.tabIndex = 0;
    output.setAttribute("aria-label", "Last lines of the output");
    rest.append(output);
  }
};
draw();
watch("value", draw);
