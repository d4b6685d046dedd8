// The iteration x position grid of one lane: a real table that holds only the cells in view, and the frontiers over it.
//
// The box scrolls over a sizer as large as the whole grid; the table sticks to its corner and shows the rows and
// columns of that place, cell by cell. Rows and columns that leave are put to use at the other side, so a step draws
// only what is new and costs the same whatever the run's size.

const ROW_HEIGHT = 34;
const HEAD_HEIGHT = 40;
const ROW_HEAD_WIDTH = 62;
const NARROWEST = 52;
const WIDEST = 128;
const MOST_ROWS = 14;

class Grid {
  /**
   * `events`: hover(cell or null), inspect(cell or null), pin(cell), seek(pass), where a cell is {t, position}; and
   * spaceChooses(), whether Space pins as Enter does.
   */
  constructor(events) {
    this.events = events;
    this.active = { t: 1, position: 0 }; // the one cell that Tab reaches
    this.head = el("tr");
    this.body = el("tbody");
    this.table = el("table", { class: "cp-table", role: "grid" }, el("thead", {}, this.head), this.body);
    this.lines = svg("svg", { class: "cp-lines", "aria-hidden": "true" });
    this.pane = el("div", { class: "cp-pane" }, this.table, this.lines);
    this.sizer = el("div", { class: "cp-sizer" }, this.pane);
    this.box = el("div", { class: "cp-grid", onscroll: () => this.scrolled() }, this.sizer);
    this.empty = el("p", { class: "cp-empty", text: "No pass was recorded in this run." });
    this.box.style.cssText = `--cp-row: ${ROW_HEIGHT}px; --cp-head: ${HEAD_HEIGHT}px; --cp-side: ${ROW_HEAD_WIDTH}px`;
    this.node = el("div", { class: "cp-grid-frame" }, this.box, this.empty);
    this.rows = [];
    this.heads = [];
    this.listen();
  }

  listen() {
    this.body.addEventListener("pointerover", (event) =>
      this.hover(event.pointerType === "touch" ? null : event.target),
    );
    this.body.addEventListener("pointerleave", () => this.hover(null));
    this.body.addEventListener("pointerdown", (event) => event.pointerType === "mouse" && event.preventDefault());
    this.body.addEventListener("click", (event) => this.click(event.target));
    this.body.addEventListener("focusin", (event) => this.focused(event.target));
    this.body.addEventListener("focusout", () => this.events.inspect(null));
    this.body.addEventListener("keydown", (event) => this.keydown(event));
  }

  /** Shows another lane from its first cell; the caller draws next. */
  setLane(lane, pieces) {
    Object.assign(this, { lane, pieces, top: 0, left: 0, rowCount: 0, key: null, active: { t: 1, position: 0 } });
    this.box.hidden = lane.last === 0;
    this.empty.hidden = lane.last > 0;
    this.table.setAttribute("aria-label", `${lane.label}: passes down, positions across`);
    this.table.setAttribute("aria-rowcount", lane.last + 2);
    this.table.setAttribute("aria-colcount", lane.width + 1);
    this.layout();
  }

  /** Fits rows and columns to the box: a whole block across where there is room. True if anything changed. */
  layout() {
    const { lane } = this;
    const width = this.box.clientWidth - ROW_HEAD_WIDTH;
    if (lane.last === 0 || width < NARROWEST) return false;
    const ideal = clamped(width / Math.min(lane.width, lane.n === 1 ? 16 : lane.n + 1), NARROWEST, WIDEST);
    const columns = Math.min(lane.width, Math.floor(width / ideal));
    const cell = columns < lane.width ? width / columns : ideal;
    const rows = Math.min(lane.last + 1, MOST_ROWS);
    const key = [lane.key, columns, rows, cell].join();
    if (key === this.key) return false;
    Object.assign(this, { key, columns, rowCount: rows, cell });
    this.sizer.style.width = `${ROW_HEAD_WIDTH + lane.width * cell}px`;
    this.sizer.style.height = `${HEAD_HEIGHT + (lane.last + 1) * ROW_HEIGHT}px`;
    this.box.style.height = `${HEAD_HEIGHT + rows * ROW_HEIGHT + this.box.offsetHeight - this.box.clientHeight}px`;
    this.top = clamped(this.top, 0, lane.last + 1 - rows);
    this.left = clamped(this.left, 0, lane.width - columns);
    this.build();
    this.scrollBox();
    return true;
  }

