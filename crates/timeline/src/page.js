// What is there, and what a person does with it. Whoever draws is in page_draw.js.
//
// Everything that is drawn has a button in the list `items`, which only a screen reader sees: Tab and the arrow keys go
// through it, and a ring on the canvas shows where one is. Nothing moves by itself, so there is no motion to reduce.

const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);
const make = (tag, text, into, about = {}) => into.appendChild(Object.assign(document.createElement(tag), { textContent: text }, about));

const LAST = Math.max(data.end_ns, 1);
const LEAST_SPAN = Math.min(LAST, 20);
const virtually = data.is_virtual ? " of virtual time" : "";
const bands = data.bands.map(prepare);
const items = bands.flatMap((band) => band.items);
const ring = make("div", "", document.createElement("div"), { id: "ring", hidden: true });
const cursor = make("div", "", element("chart"), { id: "cursor", hidden: true });

function prepare(from) {
  const band = { name: from.name, caption: from.caption, sms: from.sms, height: {} };
  const item = (kind, one) => ({ ...one, kind, band });
  const byStart = (a, b) => a.start - b.start || b.end - a.end;
  band.streams = from.streams;
  band.slices = from.slices.map((slice) => item("slice", slice));
  band.ranges = from.ranges.map((range) => item("range", range)).sort(byStart);
  band.edges = from.edges.map((edge) => {
    const [start, end] = [Math.min(edge.from.at, edge.to.at), Math.max(edge.from.at, edge.to.at)];
    return { ...item("edge", edge), type: edge.kind, start, end };
  });
  // Edges of different kinds that arrive at one slice do so side by side.
  for (const edge of band.edges) {
    const others = band.edges.filter((other) => other.to.slice === edge.to.slice && other.to.stream === edge.to.stream);
    edge.place = ["event", "missing", "empty"].filter((type) => others.some((other) => other.type === type)).indexOf(edge.type);
  }
  const streams = from.streams.map(({ name }) => ({ label: name, parts: [] }));
  const sms = Array.from({ length: from.sms }, (_, sm) => ({ label: `SM ${sm}`, parts: [] }));
  for (const slice of band.slices) {
    slice.row = streams[slice.stream];
    slice.row.parts.push(slice);
    slice.color = color(slice.name, slice.row.label);
    const numbers = slice.blocks;
    slice.blocks = [];
    for (let at = 0; at < numbers.length; at += 3) {
      const [sm, start, end] = numbers.slice(at, at + 3);
      const block = { item: slice, index: at / 3, sm, row: sms[sm], start, end, lane: 0, of: 1 };
      slice.blocks.push(block);
      block.row.parts.push(block);
    }
  }
  for (const row of [...streams, ...sms]) row.parts.sort(byStart);
  band.rows = { streams, sms };
  // An edge comes after what it leaves, which is when it does.
  const order = (one) => (one.kind === "edge" ? one.from.at : one.start);
  band.items = [...band.ranges, ...band.slices, ...band.edges].sort((a, b) => order(a) - order(b));
  layout(band);
  return band;
}

// One colour for a kernel on a stream, the same in every band.
function color(name, stream) {
  color.known ??= new Map();
  const key = `${name} on ${stream}`;
  if (!color.known.has(key)) color.known.set(key, color.known.size % 8);
  return color.known.get(key);
}

const streamOf = (item, end) => item.band.streams[end].name;
const title = (item) => ({
  slice: () => `${item.name} on ${streamOf(item, item.stream)}`,
  range: () => `range ${item.name}`,
  edge: () => `${{ event: "event", empty: "wait that orders nothing", missing: "missing edge" }[item.type]} ${item.name}, ${streamOf(item, item.from.stream)} to ${streamOf(item, item.to.stream)}`,
})[item.kind]();

// Numbers with what stands between them left out: 0-7, 12.
function runs(numbers) {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b);
  const found = [];
  for (const number of sorted) {
    const last = found.at(-1);
    if (last && last[1] === number - 1) last[1] = number;
    else found.push([number, number]);
  }
  return found.map(([a, b]) => (a === b ? a : `${a}–${b}`)).join(", ");
}

// All that is known of something, as pairs.
function facts(item, block) {
  if (item.kind === "edge") {
    const early = item.from.at - item.to.at;
    const lack = item.type === "missing" && early > 0 ? [["too early by", `${micros(early)} µs`]] : [];
    return [["leaves", `${micros(item.from.at)} µs`], ["arrives", `${micros(item.to.at)} µs`], ...lack];
  }
  const times = (one) => [["start", `${micros(one.start)} µs`], ["end", `${micros(one.end)} µs`], ["duration", `${micros(one.end - one.start)} µs`]];
  if (block) return [["block", `${block.index} of ${item.blocks.length}`], ["on", `SM ${block.sm}`], ...times(block), ["its kernel", `${micros(item.start)} to ${micros(item.end)} µs`]];
  if (item.kind === "range") return times(item);
  const stream = item.band.streams[item.stream];
  const blocks = item.blocks.length ? [["blocks", `${item.blocks.length.toLocaleString("en")} on SM ${runs(item.blocks.map((one) => one.sm))}`]] : [];
  return [["stream", `${stream.name}, ${stream.kind}`], ...times(item), ...blocks, ...item.details];
}

