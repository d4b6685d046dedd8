// One cell of the grid, one position's history, and why a cell has its class. Pure.
//
// Row 0 of the grid is the first draft; row t is what pass t predicted.

/** Returns {piece, letter, fed, before, corrected, p, top}, `before` being the state's guess before the pass, or null where row t has no token at the position. */
function cellAt(lane, t, position, view) {
  if (t === 0) {
    const piece = lane.passes[0]?.d[position];
    return piece === undefined ? null : { piece, letter: "D", fed: null, before: null, corrected: false };
  }
  const pass = lane.passes[t - 1];
  const column = position - pass.s;
  const piece = pass.x[column];
  if (piece === undefined) return null;
  const fed = pass.d[column] ?? null;
  const earlier = t > 1 ? lane.passes[t - 2] : null;
  const before = fed ?? earlier?.x[position - earlier.s] ?? null; // the last guess of a full window is not fed
  const target = lane.output[position];
  return {
    piece,
    letter: view === "hindsight" ? pass.h[column] : position < pass.f ? "F" : "D",
    fed,
    before,
    corrected: before !== null && target !== undefined && before !== target && piece === target,
    probability: pass.p?.[column],
    top: pass.k?.[column],
  };
}

/** First position of row t, and the one after its last. */
function rowSpan(lane, t) {
  if (t === 0) return [0, lane.passes[0]?.d.length ?? 0];
  const pass = lane.passes[t - 1];
  return [pass.s, pass.s + pass.x.length];
}

/** The guesses that stand after k passes, behind what is fixed: [{piece, letter}], from position fixed[k] on. */
function guessesAt(lane, k, view) {
  if (k === lane.last && k > 0 && !lane.partial) return [];
  const guesses = [];
  const end = rowSpan(lane, k)[1];
  for (let position = lane.fixed[k]; position < end; position++) guesses.push(cellAt(lane, k, position, view));
  return guesses;
}

/** Rows up to `upTo` that predicted the position, oldest first: [{t, ...cell}]. */
function historyOf(lane, position, view, upTo) {
  const rows = [];
  for (let t = 1; t <= upTo; t++) {
    if (lane.fixed[t - 1] > position) break;
    const cell = cellAt(lane, t, position, view);
    if (cell) rows.push({ t, ...cell });
  }
  return rows;
}

/** What pass k did, in one sentence. */
function passSentence(lane, k) {
  const { d, ms } = lane.passes[k - 1];
  const gained = lane.fixed[k] - lane.fixed[k - 1];
  const fed = d.length === 0 ? "no guess" : d.length === 1 ? "1 guess" : `${d.length} guesses`;
  const what = gained === 1 ? "1 token" : `${gained} tokens`;
  return `Pass ${k} was fed ${fed}, took ${Math.round(ms)} ms and fixed ${what}.`;
}

/** One sentence: why the cell has its class. */
function whyClass(lane, t, position, letter) {
  if (t === 0) return "A guess made before the first pass: nothing is known of it yet.";
  const reasons = {
    F: whyFixed,
    D: whyDraft,
    s: whySettled,
    f: whyForwarded,
    k: whyStationary,
    t: whyTransient,
    w: () => "It is not the token that the output has here.",
    e: () => "It lies past the end of the output, so it is counted nowhere.",
    u: () => "The run was stopped before this position was fixed, so nobody can say what belongs here.",
  };
  return reasons[letter](lane, t, position);
}

function whyFixed(lane, t, position) {
  const start = lane.fixed[t - 1];
  if (position === start)
    return "Everything before it was fixed already, so this is the model's own next token: it is final.";
  return `The guesses at ${positions(start, position - 1)} came out as they went in, so this prediction rests on final tokens only.`;
}

function whyDraft(lane, t, position) {
  const last = lane.fixed[t] - 1;
  if (t === lane.last && !lane.partial) return "The output ended before it, so it was never taken.";
  return `The guess at position ${last} came out different, so this prediction rested on a token that has changed.`;
}

function whySettled(lane, t, position) {
  const before = lane.correct[t - 1];
  if (position < before) return `The correct prefix had already reached position ${before} before this pass.`;
  return "It is the token right after the correct prefix: one-token-at-a-time decoding would get it in this pass too.";
}

function whyForwarded(lane, t, position) {
  const ahead = position - lane.correct[t - 1];
  const count = ahead === 1 ? "one position" : `${ahead} positions`;
  return `It is right although it lies ${count} past the next token: sooner than one token per pass allows.`;
}

function whyStationary(lane, t) {
  return `It is right and stays right, although position ${lane.correct[t]} to its left is still wrong.`;
}

function whyTransient(lane, t, position) {
  const lost = historyOf(lane, position, "hindsight", lane.last).find((row) => row.t > t && row.letter === "w");
  return `It is right now, but ${lost ? `pass ${lost.t}` : "a later pass"} loses it again.`;
}

function positions(first, last) {
  return first === last ? `position ${first}` : `positions ${first} to ${last}`;
}