  build() {
    this.under = null;
    this.table.style.width = `${ROW_HEAD_WIDTH + this.columns * this.cell}px`;
    this.heads = Array.from({ length: this.columns }, () => el("th", { scope: "col" }, el("span"), el("small")));
    this.head.replaceChildren(
      el("th", { scope: "col", class: "cp-corner", "aria-colindex": 1, text: "pass" }),
      ...this.heads,
    );
    this.rows = Array.from({ length: this.rowCount }, () => newRow(this.columns));
    this.body.replaceChildren(...this.rows.map((row) => row.node));
    for (const row of this.rows) row.head.addEventListener("click", () => this.events.seek(row.t));
    this.drawnTop = this.top;
    this.drawnLeft = this.left;
    for (const th of this.heads) th.style.width = `${this.cell}px`;
  }

  /** Scrolls so that state k is in view: the row, and its window (its block, where the lane has blocks). */
  follow(k) {
    const { lane } = this;
    if (!this.rowCount) return;
    let { top, left } = this;
    const [start, end] = rowSpan(lane, k);
    const first = lane.blocks ? Math.floor(start / lane.n) * lane.n : start;
    const whole = lane.blocks && end - first <= this.columns;
    const ahead = whole ? end : Math.ceil((lane.fixed[k] + end) / 2); // a sliding window need not be seen to its end
    if (start < left || ahead > left + this.columns) {
      left = whole ? first : start - Math.max(1, Math.floor((this.columns - (end - start)) * 0.7));
      if (whole) top = firstRowFrom(lane, k, first) - 1;
    }
    if (k < top) top = k - 1;
    if (k >= top + this.rowCount) top = k - this.rowCount + 3;
    this.moveTo(top, left);
  }

  moveTo(top, left) {
    if (!this.rowCount) return;
    this.top = clamped(top, 0, this.lane.last + 1 - this.rowCount);
    this.left = clamped(left, 0, this.lane.width - this.columns);
    if (this.top !== this.drawnTop || this.left !== this.drawnLeft) this.scrollBox();
  }

  scrollBox() {
    this.box.scrollTop = this.top * ROW_HEIGHT;
    this.box.scrollLeft = this.left * this.cell;
  }

  /** Scrolls to where the table is: a box that was hidden forgets, or never hears, where it is scrolled to. */
  keepScroll() {
    const { scrollTop, scrollLeft } = this.box;
    const moved = Math.abs(scrollTop - this.top * ROW_HEIGHT) > 1 || Math.abs(Math.abs(scrollLeft) - this.left * this.cell) > 1;
    if (this.rowCount && moved && this.box.clientHeight) this.scrollBox();
  }

  scrolled() {
    if (!this.rowCount || !this.box.clientHeight) return; // a hidden box has no place
    const top = clamped(Math.round(this.box.scrollTop / ROW_HEIGHT), 0, this.lane.last + 1 - this.rowCount);
    const left = clamped(Math.round(Math.abs(this.box.scrollLeft) / this.cell), 0, this.lane.width - this.columns);
    if (top === this.top && left === this.left) return;
    Object.assign(this, { top, left });
    this.draw();
  }

  /** Draws state k. `look`: {view, off (letters filtered out), pinned}. */
  draw(k = this.k, look = this.look) {
    Object.assign(this, { k, look });
    if (!this.rowCount) return;
    const held = this.body.contains(document.activeElement);
    this.recycle();
    this.drawHead();
    this.rows.forEach((row, index) => this.drawRow(row, this.top + index));
    this.lines.replaceChildren(...frontierLines(this));
    this.placeTabStop(held);
    if (this.under) this.hover(this.under); // the same place under the pointer may be another cell now
  }