function explain(item, block) {
  const details = element("details");
  details.textContent = "";
  if (!item) {
    make("h2", "Details", details);
    make("p", "Point at something, or step through everything with Tab and the arrow keys.", details);
    return;
  }
  const head = make("h2", title(item), details);
  if (item.type === "missing") head.className = "missing";
  make("p", `band: ${item.band.name}`, details);
  const list = make("dl", "", details);
  for (const [word, answer] of facts(item, block)) {
    const pair = make("div", "", list);
    make("dt", word, pair);
    make("dd", answer, pair);
  }
  if (item.words) make("pre", item.words, details);
}

// What is shown, and how that changes.

let isAsked = false;
function draw() {
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(() => {
    isAsked = false;
    drawAxis(element("axis"), data.is_virtual);
    bands.forEach(drawBand);
    ring.hidden = !shown.focus || (shown.focus.kind === "edge" && shown.rows === "sms");
    if (!ring.hidden) {
      shown.focus.band.plot.append(ring);
      const place = box(shown.focus);
      for (const side in place) ring.style[side] = place[side] + "px";
      ring.hidden = !isVisible(shown.focus.start, shown.focus.end);
    }
    element("range").textContent = `${micros(shown.start)} to ${micros(shown.end)} µs${virtually}`;
  });
}

const possible = (span) => Math.max(LEAST_SPAN, Math.min(LAST, span));

// Shows this span, as far as there is time to show. Says whether anything changed.
function show(start, span) {
  span = possible(span);
  start = Math.max(0, Math.min(LAST - span, start));
  if (start === shown.start && start + span === shown.end) return false;
  [shown.start, shown.end] = [start, start + span];
  draw();
  return true;
}

const span = () => shown.end - shown.start;
const pan = (part) => show(shown.start + part * span(), span());
const showAll = () => show(0, LAST);

// Zooms so that what is at a moment stays there.
function zoom(factor, around) {
  const next = possible(span() / factor);
  return show(around - ((around - shown.start) / span()) * next, next);
}

// Where keys and buttons zoom: at what is chosen, as far as it is in sight.
function middle() {
  const { start, end } = shown.focus ?? shown;
  const [from, to] = [Math.max(start, shown.start), Math.min(end, shown.end)];
  return from <= to ? (from + to) / 2 : (shown.start + shown.end) / 2;
}

function zoomTo(item) {
  const wide = possible((item.end - item.start) * 1.25);
  show((item.start + item.end - wide) / 2, wide);
}

function setRows(rows) {
  shown.rows = rows;
  for (const name of ["streams", "sms"]) element("view-" + name).setAttribute("aria-pressed", String(name === rows));
  draw();
}

function hover(found) {
  const [item, block] = [found?.item ?? null, found?.block ?? null];
  if (item === shown.hover && block === shown.block) return;
  [shown.hover, shown.block] = [item, block];
  explain(item ?? shown.focus, block);
  draw();
}

// What is in the list, with the keyboard.

function focusOn(item) {
  for (const other of items) other.button.tabIndex = other === item ? 0 : -1;
  item.button.focus({ preventScroll: true });
}

function onFocus(item) {
  Object.assign(shown, { focus: item, hover: null, block: null });
  explain(item);
  if (item.end < shown.start || item.start > shown.end || (item.kind === "edge" && !isVisible(item.to.at, item.to.at))) {
    show((item.kind === "edge" ? item.to.at : (item.start + Math.min(item.end, item.start + span())) / 2) - span() / 2, span());
  }
  draw();
  // Below the axis, and above the details where they lie over the drawing.
  const place = box(item);
  const top = item.band.plot.getBoundingClientRect().top + place.top;
  const details = element("details").getBoundingClientRect();
  const bottom = details.left < element("chart").getBoundingClientRect().right ? Math.min(details.top, innerHeight) : innerHeight;
  const height = Math.min(place.height, bottom - 80);
  if (top < 40) window.scrollBy(0, top - 60);
  else if (top + height > bottom - 10) window.scrollBy(0, top + height + 30 - bottom);
}

function leave() {
  shown.focus = null;
  explain(null);
  element("chart").focus({ preventScroll: true });
  draw();
}

function onKey(event) {
  // The table has its own use for these keys.
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("#table")) return;
  const at = items.findIndex((item) => item.button === event.target);
  const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
  const isSideways = event.key === "ArrowLeft" || event.key === "ArrowRight";
  if (at >= 0 && step && !event.shiftKey) focusOn(items[Math.max(0, Math.min(items.length - 1, at + step))]);
  else if (isSideways) pan(step * 0.1);
  else if (event.key === "+" || event.key === "=") zoom(1.5, middle());
  else if (event.key === "-" || event.key === "_") zoom(1 / 1.5, middle());
  else if (event.key === "0" || event.key === "Home") showAll();
  else if (event.key === "v" || event.key === "V") setRows(shown.rows === "sms" ? "streams" : "sms");
  else if (event.key === "Enter" && at >= 0) zoomTo(items[at]);
  else if (event.key === "Escape") leave();
  else return;
  event.preventDefault();
}

