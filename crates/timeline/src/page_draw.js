"use strict";
// The canvases: where everything stands, what it looks like, and what is at a point. Nothing here changes what is shown;
// that is `shown`, and page.js changes it.

const SLACK = 10; // On both sides of the plot, so that what is at its edge is seen.
const BAR = 22;
const GAP = 14; // Between the bars of two streams; edges run along its middle.
const BRACKET = 20;
const NEAREST = 5; // Pixels from which a thin thing is still met.

const shown = { start: 0, end: 1, rows: "streams", width: 0, gutter: 0, hover: null, focus: null, block: null };
let theme = {};

const micros = (ns, digits = 3) => (ns / 1000).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const plotWidth = () => Math.max(1, shown.width - shown.gutter - 2 * SLACK);
const toX = (ns) => shown.gutter + SLACK + ((ns - shown.start) / (shown.end - shown.start)) * plotWidth();
const toTime = (x) => shown.start + ((x - shown.gutter - SLACK) / plotWidth()) * (shown.end - shown.start);
const isVisible = (start, end) => toX(end) >= shown.gutter && toX(start) <= shown.width;

function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue("--" + name).trim();
  for (const name of ["paper", "stripe", "ink", "muted", "line", "event", "empty", "missing", "bar-ink"]) theme[name] = color(name);
  theme.bars = [0, 1, 2, 3, 4, 5, 6, 7].map((at) => color("c" + at));
}

// Gives each interval of a list, in the order of starts, the first lane on which it overlaps nothing; `of` is how many lanes
// those have that it hangs together with.
function lanes(intervals) {
  let [most, together, ends] = [1, [], []];
  const close = () => {
    for (const one of together) one.of = ends.length;
    most = Math.max(most, ends.length);
    [together, ends] = [[], []];
  };
  for (const one of intervals) {
    if (ends.every((end) => end <= one.start)) close();
    const free = ends.findIndex((end) => end <= one.start);
    one.lane = free < 0 ? ends.length : free;
    ends[one.lane] = one.end;
    together.push(one);
  }
  close();
  return most;
}

// Rows from top to bottom, below the band's brackets.
function layout(band) {
  const brackets = band.ranges.length ? lanes(band.ranges) * BRACKET + 4 : 0;
  for (const [name, rows] of Object.entries(band.rows)) {
    let y = brackets;
    for (const row of rows) {
      const count = lanes(row.parts);
      row.lanes = Array.from({ length: count }, () => []);
      for (const part of row.parts) row.lanes[part.lane].push(part);
      row.y = y;
      row.height = name === "streams" ? BAR * count + GAP : count > 1 ? 9 : 6;
      y += row.height;
    }
    band.height[name] = y + 4;
  }
}

// Top and height of a part in its row. A stream's lanes have one height. A multiprocessor's row is as high as its blocks
// leave it, so a block that is alone fills it.
function extent(part) {
  const { row, lane } = part;
  if (!part.item) return [row.y + GAP / 2 + lane * BAR + 1, BAR - 2];
  const height = (row.height - 1) / part.of;
  return [row.y + lane * height, height];
}

// A rectangle around a slice, a bracket or an edge, in the band's canvas.
function box(item) {
  const left = Math.max(toX(item.start), shown.gutter);
  const width = Math.max(2, Math.min(toX(item.end), shown.width) - left);
  if (item.kind === "range") return { left, width, top: item.lane * BRACKET, height: BRACKET - 2 };
  if (item.kind === "edge") {
    const [xs, ys] = [0, 1].map((axis) => route(item).map((point) => point[axis]));
    const [a, b] = [Math.max(Math.min(...xs) - 6, shown.gutter), Math.min(Math.max(...xs) + 6, shown.width)];
    return { left: a, width: Math.max(8, b - a), top: Math.min(...ys) - 2, height: Math.max(...ys) - Math.min(...ys) + 4 };
  }
  if (shown.rows === "streams") {
    const [top, height] = extent(item);
    return { left, width, top, height };
  }
  const rows = item.blocks.map((block) => block.row);
  if (!rows.length) return { left, width, top: 0, height: item.band.height.sms };
  const top = Math.min(...new Set(rows.map((row) => row.y)));
  const bottom = Math.max(...new Set(rows.map((row) => row.y + row.height)));
  return { left, width, top, height: bottom - top };
}

