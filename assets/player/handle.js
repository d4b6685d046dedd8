// What a page around the player may do with it: go to a pass, flag cells, listen. The lessons are such a page.
//
//   const player = CllmPlayer.mount(root, props);
//   player.set({ lane: "base_jacobi", view: "known", pass: 3 });    any of lane, view, clock, pass, flags, quiz, ...
//   player.set({ flags: [{ t: 3, position: 5, kind: "look" }] });   of the lane shown then; kinds are those of FLAGS
//   await player.play(7);                                           pass by pass; says how that ended
//   player.on("cell", ({ t, position }) => true);                   a cell was chosen; true keeps it from being pinned
//   player.on("pass", (pass) => { ... });                           another state is shown
//   player.state();  player.cell({ t: 3, position: 5 });

const PLAY_PAUSE = 500; // milliseconds between two passes of play()

class Handle {
  constructor(player) {
    this.player = player;
    this.turn = 0; // of play(): a later call ends an earlier one
  }

  update(props) {
    this.turn++;
    this.player.show(props);
  }

  destroy() {
    this.turn++;
    this.player.destroy();
  }

  /** Opens the next payload at a place {lane, pass, view, clock}. */
  openNext(place) {
    this.player.opening = place;
  }

  /**
   * `quiz` hides what would give an answer away; `targets` names the output's tokens over the grid in either view;
   * `still` leaves of the keys only the arrows, and Space chooses a cell as Enter does.
   */
  set({ lane, view, clock, pass, flags, quiz, targets, still }) {
    const { player } = this;
    this.turn++;
    if (pass !== undefined || lane !== undefined) player.pause();
    if (flags !== undefined) player.flags = new Map(flags.map((flag) => [cellKey(flag), flag.kind]));
    if (quiz !== undefined) player.root.classList.toggle("cp-quiz", quiz);
    if (quiz) player.settings.off.clear(); // its legend, which could bring a class back, is hidden
    if (targets !== undefined) player.targets = targets;
    if (still !== undefined) player.still = still;
    if (player.run.message) return;
    if (clock !== undefined && clock !== player.settings.clock) player.set("clock", clock);
    if (view !== undefined) player.settings.view = view;
    const index = lane === undefined ? -1 : player.run.lanes.findIndex(({ key }) => key === lane);
    const shown = player.run.lanes[index < 0 ? player.lane : index];
    if (flags !== undefined) player.flagged = shown.key;
    if (pass !== undefined) player.cursor = cursorOf(shown, player.settings.clock, clamped(pass, 0, shown.last));
    if (index >= 0 && index !== player.lane) player.select(index);
    else player.drawSettings();
    if (pass !== undefined) player.draw(true);
  }

  /**
   * Goes to a pass of the lane that is shown, one pass after another; at once for who wants no motion. It has "arrived",
   * or was "taken" over by who moved the player by its own controls, or "ended" by another call.
   */
  async play(pass) {
    const { player } = this;
    const turn = ++this.turn;
    const { hands } = player;
    player.pause();
    const { last } = player.focus();
    const target = clamped(pass, 0, last);
    if (player.calm.matches) this.seek(target);
    while (this.state().pass < target) {
      this.seek(this.state().pass + 1);
      if (this.state().pass < target) await new Promise((resolve) => setTimeout(resolve, PLAY_PAUSE));
      if (turn !== this.turn) return "ended";
      if (hands !== player.hands) return "taken";
    }
    this.seek(target);
    return "arrived";
  }

  seek(pass) {
    this.player.seek(cursorOf(this.player.focus(), this.player.settings.clock, pass));
  }

  /** What is shown: {message} where nothing can be, else {lane, pass, last, view, clock, fixed}, and of which run. */
  state() {
    const { player } = this;
    if (player.run.message) return { message: player.run.message };
    const lane = player.focus();
    const pass = passAt(lane, player.settings.clock, player.cursor);
    const { view, clock } = player.settings;
    const { asked } = player.run;
    return { lane: lane.key, pass, last: lane.last, view, clock, fixed: lane.fixed[pass], asked };
  }

  /** What is known of a cell in hindsight: {text, label, why, right, after the end}; null where there is none. */
  cell({ t, position }) {
    const lane = this.player.focus();
    const cell = cellAt(lane, t, position, "hindsight");
    return (
      cell && {
        text: visibleText(this.player.run.pieces[cell.piece]),
        label: CLASSES[cell.letter].label,
        why: whyClass(lane, t, position, cell.letter),
        right: lane.output[position] === cell.piece,
        after: position >= lane.output.length,
      }
    );
  }

  /** The positions that row t holds: [first, the one after the last]. */
  span(t) {
    return rowSpan(this.player.focus(), t);
  }

  on(type, listener) {
    this.player.listeners[type].push(listener);
  }
}

const FLAGS = { look: "look here", pick: "your mark", yes: "right", no: "not right", missed: "right, and not marked" };

function cellKey({ t, position }) {
  return `${t} ${position}`;
}
