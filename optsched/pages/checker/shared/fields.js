// Fields of files: each kind reads what stands in a file, or refuses it, and writes it as in the digest.

const shown = (v) => {
  const text = v instanceof Map ? "an object" : Array.isArray(v) ? "a list" : typeof v === "string" ? textText(v) : String(v);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
};
const refuse = (place, v, expected) => {
  throw new Refused(`${place}: is ${shown(v)}, expected ${expected}`);
};

// Whether a text names something: a list of one text would be taken for that text, and any object has a "toString".
const hasName = (known, name) => typeof name === "string" && Object.hasOwn(known, name);

const whole = (least = null, most = null) => ({
  read(v, place) {
    if (typeof v === "number" && Math.abs(v) >= 2 ** 63) refuse(place, v, "a whole number of that size in digits alone");
    const is = typeof v === "bigint" || (typeof v === "number" && Number.isInteger(v));
    if (!is || (least !== null && v < least) || (most !== null && v > most)) {
      refuse(place, v, `a whole number${least === null ? "" : ` from ${least}`}${most === null ? "" : ` to ${most}`}`);
    }
    if (typeof v === "number" && !Number.isSafeInteger(v)) return BigInt(v);
    return typeof v === "bigint" && v >= -(2n ** 53n) + 1n && v < 2n ** 53n ? Number(v) : v === 0 ? 0 : v;
  },
  write: (v) => v.toString(),
});

// A whole number that is computed with as a BigInt.
const large = (least, most) => ({
  read: (v, place) => BigInt(whole(least, most).read(v, place)),
  write: (v) => v.toString(),
});

const number = ({ least = -Infinity, above = -Infinity, most = Infinity, below = Infinity } = {}) => ({
  read(v, place) {
    const x = typeof v === "bigint" ? Number(v) : v;
    if (typeof x !== "number" || !Number.isFinite(x) || !(x >= least && x > above && x <= most && x < below)) {
      refuse(place, v, `a number${least > -Infinity ? ` from ${least}` : ""}${above > -Infinity ? ` above ${above}` : ""}${most < Infinity ? ` to ${most}` : ""}${below < Infinity ? ` below ${below}` : ""}`);
    }
    return x;
  },
  write: floatText,
});

// A number that may be "inf" or "-inf".
const extended = {
  read: (v, place) => {
    if (v === "inf" || v === "-inf") return v === "inf" ? Infinity : -Infinity;
    return number().read(v, place);
  },
};

// The size of a gap, which may be "inf".
const gapSize = {
  read: (v, place) => (v === "inf" ? Infinity : number({ least: 0 }).read(v, place)),
};

// An amount of a resource, read to nine decimals (half to even), which change it by at most a millionth.
const amount = {
  read(v, place) {
    const x = number({ least: 0, below: 1e9 }).read(v, place);
    const { n, d } = bitwise(x);
    const twice = 2n * n * EPS;
    let q = (n * EPS) / d;
    const rest = twice - 2n * q * d;
    if (rest > d || (rest === d && q & 1n)) q += 1n;
    const off = q * d - n * EPS; // by which rounding changes it, times d and EPS
    if ((off < 0n ? -off : off) * 1000000n > n * EPS) refuse(place, v, "0 or a multiple of 1e-9");
    return q === 0n ? (Object.is(x, -0) ? -0 : 0) : toFloat({ n: q, d: EPS }, 0);
  },
  write: floatText,
};

const text = {
  read: (v, place) => (typeof v === "string" ? v : refuse(place, v, "a text")),
  write: textText,
};
const flag = {
  read: (v, place) => (typeof v === "boolean" ? v : refuse(place, v, "true or false")),
  write: String,
};
const anything = { read: (v) => v };
const anyObject = { read: (v, place) => (v instanceof Map ? v : refuse(place, v, "an object")) };
const oneOf = (...words) => ({
  read: (v, place) => (words.includes(v) ? v : refuse(place, v, words.map(shown).join(" or "))),
  write: (v) => (typeof v === "string" ? textText(v) : String(v)),
});
const orNull = (kind) => ({
  read: (v, place) => (v === null ? null : kind.read(v, place)),
  write: (v) => (v === null ? "null" : kind.write(v)),
});
const list = (kind, { least = 0, most = Infinity } = {}) => ({
  read(v, place) {
    if (!Array.isArray(v) || v.length < least || v.length > most) {
      refuse(place, v, `a list${least ? ` of at least ${least}` : ""}${most < Infinity ? ` of at most ${most}` : ""}`);
    }
    return v.map((x, i) => kind.read(x, `${place}[${i}]`));
  },
  write: (v) => `[${v.map(kind.write).join(",")}]`,
});
const row = (...kinds) => ({
  read(v, place) {
    if (!Array.isArray(v) || v.length !== kinds.length) refuse(place, v, `a list of ${kinds.length}`);
    return v.map((x, i) => kinds[i].read(x, `${place}[${i}]`));
  },
});

// Fields by name; [kind, default] may be left out, and [kind, default, true] is not written where it is the default.
const record = (fields) => ({
  read(v, place) {
    if (!(v instanceof Map)) refuse(place, v, "an object");
    for (const name of v.keys()) if (!Object.hasOwn(fields, name)) throw new Refused(`${place}: "${name}" is not known`);
    const found = {};
    for (const [name, field] of Object.entries(fields)) {
      const [kind, standard] = Array.isArray(field) ? field : [field];
      if (v.has(name)) found[name] = kind.read(v.get(name), `${place}.${name}`);
      else if (Array.isArray(field)) found[name] = Array.isArray(standard) ? [...standard] : standard;
      else throw new Refused(`${place}: lacks "${name}"`);
    }
    return found;
  },
  write: (v) =>
    `{${Object.entries(fields).filter(([name, field]) => !(field[2] === true && v[name] === field[1])).map(([name, field]) => `"${name}":${(Array.isArray(field) ? field[0] : field).write(v[name])}`).join(",")}}`,
});

// One of several records, told apart by the field `tag`.
const tagged = (tag, kinds) => ({
  read(v, place) {
    if (!(v instanceof Map)) refuse(place, v, "an object");
    const name = v.get(tag);
    if (!hasName(kinds, name)) refuse(`${place}.${tag}`, name, Object.keys(kinds).join(" or "));
    return kinds[name].read(v, place);
  },
  write: (v) => kinds[v[tag]].write(v),
});

const need = (holds, stated) => {
  if (!holds) throw new Refused(stated);
};
