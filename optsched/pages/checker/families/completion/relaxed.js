// Family completion: the bound at the capacity duals of the linear relaxation, in which jobs may be split.

const completionRelaxed = (() => {
  const { modesOf } = completionData;
  const { value, placeable } = completionPlacements;

  // prices: {grid, weights, worth, worker, ps, slots}; a fraction, or null where a job has no schedule
  function relaxedBound(inst, prices) {
    const { slots } = prices;
    const upTo = (table) => table.high.map((high, c) => Array.from(high, (h, t) => value(h, table.low[c][t])));
    const [workers, servers] = [prices.worker.map(upTo), inst.isRing ? [] : prices.ps.map(upTo)];
    const modes = inst.jobs.map((_, j) => placeable(inst, modesOf(inst, j)));
    let most = 1n;
    if (!inst.isRing) for (const own of modes) for (const { m, p, n } of own) most = larger(most, big(inst.needed[m][p][n]));
    let total = -prices.worth;
    for (let j = 0; j < inst.jobs.length; j += 1) {
      const weight = prices.weights[j];
      const { arrival } = inst.jobs[j];
      const end = inst.enforce_horizon ? inst.horizon : Infinity;
      let least = null;
      for (const { duration: d, m, p, q, n } of modes[j]) {
        for (let t = arrival; t <= Math.min(Math.max(arrival, slots), end - d); t += 1) {
          let cost = weight * big(t + d);
          if (least !== null && cost >= least) break;
          const [a, b] = [Math.min(t, slots), Math.min(t + d, slots)];
          const over = (table) => table.map((sums) => sums[b] - sums[a]);
          const worker = over(workers[m]).map((x) => x * big(n));
          const cheap = worker.reduce(smaller);
          if (inst.isRing) cost += cheap;
          else if (q === 0) cost += cheap + over(servers[p]).reduce(smaller);
          else cost += cheap - ceilDiv(cheap, most) + over(servers[p]).map((x, c) => x + worker[c] / most).reduce(smaller);
          if (least === null || cost < least) least = cost;
        }
      }
      if (least === null) return null;
      total += least;
    }
    return powerOfTwo(total, -prices.grid);
  }

  return { relaxedBound };
})();
