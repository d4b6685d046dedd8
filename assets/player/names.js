// What the classes are called and how they look. Knows no trajectory and no DOM.

const SCHEMA = "cllm-player";
const VERSION = 1;

// The lower-case letters come with the payload (visualize/view.py, CLASS_LETTERS); F and D are derived here.
const CLASSES = {
  F: { name: "fixed", label: "fixed", glyph: "▪" },
  D: { name: "draft", label: "draft", glyph: "▫" },
  s: { name: "settled", label: "settled", glyph: "✓" },
  f: { name: "fast_forwarded", label: "fast-forwarded", glyph: "»" },
  k: { name: "stationary", label: "stationary", glyph: "◆" },
  t: { name: "transient", label: "transient", glyph: "~" },
  w: { name: "wrong", label: "wrong", glyph: "×" },
  e: { name: "after_end", label: "after the end", glyph: "∅" },
  u: { name: "unknown", label: "unknown", glyph: "?" },
};

const VIEWS = [
  { key: "known", label: "known now", letters: ["F", "D"] },
  { key: "hindsight", label: "hindsight", letters: ["s", "f", "k", "t", "w", "e", "u"] },
];
const RARE_LETTERS = ["e", "u"]; // in the legend only where they occur

const CLOCKS = [
  { key: "pass", label: "by pass" },
  { key: "time", label: "measured time" },
];

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 8, 16];
const PASSES_PER_SECOND = 5; // of the pass clock at speed 1; the time clock at speed 1 is real time

const KEYS = [
  ["Space", "play or pause"],
  ["← →", "one pass back, one pass on"],
  ["Shift ← →", "to the block before, to the next block"],
  ["Home End", "to the start, to the end"],
  ["[ ]", "slower, faster"],
  ["?", "this help"],
  ["Esc", "close the help, unpin the cell"],
  ["Tab to the grid", "then the arrow keys walk from cell to cell, and Enter pins one"],
];
