// The race: one card per lane with its timeline, its counters and its text as it stands.

class LaneCard {
  constructor(lane, pieces, { select, seek }) {
    Object.assign(this, { lane, pieces, seek, shown: null });
    this.pick = el(
      "button",
      { type: "button", class: "cp-pick", onclick: select, title: "Show the grid of this lane" },
      el("span", { class: "cp-lane-name", text: lane.label }),
    );
    this.head = el("div", { class: "cp-lane-head" }, this.pick, ...partialTag(lane));
    this.track = this.newTrack();
    this.counts = newCounts();
    this.fixed = el("span", { class: "cp-fixed" });
    this.fresh = el("span", { class: "cp-fixed cp-fresh" });
    this.guesses = el("span", { class: "cp-guesses" });
    this.text = el(
      "div",
      { class: "cp-text", tabindex: "0", role: "group", "aria-label": `Text of ${lane.label}` },
      el("div", { dir: "auto" }, this.fixed, this.fresh, this.guesses),
    );
    this.node = el(
      "section",
      { class: "cp-lane", "aria-label": lane.label },
      this.head,
      el("p", { class: "cp-facts", text: lane.facts }),
      this.track,
      this.counts.node,
      this.text,
      laneNotes(lane),
    );
  }

  newTrack() {
    this.allBars = svg("path");
    this.pastBars = svg("path");
    this.past = svg(
      "svg",
      { class: "cp-bars cp-past", viewBox: "0 0 1000 100", preserveAspectRatio: "none" },
      this.pastBars,
    );
    this.cursor = el("div", { class: "cp-cursor" });
    this.finish = el("div", { class: "cp-finish" }, el("span"));
    return el(
      "div",
      {
        class: "cp-track",
        "aria-hidden": "true",
        onpointerdown: (event) => this.scrub(event),
        onpointermove: (event) => event.buttons === 1 && this.scrub(event),
      },
      svg("svg", { class: "cp-bars", viewBox: "0 0 1000 100", preserveAspectRatio: "none" }, this.allBars),
      this.past,
      this.cursor,
      this.finish,
    );
  }

  scrub(event) {
    const box = this.track.getBoundingClientRect();
    this.seek(clamped((event.clientX - box.left) / box.width, 0, 1));
  }

  /** Draws the ticks for a clock and a view; `highest` is the scale that all lanes share. */
  drawTrack(clock, view, end, highest) {
    const path = tickPath(this.lane, clock, view === "hindsight" ? this.lane.correct : this.lane.fixed, end, highest);
    this.allBars.setAttribute("d", path);
    this.pastBars.setAttribute("d", path);
    const share = end > 0 ? laneEnd(this.lane, clock) / end : 0;
    this.finish.style.left = `${100 * share}%`;
    this.finish.classList.toggle("cp-flip", share > 0.7);
    const passes = `${this.lane.last} ${this.lane.last === 1 ? "pass" : "passes"}`;
    setText(this.finish.firstChild, clock === "time" ? seconds(this.lane.total) : passes);
  }

  /** Moves the cursor, which all lanes share. `elapsed` is in milliseconds of this lane. */
  drawCursor(share, done) {
    this.cursor.style.left = `${100 * share}%`;
    this.past.style.clipPath = `inset(0 ${100 * (1 - share)}% 0 0)`;
    this.node.classList.toggle("cp-done", done);
  }

  drawElapsed(elapsed) {
    setText(this.counts.seconds, (elapsed / 1000).toFixed(2));
  }

  /** Draws state k: the counters and the text. */
  drawState(k, view, off) {
    const { lane, counts } = this;
    const shown = [k, view, [...off].join("")].join();
    if (shown === this.shown) return;
    this.shown = shown;
    setText(counts.passes, String(k));
    setText(counts.of, `of ${lane.last}`);
    setText(counts.tokens, String(lane.fixed[k]));
    setText(counts.rate, k === 0 ? "–" : (lane.fixed[k] / k).toFixed(2));
    setText(counts.forwarded, String(lane.forwarded[k]));
    setText(counts.stationary, String(lane.stationary[k]));
    this.drawText(k, view, off);
  }

  drawText(k, view, off) {
    const { lane, pieces } = this;
    const from = k === 0 ? 0 : lane.fixed[k - 1];
    const guesses = guessesAt(lane, k, view);
    const indexes = [...lane.output.slice(0, lane.fixed[k]), ...guesses.map((guess) => guess.piece)];
    const run = indexes.map((index) => pieces[index]);
    const joined = joinPieces(run);
    setText(this.fixed, printable(joined.slice(0, from).join("")));
    setText(this.fresh, printable(joined.slice(from, lane.fixed[k]).join("")));
    this.guesses.replaceChildren(...guessSpans(guesses, joined.slice(lane.fixed[k]), run.slice(lane.fixed[k]), off));
  }
}

function partialTag(lane) {
  return lane.partial ? [el("span", { class: "cp-tag", text: "stopped, partial" })] : [];
}

function laneNotes(lane) {
  return el(
    "ul",
    { class: "cp-notes", hidden: lane.notes.length === 0 },
    ...lane.notes.map((text) => el("li", { text })),
  );
}

/** Spans of guesses; neighbours of one class share a span. */
function guessSpans(guesses, texts, run, off) {
  const spans = [];
  guesses.forEach(({ letter }, index) => {
    const control = run[index][1] === CONTROL;
    const text = control ? visibleText(run[index]) : printable(texts[index]);
    const name = `cp-guess cp-is-${CLASSES[letter].name}${off.has(letter) ? " cp-off" : ""}${control ? " cp-control" : ""}`;
    const last = spans[spans.length - 1];
    if (text === "") return;
    if (last && last.className === name && !control) last.append(text);
    else spans.push(el("span", { class: name, text }));
  });
  return spans;
}

/** One bar per pass, as wide as the pass on this clock and as high as what it gained. */
function tickPath(lane, clock, frontier, end, highest) {
  const scale = end > 0 ? 1000 / end : 0;
  let path = "";
  for (let t = 1; t <= lane.last; t++) {
    const start = cursorOf(lane, clock, t - 1) * scale;
    const width = cursorOf(lane, clock, t) * scale - start;
    const height = (100 * Math.max(0, frontier[t] - frontier[t - 1])) / highest;
    path += `M${(start + width * 0.1).toFixed(2)} 100v${-height.toFixed(1)}h${(width * 0.8).toFixed(2)}V100z`;
  }
  return path;
}

function newCounts() {
  const counts = {};
  const count = (key, label, glyph, title) => {
    counts[key] = el("b", { text: "0" });
    const value = el("dd", {}, counts[key]);
    if (key === "passes") value.append(" ", (counts.of = el("span", { class: "cp-of" })));
    const term = el(
      "dt",
      { title },
      ...(glyph ? [el("i", { class: "cp-glyph", "aria-hidden": "true", text: glyph }), " "] : []),
      label,
    );
    return el("div", { class: `cp-count cp-count-${key}` }, term, value);
  };
  counts.node = el(
    "dl",
    { class: "cp-counts" },
    count("passes", "pass", "", "Forward passes so far, of all in the run"),
    count("tokens", "tokens fixed", "", "Tokens that the decoder knows to be final"),
    count("rate", "per pass", "", "Tokens fixed / passes so far"),
    count("seconds", "seconds", "", "Measured time of the passes so far"),
    count("forwarded", "forwarded", CLASSES.f.glyph, "Positions ever fast-forwarded so far (hindsight)"),
    count("stationary", "stationary", CLASSES.k.glyph, "Positions ever stationary so far (hindsight)"),
  );
  return counts;
}