// And with a pointer.

function listen(band) {
  const { canvas } = band;
  const place = (event) => {
    const frame = canvas.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  };
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button === 0) drag = { x: event.clientX, y: event.clientY, start: shown.start, scroll: window.scrollY, far: false };
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    cursor.hidden = x < shown.gutter;
    cursor.style.left = x + "px";
    if (drag && !drag.far && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 3) {
      drag.far = true;
      canvas.setPointerCapture(event.pointerId);
    }
    if (drag?.far) {
      show(drag.start - ((event.clientX - drag.x) / plotWidth()) * span(), span());
      if (event.pointerType === "mouse") window.scrollTo(window.scrollX, drag.scroll - (event.clientY - drag.y));
    } else hover(at(band, x, y));
    canvas.classList.toggle("over", Boolean(shown.hover));
    canvas.classList.toggle("busy", Boolean(drag?.far));
  });
  const end = () => {
    drag = null;
    canvas.classList.remove("busy");
  };
  canvas.addEventListener("pointerup", (event) => {
    const found = !drag?.far && at(band, ...place(event));
    end();
    if (found) {
      focusOn(found.item);
      hover(found);
    }
  });
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", () => {
    cursor.hidden = true;
    hover(null);
  });
  canvas.addEventListener("dblclick", (event) => {
    const found = at(band, ...place(event));
    if (found) zoomTo(found.block ?? found.item);
  });
  // Over the rows' names, and where there is nothing to zoom, the wheel scrolls the page.
  canvas.addEventListener("wheel", (event) => {
    const [x] = place(event);
    const unit = event.deltaMode === 1 ? 16 : 1;
    if (x < shown.gutter) return;
    const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const moved = isSideways
      ? pan(((event.deltaX || event.deltaY) * unit) / plotWidth())
      : zoom(Math.exp(-event.deltaY * unit * 0.002), toTime(x));
    if (moved) event.preventDefault();
  }, { passive: false });
}

// What stands around the canvases.

function build() {
  element("title").textContent = data.title;
  element("about").append(data.card, " · ");
  if (data.is_virtual) {
    make("b", "virtual time", element("about"));
    element("about").append(" · ");
  }
  element("about").append(`the clock steps by ${data.step_ns} ns`);
  for (const band of bands) {
    const section = make("section", "", element("bands"), { className: "band" });
    make("h2", band.name, section);
    make("p", band.caption, section);
    band.plot = make("div", "", section, { className: "plot" });
    band.canvas = make("canvas", "", band.plot);
    band.canvas.setAttribute("aria-hidden", "true");
    listen(band);
  }
  for (const item of items) {
    item.button = make("button", `${title(item)}, band ${item.band.name}`, make("li", "", element("items")), { tabIndex: -1 });
    item.button.addEventListener("focus", () => onFocus(item));
  }
  if (items.length) items[0].button.tabIndex = 0;
  for (const [name, index] of color.known ?? []) {
    const entry = make("li", "", element("colors"));
    make("i", "", entry).style.background = `var(--c${index})`;
    entry.append(name);
  }
  const actions = {
    left: () => pan(-0.25), right: () => pan(0.25), in: () => zoom(1.5, middle()), out: () => zoom(1 / 1.5, middle()), fit: showAll,
    "view-streams": () => setRows("streams"), "view-sms": () => setRows("sms"),
  };
  for (const [id, action] of Object.entries(actions)) element(id).addEventListener("click", action);
  addEventListener("keydown", onKey);
  bands.forEach(tabulate);
}

function tabulate(band) {
  const table = make("table", "", element("table").querySelector(".scroll"));
  make("caption", `${band.name}: ${band.caption}`, table);
  const head = make("tr", "", make("thead", "", table));
  for (const [at, word] of ["what", "from, µs", "to, µs", "details"].entries()) make("th", word, head, { scope: "col", className: at === 1 || at === 2 ? "number" : "" });
  const body = make("tbody", "", table);
  for (const item of band.items) {
    const row = make("tr", "", body);
    make("td", title(item), row);
    const [from, to] = item.kind === "edge" ? [item.from.at, item.to.at] : [item.start, item.end];
    for (const time of [from, to]) make("td", micros(time), row, { className: "number" });
    const known = facts(item).filter(([word]) => !["start", "end", "leaves", "arrives"].includes(word));
    make("td", item.words ?? known.map((pair) => pair.join(": ")).join("; "), row);
  }
}

function measure() {
  const { width } = element("chart").getBoundingClientRect();
  shown.width = Math.round(width);
  shown.gutter = width < 600 ? 62 : 106;
  draw();
}

build();
readTheme();
explain(null);
[shown.start, shown.end] = [0, LAST];
addEventListener("scroll", draw, { passive: true });
new ResizeObserver(measure).observe(element("chart"));
measure();
for (const query of ["(prefers-color-scheme: dark)", "(resolution: 1dppx)"]) {
  matchMedia(query).addEventListener("change", () => { readTheme(); draw(); });
}
