// The panel on one cell: its token, its candidates, its history over the passes, and why it has its class.

const LONGEST_HISTORY = 64; // rows; the rest is counted

class Inspector {
  constructor() {
    this.node = el("aside", { class: "cp-inspector", "aria-label": "Cell" });
  }

  /** Shows a place {t, position} of a lane; where there is none, what pass k did. */
  show(lane, pieces, place, k, view, pinned, unpin) {
    const cell = place && cellAt(lane, place.t, place.position, view);
    const key = cell ? [lane.key, place.t, place.position, view, pinned].join() : [lane.key, k].join();
    if (key === this.key) return;
    this.key = key;
    this.node.replaceChildren(...(cell ? details(lane, pieces, place, cell, view, pinned, unpin) : hint(lane, k)));
  }
}

function hint(lane, k) {
  const help = "Hover, focus or tap a cell: its token, candidates, history, and why it has its class.";
  return [
    ...(k > 0 ? [el("p", { class: "cp-pass", text: passSentence(lane, k) })] : []),
    el("p", { class: "cp-hint", text: help }),
  ];
}

function details(lane, pieces, place, cell, view, pinned, unpin) {
  const piece = pieces[cell.piece];
  const row = place.t === 0 ? "first draft" : `pass ${place.t}`;
  const block = lane.blocks ? ` · block ${Math.floor(place.position / lane.n) + 1}` : "";
  const head = el("div", { class: "cp-inspector-head" }, el("div", { class: "cp-big" }, tokenNode(piece)));
  if (pinned)
    head.append(el("button", { type: "button", class: "cp-unpin", "aria-label": "Unpin", text: "×", onclick: unpin }));
  return [
    head,
    el("p", { class: "cp-where", text: `id ${piece[0]} · position ${place.position} · ${row}${block}` }),
    classLine(cell.letter),
    el("p", { class: "cp-why", text: whyClass(lane, place.t, place.position, cell.letter) }),
    ...(cell.corrected && view === "hindsight" ? [correctedLine(pieces[cell.before])] : []),
    ...(place.t === 0 ? [] : candidates(pieces, cell)),
    ...history(lane, pieces, place, view),
  ];
}

function classLine(letter) {
  const { name, label, glyph } = CLASSES[letter];
  return el(
    "p",
    { class: "cp-class" },
    el("span", { class: `cp-badge cp-is-${name}` }, el("i", { "aria-hidden": "true", text: glyph }), ` ${label}`),
  );
}

function correctedLine(piece) {
  return el("p", { class: "cp-why" }, "Corrected in this pass: the guess was ", tokenNode(piece, LONGEST_CELL), ".");
}

function candidates(pieces, cell) {
  const title = el("p", { class: "cp-subtitle", text: "Probability" });
  const rows = [];
  for (let i = 0; i + 1 < (cell.top?.length ?? 0); i += 2) rows.push([cell.top[i], cell.top[i + 1]]);
  if (!rows.some(([piece]) => piece === cell.piece) && cell.probability !== undefined)
    rows.push([cell.piece, cell.probability]);
  if (rows.length === 0) return [title, el("p", { class: "cp-hint", text: "Not recorded." })];
  return [
    title,
    el(
      "ol",
      { class: "cp-candidates" },
      ...rows.map(([piece, chance]) => candidate(pieces[piece], chance, piece === cell.piece)),
    ),
  ];
}

function candidate(piece, chance, chosen) {
  const bar = el("div", { class: "cp-bar", "aria-hidden": "true" });
  bar.style.width = `${clamped(chance / 10, 0, 100)}%`;
  return el(
    "li",
    { class: chosen ? "cp-chosen" : "", title: `id ${piece[0]}` },
    bar,
    tokenNode(piece, LONGEST_CELL),
    el("span", { class: "cp-chance", text: percent(chance) }),
  );
}

function history(lane, pieces, place, view) {
  const all = historyOf(lane, place.position, view, lane.last);
  const start = clamped(
    all.findIndex((row) => row.t === place.t) - LONGEST_HISTORY / 2,
    0,
    Math.max(0, all.length - LONGEST_HISTORY),
  );
  const rows = all.slice(start, start + LONGEST_HISTORY);
  const left = all.length - rows.length;
  const table = el(
    "table",
    {},
    el("thead", {}, el("tr", {}, ...["pass", "guess", "prediction", ""].map(columnHead))),
    el("tbody", {}, ...rows.map((row) => historyRow(pieces, row, row.t === place.t))),
  );
  const box = el(
    "div",
    { class: "cp-history", tabindex: "0", role: "group", "aria-label": `History of position ${place.position}` },
    table,
  );
  return [
    el("p", { class: "cp-subtitle", text: `Position ${place.position} over the passes` }),
    box,
    ...(left ? [el("p", { class: "cp-hint", text: `${left} further passes left out.` })] : []),
  ];
}

function columnHead(text) {
  return text ? el("th", { scope: "col", text }) : el("td");
}

function historyRow(pieces, row, current) {
  const { label, glyph, name } = CLASSES[row.letter];
  const event = row.corrected ? " (corrected)" : "";
  return el(
    "tr",
    { class: current ? "cp-now" : "" },
    el("th", { scope: "row", text: String(row.t) }),
    el("td", {}, row.fed === null ? "–" : tokenNode(pieces[row.fed], LONGEST_CELL)),
    el("td", {}, tokenNode(pieces[row.piece], LONGEST_CELL)),
    el(
      "td",
      { class: `cp-history-class cp-is-${name}`, title: label + event },
      el("i", { "aria-hidden": "true", text: glyph }),
      el("span", { class: "cp-sr", text: label + event }),
    ),
  );
}
