// One lesson: a short text, then one step of the player, then a pause; and checks that are answered on the grid.

const TRIES = 2; // wrong answers before the right one is offered

class Lesson {
  /**
   * `stage.open(recording, lanes)` gives a player's handle; `done()` is told when the last step is reached; `next()`
   * opens what comes after the lesson, which the last step's button names by `after`.
   */
  constructor(lesson, { stage, done, next, after }) {
    Object.assign(this, { lesson, stage, done, next, after, index: 0, wrong: 0, answered: new Set(), walking: false });
    this.player = stage.open(lesson.recording, lesson.lanes, (cell) => this.choose(cell));
    this.count = el("p", { class: "cl-count" });
    this.say = el("div", { class: "cl-say" });
    this.ask = el("p", { class: "cl-ask" });
    this.reply = el("p", { class: "cl-reply", role: "status", "aria-live": "polite" });
    this.back = button("Back", () => this.go(this.index - 1));
    this.reveal = button("Show me", () => this.show());
    this.forward = button("", () => (this.last() ? this.next() : this.go(this.index + 1)), { class: "cl-button cl-main" });
    this.node = el(
      "section",
      { class: "cl-card", "aria-label": lesson.title },
      el("h2", { text: lesson.title }),
      this.count,
      el("div", { "aria-live": "polite" }, this.say, this.ask),
      this.reply,
      el("div", { class: "cl-buttons" }, this.back, this.forward, this.reveal),
    );
    this.go(0, false);
  }

  step() {
    return this.lesson.steps[this.index];
  }

  last() {
    return this.index === this.lesson.steps.length - 1;
  }

  go(index, opened = true) {
    const from = index > this.index ? this.step() : null;
    this.index = index;
    this.wrong = 0;
    this.say.replaceChildren(...paragraphs(this.step().say));
    this.draw("");
    if (this.last()) this.done();
    return this.perform(from, opened);
  }

  /** Brings the player to the step: pass by pass from the step before, at once from anywhere else. */
  async perform(from, opened) {
    const { lane, view, at, flags, ask } = this.step();
    const quiz = ask !== undefined && view === "known";
    this.player.set({ lane, view, quiz, targets: quiz, flags: [], clock: "pass", pass: from?.lane === lane ? undefined : at });
    this.walking = at > this.player.state().pass;
    const end = this.walking ? await this.player.play(at) : "arrived";
    if (end === "ended") return;
    this.walking = false;
    const marks = flags.map(([t, position]) => ({ t, position, kind: "look" }));
    if (end === "taken") return this.player.set({ flags: marks }); // the learner plays on from where it was
    this.player.set({ pass: at, flags: marks });
    this.stage.bringCells(flags);
    if (opened) this.stage.bringRow();
  }

  /** A cell was chosen: an answer, if one is asked for. */
  choose(cell) {
    const { ask, lane, at } = this.step();
    if (!ask) return false;
    const state = this.player.state();
    if (state.lane !== lane) {
      this.draw("That is the other lane: this is asked about the one that the step opened.", "no");
      return true;
    }
    const right = ask.cells.some(([t, position]) => t === cell.t && position === cell.position);
    this.player.set({ pass: this.walking ? at : state.pass, flags: [{ ...cell, kind: right ? "yes" : "no" }] });
    this.walking = false;
    if (right) this.answered.add(this.index);
    else this.wrong++;
    this.draw(right ? ask.right : `${this.told(cell)} Try another one.`, right ? "yes" : "no");
    return true;
  }

  told(cell) {
    if (cell.t === 0) return "That is a guess of the draft, made before the first pass.";
    const { text, label, why } = this.player.cell(cell);
    return `Not this one: “${text}”, pass ${cell.t}, place ${cell.position}, is ${label}. ${why}`;
  }

  show() {
    const { ask, lane } = this.step();
    const [t, position] = ask.cells[0];
    this.answered.add(this.index);
    this.player.set({ lane, pass: Math.max(t, this.player.state().pass), flags: ask.cells.map(([t, position]) => ({ t, position, kind: "yes" })) });
    this.stage.bringCells([[t, position]]);
    this.draw(`It is place ${position} in the row of pass ${t}. ${ask.cells.length > 1 ? "All right answers are framed." : ""}`, "yes");
  }

  draw(reply, kind = "") {
    const { ask } = this.step();
    setText(this.count, `Step ${this.index + 1} of ${this.lesson.steps.length}`);
    setText(this.ask, ask ? ask.text : "");
    this.ask.hidden = !ask;
    setText(this.reply, reply);
    this.reply.className = `cl-reply${kind ? ` cl-${kind}` : ""}`;
    if (reply) toReply(this.node);
    else this.node.scrollTop = 0;
    const held = document.activeElement;
    this.back.disabled = this.index === 0;
    this.reveal.hidden = !ask || this.answered.has(this.index) || this.wrong < TRIES;
    this.forward.textContent = this.last() ? this.after : ask && !this.answered.has(this.index) ? "Skip" : "Next";
    if ([this.back, this.reveal].some((each) => each === held && (each.disabled || each.hidden))) this.forward.focus();
  }
}
