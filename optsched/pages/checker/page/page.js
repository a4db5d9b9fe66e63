// In a browser: files are opened, checked in a worker, and shown.

function drawn(family, instance, part) {
  if (!part.schedule || !family.draw) return null;
  try {
    return family.draw(instance, part.schedule);
  } catch {
    return null; // a schedule that is broken may have no picture
  }
}

// Check the texts of some files; returns what there is to show of each.
function checkTexts(files) {
  const opened = files.map(({ name, text, wrong }) => {
    try {
      need(!wrong, wrong);
      return { name, file: openFile(text) };
    } catch (err) {
      if (!(err instanceof Refused)) throw err;
      return { name, wrong: err.message };
    }
  });
  const instances = opened.filter((o) => o.file?.kind === "instance").map((o) => o.file);
  return opened.map(({ name, file, wrong }) => {
    const started = Date.now();
    const shown = { name, wrong, parts: [], family: file?.family.name, kind: file?.kind };
    if (wrong) return shown;
    try {
      let instance = file.instance;
      if (file.kind === "schedule") {
        const home = instances.find((one) => one.family === file.family && (file.stated === null || file.stated === one.digest));
        need(home, "comes without its instance: open both at once");
        instance = home.instance;
      }
      shown.digest = instance?.digest; // a game has many instances
      const parts = file.kind === "instance" ? [] : file.kind === "schedule" ? checkSchedule(file, instance) : checkFile(file);
      shown.parts = parts.map((part) => ({ ...part, schedule: null, accepted: accepted(part), picture: drawn(file.family, instance, part) }));
    } catch (err) {
      if (!(err instanceof Refused)) throw err;
      shown.wrong = err.message;
    }
    shown.seconds = (Date.now() - started) / 1000;
    return shown;
  });
}

const SCOPE = typeof WorkerGlobalScope !== "undefined" && self instanceof WorkerGlobalScope;
if (SCOPE) self.onmessage = ({ data }) => self.postMessage(checkTexts(data));

const make = (tag, { text: stated, ...rest } = {}, ...inside) => {
  const element = Object.assign(document.createElement(tag), rest);
  if (stated !== undefined) element.textContent = stated;
  element.append(...inside);
  return element;
};

const MOST_BARS = 20000;

// Rows of bars on one axis: {caption, length, unit, rows: [{label, bars: [{from, to, shade, colour, title}]}]}
function picture({ caption, length, unit, rows }) {
  const percent = (x) => `${(100 * x) / length}%`;
  const figure = make("figure", {}, make("figcaption", { text: caption }));
  let bars = 0;
  for (const { label, bars: own } of rows) {
    const track = make("div", { className: "track" });
    for (const { from, to, shade = 1, colour = 0, title = "" } of own) {
      bars += 1;
      if (bars > MOST_BARS) break;
      const bar = make("i", { title });
      bar.style.left = percent(from);
      bar.style.width = percent(to - from);
      bar.style.opacity = 0.25 + 0.75 * shade;
      bar.style.setProperty("--c", `var(--c${colour % 6})`);
      track.append(bar);
    }
    figure.append(make("div", { className: "row" }, make("span", { text: label, title: label }), track));
  }
  const axis = make("div", { className: "track" });
  for (const x of [0, 0.5, 1]) {
    const mark = make("span", { text: x === 0 ? `${unit} 0` : String(Math.round(x * length * 100) / 100) });
    mark.style.left = percent(x * length);
    axis.append(mark);
  }
  figure.append(make("div", { className: "row axis" }, make("span"), axis));
  if (bars > MOST_BARS) figure.append(make("p", { className: "soft", text: `Only the first ${MOST_BARS} bars are drawn.` }));
  return figure;
}

const numberShown = (x) => (x === null ? "none" : Number.isFinite(x) ? String(x) : "there is no schedule");
const gapShown = (gap) => (gap === null ? null : Number.isFinite(gap) ? `${(100 * gap).toPrecision(3)} %${gap <= CLOSED ? " (closed)" : ""}` : "infinite");

function partShown(part) {
  const box = make("section", { className: `part ${part.accepted ? "good" : "bad"}` });
  const derived = part.value !== null || part.bound !== null;
  const verdict = part.accepted ? "accepted" : part.complaints.length ? "rejected" : derived ? "accepted" : "nothing can be derived from it";
  box.append(make("p", { className: "verdict", text: `${part.what}: ${verdict}` }));
  if (part.complaints.length) {
    const more = part.complaints.length - 20;
    box.append(make("ul", {}, ...part.complaints.slice(0, 20).map((stated) => make("li", { text: stated })), ...(more > 0 ? [make("li", { text: `and ${more} more` })] : [])));
  }
  const rows = [["value", numberShown(part.value)], ["certified bound", part.bound === null ? null : numberShown(part.bound)], ["gap", gapShown(part.gap)]];
  const facts = make("dl");
  for (const [name, stated] of rows) if (stated !== null) facts.append(make("div", {}, make("dt", { text: name }), make("dd", { text: stated })));
  box.append(facts);
  if (part.picture) box.append(picture(part.picture));
  return box;
}

function show(files) {
  const place = document.getElementById("found");
  place.replaceChildren();
  for (const { name, wrong, parts, family, kind, digest, seconds } of files) {
    place.append(make("h2", { text: name }));
    if (wrong) place.append(make("section", { className: "part bad" }, make("p", { className: "verdict", text: "rejected" }), make("p", { text: wrong })));
    else place.append(make("p", { className: "soft", text: `${kind} of family ${family}, checked in ${seconds.toFixed(1)} s${digest ? `; SHA-256 of the instance: ${digest}` : ""}` }));
    parts.forEach((part) => place.append(partShown(part)));
  }
  document.documentElement.dataset.checked = String(files.length);
}

async function opened(list) {
  const place = document.getElementById("found");
  delete document.documentElement.dataset.checked;
  place.replaceChildren(make("p", { text: "Checking ..." }));
  const files = await Promise.all(
    [...list].map(async (file) => {
      try {
        return { name: file.name, text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await file.arrayBuffer()) };
      } catch (err) {
        return { name: file.name, wrong: `cannot be read: ${err.message}` };
      }
    }),
  );
  const failed = (stated) => place.replaceChildren(make("p", { text: `The checker failed: ${stated}` }));
  const source = new Blob([document.querySelector("script").textContent], { type: "text/javascript" });
  const worker = new Worker(URL.createObjectURL(source));
  worker.onmessage = ({ data }) => {
    worker.terminate();
    show(data);
  };
  worker.onerror = (event) => failed(event.message);
  worker.postMessage(files);
}

if (typeof document !== "undefined") {
  const input = document.getElementById("files");
  const drop = document.getElementById("drop");
  input.addEventListener("change", () => input.files.length && opened(input.files));
  for (const word of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(word, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", word === "dragover");
      if (word === "drop" && event.dataTransfer.files.length) opened(event.dataTransfer.files);
    });
  }
  document.documentElement.dataset.ready = "";
}
