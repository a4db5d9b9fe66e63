// Declared problems: the feasibility check, in exact arithmetic.

const declaredJudge = (() => {
  const { program, integral } = declaredData;
  const DEEP = 200; // binary places of exponentials
  const FAR = integral(1000n);
  const absolute = (x) => (x.n < 0n ? { n: -x.n, d: x.d } : x);
  const isZero = (x) => x.n === 0n;

  // A bound of e^x on one side; nothing beyond e^1000 is looked at.
  function power(x, up) {
    if (up && compare(x, FAR) > 0) throw new Refused("the bound is beyond the largest float");
    if (!up && compare(x, integral(-1000n)) < 0) return frac(0);
    const near = compare(x, FAR) > 0 ? FAR : compare(x, integral(-1000n)) < 0 ? integral(-1000n) : x;
    const found = exp(near, DEEP);
    const error = { n: 1n, d: 1n << big(DEEP - 14) };
    return times(powerOfTwo(found.mantissa, found.power), up ? add(frac(1), error) : minus(frac(1), error));
  }

  function integerRoot(n) {
    if (n < 2n) return n;
    let x = 1n << big(Math.ceil(bits(n) / 2));
    for (;;) {
      const y = (x + n / x) / 2n;
      if (y >= x) return x;
      x = y;
    }
  }

  // An upper bound of the square root.
  function root({ n, d }) {
    if (n === 0n) return frac(0);
    let shift = Math.max(0, 200 + bits(d) - bits(n));
    shift += shift % 2;
    const whole = ceilDiv(n << big(shift), d);
    const r = integerRoot(whole);
    return { n: r * r < whole ? r + 1n : r, d: 1n << big(shift / 2) };
  }

  // The value that is meant, null if there is none.
  function settled(column, value) {
    if (column.lower <= value && value <= column.upper && (Number.isInteger(value) || !column.integer)) return exact(value);
    let x = exact(value);
    if (column.integer) {
      const near = floorDiv(2n * x.n + x.d, 2n * x.d);
      const isHalf = compare(minus(integral(near), x), frac(1, 2n)) === 0;
      const whole = integral(isHalf && near & 1n ? near - 1n : near); // of two, the even one
      if (compare(absolute(minus(x, whole)), slack(x)) > 0) return null;
      x = whole;
    }
    for (const [limit, sign] of [[column.lower, -1n], [column.upper, 1n]]) {
      if (!Number.isFinite(limit)) continue;
      const at = exact(limit);
      const beyond = times(integral(sign), minus(x, at));
      if (beyond.n <= 0n) continue;
      if (column.integer || compare(beyond, slack(at)) > 0) return null;
      x = at;
    }
    return x;
  }

  const judge = (sense) => (inst, { values }) => {
    need(values.length === inst.columns.length, `the solution has ${values.length} values, expected ${inst.columns.length}`);
    const broken = [];
    const x = values.map((value, j) => {
      const meant = settled(inst.columns[j], value);
      if (meant === null) broken.push(`(${inst.columns[j].name}) value ${value}`);
      return meant ?? frac(0);
    });
    inst[sense] ??= program(inst, sense, false);
    const { rows, cones, cost, costScale, offset, sign } = inst[sense];
    rows.forEach(({ entries, low, high }, i) => {
      const activity = total(entries.map(([j, a]) => times(integral(a), x[j])));
      if ((low !== null && compare(activity, integral(low)) < 0) || (high !== null && compare(activity, integral(high)) > 0)) broken.push(`(${inst.rows[i].name}) activity ${toFloat(activity, 0)}`);
    });
    cones.forEach((cone, k) => {
      if (!isInside(cone, x)) broken.push(`(${inst.cones[k].name}) outside the cone`);
    });
    if (broken.length) return { violations: broken, value: null };
    const reached = add(over(total(cost.map((c, j) => times(integral(c), x[j]))), integral(costScale)), offset);
    const value = toFloat(times(integral(sign), reached), 0);
    if (!Number.isFinite(value)) return { violations: ["(objective) value beyond the largest float"], value: null };
    return { violations: [], value, completion: [], obeys: true };
  };

  // Not in lowest terms: common divisors of long numbers take long.
  const total = (list) => {
    const d = list.reduce((all, x) => (x.n === 0n ? all : declaredData.lcm(all, x.d)), 1n);
    return { n: bigSum(list.map((x) => (x.n === 0n ? 0n : x.n * (d / x.d)))), d };
  };

  function isInside(cone, x) {
    const numbers = cone.members.map(({ constant, entries }) => total([constant, ...entries.map(([j, a]) => times(a, x[j]))]));
    let needed;
    if (cone.kind === "second-order") needed = root(total(numbers.slice(1).map((m) => times(m, m))));
    else {
      const [first, second] = numbers;
      if (second.n < 0n || (isZero(second) && first.n > 0n)) return false;
      needed = isZero(second) ? frac(0) : times(second, power(lowest(over(first, second)), false));
    }
    return compare(minus(needed, numbers[cone.head]), cone.slack) <= 0;
  }

  return { judge, settled, power, root, total, isZero };
})();
