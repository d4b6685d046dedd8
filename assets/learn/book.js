// The Learn tab: a list of lessons, the prediction game and the questions, beside one player. CllmLessons.mount is the
// way in. It plays recordings that came with the page: nothing is asked of a server.

const LEARN_SCHEMA = "cllm-lessons";
const LEARN_VERSION = 1;

/** The player beside the text. Each page of the book opens a recording in it. */
class Stage {
  constructor(recordings) {
    this.recordings = recordings;
    this.node = el("div", { class: "cl-stage" });
  }

  /**
   * Plays lanes of a recording; `choose(cell)` hears of cells and says whether it took them. A `still` player has no
   * controls of its own: it goes where it is taken.
   */
  open(name, lanes, choose, { still = false } = {}) {
    this.player?.destroy();
    this.node.classList.toggle("cl-still", still);
    const root = el("div");
    this.node.replaceChildren(root);
    this.player = CllmPlayer.mount(root, withLanes(this.recordings[name], lanes));
    this.player.on("cell", choose);
    return this.player;
  }

  bring() {
    this.node.scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  }

  destroy() {
    this.player?.destroy();
  }
}

class Book {
  constructor(root, props) {
    Object.assign(this, { root, props });
    this.done = new Set();
    this.stage = new Stage(props.recordings);
    this.entries = [
      ...props.lessons.map((lesson, index) => ({ name: `lesson-${index + 1}`, label: lesson.title, number: index + 1, open: () => this.lesson(index) })),
      { name: "predict", label: "Predict, then reveal", open: () => new Predict(props.rounds, this) },
      { name: "questions", label: "Questions", open: () => new Questions(props.questions, this) },
    ];
    this.links = this.entries.map((entry) => this.link(entry));
    this.text = el("div", { class: "cl-text" });
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
