// The player: holds the state, listens to keys and controls, and has the parts draw. mount() is the way in.

const ANNOUNCE_EVERY = 2000; // milliseconds between two messages to a screen reader
const LONGEST_FRAME = 0.5; // seconds; a tab that was hidden goes on from where it was

class Player {
  constructor(root) {
    this.root = root;
    this.settings = { clock: "pass", view: "hindsight", speed: 1, off: new Set() };
    this.cursor = 0;
    this.playing = false;
    this.lane = 0;
    this.flags = new Map(); // cell -> kind, set from outside
    this.flagged = null; // the key of the lane whose cells they are
    this.still = false; // whether keys play and jump
    this.hands = 0; // how often the person at the player moved it
    this.targets = false;
    this.opening = null; // where to open the next payload, told from outside
    this.listeners = { cell: [], pass: [] };
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    this.resized = new ResizeObserver(() => this.relayout());
    root.classList.add("cllm-player");
    root.setAttribute("tabindex", "0");
    root.setAttribute("role", "region");
    this.keydown = (event) => this.key(event);
    root.addEventListener("keydown", this.keydown);
  }

  /** Shows a payload; settings stay, the cursor goes to the end of the run. */
  show(props) {
    this.pause();
    this.resized.disconnect();
    this.run = readProps(props);
    this.pinned = this.hovered = this.inspected = null;
    if (this.run.message) {
      this.root.setAttribute("aria-label", "Player");
      this.root.replaceChildren(el("p", { class: "cp-message", role: "status", text: this.run.message }));
      return;
    }
    this.root.setAttribute("aria-label", this.run.title ? `Player: ${this.run.title}` : "Player");
    this.lane = this.laneToShow();
    this.build();
    this.cursor = this.end();
    this.select(this.lane);
    this.openAt(this.run.open ?? this.opening);
    this.resized.observe(this.grid.box);
  }

  /** Goes to where a payload, or a link, says it should be opened. */
  openAt(place) {
    this.opening = null;
    if (place) new Handle(this).set(place);
  }

  destroy() {
    this.pause();
    this.resized.disconnect();
    this.root.removeEventListener("keydown", this.keydown);
    this.root.classList.remove("cllm-player");
    for (const name of ["tabindex", "role", "aria-label"]) this.root.removeAttribute(name);
    this.root.replaceChildren();
  }

  /** The lane whose key was shown last, else the last one: the most parallel. */
  laneToShow() {
    const kept = this.run.lanes.findIndex((lane) => lane.key === this.laneKey);
    return kept >= 0 ? kept : this.run.lanes.length - 1;
  }

  build() {
    const { run } = this;
    const by = (move) => (...values) => {
      this.hands++;
      move(...values);
    };
    this.toolbar = new Toolbar({
      toggle: by(() => this.toggle()),
      step: by((direction) => this.step(direction)),
      block: by((direction) => this.block(direction)),
      to: by((place) => this.to(place)),
      seek: by((cursor) => this.seek(cursor)),
      set: (name, value) => this.set(name, value),
      help: () => this.help.showModal(),
    });
    this.cards = run.lanes.map(
      (lane, index) =>
        new LaneCard(lane, run.pieces, {
          select: by(() => this.select(index)),
          seek: by((share) => this.seekShare(share)),
        }),
    );
    this.legend = el("div", { class: "cp-legend", role: "group", "aria-label": "Classes" });
    this.grid = new Grid({
      hover: (cell) => this.look("hovered", cell),
      inspect: (cell) => this.look("inspected", cell),
      pin: (cell) => this.pin(cell),
      seek: by((k) => this.seek(cursorOf(this.focus(), this.settings.clock, k))),
      spaceChooses: () => this.still,
    });
    this.inspector = new Inspector();
    this.status = el("p", { class: "cp-sr", role: "status", "aria-live": "polite" });
    this.help = helpDialog();
    this.root.replaceChildren(
      ...heading(run),
      this.toolbar.node,
      el("div", { class: "cp-lanes" }, ...this.cards.map((card) => card.node)),
      this.legend,
      el("div", { class: "cp-stage" }, this.grid.node, this.inspector.node),
      ...present(collocationList(run, by((index, hit) => this.jump(index, hit)))),
      ...runNotes(run),
      this.status,
      this.help,
    );
  }

  focus() {
    return this.run.lanes[this.lane];
  }

  end() {
    return runEnd(this.run.lanes, this.settings.clock);
  }

