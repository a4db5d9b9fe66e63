// In Node: node checker.js FILE... prints one line of JSON per part of each file. An instance serves the schedules after it.

function batch(names, read, print) {
  let instance = null;
  let isGood = true;
  for (const file of names) {
    try {
      const opened = openFile(read(file));
      if (opened.kind === "instance") {
        instance = opened;
        continue;
      }
      if (opened.kind === "schedule") need(instance !== null && instance.family === opened.family, "comes without its instance");
      const parts = opened.kind === "schedule" ? checkSchedule(opened, instance.instance) : checkFile(opened);
      for (const part of parts) {
        const { place, what, value, bound, gap, complaints } = part;
        isGood = isGood && accepted(part);
        print({ file, place, what, accepted: accepted(part), value: plain(value), bound: plain(bound), gap: plain(gap), complaints });
      }
    } catch (err) {
      isGood = false;
      const what = err instanceof Refused ? "file" : `failure of the checker: ${err.stack}`;
      print({ file, place: "", what, accepted: false, value: null, bound: null, gap: null, complaints: [err.message] });
    }
  }
  return isGood;
}

const plain = (x) => (x === null || Number.isFinite(x) ? x : String(x).replace("Infinity", "inf"));

if (typeof process !== "undefined" && typeof document === "undefined") {
  const { readFileSync, writeSync } = require("node:fs");
  const decode = (name) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(name));
  const read = (name) => {
    try {
      return decode(name);
    } catch (err) {
      throw new Refused(`cannot be read: ${err.message}`);
    }
  };
  const print = (part) => {
    try {
      writeSync(1, `${JSON.stringify(part)}\n`);
    } catch (err) {
      if (err.code !== "EPIPE") throw err;
      process.exit(1); // nobody reads any more
    }
  };
  const names = process.argv.slice(2);
  process.exitCode = batch(names, read, print) ? 0 : 1;
}
