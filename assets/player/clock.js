// Where everybody is on the one clock. Pure: lanes, a clock ("pass" or "time") and a cursor on it -> numbers.
//
// The cursor counts passes on the pass clock and milliseconds on the time clock, for all lanes alike. State k of a
// lane is what it has after k passes; on the time clock it has it once the first k passes took their measured time.

function cursorOf(lane, clock, k) {
  return clock === "pass" ? k : lane.ends[k];
}

function laneEnd(lane, clock) {
  return cursorOf(lane, clock, lane.last);
}

function runEnd(lanes, clock) {
  return Math.max(...lanes.map((lane) => laneEnd(lane, clock)));
}

/** How many passes of the lane are over: the largest k whose cursor is not ahead. */
function passAt(lane, clock, cursor) {
  if (clock === "pass") return Math.min(lane.last, Math.floor(cursor));
  let low = 0;
  let high = lane.last;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (lane.ends[middle] <= cursor) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** One pass on or back. The time clock stops at the lane's own passes, and past its end at those of the others. */
function stepped(lanes, lane, clock, cursor, direction) {
  const end = runEnd(lanes, clock);
  if (clock === "pass") return clamped(direction > 0 ? Math.floor(cursor) + 1 : Math.ceil(cursor) - 1, 0, end);
  const past = direction > 0 ? cursor >= laneEnd(lane, clock) : cursor > laneEnd(lane, clock);
  const ends = (past ? lanes : [lane]).map((each) => neighbour(each, cursor, direction));
  return direction > 0 ? Math.min(end, ...ends) : Math.max(0, ...ends);
}

function neighbour(lane, cursor, direction) {
  const k = passAt(lane, "time", cursor);
  if (direction > 0) return k < lane.last ? lane.ends[k + 1] : Infinity;
  return lane.ends[k] < cursor ? lane.ends[k] : lane.ends[Math.max(0, k - 1)];
}

/** To where the frontier enters the next block of the lane, or back to where it entered this one (or the one before). */
function blockStepped(lanes, lane, clock, cursor, direction) {
  const block = (k) => Math.floor(lane.fixed[k] / lane.n);
  let k = passAt(lane, clock, cursor);
  if (direction > 0) {
    if (k === lane.last) return runEnd(lanes, clock);
    const start = block(k);
    while (k < lane.last && block(k) === start) k++;
    return cursorOf(lane, clock, k);
  }
  if (k > 0 && cursorOf(lane, clock, k) >= cursor) k--;
  const start = block(k);
  while (k > 0 && block(k - 1) === start) k--;
  return cursorOf(lane, clock, k);
}

/** The cursor on the other clock where the lane has done as much; the very end stays the very end. */
function switched(lanes, lane, from, to, cursor) {
  if (from === to) return cursor;
  if (cursor >= runEnd(lanes, from)) return runEnd(lanes, to);
  return cursorOf(lane, to, passAt(lane, from, cursor));
}

/** How far the cursor moves in `seconds` of watching. */
function advance(clock, seconds, speed) {
  return seconds * speed * (clock === "pass" ? PASSES_PER_SECOND : 1000);
}

function clamped(value, low, high) {
  return Math.min(high, Math.max(low, value));
}
