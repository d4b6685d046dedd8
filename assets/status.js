// Draws the status of a run into `element`: one line, a bar for downloads, a line per lane, notes. Text is only ever text.

const make = (tag, name, text = "") => {
  const node = document.createElement(tag);
  node.className = name;
  node.textContent = text;
  return node;
};

const bar = (share, label) => {
  const node = document.createElement("progress");
  node.max = 1;
  node.setAttribute("aria-label", label);
  if (share !== null) node.value = share;
  return node;
};

const counted = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

const laneLine = (lane) => {
  const line = make("li", `st-lane st-${lane.state}`);
  const counts = [counted(lane.tokens, "token", "tokens"), counted(lane.passes, "pass", "passes"),
    `${lane.tokens_per_pass.toFixed(2)} per pass`, `${lane.seconds.toFixed(2)} s`];
  line.append(make("span", "st-label", lane.label), bar(lane.share, lane.label),
    make("span", "st-counts", lane.passes ? counts.join(" · ") : ""), make("span", "st-state", lane.state));
  return line;
};

const root = element.querySelector(".st-root");
const line = make("p", "st-line");
const rest = make("div", "st-rest");
line.setAttribute("role", "status");
root.replaceChildren(line, rest);

let announced = "";
const draw = () => {
  if (!props.value) return;
  const { kind, text, share, lanes, notes } = JSON.parse(props.value);
  root.dataset.kind = kind;
  // the running clock is for the eye: a screen reader hears of a change of kind or stage only
  const spoken = kind + text.replace(/[\d.,:()]+/g, "");
  line.setAttribute("aria-live", spoken === announced ? "off" : kind === "error" ? "assertive" : "polite");
  announced = spoken;
  if (line.textContent !== text) line.textContent = text;
  rest.replaceChildren();
  if (kind === "busy" && !lanes.some((lane) => lane.passes)) rest.append(bar(share, text));
  if (lanes.length) {
    const list = make("ul", "st-lanes");
    list.append(...lanes.map(laneLine));
    rest.append(list);
  }
  if (notes.length) {
    const list = make("ul", "st-notes");
    list.append(...notes.map((note) => make("li", "", note)));
    rest.append(list);
  }
};
draw();
watch("value", draw);
