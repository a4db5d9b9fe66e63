// Declared problems: formats, and the program in integers that the feasibility check accepts.

const declaredData = (() => {
  const moderate = {
    read(v, place) {
      const x = number().read(v, place);
      need(x === 0 || (Math.abs(x) >= 1e-15 && Math.abs(x) <= 1e15), `${place}: ${x} is out of range`);
      return x;
    },
    write: floatText,
  };
  const limit = {
    read: (v, place) => (v === "inf" || v === "-inf" ? extended.read(v, place) : moderate.read(v, place)),
    write: (x) => (Number.isFinite(x) ? floatText(x) : x > 0 ? '"inf"' : '"-inf"'),
  };
  const name = {
    read(v, place) {
      need(text.read(v, place).length > 0, `${place}: is empty`);
      return v;
    },
    write: textText,
  };
  const pair = (a, b) => ({
    read: row(a, b).read,
    write: ([x, y]) => `[${a.write(x)},${b.write(y)}]`,
  });
  const entries = list(pair(whole(), moderate));
  const column = record({
    name,
    cost: [moderate, 0],
    lower: [limit, 0],
    upper: [limit, Infinity],
    integer: [flag, false],
    revealed: moderate,
    decided: moderate,
    auxiliary: [flag, false],
  });
  const rowKind = record({ name, lower: [limit, -Infinity], upper: [limit, Infinity], entries });
  const member = record({ constant: [moderate, 0], entries: [entries, []] });
  const cone = record({ name, kind: oneOf("second-order", "exponential"), members: list(member, { least: 1 }) });
  const instance = record({
    problem: [text, ""],
    source: [text, ""],
    offset: [moderate, 0],
    columns: list(column),
    rows: list(rowKind),
    cones: [list(cone), []],
  });
  const schedule = record({ values: list(number()) });
  const multipliers = list(row(whole(), text));
  const branch = record({ node: oneOf("branch"), column: whole(), at: large(null, null), left: whole(), right: whole() });
  const leaf = record({
    node: oneOf("leaf"),
    ray: [flag, false],
    multipliers,
    cones: [list(row(whole(), list(text))), []],
  });
  const certificate = record({
    relaxed: [flag, false],
    cuts: [list(record({ multipliers, complemented: [list(whole()), []] })), []],
    denominator: [orNull(whole(1, 1e9)), null],
    nodes: list(tagged("node", { branch, leaf }), { least: 1 }),
  });

  function settle(inst) {
    const once = (kind, names) => need(new Set(names).size === names.length, `a ${kind} is named twice`);
    const { columns, rows, cones } = inst;
    once("variable", columns.map((c) => c.name));
    once("constraint", [...rows, ...cones].map((r) => r.name));
    for (const c of columns) {
      need(c.decided >= c.revealed, `variable ${c.name}: decided before it is revealed`);
      need(c.lower <= c.upper && c.lower !== Infinity && c.upper !== -Infinity, `variable ${c.name}: its bounds leave no value`);
    }
    for (const r of rows) {
      const [side, limit] = r.lower === Infinity ? ["lower", "inf"] : ["upper", "-inf"];
      need(r.lower !== Infinity && r.upper !== -Infinity, `constraint ${r.name}: its ${side} limit is ${limit}, expected a number`);
      const size = Math.max(0, ...[r.lower, r.upper, ...r.entries.map(([, a]) => a)].map(Math.abs).filter(Number.isFinite));
      need(size === 0 || size >= 1e-6, `constraint ${r.name}: its largest number is ${size}, expected at least 1e-6`);
    }
    for (const c of cones) need(c.kind !== "exponential" || c.members.length === 3, `cone ${c.name}: expected 3 members`);
    for (const list of [...rows.map((r) => r.entries), ...cones.flatMap((c) => c.members.map((m) => m.entries))]) {
      const places = list.map(([j]) => j);
      need(new Set(places).size === places.length, "a column is listed twice");
      need(places.every((j) => j >= 0 && j < columns.length), "a column does not exist");
    }
    need(!cones.length || !columns.some((c) => c.integer), "an integer variable next to a cone");
  }

  const lcm = (a, b) => (a / gcd(a, b)) * b;
  const integral = (n) => ({ n, d: 1n });
  const floorOf = (x) => floorDiv(x.n, x.d);
  const ceilOf = (x) => ceilDiv(x.n, x.d);
  const atLimit = (x, sign) => {
    const at = exact(x);
    const off = slack(at);
    return lowest(sign > 0 ? add(at, off) : minus(at, off));
  };

  // The program, minimized: limits include the tolerance, and are rounded where all columns of a row are integer.
  function program(inst, sense, relaxed) {
    const sign = sense === "min" ? 1n : -1n;
    const costs = inst.columns.map((c) => exact(c.cost));
    const costScale = costs.reduce((all, c) => lcm(all, c.d), 1n);
    const made = {
      sign,
      costScale,
      cost: costs.map((c) => sign * c.n * (costScale / c.d)),
      offset: times(integral(sign), exact(inst.offset)),
      integer: inst.columns.map((c) => c.integer && !relaxed),
      rows: [],
      cones: inst.cones.map((c) => ({ kind: c.kind, head: c.kind === "exponential" ? 2 : 0, members: c.members.map((m) => ({ constant: exact(m.constant), entries: terms(m.entries) })) })),
    };
    for (const c of made.cones) c.slack = slack(c.members[c.head].constant);
    made.lower = inst.columns.map((c, j) => bound(c.lower, made.integer[j] && ceilOf));
    made.upper = inst.columns.map((c, j) => bound(c.upper, made.integer[j] && floorOf));
    for (const r of inst.rows) made.rows.push(scaledRow(made, r));
    const unit = made.cost.reduce(gcd, 0n);
    const isWhole = made.cost.every((c, j) => c === 0n || made.integer[j]);
    made.step = isWhole && unit ? { n: unit < 0n ? -unit : unit, d: costScale } : null;
    made.rounding = frac(0);
    return made;
  }

  const terms = (entries) => entries.filter(([, a]) => a !== 0).map(([j, a]) => [j, exact(a)]);
  const bound = (x, rounded) => (Number.isFinite(x) ? (rounded ? integral(rounded(exact(x))) : exact(x)) : null);

  function scaledRow(made, { lower, upper, entries }) {
    const known = terms(entries);
    const sides = [Number.isFinite(lower) ? atLimit(lower, -1) : null, Number.isFinite(upper) ? atLimit(upper, 1) : null];
    const pure = known.every(([j]) => made.integer[j]);
    let scale = known.reduce((all, [, a]) => lcm(all, a.d), 1n);
    if (!pure) for (const side of sides) if (side) scale = lcm(scale, side.d);
    const whole = known.map(([j, a]) => [j, a.n * (scale / a.d)]);
    const unit = (pure && whole.reduce((all, [, a]) => gcd(all, a), 0n)) || 1n;
    const to = (side, rounded) => side && rounded({ n: side.n * scale, d: side.d * unit }) * unit;
    return { entries: whole, scale, low: to(sides[0], ceilOf), high: to(sides[1], floorOf) };
  }

  return { instance, schedule, certificate, settle, program, lcm, integral, floorOf, ceilOf };
})();
