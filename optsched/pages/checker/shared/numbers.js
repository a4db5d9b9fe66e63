// Numbers: decimals as they are written, exact fractions, rounding to floats, exponentials and logarithms.

class Refused extends Error {}

const EPS = 1000000000n; // 1e-9 is what ceilings, floors and capacities forgive

const big = (x) => BigInt(x);
const smaller = (a, b) => (a < b ? a : b);
const larger = (a, b) => (a > b ? a : b);
const bits = (n) => (n === 0n ? 0 : n.toString(16).length * 4 - Math.clz32(parseInt(n.toString(16)[0], 16)) + 28);
const shifted = (n, by) => (by >= 0 ? n << big(by) : n >> big(-by)); // rounds down
const shiftedUp = (n, by) => -shifted(-n, by);
const floorDiv = (a, b) => (a >= 0n ? a / b : -((-a + b - 1n) / b)); // for b > 0
const ceilDiv = (a, b) => -floorDiv(-a, b);
const sum = (list) => list.reduce((a, b) => a + b, 0);
const bigSum = (list) => list.reduce((a, b) => a + b, 0n);

function gcd(a, b) {
  [a, b] = [a < 0n ? -a : a, b < 0n ? -b : b];
  while (b) [a, b] = [b, a % b];
  return a;
}

// Fractions are pairs {n, d} of BigInts with d > 0, in lowest terms only where that pays.
const frac = (n, d = 1n) => ({ n: big(n), d: big(d) });
const lowest = ({ n, d }) => {
  const g = gcd(n, d) || 1n;
  return { n: n / g, d: d / g };
};
const add = (a, b) => ({ n: a.n * b.d + b.n * a.d, d: a.d * b.d });
const minus = (a, b) => ({ n: a.n * b.d - b.n * a.d, d: a.d * b.d });
const times = (a, b) => ({ n: a.n * b.n, d: a.d * b.d });
const over = (a, b) => (b.n < 0n ? { n: -a.n * b.d, d: -a.d * b.n } : { n: a.n * b.d, d: a.d * b.n });
const compare = (a, b) => {
  const x = a.n * b.d;
  const y = b.n * a.d;
  return x < y ? -1 : x > y ? 1 : 0;
};

// The shortest decimal digits of a float, and the power of ten of the first.
function decimals(x) {
  const [mantissa, power] = Math.abs(x).toExponential().split("e");
  return { digits: mantissa.replace(".", ""), power: Number(power) };
}

// The decimal that is written for a number, as a fraction.
const known = new Map();
function exact(x) {
  let found = known.get(x);
  if (found === undefined) {
    const { digits, power } = decimals(x);
    const after = digits.length - 1 - power;
    const n = BigInt(digits) * (after < 0 ? 10n ** big(-after) : 1n) * (x < 0 ? -1n : 1n);
    found = lowest({ n, d: after > 0 ? 10n ** big(after) : 1n });
    if (known.size > 100000) known.clear();
    known.set(x, found);
  }
  return found;
}

// The float itself as a fraction, bit by bit.
function bitwise(x) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  const raw = view.getBigUint64(0);
  const power = Number((raw >> 52n) & 2047n);
  const mantissa = (raw & ((1n << 52n) - 1n)) + (power ? 1n << 52n : 0n);
  const by = (power || 1) - 1075;
  const n = (raw >> 63n ? -mantissa : mantissa) << big(Math.max(by, 0));
  return { n, d: 1n << big(Math.max(-by, 0)) };
}

const slack = (x) => {
  const a = x.n < 0n ? -x.n : x.n;
  return { n: larger(x.d, a), d: x.d * EPS };
};
const floorTol = (x) => {
  const y = add(x, slack(x));
  return floorDiv(y.n, y.d);
};
const ceilTol = (x) => {
  const y = minus(x, slack(x));
  return ceilDiv(y.n, y.d);
};

// The float next to n / d: `way` is -1 (down), 1 (up) or 0 (nearest, half to even).
function toFloat({ n, d }, way) {
  if (n === 0n) return 0;
  if (n < 0n) return -toFloat({ n: -n, d }, -way);
  let power = bits(n) - bits(d) - 53; // the quotient has 53 or 54 bits
  if (power < -1074) power = -1074;
  for (;;) {
    const top = power < 0 ? n << big(-power) : n;
    const below = power > 0 ? d << big(power) : d;
    let q = top / below;
    if (bits(q) > 53) {
      power += 1;
      continue;
    }
    const rest = top - q * below;
    if (way > 0 && rest > 0n) q += 1n;
    if (way === 0 && (2n * rest > below || (2n * rest === below && q & 1n))) q += 1n;
    if (bits(q) + power > 1024) return way < 0 ? Number.MAX_VALUE : Infinity;
    return scaled(Number(q), power);
  }
}

// x 2^power, where the result is a float.
function scaled(x, power) {
  while (power > 900) [x, power] = [x * 2 ** 900, power - 900];
  while (power < -900) {
    if (power >= -1074) return (x * 2 ** -500) * 2 ** (power + 500);
    [x, power] = [x * 2 ** -500, power + 500];
  }
  return x * 2 ** power;
}

// Whether two evaluations of one number agree.
const agree = (a, b, within) =>
  a === b || (Math.abs(a - b) <= within * Math.max(Math.abs(a), Math.abs(b)) && Number.isFinite(a - b));

const relative = (value, other) =>
  value === other ? 0 : value === 0 || !Number.isFinite(value) || !Number.isFinite(other)
    ? Infinity
    : Math.abs(other / value - 1);

// --- exp and ln, in whole numbers of 2^-places ---

const constants = new Map();
function lnTwo(places) {
  if (!constants.has(places)) constants.set(places, lnNear({ n: 2n, d: 1n }, places));
  return constants.get(places);
}

// ln(x) for x near 1: 2 artanh((x - 1) / (x + 1)), off by a few hundred units at most.
function lnNear({ n, d }, places) {
  const s = ((n - d) << big(places)) / (n + d);
  const square = (s * s) >> big(places);
  let power = s;
  let total = 0n;
  for (let k = 1n; power !== 0n && power !== -1n; k += 2n) {
    total += power / k;
    power = (power * square) >> big(places);
  }
  return 2n * total;
}

// ln(n / d) in units of 2^-places, off by less than 1000 units.
function ln({ n, d }, places) {
  const by = bits(n) - bits(d);
  const near = by >= 0 ? { n, d: d << big(by) } : { n: n << big(-by), d };
  return lnNear(near, places) + big(by) * lnTwo(places);
}

// exp(z) as {mantissa, power}: mantissa 2^power, with a relative error below 2^(12 - places).
function exp(z, places) {
  const more = places + bits(z.n / z.d < 0n ? -z.n / z.d : z.n / z.d) + 8;
  const x = floorDiv(z.n << big(more), z.d);
  const two = lnTwo(more);
  const k = floorDiv(x, two);
  const rest = (x - k * two) >> big(more - places);
  let term = 1n << big(places);
  let total = 0n;
  for (let i = 1n; term !== 0n; i += 1n) {
    total += term;
    term = ((term * rest) >> big(places)) / i;
  }
  return { mantissa: total, power: Number(k) - places };
}

const powerOfTwo = (mantissa, power) =>
  power >= 0 ? { n: mantissa << big(power), d: 1n } : { n: mantissa, d: 1n << big(-power) };
