// Texts of lessons and answers -> elements. A text is data: it is written as text, and only *stars* mean something.

/** Paragraphs; what stands between two stars is a term. */
function paragraphs(texts) {
  return texts.map((text) => el("p", {}, ...withTerms(text)));
}

function withTerms(text) {
  return text
    .split(/\*([^*\s](?:[^*]*[^*\s])?)\*/)
    .map((part, index) => (index % 2 ? el("em", { text: part }) : part));
}

/** Scrolls a card, which a small screen holds low, to its last words: what came in reply. */
function toReply(card) {
  card.scrollTop = card.scrollHeight;
}

function button(text, onclick, properties = {}) {
  return el("button", { type: "button", class: "cl-button", text, onclick, ...properties });
}

/** The recording with only these lanes, in this order. */
function withLanes(recording, keys) {
  return { ...recording, lanes: keys.map((key) => recording.lanes.find((lane) => lane.key === key)) };
}
