// The toolbar, the legend and the help: real buttons, radios, a select and a range. They report, and decide nothing.

class Toolbar {
  /** `act`: toggle(), step(direction), block(direction), to("start" | "end"), seek(cursor), set(name, value), help(). */
  constructor(act) {
    const button = (name, label, onclick) =>
      el("button", { type: "button", class: "cp-button", "aria-label": label, title: label, onclick }, icon(name));
    this.play = button("play", "Play", () => act.toggle());
    this.play.classList.add("cp-play");
    this.range = el("input", {
      type: "range",
      class: "cp-range",
      min: "0",
      step: "any",
      "aria-label": "Position in the run",
      oninput: () => act.seek(Number(this.range.value)),
    });
    this.readout = el("span", { class: "cp-readout" });
    const transport = el(
      "div",
      { class: "cp-transport", role: "group", "aria-label": "Playback" },
      button("start", "To the start", () => act.to("start")),
      button("backBlock", "Block before", () => act.block(-1)),
      button("back", "Step back", () => act.step(-1)),
      this.play,
      button("next", "Step forward", () => act.step(1)),
      button("nextBlock", "Next block", () => act.block(1)),
      button("end", "To the end", () => act.to("end")),
    );
    this.speed = el(
      "select",
      { class: "cp-select", "aria-label": "Speed", onchange: () => act.set("speed", Number(this.speed.value)) },
      ...SPEEDS.map((speed) => el("option", { value: speed, text: `${speed}×` })),
    );
    this.clock = segmented("Clock", CLOCKS, (key) => act.set("clock", key));
    this.view = segmented("View", VIEWS, (key) => act.set("view", key));
    const help = el("button", {
      type: "button",
      class: "cp-button",
      "aria-label": "Help",
      title: "Keys (?)",
      text: "?",
      onclick: () => act.help(),
    });
    this.node = el(
      "div",
      { class: "cp-toolbar" },
      el("div", { class: "cp-line" }, transport, this.range, this.readout),
      el(
        "div",
        { class: "cp-line" },
        this.clock.node,
        this.view.node,
        el("label", { class: "cp-label" }, "Speed ", this.speed),
        help,
      ),
    );
  }

  draw({ playing, clock, view, speed, cursor }, end) {
    const label = playing ? "Pause" : "Play";
    if (this.play.getAttribute("aria-label") !== label) {
      this.play.setAttribute("aria-label", label);
      this.play.title = label;
      this.play.replaceChildren(icon(playing ? "pause" : "play"));
    }
    this.range.max = String(end);
    this.range.value = String(cursor);
    const readout = clock === "pass" ? `pass ${Math.floor(cursor)} of ${end}` : `${seconds(cursor)} of ${seconds(end)}`;
    setText(this.readout, readout);
    this.range.setAttribute("aria-valuetext", readout);
    this.speed.value = String(speed);
    this.speed.title = clock === "pass" ? `${speed * PASSES_PER_SECOND} passes a second` : `${speed} times real time`;
    this.clock.set(clock);
    this.view.set(view);
  }
}

let groups = 0; // radio groups need a name of their own, whatever else is on the page

function segmented(label, choices, onchoose) {
  const name = `cllm-player-${++groups}`;
  const inputs = choices.map(({ key }) =>
    el("input", { type: "radio", name, value: key, onchange: () => onchoose(key) }),
  );
  const node = el(
    "fieldset",
    { class: "cp-segmented" },
    el("legend", { text: label }),
    ...choices.map((choice, index) => el("label", {}, inputs[index], el("span", { text: choice.label }))),
  );
  return { node, set: (key) => inputs.forEach((input) => (input.checked = input.value === key)) };
}

/** The chips of a view; each one switches its class off and on. */
function legend(view, letters, off, toggle) {
  const chips = letters.map((letter) => {
    const { name, label, glyph } = CLASSES[letter];
    return el(
      "button",
      {
        type: "button",
        class: `cp-chip cp-is-${name}`,
        "aria-pressed": String(!off.has(letter)),
        "data-letter": letter,
        title: "Hide or show this class",
        onclick: () => toggle(letter),
      },
      el("i", { "aria-hidden": "true", text: glyph }),
      ` ${label}`,
    );
  });
  const marks = [el("span", { class: "cp-key cp-key-frontier", text: "fixed frontier" })];
  if (view === "hindsight") {
    marks.push(
      el("span", { class: "cp-key cp-key-correct", text: "correct frontier" }),
      el("span", { class: "cp-key cp-key-corrected", text: "corrected" }),
    );
  }
  return [...chips, ...marks];
}

/** The letters that a lane's legend shows: the rare ones only where they occur. */
function legendLetters(lane, view) {
  const { letters } = VIEWS.find((each) => each.key === view);
  return letters.filter(
    (letter) => !RARE_LETTERS.includes(letter) || lane.passes.some((pass) => pass.h.includes(letter)),
  );
}

function helpDialog() {
  const close = el("button", {
    type: "button",
    class: "cp-button cp-close",
    text: "Close",
    onclick: () => node.close(),
  });
  const node = el(
    "dialog",
    { class: "cp-help", "aria-label": "Keys" },
    el("p", { class: "cp-help-title", text: "Keys" }),
    el("dl", {}, ...KEYS.map(([key, does]) => el("div", {}, el("dt", { text: key }), el("dd", { text: does })))),
    close,
  );
  return node;
}
