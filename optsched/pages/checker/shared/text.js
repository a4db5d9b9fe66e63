// Texts: strict JSON, canonical numbers, SHA-256.

const HIDDEN =
  /[\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\u{110bd}\u{110cd}\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0001}\u{e0020}-\u{e007f}]/u;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const PLAIN = /[^"\\\x00-\x1f]*/y;
const BLANK = /[ \t\n\r]*/y;
const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const DEEPEST = 400;
const LONGEST = 4300; // digits of a whole number

// Read JSON: whole numbers become numbers, or BigInts where they are large; no key twice, no NaN,
// no text that cannot be shown.
function readJson(text) {
  let at = 0;
  const wrong = (what) => {
    throw new Refused(`character ${at}: is no JSON: ${what}`);
  };
  const skip = () => {
    BLANK.lastIndex = at;
    BLANK.exec(text);
    at = BLANK.lastIndex;
  };
  const string = () => {
    let found = "";
    at += 1;
    for (;;) {
      PLAIN.lastIndex = at;
      found += PLAIN.exec(text)[0];
      at = PLAIN.lastIndex;
      const c = text[at];
      if (c === '"') break;
      if (c !== "\\") wrong("a text does not end");
      const e = text[at + 1];
      if (e === "u") {
        const code = text.slice(at + 2, at + 6);
        if (!/^[0-9a-fA-F]{4}$/.test(code)) wrong("a wrong escape");
        found += String.fromCharCode(parseInt(code, 16));
        at += 6;
      } else {
        if (!Object.hasOwn(ESCAPES, e)) wrong("a wrong escape");
        found += ESCAPES[e];
        at += 2;
      }
    }
    at += 1;
    if (HIDDEN.test(found)) wrong("a text holds a control character");
    return found;
  };
  const value = (depth) => {
    if (depth > DEEPEST) wrong("too deep");
    skip();
    const c = text[at];
    if (c === '"') return string();
    if (c === "{" || c === "[") return many(c, depth);
    for (const [word, is] of [["true", true], ["false", false], ["null", null]]) {
      if (text.startsWith(word, at)) {
        at += word.length;
        return is;
      }
    }
    NUMBER.lastIndex = at;
    const found = NUMBER.exec(text);
    if (!found) wrong("expected a value");
    at = NUMBER.lastIndex;
    if (found[1] !== undefined || found[2] !== undefined) {
      if (!Number.isFinite(Number(found[0]))) wrong("a number is beyond the largest float");
      return Number(found[0]);
    }
    if (found[0].length > LONGEST) wrong("a number is too long");
    const n = Number(found[0]);
    return Number.isSafeInteger(n) ? n + 0 || 0 : BigInt(found[0]);
  };
  const many = (open, depth) => {
    const isMap = open === "{";
    const close = isMap ? "}" : "]";
    const found = isMap ? new Map() : [];
    at += 1;
    skip();
    if (text[at] === close) {
      at += 1;
      return found;
    }
    for (;;) {
      skip();
      if (isMap) {
        if (text[at] !== '"') wrong("expected a name");
        const name = string();
        if (found.has(name)) wrong(`"${name}" is given twice`);
        skip();
        if (text[at] !== ":") wrong("expected a colon");
        at += 1;
        found.set(name, value(depth + 1));
      } else found.push(value(depth + 1));
      skip();
      const c = text[at];
      at += 1;
      if (c === close) return found;
      if (c !== ",") wrong(`expected a comma or ${close}`);
    }
  };
  const all = value(0);
  skip();
  if (at < text.length) wrong("text after the end");
  return all;
}

// A float as it stands in the text whose digest is taken: 0.00001, 1.5e-7, 3600.0, 1e+16.
function floatText(x) {
  if (x === 0) return Object.is(x, -0) ? "-0.0" : "0.0";
  const sign = x < 0 ? "-" : "";
  const { digits, power } = decimals(x);
  if (power < -5 || power >= 16) {
    const rest = digits.length > 1 ? `.${digits.slice(1)}` : "";
    return `${sign}${digits[0]}${rest}e${power < 0 ? "-" : "+"}${Math.abs(power)}`;
  }
  if (power < 0) return `${sign}0.${"0".repeat(-power - 1)}${digits}`;
  const whole = digits.slice(0, power + 1).padEnd(power + 1, "0");
  return `${sign}${whole}.${digits.slice(power + 1) || "0"}`;
}

// A text in JSON: only the quotation mark and the backslash need an escape, for control characters are refused.
const textText = (s) => `"${s.replace(/["\\]/g, "\\$&")}"`;

const K = (() => {
  const primes = [];
  for (let n = 2; primes.length < 64; n += 1) if (primes.every((p) => n % p)) primes.push(n);
  const root = (p, k) => {
    let low = 0n;
    let high = 1n << 40n;
    while (high - low > 1n) {
      const mid = (low + high) / 2n;
      if (mid ** big(k) <= big(p) << big(32 * k)) low = mid;
      else high = mid;
    }
    return Number(low & 0xffffffffn);
  };
  return { start: primes.slice(0, 8).map((p) => root(p, 2)), round: primes.map((p) => root(p, 3)) };
})();

function sha256(text) {
  const data = new TextEncoder().encode(text);
  const blocks = new Uint8Array(((data.length + 72) >> 6) << 6);
  blocks.set(data);
  blocks[data.length] = 128;
  const view = new DataView(blocks.buffer);
  view.setUint32(blocks.length - 8, Math.floor(data.length / 2 ** 29));
  view.setUint32(blocks.length - 4, (data.length << 3) >>> 0);
  const h = Uint32Array.from(K.start);
  const w = new Uint32Array(64);
  const turn = (x, n) => (x >>> n) | (x << (32 - n));
  for (let at = 0; at < blocks.length; at += 64) {
    for (let i = 0; i < 16; i += 1) w[i] = view.getUint32(at + 4 * i);
    for (let i = 16; i < 64; i += 1) {
      const x = w[i - 15];
      const y = w[i - 2];
      w[i] = w[i - 16] + (turn(x, 7) ^ turn(x, 18) ^ (x >>> 3)) + w[i - 7] + (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10));
    }
    let [a, b, c, d, e, f, g, k] = h;
    for (let i = 0; i < 64; i += 1) {
      const one = (k + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K.round[i] + w[i]) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [k, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, k].forEach((x, i) => (h[i] += x));
  }
  return [...h].map((x) => x.toString(16).padStart(8, "0")).join("");
}
