// The frames of a flame graph inside its SVG, what they weigh, and where they lie. With
// report/flame.js behind it, it is one function body.
//
// The frames are columns in drawing order (report/flame_svg.cc): a parent before its children,
// siblings by name. Only what is wide enough is drawn; report/flame_layout.cc has the same rules
// for the picture without script: keep them alike.
const SVG = "http://www.w3.org/2000/svg";
const HTML = "http://www.w3.org/1999/xhtml";
const script = document.currentScript;
const svg = script ? script.ownerSVGElement : document.querySelector("svg.cprof-flame");
if (!svg) return;
const data = JSON.parse(svg.querySelector("script.data").textContent);

const MARGIN = 12, ROW = 18, FRAME = 17, FOOT = 14, INSET = 3;
const MERGED = 3, WIDE_PARENT = 20, LEAST_LABEL = 3, MAX_BOXES = 20000, SHADES = 3;
const HEAD = data.head[0];
const MIN_WIDTH = data.minWidth[0] / 100;
// In a page of its own the picture is as wide as the window.
const alone = document.documentElement === svg;
const LEAST_PAGE = 900, STILL_PAGE = 1200;
function pageWidthNow() {
  if (!alone) return STILL_PAGE;
  const seen = window.visualViewport ? window.visualViewport.width : window.innerWidth;
  return Math.max(LEAST_PAGE, Math.floor(seen));
}
let pageWidth = pageWidthNow();

// --- The frames ---

const count = data.name.length;
const depth = data.depth;
const parent = new Int32Array(count);
const end = new Int32Array(count);  // what lies above frame i is i + 1 ... end[i] - 1
const own = new Float64Array(count);
const amount = new Float64Array(count);
const reconstructed = new Float64Array(count);
const unknown = new Float64Array(count);
const before = new Float64Array(count);

function spread(pairs, column) {
  for (let i = 0; i < pairs.length; i += 2) column[pairs[i]] = pairs[i + 1];
}

function readFrames() {
  spread(data.self, own);
  amount.set(own);
  spread(data.reconstructed, reconstructed);
  spread(data.unknown, unknown);
  spread(data.before, before);
  const path = [];
  for (let i = 0; i < count; i++) {
    while (path.length > depth[i]) end[path.pop()] = i;
    parent[i] = path.length > 0 ? path[path.length - 1] : -1;
    path.push(i);
  }
  while (path.length > 0) end[path.pop()] = count;
  for (let i = count - 1; i > 0; i--) {
    for (const column of [amount, reconstructed, unknown, before]) column[parent[i]] += column[i];
  }
}
readFrames();

// --- Words ---

function fraction(value, unit, decimals) {
  return (value / unit).toFixed(decimals);
}

function grouped(value) {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
}

function weightText(value) {
  if (data.unit !== "ns") return grouped(value) + (data.counted ? " " + data.counted : "");
  for (const [size, name] of [[1e9, " s"], [1e6, " ms"], [1e3, " us"]]) {
    if (value < size) continue;
    const whole = Math.floor(value / size);
    return fraction(value, size, whole >= 100 ? 1 : whole >= 10 ? 2 : 3) + name;
  }
  return Math.round(value) + " ns";
}

// A part that is neither nothing nor everything never shows as 0 or 100.
function shareText(part, whole, decimals) {
  if (whole === 0) return "-";
  const text = (100 * part / whole).toFixed(decimals);
  const least = Math.pow(10, -decimals);
  if (part > 0 && Number(text) === 0) return "<" + least.toFixed(decimals) + " %";
  if (part < whole && Number(text) === 100) return ">" + (100 - least).toFixed(decimals) + " %";
  return text + " %";
}

function nameOf(box) {
  if (!box.merged) return data.names[data.name[box.first]];
  const frames = box.end - box.first;
  return grouped(frames) + (frames === 1 ? " narrow frame" : " narrow frames");
}

