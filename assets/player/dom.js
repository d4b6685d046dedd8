// Small helpers that make elements. Text always goes in as text: nothing here or elsewhere parses markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element with properties (`class`, `text`, `on*` handlers; anything else becomes an attribute) and children. */
function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") node.className = value;
    else if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false)
      node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** Sets text, and touches the document only where it differs. */
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A token in an isolated run of its own, so that right-to-left text cannot reorder its surroundings. */
function tokenNode(piece, longest) {
  const node = el("bdi", { class: "cp-token" });
  for (const [text, mark] of visibleParts(piece, longest))
    node.append(mark ? el("span", { class: "cp-mark", text }) : text);
  return node;
}

const ICONS = {
  play: "M5 3l9 5.5L5 14z",
  pause: "M4 3h3.2v11H4zM9.8 3H13v11H9.8z",
  next: "M4 3.5l6.5 5L4 13.5zM11.2 3.5h1.8v10h-1.8z",
  back: "M13 3.5l-6.5 5 6.5 5zM4 3.5h1.8v10H4z",
  nextBlock: "M2 3.5l6.2 5L2 13.5zM8.6 3.5l6.2 5-6.2 5z",
  backBlock: "M15 3.5l-6.2 5 6.2 5zM8.4 3.5l-6.2 5 6.2 5z",
  start: "M3 3.5h1.8v10H3zM14 3.5l-8 5 8 5z",
  end: "M12.2 3.5H14v10h-1.8zM3 3.5l8 5-8 5z",
};

function icon(name) {
  return svg("svg", { viewBox: "0 0 17 17", "aria-hidden": "true", class: "cp-icon" }, svg("path", { d: ICONS[name] }));
}

function percent(thousandths) {
  return thousandths >= 995 || thousandths < 1
    ? `${(thousandths / 10).toFixed(1)} %`
    : `${Math.round(thousandths / 10)} %`;
}

function seconds(milliseconds) {
  const value = milliseconds / 1000;
  return `${value.toFixed(value < 10 ? 2 : 1)} s`;
}

/** The node as a list of one, or an empty list for null. */
function present(node) {
  return node === null ? [] : [node];
}
