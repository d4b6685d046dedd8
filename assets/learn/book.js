// The Learn tab: a list of lessons, the prediction game and the questions, beside one player. CllmLessons.mount is the
// way in. It plays recordings that came with the page: nothing is asked of a server.

const LEARN_SCHEMA = "cllm-lessons";
const LEARN_VERSION = 1;

/** The player beside the text. Each page of the book opens a recording in it. */
class Stage {
  /** On a narrow screen `text` stays in sight over the player: what it covers of the grid's head is made good for. */
  constructor(recordings, text) {
    Object.assign(this, { recordings, text });
    this.node = el("div", { class: "cl-stage" });
    this.fit = () => this.keepHead();
    this.resized = new ResizeObserver(this.fit);
    this.resized.observe(text);
    document.addEventListener("scroll", this.fit, { capture: true, passive: true });
  }

  /**
   * Plays lanes of a recording; `choose(cell)` hears of cells and says whether it took them. A `still` player has no
   * controls of its own: it goes where it is taken, or a pass on or back by an arrow key.
   */
  open(name, lanes, choose, { still = false } = {}) {
    this.player?.destroy();
    this.node.classList.toggle("cl-still", still);
    const root = el("div");
    this.node.replaceChildren(root);
    this.player = CllmPlayer.mount(root, withLanes(this.recordings[name], lanes));
    this.player.set({ still });
    this.player.on("cell", choose);
    this.keepHead();
    return this.player;
  }

  bring() {
    this.node.scrollIntoView({ block: "nearest", behavior: motion() });
  }

  /** Whether the text stays over the player, not beside it. */
  covered() {
    return getComputedStyle(this.text).position === "sticky" && this.text.offsetLeft === this.node.offsetLeft;
  }

  /** Where the grid can be seen from: below the text, and below the step buttons where they stay in sight too. */
  ceiling() {
    const line = this.node.querySelector(".cp-line");
    const pinned = line && getComputedStyle(line).position === "sticky" ? [line] : [];
    return Math.max(...[this.text, ...pinned].map((node) => node.getBoundingClientRect().bottom));
  }

  /** Keeps the head of the grid right below what stays over it, down to the grid's last row. */
  keepHead() {
    const covered = this.covered();
    this.node.style.setProperty("--cl-text", `${covered ? this.text.offsetHeight : 0}px`);
    const box = this.node.querySelector(".cp-grid");
    const head = box?.querySelector("thead");
    if (!head) return;
    const { top, bottom } = box.getBoundingClientRect();
    const most = bottom - top - 2 * head.offsetHeight; // a row stays in sight below it
    this.node.style.setProperty("--cl-down", `${covered ? Math.max(0, Math.min(most, this.ceiling() - top - box.clientTop)) : 0}px`);
  }

  /** Scrolls the grid to the cells that a step points at; to the first ones where there is no room for all. */
  bringCells(cells) {
    const box = this.node.querySelector(".cp-grid");
    const [corner, ...heads] = box?.querySelectorAll("thead th") ?? [];
    if (!heads.length || !cells.length) return;
    const rows = box.querySelectorAll("tbody tr");
    const height = rows[0].offsetHeight;
    const lines = cells.map(([t]) => t);
    const top = Math.max(Math.round(box.scrollTop / height), Math.max(...lines) - rows.length + 1);
    box.scrollTop = Math.min(top, ...lines) * height;
    const width = (box.querySelector(".cp-table").offsetWidth - corner.offsetWidth) / heads.length;
    const places = cells.map(([, position]) => position);
    const left = Math.max(Math.round(box.scrollLeft / width), Math.max(...places) - heads.length + 1);
    box.scrollLeft = Math.min(left, ...places) * width;
  }

  /** On a narrow screen, scrolls to the row of the pass that is shown, where the text or the screen's edge hides it. */
  bringRow() {
    this.keepHead(); // the text may just have become another
    const row = this.node.querySelector(".cp-grid tr.cp-now");
    if (!row || !this.covered()) return;
    const { top, bottom } = row.getBoundingClientRect();
    const head = this.node.querySelector(".cp-grid thead").offsetHeight;
    const room = top - head - this.ceiling(); // above the row; less than nothing where it is hidden
    const missing = bottom + 8 - innerHeight; // below the screen's edge
    const by = room < 0 ? room : Math.max(0, Math.min(room, missing));
    if (by) scrollBy({ top: by, behavior: motion() });
  }

  destroy() {
    this.resized.disconnect();
    document.removeEventListener("scroll", this.fit, { capture: true });
    this.player?.destroy();
  }
}

function motion() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
}

class Book {
  constructor(root, props) {
    Object.assign(this, { root, props });
    this.done = new Set();
    this.text = el("div", { class: "cl-text" });
    this.stage = new Stage(props.recordings, this.text);
    this.entries = [
      ...props.lessons.map((lesson, index) => ({ name: `lesson-${index + 1}`, label: lesson.title, number: index + 1, open: () => this.lesson(index) })),
      { name: "predict", label: "Predict, then reveal", open: () => new Predict(props.rounds, this) },
      { name: "questions", label: "Questions", open: () => new Questions(props.questions, this) },
    ];
    this.links = this.entries.map((entry) => this.link(entry));
    root.classList.add("cllm-learn");
    root.replaceChildren(
      el("nav", { class: "cl-nav", "aria-label": "Lessons" }, el("ol", {}, ...this.links.map((link) => el("li", {}, link)))),
      el("div", { class: "cl-book" }, this.text, this.stage.node),
    );
    this.go(0);
  }

  link(entry) {
    const number = entry.number ? [el("span", { class: "cl-number", text: String(entry.number) }), " "] : [];
    const mark = el("span", { class: "cl-done" });
    const index = this.entries.indexOf(entry);
    return el("button", { type: "button", class: "cl-link", onclick: () => this.go(index) }, ...number, el("span", { class: "cl-name", text: entry.label }), mark);
  }

  lesson(index) {
    return new Lesson(this.props.lessons[index], {
      stage: this.stage,
      done: () => this.finish(index),
      next: () => this.go(index + 1, true),
      after: this.entries[index + 1].number ? "Next lesson" : this.entries[index + 1].label,
    });
  }

  finish(index) {
    this.done.add(index);
    const mark = this.links[index].querySelector(".cl-done");
    mark.replaceChildren(el("span", { "aria-hidden": "true", text: " ✓" }), el("span", { class: "cl-sr", text: " (done)" }));
  }

  go(index, focus = false) {
    this.links.forEach((link, each) => {
      if (each === index) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    });
    const page = this.entries[index].open();
    this.text.replaceChildren(page.node);
    this.stage.keepHead();
    if (focus) this.links[index].focus();
  }
}

const books = new WeakMap(); // root -> its book

/** Shows LearnProps (visualize/lessons.py), or its JSON, in `root`. */
function mountBook(root, props) {
  books.get(root)?.stage.destroy();
  const data = typeof props === "string" ? JSON.parse(props) : props;
  if (data?.schema !== LEARN_SCHEMA || data.version > LEARN_VERSION) {
    root.replaceChildren(el("p", { role: "status", text: "These lessons cannot be shown: reload the page." }));
    return;
  }
  books.set(root, new Book(root, data));
}

window.CllmLessons = Object.freeze({ mount: mountBook });
