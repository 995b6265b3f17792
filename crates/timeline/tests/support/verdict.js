// Does with the page what a person does, by events alone, and says what it saw. Runs behind the page's own script and may
// look at its variables, but changes none.

const checks = {};
const verdict = { checks, failures: window.failures, reached: 0 };
const frame = () => new Promise((done) => setTimeout(done, 5));
const click = async (id) => { document.getElementById(id).click(); await frame(); };
const text = (id) => document.getElementById(id).textContent;
const range = () => text("range").replaceAll(",", "").match(/[\d.]+/g).slice(0, 2).map(Number);
const key = async (name, more = {}) => {
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true, ...more }));
  await frame();
};
const canvasOf = (at) => document.querySelectorAll(".plot canvas")[at];
const point = (canvas, type, x, y, more = {}) => {
  const frame = canvas.getBoundingClientRect();
  const Kind = type === "wheel" ? WheelEvent : type === "dblclick" ? MouseEvent : PointerEvent;
  const event = new Kind(type, { clientX: frame.left + x, clientY: frame.top + y, bubbles: true, cancelable: true, pointerId: 1, pointerType: "mouse", button: 0, ...more });
  return canvas.dispatchEvent(event);
};
const numbers = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
const difference = (pixel, color) => numbers(color).reduce((sum, part, at) => sum + Math.abs(part - pixel[at]), 0);
const pixel = (canvas, x, y) => canvas.getContext("2d").getImageData(x, y, 1, 1).data;
// Whether something with this colour, and not the paper, is at a point: a thin thing's edges are blurred.
const isPainted = (canvas, x, y, color) => difference(pixel(canvas, x, y), color) < difference(pixel(canvas, x, y), theme.paper);
// Whether a canvas shows a colour anywhere.
const shows = (canvas, color) => {
  const { data: pixels } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  for (let at = 0; at < pixels.length; at += 4) if (difference([pixels[at], pixels[at + 1], pixels[at + 2]], color) < 12 && pixels[at + 3]) return true;
  return false;
};
const isSame = ([a, b], [c, d]) => Math.abs(a - c) < 0.01 && Math.abs(b - d) < 0.01;