  recycle() {
    rotate(this.rows, this.top - this.drawnTop, (row) => row.node);
    for (const row of this.rows) rotate(row.cells, this.left - this.drawnLeft, (td) => td);
    this.drawnTop = this.top;
    this.drawnLeft = this.left;
  }

  drawHead() {
    this.heads.forEach((th, column) => {
      const position = this.left + column;
      th.setAttribute("aria-colindex", position + 2);
      setText(th.firstChild, String(position));
      const named = this.look.view === "hindsight" || this.look.targets;
      const target = named ? this.lane.output[position] : undefined;
      setText(th.lastChild, target === undefined ? "" : visibleText(this.pieces[target]));
    });
  }

  drawRow(row, t) {
    row.t = t;
    row.node.setAttribute("aria-rowindex", t + 2);
    row.node.className = t === this.k ? "cp-now" : t > this.k ? "cp-later" : "";
    if (t === this.k) row.node.setAttribute("aria-current", "step");
    else row.node.removeAttribute("aria-current");
    setText(row.head.firstChild, t === 0 ? "draft" : String(t));
    setText(row.head.lastChild, t === 0 || t > this.k ? "" : `+${this.lane.fixed[t] - this.lane.fixed[t - 1]}`);
    row.cells.forEach((td, column) => this.drawCell(td, t, this.left + column));
  }

  drawCell(td, t, position) {
    const { lane, look, k } = this;
    const cell = t > k ? null : cellAt(lane, t, position, look.view);
    const passed = !cell && t > 0 && t <= k && position < lane.fixed[t - 1];
    const off = cell !== null && look.off.has(cell.letter);
    const pinned = look.pinned !== null && look.pinned.t === t && look.pinned.position === position;
    const flag = cell ? look.flags.get(cellKey({ t, position })) : undefined;
    const key = `${lane.key} ${t} ${position} ${cell ? cell.letter : passed} ${off} ${pinned} ${flag}`;
    td.place = { t, position, empty: cell === null };
    if (td.key === key) return;
    td.key = key;
    td.setAttribute("aria-colindex", position + 2);
    td.setAttribute("aria-selected", String(pinned));
    td.className = [pinned ? "cp-pinned" : "", flag ? `cp-flag cp-flag-${flag}` : ""].join(" ").trim();
    td.dataset.state = cell ? CLASSES[cell.letter].name : passed ? "passed" : "blank";
    td.setAttribute(
      "aria-label",
      cell
        ? cellLabel(this.pieces[cell.piece], t, position, cell, look.view) + (flag ? `, ${FLAGS[flag]}` : "")
        : passed
          ? "fixed before"
          : "blank",
    );
    td.replaceChildren(...(cell ? [cellNode(this.pieces[cell.piece], cell, off, look.view)] : []));
  }

  placeTabStop(held) {
    let stop = null;
    for (const row of this.rows) {
      for (const td of row.cells) {
        if (td.hasAttribute("tabindex")) td.removeAttribute("tabindex");
        const active = td.place.t === this.active.t && td.place.position === this.active.position;
        if (active && !td.place.empty) stop = td;
      }
    }
    const visible =
      stop ?? this.rows.flatMap((row) => row.cells).find((td) => !td.place.empty) ?? this.rows[0].cells[0];
    visible.setAttribute("tabindex", "0");
    if (held && document.activeElement !== visible) visible.focus({ preventScroll: true });
  }

  cellOf(target) {
    return target?.closest?.("td")?.place ?? null;
  }

  hover(target) {
    this.under = target;
    const place = this.cellOf(target);
    this.events.hover(place && !place.empty ? place : null);
  }

  click(target) {
    const place = this.cellOf(target);
    if (!place || place.empty) return;
    this.active = { t: place.t, position: place.position };
    this.events.pin(this.active);
  }

  focused(target) {
    const place = this.cellOf(target);
    if (!place) return;
    this.active = { t: place.t, position: place.position };
    this.events.inspect(place.empty ? null : this.active);
  }

