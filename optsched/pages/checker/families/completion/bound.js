// Family completion: the certificate, prices, and perhaps a program over time.

FAMILIES.completion = (() => {
  const { modesOf } = completionData;
  const { judge, draw } = completionJudge;
  const { BASE, value, pricing, placed, placeable } = completionPlacements;
  const { proved } = completionProgram;
  const { relaxedBound } = completionRelaxed;
  const CELLS = 2 ** 25;

  // The greatest number of which all weights are multiples; null without jobs.
  function stepOf(inst) {
    const weights = inst.jobs.map((one) => exact(one.weight));
    if (!weights.length) return null;
    const d = weights.reduce((a, w) => (a * w.d) / gcd(a, w.d), 1n);
    return lowest({ n: weights.reduce((a, w) => gcd(a, (w.n * d) / w.d), 0n), d });
  }

  function check(inst, cert) {
    const { nodes, prices, program } = cert;
    need(nodes.length === 1 && nodes[0].prices < prices.length, "expected one node, whose price list exists");
    const k = nodes[0].prices;
    const all = measured(inst);
    const own = priced(inst, all, prices[k], cert.grid_bits, `price list ${k}`);
    if (cert.relaxed) {
      need(program === null, "relaxed: there is a program");
      const bound = relaxedBound(inst, own);
      if (bound === null || isTooLate(inst, bound)) return Infinity;
      return bound.n <= 0n ? 0 : toFloat(bound, -1);
    }
    let least = boundOf(inst, own);
    if (least === null) return Infinity;
    const step = stepOf(inst);
    if (program !== null) {
      const other = proved(inst, program, step ?? frac(0), all);
      if (compare(other, least) > 0) least = other;
    }
    if (isTooLate(inst, least)) return Infinity;
    if (step !== null) least = { n: ceilDiv(least.n * step.d, least.d * step.n) * step.n, d: step.d };
    return least.n <= 0n ? 0 : toFloat(least, -1);
  }

  // Whether a bound is more than all jobs cost that end at the deadline.
  function isTooLate(inst, bound) {
    if (!inst.enforce_horizon) return false;
    const weights = inst.jobs.reduce((a, one) => add(a, exact(one.weight)), frac(0));
    return compare(bound, times(weights, frac(inst.horizon))) > 0;
  }

  // The largest of each number, and how many slots may have a price.
  function measured(inst) {
    const { jobs, classes } = inst;
    const modes = jobs.map((_, j) => modesOf(inst, j));
    const max = (numbers) => numbers.reduce((a, b) => Math.max(a, b), 0);
    const alone = modes.map((own) => placeable(inst, own)[0]?.duration ?? 0);
    const types = inst.worker_types.length + inst.ps_types.length;
    const demands = [...inst.workerUnits, ...inst.psUnits];
    return {
      dearest: inst.resources.map((_, r) => demands.reduce((a, d) => larger(a, d[r]), 0n)),
      start: max(jobs.map((one) => one.arrival)),
      duration: max(modes.map((own) => own.at(-1)?.duration ?? 0)),
      workers: max(jobs.map((one) => one.chunks)),
      ps: max(inst.needed.flat(2)),
      slots: Math.min(2 * (inst.horizon + sum(alone)) + 16, Math.floor(CELLS / (classes.length * types))),
      alone,
    };
  }

  // A price list on the finest grid on which no cost leaves 63 bits.
  function priced(inst, all, entries, gridBits, where) {
    const slots = entries.reduce((n, [t]) => Math.max(n, t + 1), 0);
    need(slots <= all.slots, `${where}: a price in slot ${slots - 1} is beyond what the instance needs`);
    need(entries.every(([, c, r]) => c < inst.classes.length && r < inst.resources.length), `${where}: a class or resource does not exist`);
    const FINE = 1024;
    const rents = inst.classes.map(() => 0n);
    let dearest = 0n;
    for (const [, c, r, price] of entries) {
      rents[c] += (price << big(FINE)) * all.dearest[r];
      dearest = larger(dearest, price << big(FINE));
    }
    const weights = inst.jobs.map((one) => exact(one.weight));
    const at = (by, round) => (w) => round(by >= 0 ? w.n << big(by) : w.n, by >= 0 ? w.d : w.d << big(-by));
    const weight = weights.map(at(gridBits + FINE, ceilDiv)).reduce(larger, 0n);
    const most = weight * big(Math.max(all.start, slots) + all.duration) + rents.reduce(larger, 0n) * big(all.workers + all.ps) + dearest;
    const finer = 63 - bits(most) + FINE;
    const grid = gridBits + finer;
    return { grid, weights: weights.map(at(grid, floorDiv)), ...pricing(inst, entries, finer, where) };
  }

  function boundOf(inst, prices) {
    let total = -prices.worth;
    for (let j = 0; j < inst.jobs.length; j += 1) {
      const least = leastOf(inst, prices, j);
      if (least === null) return null;
      total += least;
    }
    return powerOfTwo(total, -prices.grid);
  }

  // The least weight * completion + rent of a job; null if there is no schedule.
  function leastOf(inst, prices, j) {
    const { slots } = prices;
    const w = [Number(prices.weights[j] >> 32n), Number(prices.weights[j] & 0xffffffffn)];
    const near = Number(prices.weights[j]);
    const first = inst.jobs[j].arrival;
    const end = inst.enforce_horizon ? inst.horizon : Infinity;
    let best = null;
    let limit = Infinity; // more than this is certainly not the least
    for (const mode of modesOf(inst, j)) {
      const { duration: d, m, p, q, n } = mode;
      const last = Math.min(end - d, Math.max(first, slots));
      const { cheap } = prices.worker[m];
      for (let t = first; t <= last; t += 1) {
        const paid = near * (t + d);
        if (paid > limit) break;
        const [a, b] = [Math.min(t, slots), Math.min(t + d, slots)];
        if (paid + n * (cheap[b] - cheap[a]) > limit) continue;
        const cost = placed(inst, prices, { m, p, q, n }, a, b);
        if (cost === null) break;
        const found = big(t + d) * prices.weights[j] + value(cost.high, cost.low);
        if (best === null || found < best) {
          best = found;
          limit = Number(best) + 2 ** 24; // floats of numbers below 2^63 are off by less
        }
      }
    }
    return best;
  }

  return { name: "completion", sense: "min", empty: false, ...completionData, judge, check, draw };
})();
