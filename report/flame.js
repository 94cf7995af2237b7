// What makes a flame graph move: zoom, search, keyboard, tooltip. Comes after
// report/flame_layout.js. Names reach the page as text nodes only.

// --- Drawing ---

const frames = svg.querySelector("g.frames");
let characterWidth = 6.63;
let matches = null;       // by frame: 1 where it matches
let matchesBefore = null; // by frame: how many of the frames before it match
let cursor = 0;           // the frame that the keyboard is at
let cursorBox = null;

function make(name, attributes, within) {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (within) within.appendChild(element);
  return element;
}

function cut(text, fits) {
  if (text.length <= fits) return text;
  const characters = Array.from(text);
  return characters.length <= fits ? text : characters.slice(0, fits - 1).join("") + "…";
}

function changeOf(now, old) {
  const larger = Math.max(now, old);
  if (larger === 0) return 0;
  const percent = Math.floor(Math.abs(now - old) * 100 / larger);
  let step = 0;
  while (step < data.changes.length && percent >= data.changes[step]) step++;
  return now > old ? step : -step;
}

function classOf(box) {
  if (box.merged) return "b m";
  const i = box.first;
  if (data.differential) return "b d" + changeOf(amount[i], before[i]);
  return "b k" + data.kind[i] + "abc"[data.name[i] % SHADES];
}

function topOf(box) {
  return HEAD + ROW * (data.icicle ? box.depth : rows - 1 - box.depth);
}

function matchesIn(box) {
  return matchesBefore[box.end] - matchesBefore[box.first];
}

function drawBox(box, within) {
  const classes = [];
  if (box.above) classes.push("above");
  if (matches && !box.merged && matches[box.first]) classes.push("hit");
  if (matches && box.merged && matchesIn(box) > 0) classes.push("holds");
  const group = make("g", { role: "treeitem", tabindex: "-1", "aria-level": box.depth + 1,
                            "aria-label": nameOf(box) + ", " + factsOf(box).join(", ") }, within);
  if (classes.length > 0) group.setAttribute("class", classes.join(" "));
  const x = MARGIN + box.left, y = topOf(box);
  const width = box.width - Math.min(box.width / 5, 0.8);
  const rect = (name, left, wide) => make(
    "rect", { class: name, x: left.toFixed(2), y: y, width: wide.toFixed(2), height: FRAME }, group);
  rect(classOf(box), x, width);
  if (!box.merged && amount[box.first] > 0) {
    let right = x + width;
    for (const [name, column] of [["unk", unknown], ["rec", reconstructed]]) {
      const wide = width * column[box.first] / amount[box.first];
      if (wide < 1) continue;
      right -= wide;
      rect(name, right, wide);
    }
  }
  const fits = Math.floor((width - 2 * INSET) / characterWidth);
  if (fits >= LEAST_LABEL && !box.merged) {
    make("text", { x: (x + INSET).toFixed(2), y: y + 12.5 }, group)
      .appendChild(document.createTextNode(cut(nameOf(box), fits)));
  }
  box.element = group;
  group.flameBox = box;
}

function draw() {
  const hadFocus = frames.contains(document.activeElement);
  layOut();
  for (const box of boxes) rows = Math.max(rows, box.depth + 1);
  const height = HEAD + rows * ROW + FOOT;
  svg.setAttribute("width", pageWidth);
  svg.setAttribute("height", height);
  svg.setAttribute("viewBox", "0 0 " + pageWidth + " " + height);
  const fragment = document.createDocumentFragment();
  for (const box of boxes) drawBox(box, fragment);
  hideTip();
  frames.replaceChildren(fragment);
  setCursor(boxes.find((box) => holds(box, cursor)) || boxes[0], hadFocus);
  resetButton.disabled = zoom.node === 0 && zoom.first === 1 && zoom.last === count;
  showFound();
}

function holds(box, frame) {
  return box.merged ? box.first <= frame && frame < box.end : box.first === frame;
}

