// The payload (PlayerProps of visualize/view.py) -> lanes ready to draw, or one sentence that says what is wrong.

class BadProps extends Error {}

/** Returns {lanes, pieces, title, prompt, notes}, or {message} where there is nothing that can be drawn. */
function readProps(props) {
  try {
    return readChecked(typeof props === "string" && props !== "" ? JSON.parse(props) : props);
  } catch (error) {
    if (error instanceof BadProps) return { message: error.message };
    return { message: "This recording cannot be drawn: it is damaged." };
  }
}

function readChecked(props) {
  if (props === null || props === undefined || props === "") throw new BadProps("There is nothing to play yet.");
  if (typeof props !== "object" || props.schema !== SCHEMA) {
    throw new BadProps("This is not a recording that the player can read.");
  }
  if (!(Number.isInteger(props.version) && props.version >= 1)) throw new BadProps(damaged("it has no version number"));
  if (props.version > VERSION) {
    const range = `format ${props.version}, and this player reads up to ${VERSION}`;
    throw new BadProps(`This recording was written in ${range}: update the player.`);
  }
  check(Array.isArray(props.pieces) && props.pieces.every(isPiece), "its token pieces are not what they should be");
  check(Array.isArray(props.lanes), "it has no lanes");
  if (props.lanes.length === 0) throw new BadProps("There is nothing to play yet.");
  return {
    title: textOr(props.title, ""),
    prompt: textOr(props.prompt, ""),
    pieces: props.pieces,
    notes: texts(props.notes),
    corpus: textOr(props.corpus, ""),
    asked: textOr(props.asked, ""),
    open: readPlace(props.open),
    lanes: props.lanes.map((lane, index) => readLane(lane, index, props.pieces)),
  };
}

/** Where to open, with what is odd left out; null for nowhere in particular. */
function readPlace(place) {
  if (!place || typeof place !== "object") return null;
  return {
    lane: typeof place.lane === "string" ? place.lane : undefined,
    pass: Number.isInteger(place.pass) ? place.pass : undefined,
    view: VIEWS.some(({ key }) => key === place.view) ? place.view : undefined,
    clock: CLOCKS.some(({ key }) => key === place.clock) ? place.clock : undefined,
  };
}

function damaged(detail) {
  return `This recording is damaged: ${detail}.`;
}

function check(holds, detail) {
  if (!holds) throw new BadProps(damaged(detail));
}

function isPiece(piece) {
  return (
    Array.isArray(piece) &&
    Number.isInteger(piece[0]) &&
    [TEXT, BYTES, CONTROL].includes(piece[1]) &&
    typeof piece[2] === "string"
  );
}

function textOr(value, otherwise) {
  return typeof value === "string" ? value : otherwise;
}

function texts(values) {
  return Array.isArray(values) ? values.filter((value) => typeof value === "string") : [];
}

function readLane(lane, index, pieces) {
  const name = `lane ${index + 1}`;
  check(lane && typeof lane === "object" && Array.isArray(lane.passes), `${name} has no passes`);
  check(Number.isInteger(lane.n) && lane.n >= 1, `${name} has no window size`);
  check(areIndexes(lane.output, pieces.length), `the output of ${name} is not made of its token pieces`);
  let fixed = 0;
  lane.passes.forEach((pass, number) => {
    checkPass(pass, fixed, pieces.length, `pass ${number + 1} of ${name}`);
    fixed = pass.f;
  });
  check(fixed === lane.output.length, `the output of ${name} is not what its passes fixed`);
  const text = (key) => textOr(lane[key], "");
  const facts = [
    text("model"),
    `n = ${lane.n}`,
    lane.n > 1 ? `${text("window")} window` : "",
    text("device"),
    text("dtype"),
  ];
  return {
    key: textOr(lane.key, String(index)),
    label: textOr(lane.label, name),
    facts: facts.filter((fact) => fact !== "").join(" · "),
    blocks: lane.window === "block" && lane.n > 1,
    n: lane.n,
    partial: lane.partial === true,
    finish: text("finish"),
    notes: texts(lane.notes),
    output: lane.output,
    passes: lane.passes,
    ...readCollocations(lane, name),
    ...measured(lane),
  };
}

function checkPass(pass, fixed, pieces, name) {
  check(pass && typeof pass === "object", `${name} is missing`);
  check(areIndexes(pass.d, pieces) && areIndexes(pass.x, pieces), `${name} names token pieces that it has not got`);
  const width = pass.x.length;
  check(pass.s === fixed && pass.d.length <= width, `${name} does not follow from the one before`);
  check(Number.isInteger(pass.f) && pass.f > fixed && pass.f <= fixed + width, `${name} has an impossible frontier`);
  check(Number.isInteger(pass.c), `${name} has no correct frontier`);
  check(Number.isFinite(pass.ms) && pass.ms >= 0, `${name} has no time`);
  const classified =
    typeof pass.h === "string" && pass.h.length === width && [...pass.h].every((letter) => letter in CLASSES);
  check(classified, `${name} is not classified`);
  check(pass.p === undefined || (Array.isArray(pass.p) && pass.p.length === width), `${name} has odd probabilities`);
  const candidates = pass.k === undefined || (Array.isArray(pass.k) && pass.k.length === width);
  check(candidates && (pass.k || []).every((row) => areCandidates(row, pieces)), `${name} has odd candidates`);
}

function isIndex(value, length) {
  return Number.isInteger(value) && value >= 0 && value < length;
}

function areIndexes(values, length) {
  return Array.isArray(values) && values.every((value) => isIndex(value, length));
}

/** Whether a row is [piece, thousandths, piece, thousandths, ...]. */
function areCandidates(row, length) {
  return Array.isArray(row) && row.every((value, i) => (i % 2 ? Number.isFinite(value) : isIndex(value, length)));
}

/** Running totals after 0, 1, ... passes: fixed and correct frontier, milliseconds, positions ever ff'd and stationary. */
function measured(lane) {
  const fixed = [0];
  const correct = [Number.isInteger(lane.c0) ? lane.c0 : 0];
  const ends = [0];
  const forwarded = [0];
  const stationary = [0];
  const seen = { f: new Set(), k: new Set() };
  let width = lane.passes.length ? lane.passes[0].d.length : 0;
  lane.passes.forEach((pass, index) => {
    fixed.push(pass.f);
    correct.push(pass.c);
    ends.push(ends[index] + pass.ms);
    for (let i = 0; i < pass.h.length; i++) seen[pass.h[i]]?.add(pass.s + i);
    forwarded.push(seen.f.size);
    stationary.push(seen.k.size);
    width = Math.max(width, pass.s + pass.x.length);
  });
  const last = lane.passes.length;
  return { fixed, correct, ends, forwarded, stationary, width, last, total: ends[last] };
}
