// Family oasis: the bound at the duals of the linear relaxation.

const oasisRelaxed = (() => {
  const { tables } = oasisData;

  // at[side]: Map of slots to Maps of classes to [resource, price]; work: the price of each job's work
  function relaxedBound(inst, at, work, gridBits) {
    const { jobs, sides } = inst;
    let total = 0n;
    sides.forEach(({ classes, demand }, s) => {
      const measure = inst.resources.map((_, r) => larger(1n, demand.reduce((a, row) => gcd(a, row[r]), 0n)));
      for (const there of at[s].values()) {
        for (const [c, list] of there) {
          for (const [r, p] of list) total += p * (classes[c].units[r] - (classes[c].units[r] % measure[r])) * big(classes[c].count);
        }
      }
    });
    const cheapest = (s, i, t) => {
      const there = at[s].get(t) ?? new Map();
      const demand = sides[s].demand[i];
      return sides[s].classes.map((_, c) => bigSum((there.get(c) ?? []).map(([r, p]) => p * demand[r]))).reduce(smaller);
    };
    jobs.forEach((job, i) => {
      const { ps, most: crew, work: needed } = { ...tables(inst, i), ...inst.derived[i] };
      const soonest = crew > 0 ? Math.ceil(needed / crew) - 1 : Infinity; // no earlier completion
      if (job.arrival + soonest >= inst.horizon) return;
      let share = [0, 1];
      for (let n = 1; n < ps.length; n += 1) if (n === 1 || ps[n] * share[1] < share[0] * n) share = [ps[n], n];
      const most = ceilShifted(earned(job.utility, soonest), gridBits);
      let [best, spared] = [0n, -work[i] * big(needed)];
      for (let t = job.arrival; t < inst.horizon; t += 1) {
        const cost = cheapest(0, i, t) + (cheapest(1, i, t) * big(share[0])) / big(share[1]);
        spared += big(job.chunks) * larger(0n, work[i] - cost);
        if (spared + most > best) best = larger(best, spared + ceilShifted(earned(job.utility, Math.max(soonest, t - job.arrival)), gridBits));
      }
      total += best;
    });
    return powerOfTwo(total, -gridBits);
  }

  return { relaxedBound };
})();