  select(index) {
    this.lane = index;
    this.laneKey = this.focus().key;
    this.pinned = this.hovered = this.inspected = null;
    this.cards.forEach((card, i) => {
      card.node.classList.toggle("cp-selected", i === index);
      card.pick.setAttribute("aria-pressed", String(i === index));
    });
    this.grid.setLane(this.focus(), this.run.pieces);
    this.drawSettings();
  }

  set(name, value) {
    if (name === "clock") this.cursor = switched(this.run.lanes, this.focus(), this.settings.clock, value, this.cursor);
    this.settings[name] = value;
    this.drawSettings();
  }

  filter(letter) {
    const { off } = this.settings;
    if (!off.delete(letter)) off.add(letter);
    this.drawLegend();
    this.draw();
  }

  relayout() {
    const hidden = this.grid.rowCount === 0;
    if (!this.grid.layout()) return this.grid.keepScroll();
    if (hidden) this.drawnLane = null;
    this.draw();
  }

  // --- time

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.end() === 0) return;
    if (this.cursor >= this.end()) this.cursor = 0;
    this.playing = true;
    this.stamp = null;
    this.frame = requestAnimationFrame((now) => this.tick(now));
    this.draw();
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    cancelAnimationFrame(this.frame);
    if (this.settings.clock === "pass") this.cursor = Math.floor(this.cursor);
    if (this.toolbar) this.draw();
  }

  tick(now) {
    if (!this.root.isConnected) this.playing = false;
    if (!this.playing) return;
    const passed = this.stamp === null ? 0 : Math.min(LONGEST_FRAME, (now - this.stamp) / 1000);
    this.stamp = now;
    this.cursor = Math.min(this.end(), this.cursor + advance(this.settings.clock, passed, this.settings.speed));
    if (this.cursor >= this.end()) {
      this.pause();
      return;
    }
    this.draw();
    this.frame = requestAnimationFrame((next) => this.tick(next));
  }

  seek(cursor) {
    this.cursor = clamped(this.settings.clock === "pass" ? Math.round(cursor) : cursor, 0, this.end());
    this.draw(true);
  }

  seekShare(share) {
    this.pause();
    this.seek(share * this.end());
  }

  step(direction) {
    this.pause();
    this.seek(stepped(this.run.lanes, this.focus(), this.settings.clock, this.cursor, direction));
  }

  block(direction) {
    this.pause();
    this.seek(blockStepped(this.run.lanes, this.focus(), this.settings.clock, this.cursor, direction));
  }

  to(place) {
    this.pause();
    this.seek(place === "start" ? 0 : this.end());
  }

  changeSpeed(direction) {
    const index = SPEEDS.indexOf(this.settings.speed) + direction;
    this.set("speed", SPEEDS[clamped(index, 0, SPEEDS.length - 1)]);
    this.announce(`Speed ${this.settings.speed}`, true);
  }

  // --- cells

  look(kind, cell) {
    this[kind] = cell && { t: cell.t, position: cell.position };
    this.drawInspector();
  }

  pin(cell) {
    if (cell && this.listeners.cell.map((listener) => listener({ ...cell })).includes(true)) return this.draw();
    const same = this.pinned && cell && this.pinned.t === cell.t && this.pinned.position === cell.position;
    this.pinned = same ? null : cell;
    const held = this.inspector.node.contains(document.activeElement);
    this.draw();
    if (held && !this.inspector.node.contains(document.activeElement)) this.grid.focusCell(); // its button is gone
  }

  /** Goes to where a collocation arrived. */
  jump(index, { t, positions: [position] }) {
    this.pause();
    this.settings.view = "hindsight";
    this.cursor = cursorOf(this.run.lanes[index], this.settings.clock, t);
    this.select(index);
    this.pinned = { t, position };
    this.draw(true);
  }

  // --- keys

  key(event) {
    const chord = (event.ctrlKey || event.metaKey || event.altKey) && !event.getModifierState("AltGraph"); // types [ on some keyboards
    if (chord || this.run.message || this.help.open) return;
    const action = this.keyAction(event);
    if (!action) return;
    event.preventDefault();
    this.hands++;
    action();
  }

  keyAction({ key, shiftKey, target }) {
    if (target.closest("select, [type=radio]") && /^(Arrow|Home|End| )/.test(key)) return null;
    if (key === " " && target.closest("button, summary")) return null;
    if (this.still && [" ", "Home", "End"].includes(key)) return () => {}; // nor do they scroll
    const actions = {
      " ": () => this.toggle(),
      ArrowLeft: () => (shiftKey ? this.block(-1) : this.step(-1)),
      ArrowRight: () => (shiftKey ? this.block(1) : this.step(1)),
      Home: () => this.to("start"),
      End: () => this.to("end"),
      "[": () => this.changeSpeed(-1),
      "]": () => this.changeSpeed(1),
      "?": () => this.help.showModal(),
      Escape: this.pinned ? () => this.pin(null) : null,
    };
    return Object.hasOwn(actions, key) ? actions[key] : null;
  }

  // --- drawing

  drawSettings() {
    const { clock, view } = this.settings;
    const end = this.end();
    const frontier = (lane) => (view === "hindsight" ? lane.correct : lane.fixed);
    const gains = this.run.lanes.flatMap((lane) => frontier(lane).map((value, t, all) => (t ? value - all[t - 1] : 0)));
    const highest = gains.reduce((most, gain) => Math.max(most, gain), 1);
    for (const card of this.cards) card.drawTrack(clock, view, end, highest);
    this.drawLegend();
    this.drawn = null;
    this.draw();
  }

  drawLegend() {
    const { view, off } = this.settings;
    const focused = this.legend.contains(document.activeElement) ? document.activeElement.dataset.letter : null;
    this.legend.replaceChildren(
      ...legend(view, legendLetters(this.focus(), view), off, (letter) => this.filter(letter)),
      ...(view === "hindsight" ? bracketKey(this.focus()) : []),
    );
    if (focused) this.legend.querySelector(`[data-letter="${focused}"]`)?.focus();
  }

  /** Draws the state at the cursor, and brings it into the grid's view if it is another one or `follow` says so. */
  draw(follow = false) {
    const { clock, view, off } = this.settings;
    const end = this.end();
    const share = end > 0 ? this.cursor / end : 0;
    const states = this.run.lanes.map((lane) => passAt(lane, clock, this.cursor));
    if (this.calm.matches && this.playing && String(states) === this.drawn) return;
    this.drawn = String(states);
    this.toolbar.draw({ ...this.settings, playing: this.playing, cursor: this.cursor }, end);
    this.cards.forEach((card, index) => {
      const { lane } = card;
      card.drawCursor(share, states[index] === lane.last && lane.last > 0);
      card.drawElapsed(clock === "time" ? Math.min(this.cursor, lane.total) : lane.ends[states[index]]);
      card.drawState(states[index], view, off);
    });
    if (follow || this.grid.lane !== this.drawnLane || states[this.lane] !== this.grid.k)
      this.follow(states[this.lane]);
    const told = this.grid.k;
    const flags = this.flagged === this.focus().key ? this.flags : new Map();
    this.grid.draw(states[this.lane], { view, off, pinned: this.pinned, flags, targets: this.targets });
    if (told !== this.grid.k) for (const listener of this.listeners.pass) listener(this.grid.k);
    this.drawInspector();
    this.announce(this.sentence(states[this.lane]), !this.playing);
  }

  /** Brings state k of the lane into the grid's view; a lane that is shown when all is over starts at its top. */
  follow(k) {
    const lane = this.focus();
    if (lane === this.drawnLane || this.cursor < this.end()) this.grid.follow(k);
    else this.grid.moveTo(0, 0);
    this.drawnLane = lane;
  }

  drawInspector() {
    const place = this.hovered ?? this.pinned ?? this.inspected;
    const k = passAt(this.focus(), this.settings.clock, this.cursor);
    const pinned = place !== null && place === this.pinned;
    this.inspector.show(this.focus(), this.run.pieces, place, k, this.settings.view, pinned, () => this.pin(null));
  }

  sentence(k) {
    const lane = this.focus();
    return `${lane.label}: pass ${k} of ${lane.last}, ${lane.fixed[k]} tokens fixed.`;
  }

  /** Tells a screen reader, at most once every two seconds; the last message of a burst always comes. */
  announce(text, soon) {
    this.message = text;
    if (this.waiting) return;
    this.waiting = setTimeout(
      () => {
        this.waiting = null;
        setText(this.status, this.message);
      },
      soon ? ANNOUNCE_EVERY / 5 : ANNOUNCE_EVERY,
    );
  }
}

const handles = new WeakMap(); // root -> the handle of its player

/** Plays `props` (PlayerProps, or its JSON) in `root`. Never throws: what cannot be drawn is said in place. */
function mount(root, props) {
  handles.get(root)?.destroy();
  const player = new Player(root);
  const handle = new Handle(player);
  handles.set(root, handle);
  player.show(props);
  return handle;
}

window.CllmPlayer = Object.freeze({ mount, of: (root) => handles.get(root) ?? null });