// An edge's corners. It leaves its slice up or down, runs along the middle of the gap before the row where it arrives, and
// arrives up or down: so it crosses bars, but hides no name.
function route(edge) {
  const rows = edge.band.rows.streams;
  const [from, to] = [edge.from, edge.to].map((end) => {
    const slice = edge.band.slices[end.slice];
    const row = slice ? slice.row : rows[end.stream];
    const [top, height] = slice ? extent(slice) : [row.y + row.height / 2, 0];
    const inset = slice ? Math.min(4, (toX(slice.end) - toX(slice.start)) / 2) : -4;
    return { row, top, bottom: top + height, inset, room: slice ? toX(slice.end) - toX(slice.start) : 0 };
  });
  const isUp = to.row.y < from.row.y;
  const x1 = toX(edge.from.at) - (edge.from.slice === null ? 4 : 1);
  const aside = Math.min(edge.place * 11, Math.max(0, to.room - 2 * to.inset));
  const x2 = toX(edge.to.at) + (edge.to.slice === null ? 4 : to.inset + aside);
  const along = isUp ? to.row.y + to.row.height : to.row.y;
  const isDown = to.row.y > from.row.y;
  return [[x1, isDown ? from.bottom : from.top], [x1, along], [x2, along], [x2, isUp ? to.bottom : to.top]];
}

// How far a point is from the straight line between two others.
function distance([x, y], [x1, y1], [x2, y2]) {
  const length = (x2 - x1) ** 2 + (y2 - y1) ** 2;
  const t = length && Math.max(0, Math.min(1, ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length));
  return Math.hypot(x - x1 - t * (x2 - x1), y - y1 - t * (y2 - y1));
}