function setCursor(box, focus) {
  if (cursorBox) cursorBox.element.setAttribute("tabindex", "-1");
  cursorBox = box;
  cursor = box.first;
  box.element.setAttribute("tabindex", "0");
  if (focus) box.element.focus();
}

function zoomTo(box) {
  if (box.merged) {
    zoom = { node: parent[box.first], first: box.first, last: box.end, from: box.from, to: box.to };
  } else {
    zoom = wholeFrame(box.first);
  }
  cursor = box.first;
  draw();
}

function resetZoom() {
  zoom = wholeFrame(0);
  draw();
}

// --- Tooltip ---

const tip = make("g", { class: "tip", "aria-hidden": "true", display: "none" }, svg);
const TIP_CHARACTERS = 90, TIP_LINES = 6, TIP_ROW = 16;

function linesOfName(name) {
  const characters = Array.from(name);
  const lines = [];
  for (let at = 0; at < characters.length; at += TIP_CHARACTERS) {
    if (lines.length === TIP_LINES) {
      lines[TIP_LINES - 1] += "…";
      break;
    }
    lines.push(characters.slice(at, at + TIP_CHARACTERS).join(""));
  }
  return lines;
}

function showTip(box, x, y) {
  tip.replaceChildren();
  tip.removeAttribute("display");
  const back = make("rect", { rx: 5 }, tip);
  const names = linesOfName(nameOf(box));
  let width = 0, row = 0;
  for (const line of names.concat(factsOf(box))) {
    const text = make("text", { x: 9, y: 18 + TIP_ROW * row }, tip);
    text.setAttribute("class", row < names.length ? "first" : row > names.length ? "also" : "");
    text.appendChild(document.createTextNode(line));
    width = Math.max(width, text.getComputedTextLength() + 18);
    row++;
  }
  const height = TIP_ROW * row + 11;
  back.setAttribute("width", width);
  back.setAttribute("height", height);
  // Where it can be seen: within the picture, and within the window.
  const corner = toPicture(window.innerWidth, window.innerHeight);
  let left = Math.min(x + 14, Math.min(corner.x, pageWidth) - width - 4);
  let top = y + 18;
  if (top + height > Math.min(corner.y, Number(svg.getAttribute("height")))) top = y - height - 10;
  tip.setAttribute("transform", "translate(" + Math.max(left, 2) + "," + Math.max(top, 2) + ")");
}

function hideTip() {
  tip.setAttribute("display", "none");
}

function toPicture(clientX, clientY) {
  const matrix = svg.getScreenCTM();
  return matrix ? new DOMPoint(clientX, clientY).matrixTransform(matrix.inverse())
                : { x: clientX, y: clientY };
}

function boxOf(event) {
  const group = event.target.closest ? event.target.closest("g[role=treeitem]") : null;
  return group && group.flameBox ? group.flameBox : null;
}

// --- Search ---

function element(name, attributes, within, text) {
  const made = document.createElementNS(HTML, name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text) made.appendChild(document.createTextNode(text));
  within.appendChild(made);
  return made;
}

const head = svg.querySelector("g.head");
const controls = make("foreignObject", { y: 32, width: 560, height: 30 }, head);
const bar = element("div", { class: "cprof-controls" }, controls);
const found = element("span", { class: "found", role: "status", "aria-live": "polite" }, bar);
const searchInput = element("input", {
  type: "search", placeholder: "Search (Ctrl-F)", "aria-label": "Search frames by text or regular expression",
  title: "Text or regular expression; capitals count if there are any. Enter: to the next match",
  spellcheck: "false", autocomplete: "off" }, bar);
const widthButton = data.differential
  ? element("button", { type: "button", "aria-pressed": "false", title: "Widths of the recording compared with" },
            bar, "Before")
  : null;
const resetButton = element("button", { type: "button", title: "Show everything again (Escape)" }, bar,
                            "Reset zoom");

