// Collocations: brackets over words that belong together and arrived in one pass, and a list whose entries jump there.
//
// The payload says for each collocation where it occurs in the output: [pass, position, ...], the pass that all of its
// tokens became right in, or 0 where they came in several. It is optional: a lane without it has no list.

/** Of a lane of the payload: {collocations: [{label, share, hits: [{t, positions}]}], together: hits by their pass}. */
function readCollocations(lane, name) {
  const collocations = lane.collocations === undefined ? [] : readEntries(lane, name);
  return { collocations, together: arrivedTogether(collocations) };
}

function readEntries(lane, name) {
  const damaged = `the collocations of ${name} are not what they should be`;
  check(Array.isArray(lane.collocations), damaged);
  return lane.collocations.map((entry) => {
    check(entry && typeof entry.label === "string" && Array.isArray(entry.hits), damaged);
    check(entry.hits.every((hit) => isHit(hit, lane.passes.length, lane.output.length)), damaged);
    const share = Array.isArray(entry.share) && entry.share.length === 2 && entry.share.every(Number.isInteger);
    return {
      label: entry.label,
      share: share ? { together: entry.share[0], of: entry.share[1] } : null,
      hits: entry.hits.map(([t, ...positions]) => ({ t, positions })),
    };
  });
}

function isHit(hit, passes, tokens) {
  return (
    Array.isArray(hit) && hit.length > 2 && isIndex(hit[0], passes + 1) && areIndexes(hit.slice(1), tokens)
  );
}

/** The occurrences that arrived together, by pass; one that lies inside another of the same pass is left out. */
function arrivedTogether(collocations) {
  const byPass = new Map();
  const hits = collocations.flatMap(({ label, hits }) => hits.filter(({ t }) => t > 0).map((hit) => ({ ...hit, label })));
  for (const hit of hits) {
    const inside = hits.some(
      (other) =>
        other.t === hit.t &&
        other.positions.length > hit.positions.length &&
        hit.positions.every((position) => other.positions.includes(position)),
    );
    if (!inside) byPass.set(hit.t, [...(byPass.get(hit.t) ?? []), hit]);
  }
  return byPass;
}

const BRACKET_TICK = 4; // pixels
const BRACKET_INSET = 3;

/** Brackets over the rows in view, up to state k, as svg nodes: solid over the words, dashed over a gap. */
function bracketLines({ lane, top, left, rowCount, cell, k }) {
  const nodes = [];
  for (let t = Math.max(1, top); t <= Math.min(k, top + rowCount - 1); t++) {
    for (const { positions, label } of lane.together.get(t) ?? []) {
      const y = (t - top) * ROW_HEIGHT + 1.5;
      const runs = neighbours(positions).map(([first, last]) => [
        (first - left) * cell + BRACKET_INSET,
        (last + 1 - left) * cell - BRACKET_INSET,
      ]);
      const gaps = runs.slice(1).map(([start], index) => `M${runs[index][1]} ${y}H${start}`);
      const words = runs.map(([start, end]) => `M${start} ${y + BRACKET_TICK}V${y}H${end}V${y + BRACKET_TICK}`);
      nodes.push(
        svg(
          "g",
          { class: "cp-bracket", "data-label": label },
          svg("path", { d: words.join("") }),
          svg("path", { class: "cp-bracket-gap", d: gaps.join("") }),
        ),
      );
    }
  }
  return nodes;
}

/** What the brackets mean, for the legend of a lane that has some. */
function bracketKey(lane) {
  return lane.together.size ? [el("span", { class: "cp-key cp-key-bracket", text: "words that arrived together" })] : [];
}

/** [first, last] of each stretch of neighbouring positions. */
function neighbours(positions) {
  const stretches = [];
  for (const position of positions) {
    const last = stretches[stretches.length - 1];
    if (last && last[1] === position - 1) last[1] = position;
    else stretches.push([position, position]);
  }
  return stretches;
}

function sumOf(lane) {
  const hits = lane.collocations.flatMap((entry) => entry.hits);
  return { together: hits.filter(({ t }) => t > 0).length, of: hits.length };
}

function shareText({ together, of }) {
  return of ? `${together} of ${of}` : "–";
}

/** The list of collocations over all lanes, folded; `jump(lane index, hit)` goes to an occurrence. Null without any. */
function collocationList(run, jump) {
  const labels = [...new Set(run.lanes.flatMap((lane) => lane.collocations.map((entry) => entry.label)))];
  if (labels.length === 0) return null;
  const sums = run.lanes.map((lane) => `${lane.label} ${shareText(sumOf(lane))}`);
  const measured = run.lanes.some((lane) => lane.collocations.some((entry) => entry.share));
  const head = el(
    "tr",
    {},
    el("th", { scope: "col", text: "collocation" }),
    ...run.lanes.map((lane) => el("th", { scope: "col", text: lane.label })),
    ...(measured ? [el("th", { scope: "col", text: "in other recorded runs" })] : []),
  );
  const rows = labels.map((label) => collocationRow(run, label, measured, jump));
  return el(
    "details",
    { class: "cp-collocations" },
    el("summary", {}, "Collocations that arrived together: ", el("span", { text: sums.join(", ") })),
    el("p", {
      class: "cp-hint",
      text: "Words that belong together, such as GROUP BY. They arrived together where all of their tokens became right in one pass. A button goes to that pass.",
    }),
    el(
      "div",
      { class: "cp-collocation-box", tabindex: "0", role: "group", "aria-label": "Collocations" },
      el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows)),
    ),
    ...(run.corpus ? [el("p", { class: "cp-hint", text: `Found in: ${run.corpus}.` })] : []),
  );
}

function collocationRow(run, label, measured, jump) {
  const entries = run.lanes.map((lane) => lane.collocations.find((entry) => entry.label === label));
  const cells = entries.map((entry, index) => el("td", {}, ...(entry ? hitButtons(entry, (hit) => jump(index, hit)) : ["–"])));
  const shares = entries.flatMap((entry, index) =>
    entry?.share ? [`${run.lanes[index].label} ${shareText(entry.share)}`] : [],
  );
  return el(
    "tr",
    {},
    el("th", { scope: "row", dir: "auto", text: printable(label) }),
    ...cells,
    ...(measured ? [el("td", { text: shares.join(", ") || "–" })] : []),
  );
}

function hitButtons({ hits }, jump) {
  const together = hits.filter(({ t }) => t > 0);
  const buttons = together.map((hit) =>
    el("button", {
      type: "button",
      class: "cp-hit",
      text: `pass ${hit.t}`,
      "aria-label": `Go to pass ${hit.t}, position ${hit.positions[0]}`,
      onclick: () => jump(hit),
    }),
  );
  return [`${together.length} of ${hits.length} `, ...buttons];
}
