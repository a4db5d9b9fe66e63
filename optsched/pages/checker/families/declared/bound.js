// Declared problems: the bound that a tree of dual multipliers and rays proves.

const declaredBound = (() => {
  const { program, lcm, integral, floorOf, ceilOf } = declaredData;
  const { judge, power, root, sumOf, total, isZero } = declaredJudge;
  const GRID = 1n << 30n;
  const FRACTION = /^-?[0-9]+(\/[0-9]*[1-9][0-9]*)?$/;

  function fraction(stated) {
    need(stated.length <= 400 && FRACTION.test(stated), `${shown(stated)} is no fraction`);
    const [n, d = "1"] = stated.split("/");
    return lowest({ n: BigInt(n), d: BigInt(d) });
  }

  // Numbers are added on a common denominator: one that is too long would take hours.
  function narrow(list, most) {
    let common = 1n;
    for (const x of list) {
      common = lcm(common, x.d);
      need(bits(common) <= most, `a common denominator has more than ${most} bits`);
    }
    return common;
  }

  function pairs(list, count) {
    const seen = new Set();
    return list.map(([i, stated]) => {
      need(i >= 0 && i < count, `there is no row ${i}`);
      need(!seen.has(i), `row ${i} is listed twice`);
      seen.add(i);
      return [i, fraction(stated)];
    });
  }

  // Infinite bounds are replaced by what two passes over the rows and cones imply, one where there are no cones.
  function implied(all) {
    const bounds = [[...all.lower], [...all.upper]];
    const isFree = all.lower.map((low, j) => low === null || all.upper[j] === null);
    for (let pass = 0; pass < (all.cones.length ? 2 : 1); pass += 1) {
      for (const { entries, low, high } of all.rows) {
        if (!entries.some(([j]) => isFree[j])) continue;
        if (high !== null) imply(entries.map(([j, a]) => [j, integral(a)]), integral(high), bounds, all.integer);
        if (low !== null) imply(entries.map(([j, a]) => [j, integral(-a)]), integral(-low), bounds, all.integer);
      }
      for (const cone of all.cones) for (const [entries, limit] of linear(cone)) imply(entries, limit, bounds, all.integer, [all.lower, all.upper]);
    }
    return bounds;
  }

  // From sum a x <= limit. Where the written bounds are given, those that were infinite there may also be improved.
  function imply(entries, limit, bounds, integer, written) {
    const side = (a) => (a.n > 0n ? 0 : 1);
    const open = entries.filter(([j, a]) => bounds[side(a)][j] === null);
    if (open.length > 1) return;
    const least = entries.map(([j, a]) => (bounds[side(a)][j] === null ? null : times(a, bounds[side(a)][j])));
    const known = total(least.filter((x) => x !== null));
    entries.forEach(([j, a], k) => {
      if (open.length && j !== open[0][0]) return;
      const target = bounds[1 - side(a)];
      const now = target[j];
      if (now !== null && (!written || written[1 - side(a)][j] !== null)) return;
      const found = lowest(over(minus(limit, least[k] === null ? known : minus(known, least[k])), a));
      const bound = integer[j] ? integral(a.n > 0n ? floorOf(found) : ceilOf(found)) : found;
      if (now === null || (a.n > 0n ? compare(bound, now) < 0 : compare(bound, now) > 0)) target[j] = bound;
    });
  }

  // Linear constraints [entries, limit] that hold in a cone.
  function* linear({ kind, members, slack: off }) {
    const sums = kind === "exponential" ? [[[0, 1n], [1, 1n], [2, -1n]], [[1, -1n]], [[2, -1n]]] : [...members.slice(1).flatMap((_, k) => [1n, -1n].map((s) => [[0, -1n], [k + 1, s]])), [[0, -1n]]];
    for (const parts of sums) {
      const found = new Map();
      let limit = times(frac(2), off);
      for (const [k, s] of parts) {
        limit = minus(limit, times(integral(s), members[k].constant));
        for (const [j, a] of members[k].entries) found.set(j, add(found.get(j) ?? frac(0), times(integral(s), a)));
      }
      yield [[...found].map(([j, a]) => [j, lowest(a)]).filter(([, a]) => a.n !== 0n), lowest(limit)];
    }
  }

  // Costs are multiples of 1 / denominator that were rounded.
  function granular(all, bounds, denominator) {
    const d = big(denominator);
    let unit = 0n;
    const off = [];
    all.cost.forEach((c, j) => {
      if (c === 0n) return;
      const meant = floorDiv(2n * c * d + all.costScale, 2n * all.costScale);
      unit = gcd(unit, meant);
      const apart = lowest(minus({ n: c, d: all.costScale }, { n: meant, d }));
      const size = apart.n < 0n ? { n: -apart.n, d: apart.d } : apart;
      const sides = [bounds[0][j], bounds[1][j]];
      need(all.integer[j] && (isZero(apart) || sides.every((x) => x !== null)), "the objective has no granularity");
      if (isZero(apart)) return;
      const [low, high] = sides.map((x) => (x.n < 0n ? { n: -x.n, d: x.d } : x));
      off.push(times(size, compare(low, high) > 0 ? low : high));
    });
    all.step = { n: (unit < 0n ? -unit : unit) || 1n, d };
    all.rounding = total(off);
  }

  // A cut by mixed-integer rounding of a sum of rows, with the columns measured from one of their bounds.
  function cut(all, bounds, list, complemented) {
    narrow(list.map(([, y]) => y), 2 ** 12);
    const found = new Map();
    const slacks = [];
    const at = (j) => bounds[complemented.has(j) ? 1 : 0][j];
    let right = [];
    for (const [i, y] of list) {
      const { entries, low, high } = all.rows[i];
      const sign = (y.n > 0n && high !== null) || low === null ? 1n : -1n;
      const side = sign > 0n ? high : low;
      need(side !== null, "an infinite limit takes part");
      right.push(times(y, integral(side)));
      for (const [j, a] of entries) found.set(j, lowest(add(found.get(j) ?? frac(0), times(y, integral(a)))));
      slacks.push({ entries, sign, side, weight: times(y, integral(sign)), isWhole: entries.every(([j]) => all.integer[j]) });
    }
    for (const [j, a] of found) {
      need(at(j) !== null, "an infinite bound takes part");
      right.push(times(integral(-1n), times(a, at(j))));
    }
    right = total(right);
    const floor = floorOf(right);
    const rest = minus(right, integral(floor));
    need(!isZero(rest), "nothing is rounded");
    const below = minus(frac(1), rest);
    const rounded = (a, isWhole) => {
      if (!isWhole) return a.n < 0n ? lowest(over(a, below)) : frac(0);
      const down = integral(floorOf(a));
      const more = minus(minus(a, down), rest);
      return lowest(more.n > 0n ? add(down, over(more, below)) : down);
    };
    const made = new Map();
    const limit = [integral(floor)];
    for (const [j, a] of found) {
      const sign = integral(complemented.has(j) ? -1n : 1n);
      made.set(j, times(sign, rounded(times(sign, a), all.integer[j])));
      limit.push(times(made.get(j), at(j)));
    }
    for (const { entries, sign, side, weight, isWhole } of slacks) {
      const factor = times(integral(sign), rounded(weight, isWhole));
      limit.push(times(factor, integral(-side)));
      for (const [j, a] of entries) made.set(j, lowest(minus(made.get(j), times(factor, integral(a)))));
    }
    return onGrid(made, total(limit), bounds[0], all.integer);
  }

  function onGrid(made, limit, lower, integer) {
    let scale = [...made.values()].reduce((all, a) => lcm(all, lowest(a).d), 1n);
    if (scale > GRID) scale = GRID;
    const entries = [];
    const rest = [times(limit, integral(scale))];
    for (const [j, a] of [...made].sort(([i], [j]) => i - j)) {
      const exactly = times(a, integral(scale));
      const down = floorOf(exactly);
      const off = minus(exactly, integral(down));
      if (!isZero(off)) {
        need(lower[j] !== null, "an infinite bound takes part");
        rest.push(times(integral(-1n), times(off, lower[j])));
      }
      if (down !== 0n) entries.push([j, down]);
    }
    const side = total(rest);
    if (!entries.every(([j]) => integer[j])) return { entries, scale: 1n, low: null, high: ceilOf(side) };
    const unit = entries.reduce((all, [, a]) => gcd(all, a), 0n) || 1n;
    return { entries: entries.map(([j, a]) => [j, a / unit]), scale: 1n, low: null, high: floorOf({ n: side.n, d: side.d * unit }) };
  }

  // The point of the dual cone with these numbers next to its head.
  function dualPoint(cone, tail) {
    if (cone.kind === "second-order") return [root(total(tail.map((z) => times(z, z)))), ...tail];
    const [u, v] = tail;
    need(u.n < 0n || (u.n === 0n && v.n >= 0n), "the multipliers are in no dual cone");
    if (u.n === 0n) return [u, v, frac(0)];
    return [u, v, lowest(times({ n: -u.n, d: u.d }, power(lowest(minus(over(v, u), frac(1))), true)))];
  }

  function evaluate(all, lower, upper, leaf) {
    const parts = []; // of the sum
    const reduced = all.cost.map((c) => (leaf.ray || c === 0n ? [] : [{ n: c, d: all.costScale }]));
    const weighted = pairs(leaf.multipliers, all.rows.length).filter(([, y]) => !isZero(y));
    const weights = weighted.map(([i, y]) => lowest({ n: y.n, d: y.d * all.rows[i].scale }));
    const common = narrow(weights, 2 ** 16); // of up to 2^16 bits: lowest terms would take long
    narrow(leaf.cones.flatMap(([, texts]) => texts.map(fraction)), 2 ** 16);
    weighted.forEach(([i, y], k) => {
      const { entries, low, high } = all.rows[i];
      const side = y.n > 0n ? low : high;
      need(side !== null, "a multiplier meets an infinite limit");
      const weight = { n: weights[k].n * (common / weights[k].d), d: common };
      parts.push(times(weight, integral(side)));
      for (const [j, a] of entries) reduced[j].push(times(weight, integral(-a)));
    });
    const seen = new Set();
    for (const [k, texts] of leaf.cones) {
      need(k >= 0 && k < all.cones.length && !seen.has(k), `there is no cone ${k}, or it is listed twice`);
      seen.add(k);
      const cone = all.cones[k];
      need(texts.length === cone.members.length - 1, `cone ${k} has ${texts.length} multipliers`);
      const dual = dualPoint(cone, texts.map(fraction));
      parts.push(times(frac(-2), times(cone.slack, dual[cone.head])));
      dual.forEach((z, m) => {
        const minusZ = times(frac(-1), z);
        parts.push(times(minusZ, cone.members[m].constant));
        for (const [j, a] of cone.members[m].entries) reduced[j].push(times(minusZ, a));
      });
    }
    reduced.forEach((list, j) => {
      if (!list.length) return;
      const r = sumOf(list);
      if (isZero(r)) return;
      const bound = r.n > 0n ? lower[j] : upper[j];
      need(bound !== null, "a reduced cost meets an infinite bound");
      parts.push(times(r, bound));
    });
    const found = sumOf(parts);
    if (leaf.ray) return found;
    if (all.step === null) return add(found, all.offset);
    const steps = ceilOf(over(minus(found, all.rounding), all.step));
    const raised = minus(times(integral(steps), all.step), all.rounding);
    return add(compare(raised, found) > 0 ? raised : found, all.offset);
  }

  const check = (sense) => (inst, { relaxed, cuts, denominator, nodes }) => {
    const all = program(inst, sense, relaxed);
    const bounds = implied(all);
    if (denominator !== null) granular(all, [all.lower, all.upper], denominator);
    for (const { multipliers, complemented } of cuts) {
      const seen = multipliers.map(([i, stated]) => {
        need(i >= 0 && i < all.rows.length, `there is no row ${i}`);
        return [i, fraction(stated)];
      });
      all.rows.push(cut(all, bounds, seen, new Set(complemented)));
    }
    for (const node of nodes) {
      if (node.node === "branch") need(node.column >= 0 && node.column < all.cost.length && all.integer[node.column], `column ${node.column} is no integer variable`);
    }
    let least = null;
    walkTree(nodes, (leaf, above) => {
      const [lower, upper] = bounds.map((side) => [...side]);
      for (const [{ column, at }, isRight] of above) {
        const now = (isRight ? lower : upper)[column];
        const limit = integral(isRight ? at + 1n : at);
        if (now === null || (isRight ? compare(limit, now) > 0 : compare(limit, now) < 0)) (isRight ? lower : upper)[column] = limit;
      }
      const bound = evaluate(all, lower, upper, leaf);
      if (leaf.ray) {
        const isEmpty = lower.some((low, j) => low !== null && upper[j] !== null && compare(low, upper[j]) > 0);
        need(bound.n > 0n || isEmpty, "the ray proves nothing");
      } else if (least === null || compare(bound, least) < 0) least = bound;
    });
    const way = sense === "min" ? 1 : -1;
    if (least === null) return way * Infinity;
    return -way * toFloat({ n: -least.n, d: least.d }, 1);
  };

  return (sense) => ({ name: `declared-${sense}`, sense, ...declaredData, judge: judge(sense), check: check(sense) });
})();

FAMILIES["declared-max"] = declaredBound("max");
FAMILIES["declared-min"] = declaredBound("min");