// A regular expression, or else the text itself. Upper case matters where there is any.
function pattern(text) {
  const flags = text === text.toLowerCase() ? "iu" : "u";
  try {
    return { expression: new RegExp(text, flags), literal: false };
  } catch (error) {
    return { expression: new RegExp(text.replace(/[\\^$.*+?()[\]{}|\/-]/g, "\\$&").replace(/\\-/g, "-"), flags),
             literal: true };
  }
}

function search(text) {
  matches = null;
  searchInput.classList.remove("wrong");
  if (text !== "") {
    const asked = pattern(text);
    searchInput.classList.toggle("wrong", asked.literal);
    const names = data.names.map((name) => asked.expression.test(name));
    matches = new Uint8Array(count);
    matchesBefore = new Int32Array(count + 1);
    for (let i = 0; i < count; i++) {
      matches[i] = names[data.name[i]] ? 1 : 0;
      matchesBefore[i + 1] = matchesBefore[i] + matches[i];
    }
  }
  draw();
}

// Many frames are searched once the typing pauses.
const QUICK_COUNT = 20000, SEARCH_DELAY_MS = 150;
let searchTimer = 0;

function searchNow() {
  if (searchTimer !== 0) search(searchInput.value);
  clearTimeout(searchTimer);
  searchTimer = 0;
}

// How many of [first, last) match and what they weigh, what stands on a match not twice.
function foundIn(first, last) {
  const weight = basis();
  let total = 0;
  for (let i = first; i < last; i = matches[i] ? end[i] : i + 1) {
    if (matches[i]) total += weight[i];
  }
  return { frames: matchesBefore[last] - matchesBefore[first], weight: total };
}

function showFound() {
  frames.setAttribute("class", matches ? "frames live searched" : "frames live");
  let text = "";
  if (matches) {
    const all = foundIn(0, count);
    text = grouped(all.frames) + (all.frames === 1 ? " match, " : " matches, ") +
           shareText(all.weight, basis()[0], 1);
    if (zoom.node !== 0 && all.frames > 0) {
      const here = foundIn(zoom.node, end[zoom.node]);
      text += " (here " + grouped(here.frames) + ", " + shareText(here.weight, basis()[zoom.node], 1) + ")";
    }
  }
  if (found.textContent !== text) found.textContent = text;
}

// To the next or previous match, zooming to where it is wide enough to be seen.
function toMatch(step) {
  if (!matches || matchesBefore[count] === 0) return;
  let i = cursor;
  do {
    i = (i + step + count) % count;
  } while (!matches[i] || basis()[i] === 0);
  const isDrawn = (box) => !box.merged && box.first === i;
  cursor = i;
  if (!boxes.some(isDrawn)) {
    zoom = wholeFrame(Math.max(parent[i], 0));
    draw();
    if (!boxes.some(isDrawn)) {
      zoom = wholeFrame(i);
      draw();
    }
  }
  setCursor(boxes.find(isDrawn), true);
}

// --- Events ---

function neighbour(box, step) {
  const row = boxes.filter((other) => other.depth === box.depth).sort((a, b) => a.left - b.left);
  return row[row.indexOf(box) + step];
}

// Towards the leaves: the widest box that stands on this one.
function widestAbove(box) {
  let best = null;
  for (const other of boxes) {
    if (other.depth !== box.depth + 1 || other.first <= box.first || other.first >= box.end) continue;
    if (!best || other.width > best.width) best = other;
  }
  return best;
}

function below(box) {
  return boxes.find((other) => !other.merged && other.first === parent[box.first]);
}