async function look() {
  await frame();
  verdict.heading = document.querySelector("h1").textContent;
  verdict.width = innerWidth;
  verdict["is dark"] = theme.paper !== "#ffffff";
  verdict["rows in the table"] = document.querySelectorAll("#table tbody tr").length;
  const buttons = [...document.querySelectorAll("#items button")];
  if (!buttons.length) return;
  const all = range();
  checks["the whole time is shown first"] = all[0] === 0 && all[1] > 0;
  checks["the page is not wider than the window"] = document.documentElement.scrollWidth <= innerWidth;
  checks["one thing is in the order of Tab"] = buttons.filter((button) => button.tabIndex === 0).length === 1;
  await key("+");
  checks["keys work before anything has the focus"] = !isSame(range(), all);
  await key("0");

  // Every slice, edge and range by the keyboard.
  buttons[0].focus();
  const reached = new Set();
  let [told, ringed] = [true, true];
  for (let step = 0; step < buttons.length; step += 1) {
    await frame();
    const button = document.activeElement;
    reached.add(button);
    const head = document.querySelector("#details h2").textContent;
    told &&= head !== "" && button.textContent.startsWith(head) && /µs/.test(text("details"));
    const ring = document.getElementById("ring");
    const [around, of] = [ring.getBoundingClientRect(), ring.parentElement.getBoundingClientRect()];
    ringed &&= !ring.hidden && around.width > 0 && around.left >= of.left - 1 && around.right <= of.right + 1;
    ringed &&= around.bottom > 0 && around.top < innerHeight;
    await key(step % 2 ? "ArrowRight" : "ArrowDown");
  }
  verdict.reached = reached.size;
  checks["each tells what it is and when"] = told;
  checks["each is ringed where it is drawn"] = ringed;
  checks["the last is the last"] = document.activeElement === buttons.at(-1);
  await key("ArrowUp");
  checks["arrows go back too"] = document.activeElement === buttons.at(-2);

  // Zoom and pan, by keys.
  await key("Home");
  const most = range();
  checks["Home shows all"] = isSame(most, all);
  await key("-");
  checks["zooming out stops at all"] = isSame(range(), all);
  await key("+");
  const near = range();
  checks["plus zooms in"] = near[1] - near[0] < (all[1] - all[0]) * 0.7;
  for (let i = 0; i < 30; i += 1) await key("ArrowLeft", { shiftKey: true });
  checks["panning stops at the start"] = range()[0] === 0 && Math.abs(range()[1] - (near[1] - near[0])) < 0.01;
  await key("ArrowRight", { shiftKey: true });
  checks["panning goes on from there"] = range()[0] > 0;
  for (let i = 0; i < 30; i += 1) await key("ArrowRight", { shiftKey: true });
  checks["panning stops at the end"] = Math.abs(range()[1] - all[1]) < 0.01;
  for (let i = 0; i < 60; i += 1) await key("+");
  checks["zooming in stops"] = range()[1] - range()[0] >= 0.0199;
  await key("0");
  checks["0 shows all"] = isSame(range(), all);
  await key("Enter");
  checks["Enter zooms to what has the focus"] = !isSame(range(), all);
  await key("Escape");
  checks["Escape goes back to the drawing"] = document.activeElement.id === "chart";
  await key("0");
  const before = range();
  await key("+");
  await key("ArrowRight");
  checks["arrows pan from the drawing"] = range()[0] > (before[1] - before[0]) / 6;
  await key("0");

  // By buttons.
  await click("in");
  checks["a button zooms in"] = !isSame(range(), all);
  await click("right");
  const later = range();
  await click("left");
  checks["buttons pan"] = range()[0] < later[0];
  await click("out");
  await click("fit");
  checks["a button shows all"] = isSame(range(), all);

  // By a pointer: over the first kernel, where the ring showed it.
  const first = items.findIndex((item) => item.kind === "slice");
  buttons[first].focus();
  await frame();
  const ring = document.getElementById("ring").getBoundingClientRect();
  const canvas = canvasOf(0);
  const place = [ring.left + ring.width / 2 - canvas.getBoundingClientRect().left, ring.top + ring.height / 2 - canvas.getBoundingClientRect().top];
  const name = document.querySelector("#details h2").textContent;
  await key("Escape");
  checks["nothing is told without a focus"] = document.querySelector("#details h2").textContent === "Details";
  point(canvas, "pointermove", ...place);
  checks["hovering tells"] = document.querySelector("#details h2").textContent === name;
  point(canvas, "pointerleave", ...place);
  checks["leaving tells no more"] = document.querySelector("#details h2").textContent === "Details";
  const used = !point(canvas, "wheel", ...place, { deltaY: -300 });
  await frame();
  const wheeled = range();
  const moment = all[0] + ((place[0] - shown.gutter - 10) / (canvas.clientWidth - shown.gutter - 20)) * (all[1] - all[0]);
  const stays = wheeled[0] + ((place[0] - shown.gutter - 10) / (canvas.clientWidth - shown.gutter - 20)) * (wheeled[1] - wheeled[0]);
  checks["the wheel zooms at the pointer"] = used && !isSame(wheeled, all) && Math.abs(moment - stays) < (wheeled[1] - wheeled[0]) / 100 + 0.01;
  for (const [type, by] of [["pointerdown", 0], ["pointermove", -20], ["pointermove", -60], ["pointerup", -60]]) {
    try { point(canvas, type, place[0] + by, place[1]); } catch (error) { window.failures.push(String(error)); }
  }
  await frame();
  checks["dragging pans"] = range()[0] > wheeled[0] && Math.abs(range()[1] - range()[0] - (wheeled[1] - wheeled[0])) < 0.01;
  await key("0");
  checks["at the whole time the wheel is left to the page"] = point(canvas, "wheel", ...place, { deltaY: 300 });
  point(canvas, "pointerdown", ...place);
  point(canvas, "pointerup", ...place);
  await frame();
  checks["a click selects"] = document.activeElement === buttons[first];

  // Both views draw all that there is in them.
  await key("Escape");
  await key("0");
  let [bars, edges] = [true, true];
  for (const band of bands) {
    band.canvas.scrollIntoView();
    await frame();
    for (const slice of band.slices) {
      const { left, width, top } = box(slice);
      bars &&= isPainted(band.canvas, left + Math.min(width / 2, width - 1), top + 3, theme.bars[slice.color]);
    }
    for (const type of ["event", "empty", "missing"]) {
      const are = band.edges.some((edge) => edge.type === type);
      edges &&= type === "missing" ? are === shows(band.canvas, theme.missing) : !are || shows(band.canvas, theme[type]);
    }
  }
  checks["every kernel is drawn"] = bars;
  checks["every kind of edge is drawn where there is one"] = edges;
  await click("view-sms");
  checks["the buttons say which view it is"] = document.getElementById("view-sms").getAttribute("aria-pressed") === "true";
  let blocks = true;
  for (const band of bands) {
    band.slices[0].button.focus();
    await key("Enter");
    band.canvas.scrollIntoView();
    await frame();
    for (const { start, end, row, lane, of, item } of band.slices[0].blocks.slice(0, 8)) {
      const [top, height] = extent({ row, lane, of, item });
      blocks &&= isPainted(band.canvas, (toX(start) + toX(end)) / 2, top + height / 2, theme.bars[item.color]);
    }
    await key("Escape");
  }
  // What is drawn on the last multiprocessor is far below until one scrolls there.
  const last = bands[0].slices.at(-1);
  last.button.focus();
  await key("Enter");
  scrollTo(0, 0);
  await frame();
  const low = last.blocks.reduce((low, block) => (block.sm > low.sm ? block : low));
  canvas.scrollIntoView(false);
  // The browser tells of it at its next frame, which virtual time does not wait for.
  dispatchEvent(new Event("scroll"));
  await frame();
  const [lowTop, lowHeight] = extent(low);
  checks["scrolling draws what comes into sight"] = isPainted(canvas, (toX(low.start) + toX(low.end)) / 2, lowTop + lowHeight / 2, theme.bars[last.color]);
  await key("Escape");
  await key("0");
  const isMixed = (parts) => parts.some((one) => parts.some((other) => one !== other && one.lane === other.lane && one.start < other.end && other.start < one.end));
  checks["what overlaps stands apart"] = !bands.some((band) => [...band.rows.streams, ...band.rows.sms.slice(0, 8)].some((row) => isMixed(row.parts.slice(0, 400))));
  checks["blocks are drawn where they were resident"] = blocks;
  const slice = items[first];
  const block = slice.blocks[0];
  const [top, height] = extent(block);
  point(canvas, "pointermove", (toX(block.start) + toX(block.end)) / 2, top + height / 2);
  checks["hovering a block tells its multiprocessor"] = text("details").includes(`SM ${block.sm}`) && text("details").includes("block");
  document.getElementById("chart").focus();
  await key("v");
  checks["V changes the view"] = document.getElementById("view-streams").getAttribute("aria-pressed") === "true";
}

look()
  .catch((error) => window.failures.push(String(error?.stack ?? error)))
  .finally(() => {
    verdict.fetched = performance.getEntriesByType("resource").map((entry) => entry.name);
    parent.postMessage(JSON.stringify(verdict), "*");
  });
