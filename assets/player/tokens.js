// Token pieces [id, kind, text] -> text a person can read. Knows no trajectory and no DOM.

const TEXT = 0;
const BYTES = 1; // text is hex digits: part of a character, or no valid UTF-8
const CONTROL = 2; // a special token: not part of the text

const LONGEST_CELL = 48; // characters of a token in a grid cell
const LONGEST_TOKEN = 2000; // ... and anywhere else

const utf8 = new TextEncoder();

function pieceBytes([, kind, text]) {
  if (kind !== BYTES) return utf8.encode(text);
  return Uint8Array.from(text.match(/../g) || [], (pair) => parseInt(pair, 16));
}

/**
 * The text of each piece in its run: a character that is split over pieces belongs to the piece that completes it.
 * Control tokens have none. What stays broken is U+FFFD, as in the recorded text.
 */
function joinPieces(pieces) {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let open = false; // whether the decoder may hold the start of a character
  let last = -1;
  const texts = pieces.map((piece, index) => {
    if (piece[1] === CONTROL) return "";
    last = index;
    if (piece[1] === TEXT && !open) return piece[2];
    open = piece[1] === BYTES;
    return decoder.decode(pieceBytes(piece), { stream: true });
  });
  if (last >= 0) texts[last] += decoder.decode();
  return texts;
}

/** A piece with everything invisible made visible, as [text, is a stand-in] parts. */
function visibleParts(piece, longest = LONGEST_TOKEN) {
  const [, kind, text] = piece;
  if (kind === BYTES) return [[hexPairs(text), true]];
  if (text === "") return [["empty", true]];
  const parts = [];
  const alone = !/[^\p{Cf}\p{Cc}\p{Z}]/u.test(text);
  for (const character of clipped(text, longest)) {
    const mark = standIn(character, alone);
    const previous = parts[parts.length - 1];
    if (previous && previous[1] === (mark !== null)) previous[0] += mark ?? character;
    else parts.push([mark ?? character, mark !== null]);
  }
  if (/^\p{M}/u.test(parts[0][0])) parts[0][0] = "◌" + parts[0][0];
  return parts;
}

function visibleText(piece) {
  return visibleParts(piece, LONGEST_CELL)
    .map(([text]) => text)
    .join("");
}

function hexPairs(hex) {
  return (hex.match(/../g) || []).join(" ").toUpperCase();
}

function clipped(text, longest) {
  if (text.length <= longest) return text;
  return [...text.slice(0, 2 * longest)].slice(0, longest - 1).join("") + "…";
}

const STAND_INS = { " ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍", "\u00a0": "⍽", "\u007f": "␡" };

/** What stands for a character that cannot be seen, else null. Joiners inside a word or an emoji are left to work. */
function standIn(character, alone) {
  if (character in STAND_INS) return STAND_INS[character];
  const code = character.codePointAt(0);
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  const joiner = code === 0x200c || code === 0x200d || code >= 0xe0000;
  if (/[\p{Cf}\p{Cc}\p{Z}]/u.test(character) && (alone || !joiner)) {
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  }
  return null;
}

/**
 * Running text: line breaks, tabs and spaces do their work; other control characters, and those that would turn all the
 * text after them around, get stand-ins.
 */
function printable(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f\u202a-\u202e\u2066-\u2069]/g, (character) =>
    standIn(character, true),
  );
}