// The first part of a lane that ends after a time.
function firstAfter(parts, time) {
  let [low, high] = [0, parts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (parts[middle].end < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

// What is drawn at a point, the thinnest first.
function at(band, x, y) {
  if (x < shown.gutter) return null;
  let best = null;
  const offer = (distance, item, block = null) => {
    if (distance <= NEAREST && (!best || distance < best.distance)) best = { distance, item, block };
  };
  if (shown.rows === "streams") {
    for (const edge of band.edges) {
      const points = route(edge);
      for (let at = 1; at < points.length; at += 1) offer(distance([x, y], points[at - 1], points[at]), edge);
    }
    if (best) return best;
  }
  const away = (start, end) => Math.max(0, toX(start) - x, x - toX(end));
  for (const range of band.ranges) {
    if (y >= range.lane * BRACKET && y < (range.lane + 1) * BRACKET) offer(away(range.start, range.end), range);
  }
  const row = band.rows[shown.rows].find((row) => y >= row.y && y < row.y + row.height);
  for (const parts of row?.lanes ?? []) {
    const first = firstAfter(parts, toTime(x - NEAREST));
    for (const part of parts.slice(first, first + 12)) {
      const [top, height] = extent(part);
      if (y >= top - 0.5 && y <= top + height + 0.5) offer(away(part.start, part.end), part.item ?? part, part.item ? part : null);
    }
  }
  return best;
}

function drawBand(band) {
  const { canvas } = band;
  const context = fit(canvas, band.height[shown.rows]);
  const { width, gutter } = shown;
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  band.rows[shown.rows].forEach((row, at) => drawStripe(context, row, at));
  band.rows[shown.rows].forEach((row, at) => drawLabel(context, row, at));
  context.save();
  context.beginPath();
  context.rect(gutter, 0, width - gutter, band.height[shown.rows]);
  context.clip();
  context.fillStyle = theme.line;
  for (const tick of ticks().times) context.fillRect(Math.round(toX(tick)), 0, 1, band.height[shown.rows]);
  drawRanges(context, band);
  const chosen = [shown.hover, shown.focus].find((item) => item?.kind === "slice" && item.band === band);
  // What is far from the window waits until one scrolls there.
  const { top } = canvas.getBoundingClientRect();
  const isNear = (row) => top + row.y < innerHeight + 400 && top + row.y + row.height > -400;
  for (const row of band.rows[shown.rows].filter(isNear)) drawParts(context, row, chosen);
  if (shown.rows === "streams") drawEdges(context, band);
  context.restore();
}

// Sizes a canvas to its place and to the screen's pixels, and clears it.
function fit(canvas, height) {
  const scale = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(shown.width * scale), Math.round(height * scale)];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  canvas.style.height = height + "px";
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, shown.width, height);
  return context;
}

// Every second stream; of multiprocessors eight and eight, as they are labelled.
function drawStripe(context, row, at) {
  context.fillStyle = theme.stripe;
  if ((shown.rows === "streams" ? at : at >> 3) % 2 === 0) context.fillRect(0, row.y, shown.width, row.height);
}

function drawLabel(context, row, at) {
  const isStream = shown.rows === "streams";
  if (!isStream && at % 8) return;
  context.fillStyle = theme.ink;
  const y = row.y + (isStream ? (GAP + BAR) / 2 : 7);
  context.fillText(shorten(context, row.label, shown.gutter - 8), 2, y);
  if (isStream && row.lanes.length > 1) {
    context.fillStyle = theme.muted;
    context.fillText(shorten(context, `${row.lanes.length} at once`, shown.gutter - 8), 2, y + BAR);
  }
}

function drawParts(context, row, chosen) {
  let painted = null;
  for (const parts of row.lanes) {
    // There can be thousands of blocks in a lane: those of one kernel that no pixel parts are one rectangle.
    let run = null;
    const flush = () => {
      if (!run) return;
      const { item, left, right, top, height } = run;
      const width = right - left - (right - left > 4 ? 1 : 0);
      // A context reads its style's text anew each time.
      if (painted !== item || !run.part.item) {
        context.fillStyle = theme.bars[item.color];
        context.globalAlpha = run.part.item && chosen && chosen !== item ? 0.22 : 1;
        painted = item;
      }
      if (run.part.item) context.fillRect(left, top, width, height - Math.min(0.5, height / 5));
      else drawBar(context, item, left, top, width, height);
    };
    for (let index = firstAfter(parts, toTime(shown.gutter)); index < parts.length; index += 1) {
      const part = parts[index];
      const item = part.item ?? part;
      const left = Math.max(toX(part.start), shown.gutter - 4);
      if (left > shown.width) break;
      const right = Math.max(Math.min(toX(part.end), shown.width + 4), left + (part.item ? 1 : 2));
      if (run && part.item && run.item === item && run.part.of === part.of && right - left < 4 && left - run.right < 0.5) {
        run.right = Math.max(run.right, right);
        continue;
      }
      flush();
      const [top, height] = extent(part);
      run = { part, item, left, right, top, height };
    }
    flush();
    context.globalAlpha = 1;
  }
}

function drawBar(context, slice, left, y, width, height) {
  context.beginPath();
  context.roundRect(left, y, width, height, Math.min(3, width / 2));
  context.fill();
  const from = Math.max(left, shown.gutter) + 6;
  const room = Math.min(left + width, shown.width) - from - 4;
  if (room < 14) return;
  context.fillStyle = theme["bar-ink"];
  const long = `${slice.name}  ${micros(slice.end - slice.start)} µs`;
  const label = context.measureText(long).width <= room ? long : shorten(context, slice.name, room);
  context.fillText(label, from, y + height / 2 + 0.5);
}

function drawRanges(context, band) {
  const taken = [];
  for (const range of band.ranges.filter((range) => isVisible(range.start, range.end))) {
    const [left, right] = [Math.max(toX(range.start), shown.gutter), Math.min(toX(range.end), shown.width - 1)];
    const y = range.lane * BRACKET;
    const isChosen = range === shown.hover || range === shown.focus;
    context.strokeStyle = isChosen ? theme.ink : theme.muted;
    context.lineWidth = isChosen ? 2 : 1;
    context.beginPath();
    // An end that is out of sight is left open.
    const [bar, tips] = [y + BRACKET - 5.5, [toX(range.start) >= shown.gutter, toX(range.end) <= shown.width]];
    context.moveTo(left + 0.5, tips[0] ? y + BRACKET : bar);
    context.lineTo(left + 0.5, bar);
    context.lineTo(Math.max(right, left + 1) - 0.5, bar);
    context.lineTo(Math.max(right, left + 1) - 0.5, tips[1] ? y + BRACKET : bar);
    context.stroke();
    const label = shorten(context, range.name, shown.width - shown.gutter);
    const width = context.measureText(label).width;
    const x = Math.max(shown.gutter + 2, Math.min((left + right) / 2 - width / 2, shown.width - width - 2));
    if (taken.some((other) => other.y === y && x < other.right + 6 && x + width > other.left - 6)) continue;
    taken.push({ y, left: x, right: x + width });
    context.fillStyle = theme.ink;
    context.fillText(label, x, y + 7.5);
  }
}

function drawEdges(context, band) {
  const order = { event: 0, empty: 1, missing: 2 };
  const edges = [...band.edges].sort((a, b) => order[a.type] - order[b.type]);
  // A seam of paper parts the lines from the bars below them, but not from each other.
  for (const isSeam of [true, false]) for (const edge of edges) drawEdge(context, edge, isSeam);
  for (const edge of edges) if (edge.type === "missing") drawWord(context, edge);
}

function drawEdge(context, edge, isSeam) {
  const [start, first, second, end] = route(edge);
  const isChosen = edge === shown.hover || edge === shown.focus;
  const down = Math.sign(end[1] - second[1]);
  const radius = Math.min(4, Math.abs(second[0] - first[0]) / 2);
  const trace = (width, color, dashes) => {
    context.lineWidth = width;
    context.strokeStyle = color;
    context.setLineDash(dashes);
    context.beginPath();
    context.moveTo(...start);
    context.arcTo(...first, ...second, radius);
    context.arcTo(...second, ...end, radius);
    context.lineTo(end[0], end[1] - 3 * down);
    context.stroke();
    context.setLineDash([]);
  };
  const width = { event: 1.5, empty: 2, missing: 2 }[edge.type] + (isChosen ? 1.5 : 0);
  if (isSeam) {
    trace(width + 2, theme.paper, []);
    return;
  }
  trace(width, theme[edge.type], { event: [], empty: [1.5, 3.5], missing: [6, 3.5] }[edge.type]);
  context.beginPath();
  context.moveTo(end[0] - 4.5, end[1] - 5.5 * down);
  context.lineTo(end[0], end[1] + 1.5 * down);
  context.lineTo(end[0] + 4.5, end[1] - 5.5 * down);
  context.lineWidth = 1.5;
  if (edge.type === "empty") context.stroke();
  else {
    context.closePath();
    context.fillStyle = theme[edge.type];
    context.fill();
  }
}

// The word on the line, where it runs along the rows, as near to where it should arrive as there is room.
function drawWord(context, edge) {
  const [, [x1, y], [x2]] = route(edge);
  context.font = "600 11px system-ui, sans-serif";
  const width = context.measureText("missing").width + 8;
  const wanted = x1 > x2 || x2 - x1 < width + 12 ? x2 + 22 : x2 - 14 - width;
  const x = Math.max(shown.gutter + 4, Math.min(wanted, shown.width - width - 4));
  if (Math.max(x1, x2) < shown.gutter || Math.min(x1, x2) > shown.width) return;
  context.beginPath();
  context.roundRect(x, y - 7, width, 14, 3);
  context.fillStyle = theme.paper;
  context.strokeStyle = theme.missing;
  context.lineWidth = 1;
  context.fill();
  context.stroke();
  context.fillStyle = theme.missing;
  context.fillText("missing", x + 4, y + 0.5);
}

// Text that fits: with an ellipsis, or nothing.
function shorten(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let length = Math.floor((text.length * room) / context.measureText(text).width);
  while (length > 0 && context.measureText(text.slice(0, length) + "…").width > room) length -= 1;
  return length > 0 ? text.slice(0, length) + "…" : "";
}

// Round times, at least some 90 pixels apart.
function ticks() {
  const least = ((shown.end - shown.start) / plotWidth()) * 90;
  let step = 1;
  for (let factor = 1; step < least; factor *= 10) step = [1, 2, 5, 10].map((n) => n * factor).find((n) => n >= least) ?? step;
  const times = [];
  for (let time = Math.ceil(shown.start / step) * step; time <= shown.end && times.length < 100; time += step) times.push(time);
  return { times, digits: step >= 1000 ? 0 : step >= 100 ? 1 : step >= 10 ? 2 : 3 };
}

function drawAxis(canvas, isVirtual) {
  const context = fit(canvas, 26);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.fillStyle = theme.muted;
  context.fillText(isVirtual && shown.gutter > 90 ? "virtual time, µs" : "time, µs", 2, 11);
  const { times, digits } = ticks();
  for (const time of times) {
    const x = Math.round(toX(time));
    context.fillStyle = theme.line;
    context.fillRect(x, 20, 1, 6);
    context.fillStyle = theme.muted;
    const label = micros(time, digits);
    const width = context.measureText(label).width;
    context.fillText(label, Math.max(shown.gutter, Math.min(x - width / 2, shown.width - width)), 11);
  }
  context.fillStyle = theme.line;
  context.fillRect(shown.gutter, 25, shown.width - shown.gutter, 1);
}
