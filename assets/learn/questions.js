// The questions people ask first, each with an answer and, where there is one, a recording that shows it.

class Questions {
  constructor(questions, { stage }) {
    this.stage = stage;
    this.node = el(
      "section",
      { class: "cl-card", "aria-label": "Questions" },
      el("h2", { text: "Questions people ask first" }),
      ...questions.map((entry, index) => this.entry(entry, index === 0)),
    );
    this.show(questions.find((entry) => entry.show)?.show);
  }

  entry({ question, answer, show }, open) {
    const see = show ? [button(show.label, () => this.show(show, true))] : [];
    return el(
      "details",
      { class: "cl-question", open },
      el("summary", { text: question }),
      ...paragraphs(answer),
      ...see,
    );
  }

  show(show, bring = false) {
    if (!show) return;
    const player = this.stage.open(show.recording, show.lanes, () => false);
    player.set({ lane: show.lane, view: show.view, quiz: false, targets: false, flags: [], clock: "pass", pass: show.at });
    if (bring) this.stage.bring();
  }
}
