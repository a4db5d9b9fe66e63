// Family bot: the certificate, prices of flop and bytes; and how far a schedule is from it.

FAMILIES.bot = (() => {
  const { wholes } = botData;
  const { judge, totals, draw } = botJudge;
  const DIGITS = 40;
  const PLACES = 300;
  const FAR = 1000n;
  const WIDER = 10n ** 35n;

  const negated = (x) => ({ n: -x.n, d: x.d });
  const sumOf = (list) => list.reduce((a, b) => lowest(add(a, b)), frac(0));
  const most = (list) => list.reduce((a, b) => (compare(a, b) >= 0 ? a : b));
  const least = (list) => list.reduce((a, b) => (compare(a, b) <= 0 ? a : b));

  // A decimal of 40 digits: above (way 1), below (-1), or the nearest (0).
  function decimal(x, way) {
    if (x.n === 0n) return frac(0);
    if (x.n < 0n) return negated(decimal(negated(x), -way));
    let power = Math.floor((bits(x.n) - bits(x.d)) * Math.LOG10E * Math.LN2) - DIGITS;
    for (; ; power += 1) {
      const n = power < 0 ? x.n * 10n ** big(-power) : x.n;
      const d = power > 0 ? x.d * 10n ** big(power) : x.d;
      if (n >= d * 10n ** big(DIGITS)) continue;
      const twice = 2n * (n % d);
      const q = n / d;
      const isUp = way > 0 ? twice > 0n : way === 0 && (twice > d || (twice === d && (q & 1n) === 1n));
      const digits = q + (isUp ? 1n : 0n);
      return lowest(power < 0 ? { n: digits, d: 10n ** big(-power) } : { n: digits * 10n ** big(power), d: 1n });
    }
  }

  const wider = (x, up) => lowest({ n: x.n * WIDER + (up === x.n >= 0n ? x.n : -x.n), d: x.d * WIDER });
  const lnSafe = (x, up) => {
    const y = decimal(x, up ? 1 : -1);
    return y.n === y.d ? frac(0) : wider(decimal(powerOfTwo(ln(y, PLACES), -PLACES), 0), up);
  };
  function expSafe(x, up) {
    if (up) {
      need(compare(x, frac(FAR)) <= 0, "the bound is beyond the largest float");
      if (compare(x, frac(-FAR)) < 0) x = frac(-FAR);
    } else {
      if (compare(x, frac(-FAR)) < 0) return frac(0);
      if (compare(x, frac(FAR)) > 0) x = frac(FAR);
    }
    const { mantissa, power } = exp(decimal(x, up ? 1 : -1), PLACES);
    return wider(decimal(powerOfTwo(mantissa, power), 0), up);
  }
  // alpha ln(sum of e^(term / alpha))
  function logSum(terms, alpha, up) {
    const top = most(terms);
    const total = sumOf(terms.map((x) => expSafe(lowest(over(minus(x, top), alpha)), up)));
    return lowest(add(top, times(alpha, lnSafe(total, up))));
  }

  function sharesOf(inst) {
    const weights = inst.applications.map((app) => exact(app.weight));
    const whole = sumOf(weights);
    return { whole, shares: weights.map((g) => lowest(over(g, whole))) };
  }

  // What the platform is worth, and what a task of each application costs at least.
  function evaluate(inst, prices, where) {
    const dense = (entries, count, what) => {
      const { whole: numbers, unit } = wholes(entries.map(([, p]) => p));
      const found = Array(count).fill(0n);
      let last = -1;
      entries.forEach(([i], at) => {
        need(i < count && i > last, `${where}: ${what} ${i} does not exist, or does not rise`);
        found[i] = numbers[at];
        last = i;
      });
      return { found, unit };
    };
    const node = dense(prices.nodes, inst.speed.length, "node");
    const arc = dense(prices.arcs, inst.bandwidth.length, "arc");
    inst.wide ??= { speed: wholes(inst.speed), bandwidth: wholes(inst.bandwidth) };
    const { speed, bandwidth } = inst.wide;
    const dot = (p, c) => ({ n: bigSum(p.found.map((x, i) => (x ? x * c.whole[i] : 0n))), d: p.unit * c.unit });
    const pay = lowest(add(dot(node, speed), dot(arc, bandwidth)));
    const task = inst.applications.map((app, k) => {
      const { steps, present } = inst.ways[k];
      const [flop, there, back] = [app.flop, app.bytes, app.return_bytes].map(exact);
      // all over one denominator: that of flop, bytes and units
      const d = flop.d * there.d * back.d * node.unit * arc.unit;
      const perFlop = flop.n * there.d * back.d * arc.unit;
      const perByte = there.n * flop.d * back.d * node.unit;
      const perReturn = back.n * flop.d * there.d * node.unit;
      const route = inst.speed.map(() => 0n);
      let best = null;
      for (const { node: n, before, arc: a } of steps) {
        if (before >= 0) route[n] = route[before] + perByte * arc.found[a] + perReturn * arc.found[a ^ 1];
        if (!present[n]) continue;
        const cost = route[n] + perFlop * node.found[n];
        if (best === null || cost < best) best = cost;
      }
      return lowest({ n: best, d });
    });
    return { pay, task };
  }

  function levelsOf(inst, cert) {
    const isFair = inst.alpha === "inf";
    need(cert.levels.length <= (isFair ? inst.applications.length : 1), "too many levels");
    let before = new Set();
    return cert.levels.map((prices, j) => {
      need((prices.floors !== null) === j > 0, `level ${j}: floors belong above level 0`);
      const floors = (prices.floors ?? inst.applications.map(() => null)).map((f) => (f === null ? null : exact(f)));
      need(floors.length === inst.applications.length, `level ${j}: expected a floor or null for each application`);
      const settled = new Set([...floors.keys()].filter((k) => floors[k] !== null));
      need(j === 0 || (settled.size > before.size && [...before].every((k) => settled.has(k))), `level ${j}: settles no new application, or omits a settled one`);
      before = settled;
      const { pay, task } = evaluate(inst, prices, `level ${j}`);
      const others = sumOf(task.filter((_, k) => floors[k] === null));
      need(!isFair || others.n > 0n, `level ${j}: the tasks of all others are free`);
      return { pay, task, floors, others };
    });
  }

  // An upper bound of ln M.
  function logMean(inst, { pay, task }) {
    need(task.every((p) => p.n > 0n), "somebody's tasks are free at these prices");
    need(pay.n > 0n, "the platform is worth nothing");
    const { shares } = sharesOf(inst);
    const each = shares.map((g, k) => lowest(over(times(g, pay), task[k])));
    if (inst.alpha === 0) return lnSafe(most(each), true);
    if (inst.alpha === 1) return sumOf(shares.map((g, k) => times(g, lnSafe(each[k], true))));
    const alpha = exact(inst.alpha);
    const power = minus(frac(1), alpha);
    const up = inst.alpha < 1;
    const terms = shares.map((g, k) => lowest(minus(lnSafe(g, up), times(power, lnSafe(task[k], false)))));
    return lowest(add(over(logSum(terms, alpha, up), power), lnSafe(pay, true)));
  }

  const floatAbove = (x) => {
    const found = toFloat(x, 1);
    need(found < Infinity, "the bound is beyond the largest float");
    return found;
  };

  function check(inst, cert) {
    const levels = levelsOf(inst, cert);
    if (inst.alpha === "inf") {
      return levels.map(({ pay, task, floors, others }) => {
        const settled = sumOf(task.map((p, k) => (floors[k] === null ? frac(0) : times(p, floors[k]))));
        return floatAbove(over(minus(pay, settled), others));
      })[0];
    }
    const log = logMean(inst, levels[0]);
    const { whole: weight } = sharesOf(inst);
    if (inst.alpha === 1) return floatAbove(times(weight, log));
    const power = minus(frac(1), exact(inst.alpha));
    return floatAbove(over(times(weight, expSafe(lowest(times(power, log)), inst.alpha < 1)), power));
  }

  // --- how far a schedule is from a bound ---

  // ln M of a utility; null: M is 0, or has no limit
  function logOf(inst, utility, up) {
    if (!Number.isFinite(utility)) return null;
    const each = over(bitwise(utility), sharesOf(inst).whole);
    if (inst.alpha === 1) return each;
    const power = minus(frac(1), exact(inst.alpha));
    const base = lowest(times(power, each));
    return base.n > 0n ? over(lnSafe(base, up === inst.alpha < 1), power) : null;
  }

  // A lower bound of ln M of rates; null: M is 0
  function attained(inst, rates) {
    if (rates.every((x) => x.n === 0n) || (inst.alpha >= 1 && rates.some((x) => x.n === 0n))) return null;
    const { shares } = sharesOf(inst);
    const some = [...rates.keys()].filter((k) => rates[k].n > 0n);
    if (inst.alpha === 1) return sumOf(some.map((k) => times(shares[k], lnSafe(rates[k], false))));
    const power = minus(frac(1), exact(inst.alpha));
    const up = inst.alpha > 1;
    return over(logSum(some.map((k) => lowest(add(lnSafe(shares[k], up), times(power, lnSafe(rates[k], false))))), frac(1), up), power);
  }

  function apart(low, high) {
    if (low === null || high === null) return Infinity;
    const log = Math.abs(toFloat(minus(high, low), 0));
    return log < 700 ? Math.expm1(log) : Infinity;
  }

  const beyond = (top, rate) => {
    if (rate.n <= 0n) return top.n <= 0n ? 0 : Infinity;
    return Math.min(Math.abs(toFloat(minus(over(top, rate), frac(1)), 0)), Number.MAX_VALUE);
  };

  function gap(inst, value, bound, schedule, cert) {
    const levels = cert === null ? [] : levelsOf(inst, cert);
    if (inst.alpha === "inf") {
      if (!Number.isFinite(value) || !Number.isFinite(bound)) return value === bound ? 0 : Infinity;
      return levelGap(inst, totals(inst, schedule), levels, bitwise(bound));
    }
    const [proved = null] = levels.map((level) => logMean(inst, level));
    const stated = logOf(inst, bound, true);
    const isProved = stated === null || (proved !== null && compare(proved, stated) < 0);
    return apart(attained(inst, totals(inst, schedule)), isProved ? proved : stated);
  }

  // Whether two utilities are so near that a gap between them counts as closed.
  function same(inst, value, bound) {
    if (inst.alpha === "inf") {
      if (!Number.isFinite(value) || !Number.isFinite(bound)) return value === bound;
      return beyond(bitwise(bound), bitwise(value)) <= CLOSED;
    }
    return apart(logOf(inst, below(value), false), logOf(inst, bound, true)) <= CLOSED;
  }

  const below = (x) => {
    if (!Number.isFinite(x)) return x;
    const view = new DataView(new ArrayBuffer(8));
    view.setFloat64(0, x);
    const raw = view.getBigInt64(0);
    if (x === 0) return -Number.MIN_VALUE;
    view.setBigInt64(0, x > 0 ? raw - 1n : raw + 1n);
    return view.getFloat64(0);
  };

  // Max-min: the largest T_i / x_i - 1.
  function levelGap(inst, rates, levels, bound) {
    const ascending = (list) => [...list].sort(compare);
    const x = ascending(rates);
    const upper = inst.reaches.map(({ alone }) => times(bitwise(alone), { n: EPS + 1n, d: EPS }));
    const lower = rates.map(() => frac(0));
    const tops = ascending(upper);
    tops[0] = least([tops[0], bound]);
    levels.forEach(({ pay, task, floors, others }, j) => {
      const all = [...floors.keys()];
      const settled = all.filter((k) => floors[k] !== null);
      const next = levels[j + 1]?.floors;
      const fresh = all.filter((k) => floors[k] === null && (!next || next[k] !== null));
      const s = settled.length;
      const rest = minus(pay, sumOf(settled.map((k) => times(task[k], lower[k]))));
      let caps = ascending(settled.map((k) => upper[k]));
      tops[s] = least([tops[s], most([over(rest, others), ...caps.slice(-1)])]);
      let q = s;
      while (q > 0 && compare(x[q], caps[q - 1]) <= 0) q -= 1;
      for (const k of fresh) {
        lower[k] = x[q];
        if (task[k].n > 0n) {
          const left = over(minus(rest, times(x[q], minus(others, task[k]))), task[k]);
          upper[k] = lowest(least([upper[k], most([left, x[q]])]));
        }
      }
      caps = ascending([...caps, ...fresh.map((k) => upper[k])]);
      for (let i = s + 1; i < s + fresh.length; i += 1) tops[i] = least([tops[i], caps[i]]);
    });
    return Math.max(...tops.map((top, i) => beyond(top, x[i])));
  }

  return { name: "bot", sense: "max", empty: true, longest: () => Infinity, ...botData, judge, check, gap, same, draw };
})();