  keydown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (event.key in moves) this.walk(...moves[event.key]);
    else if (event.key === "Enter" || (event.key === " " && this.events.spaceChooses())) this.click(event.target);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Moves the focus by rows and columns, staying on cells that hold a token. */
  walk(down, across) {
    const t = clamped(this.active.t + down, rowSpan(this.lane, 0)[1] > 0 ? 0 : 1, Math.max(this.k, 0));
    const [start, end] = rowSpan(this.lane, t);
    const position = clamped(this.active.position + across, start, Math.max(start, end - 1));
    this.active = { t, position };
    const top = clamped(this.top, t - this.rowCount + 1, t);
    const left = clamped(this.left, position - this.columns + 1, position);
    this.moveTo(top, left);
    this.draw();
    this.focusCell();
  }

  focusCell() {
    this.body.querySelector("[tabindex]")?.focus({ preventScroll: true });
  }
}

/** The first of the rows up to k whose window starts at `position` or later. */
function firstRowFrom(lane, k, position) {
  while (k > 1 && lane.passes[k - 2].s >= position) k--;
  return k;
}

/** Moves items that leave at one end to the other, in the list and in the document; `node` gives an item's element. */
function rotate(items, by, node) {
  if (by === 0 || Math.abs(by) >= items.length) return;
  const leaving = by > 0 ? items.splice(0, by) : items.splice(by);
  const nodes = leaving.map(node);
  if (by > 0) node(items[items.length - 1]).after(...nodes);
  else node(items[0]).before(...nodes);
  if (by > 0) items.push(...leaving);
  else items.unshift(...leaving);
}

function newRow(columns) {
  const head = el("th", { scope: "row" }, el("span"), el("small"));
  const cells = Array.from({ length: columns }, () => el("td"));
  return { node: el("tr", {}, head, ...cells), head, cells };
}

function cellLabel(piece, t, position, cell, view) {
  const chance = cell.probability === undefined ? "" : `, ${percent(cell.probability)}`;
  const event = cell.corrected && view === "hindsight" ? ", corrected" : "";
  const row = t === 0 ? "draft" : `pass ${t}`;
  return `${visibleText(piece)}, ${row}, position ${position}, ${CLASSES[cell.letter].label}${event}${chance}`;
}

function cellNode(piece, cell, off, view) {
  const { name, glyph } = CLASSES[cell.letter];
  const chip = el("div", {
    class: `cp-cell cp-is-${name}${off ? " cp-off" : ""}${piece[1] === TEXT ? "" : " cp-odd"}`,
  });
  if (off) return chip;
  chip.append(tokenNode(piece, LONGEST_CELL), el("i", { class: "cp-glyph", "aria-hidden": "true", text: glyph }));
  if (cell.corrected && view === "hindsight") chip.append(el("i", { class: "cp-corrected" }));
  return chip;
}

/** The staircases and the block borders of the rows and columns in view, as svg nodes. */
function frontierLines(grid) {
  const { lane, top, left, columns, rowCount, cell, k, look } = grid;
  grid.lines.setAttribute("width", columns * cell);
  grid.lines.setAttribute("height", rowCount * ROW_HEIGHT);
  const nodes = [];
  for (let edge = Math.ceil(left / lane.n) * lane.n; lane.blocks && edge < left + columns; edge += lane.n) {
    if (edge > left)
      nodes.push(svg("path", { class: "cp-block-line", d: `M${(edge - left) * cell} 0V${rowCount * ROW_HEIGHT}` }));
  }
  const last = Math.min(k, top + rowCount - 1);
  if (look.view === "hindsight")
    nodes.push(svg("path", { class: "cp-correct", d: staircase(lane.correct, grid, last) }));
  nodes.push(svg("path", { class: "cp-frontier", d: staircase(lane.fixed, grid, last) }));
  if (look.view === "hindsight") nodes.push(...bracketLines(grid));
  return nodes;
}

function staircase(frontier, { top, left, columns, cell }, last) {
  const x = (position) => clamped(position - left, -1, columns + 1) * cell;
  let path = "";
  for (let t = top; t <= last; t++) {
    const y = (t - top) * ROW_HEIGHT;
    path += `${path === "" ? `M${x(t > 0 ? frontier[t - 1] : frontier[t])} ${y}` : ""}H${x(frontier[t])}V${y + ROW_HEIGHT}`;
  }
  return path;
}