function onKey(event) {
  const box = boxOf(event);
  if (!box || event.ctrlKey || event.metaKey || event.altKey) return;
  const up = data.icicle ? "ArrowDown" : "ArrowUp";
  const down = data.icicle ? "ArrowUp" : "ArrowDown";
  let next = null;
  switch (event.key) {
    case up: next = widestAbove(box); break;
    case down: next = below(box); break;
    case "ArrowLeft": next = neighbour(box, -1); break;
    case "ArrowRight": next = neighbour(box, 1); break;
    case "Home": next = boxes[0]; break;
    case "Enter":
    case " ": zoomTo(box); break;
    case "/": searchInput.focus(); break;
    case "n": toMatch(1); break;
    case "N":
    case "p": toMatch(-1); break;
    default: return;
  }
  event.preventDefault();
  if (next) setCursor(next, true);
}

function onPageKey(event) {
  const inSearch = document.activeElement === searchInput;
  if ((event.ctrlKey || event.metaKey) && event.key === "f" && !inSearch) {
    // A second time it is the browser's.
    event.preventDefault();
    searchInput.focus();
    searchInput.select();
  } else if (event.key === "Escape") {
    event.preventDefault();
    if (inSearch && searchInput.value !== "") {
      searchInput.value = "";
      search("");
    } else {
      if (inSearch) cursorBox.element.focus();
      resetZoom();
    }
  } else if (inSearch && event.key === "Enter") {
    searchNow();
    toMatch(event.shiftKey ? -1 : 1);
  }
}

// Title and controls stay where they can be seen.
function scroll() {
  const top = toPicture(0, 0).y;
  head.setAttribute("transform", "translate(0," + Math.max(0, Math.round(top)) + ")");
}

function resize() {
  draw();
  // A scroll bar takes some of the window, and may have come by drawing.
  const width = pageWidthNow();
  if (width !== pageWidth) {
    pageWidth = width;
    draw();
  }
  controls.setAttribute("x", pageWidth - MARGIN - 560);
}

function listen() {
  frames.setAttribute("role", "tree");
  frames.setAttribute("aria-label", "frames");
  frames.addEventListener("click", (event) => {
    const box = boxOf(event);
    if (box) zoomTo(box);
  });
  frames.addEventListener("mousemove", (event) => {
    const box = boxOf(event);
    const at = toPicture(event.clientX, event.clientY);
    if (box) showTip(box, at.x, at.y);
  });
  frames.addEventListener("mouseleave", hideTip);
  frames.addEventListener("focusin", (event) => {
    const box = boxOf(event);
    if (!box) return;
    if (box !== cursorBox) setCursor(box, false);
    if (box.element.matches(":focus-visible")) {
      showTip(box, MARGIN + box.left, topOf(box) + 2);
    }
  });
  frames.addEventListener("focusout", hideTip);
  frames.addEventListener("keydown", onKey);
  searchInput.addEventListener("input", () => {
    if (count <= QUICK_COUNT) return search(searchInput.value);
    clearTimeout(searchTimer);
    searchTimer = setTimeout(searchNow, SEARCH_DELAY_MS);
  });
  resetButton.addEventListener("click", resetZoom);
  if (widthButton) {
    widthButton.addEventListener("click", () => {
      useBefore = !useBefore;
      widthButton.setAttribute("aria-pressed", String(useBefore));
      widthButton.firstChild.data = useBefore ? "Now" : "Before";
      resetZoom();
    });
  }
  (alone ? document : svg).addEventListener("keydown", onPageKey);
  if (alone) {
    window.addEventListener("resize", resize);
    window.addEventListener("scroll", scroll);
  }
}

function measureCharacter() {
  const probe = make("text", {}, frames);
  probe.appendChild(document.createTextNode("M".repeat(50)));
  const width = probe.getComputedTextLength() / 50;
  probe.remove();
  if (width > 3 && width < 12) characterWidth = width;
}

svg.appendChild(tip);  // over all else
measureCharacter();
zoom = wholeFrame(0);
listen();
resize();
// The root is where reading begins.
if (alone && !data.icicle) window.scrollTo(0, Number(svg.getAttribute("height")));
svg.setAttribute("data-ready", "true");