// What a tooltip says below the name, a line each.
function factsOf(box) {
  const sum = (column) => {
    let total = 0;
    for (let i = box.first; i < box.end; i = box.merged ? end[i] : box.end) total += column[i];
    return total;
  };
  const value = sum(amount);
  const lines = [weightText(value) + ", " + shareText(value, amount[0], 2)];
  if (box.first > 0 && depth[box.first] > 1) {
    lines[0] += ", " + shareText(value, amount[parent[box.first]], 1) + " of the frame below";
    if (data.icicle) lines[0] = lines[0].replace("below", "above");
  }
  if (!box.merged) {
    let kind = data.kinds[data.kind[box.first]];
    const itself = own[box.first];
    if (itself > 0 && end[box.first] > box.first + 1) {
      kind += ", " + weightText(itself) + " of it without a frame on top";
    }
    lines.push(kind);
  }
  const doubts = [];
  const some = sum(reconstructed), none = sum(unknown);
  if (some > 0) doubts.push(shareText(some, value, 1) + " reconstructed");
  if (none > 0) doubts.push(shareText(none, value, 1) + " unknown");
  if (doubts.length > 0) lines.push("evidence: " + doubts.join(", "));
  if (data.differential) {
    const old = sum(before);
    const change = value - old;
    lines.push("before: " + weightText(old) + ", " + shareText(old, before[0], 2));
    lines.push((change < 0 ? "shrank by " : "grew by ") + weightText(Math.abs(change)) +
               (old > 0 ? ", " + shareText(Math.abs(change), old, 1) : ""));
  }
  return lines;
}

// --- Layout ---

// Shown over the whole width: children first ... last - 1 of node, which lie in [from, to) of it;
// of a whole node, all of it.
let zoom = null;
let useBefore = false;  // widths are the weights of the recording compared with
let rows = 0;           // that the picture has room for
let boxes = [];

function basis() {
  return useBefore ? before : amount;
}

function wholeFrame(node) {
  return { node: node, first: node + 1, last: end[node], from: 0, to: basis()[node] };
}

// One of two: a frame, or several that are too narrow and stand together.
function layOutWith(minWidth) {
  const width = pageWidth - 2 * MARGIN;
  const weight = basis();
  const result = [];
  const perUnit = zoom.to > zoom.from ? width / (zoom.to - zoom.from) : 0;
  for (let node = zoom.node; node >= 0; node = parent[node]) {
    result.push({ first: node, end: end[node], merged: false, depth: depth[node], left: 0,
                  width: width, from: 0, above: node !== zoom.node });
  }
  result.reverse();
  // The children of a frame that is being laid out.
  const levels = [{ next: zoom.from, left: 0, width: width, gathered: null }];
  const base = depth[zoom.node] + 1;
  const flush = (level) => {
    const box = level.gathered;
    level.gathered = null;
    if (!box) return;
    if (box.width < minWidth && level.width >= WIDE_PARENT) {
      box.width = 1;
      box.left = Math.min(box.left, level.left + level.width - 1);
    }
    if (box.width >= Math.min(minWidth, 1)) result.push(box);
  };
  let i = zoom.first;
  while (i < zoom.last && result.length <= MAX_BOXES) {
    while (levels.length > depth[i] - base + 1) flush(levels.pop());
    const level = levels[levels.length - 1];
    const from = level.next;
    level.next += weight[i];
    const left = (from - zoom.from) * perUnit;
    const wide = weight[i] * perUnit;
    if (weight[i] === 0) {
      i = end[i];
    } else if (wide < minWidth) {
      if (!level.gathered) {
        level.gathered = { first: i, merged: true, depth: depth[i], left: left, from: from };
      }
      const box = level.gathered;
      box.end = end[i];
      box.width = left + wide - box.left;
      box.to = level.next;
      if (box.width >= MERGED) flush(level);
      i = end[i];
    } else {
      flush(level);
      result.push({ first: i, end: end[i], merged: false, depth: depth[i], left: left, width: wide,
                    from: from, above: false });
      levels.push({ next: from, left: left, width: wide, gathered: null });
      i++;
    }
  }
  while (levels.length > 0) flush(levels.pop());
  return result;
}

function layOut() {
  let minWidth = MIN_WIDTH;
  boxes = layOutWith(minWidth);
  while (boxes.length > MAX_BOXES) {
    minWidth = Math.max(minWidth, 0.25) * 2;
    boxes = layOutWith(minWidth);
  }
}
