// Predict, then reveal: mark the guesses that you think are right after the next pass, step, and see the score.

class Predict {
  constructor(rounds, { stage }) {
    Object.assign(this, { rounds, stage });
    this.choice = el(
      "select",
      { class: "cl-select", onchange: () => this.start() },
      ...rounds.map((round, index) => el("option", { value: index, text: round.title })),
    );
    this.state = el("p", { class: "cl-say" });
    this.reply = el("p", { class: "cl-reply", role: "status", "aria-live": "polite" });
    this.total = el("p", { class: "cl-total" });
    this.next = button("Reveal", () => this.reveal(), { class: "cl-button cl-main" });
    this.again = button("Start again", () => this.start());
    this.node = el(
      "section",
      { class: "cl-card", "aria-label": "Predict, then reveal" },
      el("h2", { text: "Predict, then reveal" }),
      ...paragraphs([
        "The row at the staircase holds the model's guesses. Mark those places whose token you think will be *right after the next pass*: click a guess, or walk there with Tab and the arrow keys and press Enter. Then reveal.",
        "The first place is always right: it rests on final tokens. What else?",
      ]),
      el("label", { class: "cl-label" }, "Recording ", this.choice),
      this.state,
      this.reply,
      this.total,
      el("div", { class: "cl-buttons" }, this.next, this.again),
    );
    this.start();
  }

  start() {
    const { recording, lane } = this.rounds[Number(this.choice.value || 0)];
    this.player = this.stage.open(recording, [lane], (cell) => this.toggle(cell), { still: true });
    this.picked = new Set();
    this.expected = null;
    this.opened = false;
    this.score = { right: 0, of: 0, first: 0 };
    this.player.set({ lane, view: "known", quiz: true, targets: false, flags: [], clock: "pass", pass: 0 });
    this.player.on("pass", (pass) => this.moved(pass));
    setText(this.reply, "");
    this.draw();
  }

  /** The player was taken to another pass by a key or a row's number: the game goes on from there. */
  moved(pass) {
    const expected = pass === this.expected;
    this.expected = null;
    if (expected) return;
    this.opened = false;
    this.picked.clear();
    this.player.set({ flags: [] });
    setText(this.reply, "");
    this.draw();
  }

  /** Goes on by one pass, and expects it. */
  advance() {
    this.expected = this.player.state().pass + 1;
    this.player.set({ pass: this.expected, flags: [] });
  }

  /** The places that can be marked: the guesses of the row that is shown. Empty where a new block begins. */
  places() {
    const { pass, fixed } = this.player.state();
    const [, end] = this.player.span(pass);
    return Array.from({ length: Math.max(0, end - fixed) }, (_, index) => fixed + index);
  }

  toggle({ t, position }) {
    const { pass, last } = this.player.state();
    if (pass === last) return true;
    if (t !== pass || !this.places().includes(position)) {
      setText(this.reply, "Mark guesses in the row of the last pass, from the staircase on.");
      toReply(this.node);
      return true;
    }
    if (!this.picked.delete(position)) this.picked.add(position);
    this.player.set({ flags: [...this.picked].map((position) => ({ t: pass, position, kind: "pick" })) });
    this.draw();
    return true;
  }

  reveal() {
    const places = this.places();
    const { pass } = this.player.state();
    this.advance();
    const flags = places.map((position) => this.judge(position, pass + 1)).filter(({ cell }) => cell);
    this.count(flags.filter(({ cell }) => !cell.after));
    this.player.set({ flags: flags.filter(({ kind }) => kind).map(({ t, position, kind }) => ({ t, position, kind })) });
    this.picked.clear();
    this.openBlock();
    this.draw();
  }

  judge(position, t) {
    const cell = this.player.cell({ t, position });
    const picked = this.picked.has(position);
    const kind = cell?.after ? "" : cell?.right ? (picked ? "yes" : "missed") : picked ? "no" : "";
    return { t, position, cell, kind, agreed: picked === cell?.right };
  }

  /** Tokens after the end are in no count. */
  count(flags) {
    const marked = flags.filter(({ position }) => this.picked.has(position)).length;
    const beyond = this.picked.size - marked;
    const hits = flags.filter(({ kind }) => kind === "yes").length;
    const missed = flags.filter(({ kind }) => kind === "missed").length;
    this.score.right += flags.filter(({ agreed }) => agreed).length;
    this.score.of += flags.length;
    this.score.first += flags.filter(({ cell }, index) => cell.right === (index === 0)).length;
    const more = missed ? ` ${missed} ${missed === 1 ? "place was" : "places were"} right and not marked (dotted frame).` : "";
    const told = `${hits} of your ${marked} ${marked === 1 ? "mark was" : "marks were"} right.`;
    const after = beyond ? ` ${beyond} ${beyond === 1 ? "mark was" : "marks were"} after the end, which counts for nothing.` : "";
    setText(this.reply, `${marked ? told : beyond ? "" : "You marked none."}${more}${after}`.trim());
  }

  /** Where a new block begins there is no guess to be seen yet: its first pass is shown straight away. */
  openBlock() {
    const { pass, last } = this.player.state();
    this.opened = pass < last && this.places().length === 0;
    if (this.opened) this.advance();
  }

  draw() {
    const { pass, last } = this.player.state();
    const over = pass === last;
    const marks = this.picked.size;
    const opened = this.opened ? "That block is complete; a new one has begun. " : "";
    setText(this.state, over ? "The answer is complete." : `${opened}Pass ${pass} of ${last}. ${marks} marked for pass ${pass + 1}.`);
    const { right, of, first } = this.score;
    setText(
      this.total,
      of ? `So far you judged ${right} of ${of} places rightly; marking the first one only, ${first}.` : "",
    );
    if (this.reply.textContent) toReply(this.node);
    if (over && document.activeElement === this.next) this.choice.focus();
    this.next.disabled = over;
    this.next.textContent = over ? "Reveal" : `Reveal pass ${pass + 1}`;
  }
}
