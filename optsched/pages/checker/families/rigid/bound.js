// Family rigid: the certificate, a tree over start times with prices at its leaves; for the makespan a deadline.

FAMILIES.rigid = (() => {
  const { judge, draw } = rigidJudge;
  const [MOST_FILLED, MOST_WALKED] = [2n ** 25n, 2n ** 28n];

  // The integral of prices from the beginning until t, by row.
  function integrals(at, price) {
    const sums = price.map((p) => {
      const found = [0n];
      p.forEach((x, j) => found.push(found[j] + x * (at[j + 1] - at[j])));
      return found;
    });
    const until = (t) => {
      let [low, high] = [-1, at.length - 1]; // the last breakpoint that is not after t
      while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (at[middle] <= t) low = middle;
        else high = middle - 1;
      }
      if (low < 0) return price.map(() => 0n);
      return price.map((p, k) => sums[k][low] + (low < p.length ? p[low] * (t - at[low]) : 0n));
    };
    return { until, whole: sums.map((s) => s.at(-1)) };
  }

  // What jobs pay at most by their sizes: in every interval the best value of an integer knapsack.
  function filled(inst, at, { resource, needs, price }) {
    const part = needs.reduce(gcd, 0n);
    const sizes = needs.map((d) => Number(d / part));
    const units = sizes.length ? Number(inst.total[resource] / part) : 0;
    let found = 0n;
    for (let j = 0; j + 1 < at.length; j++) {
      const worth = Array(units + 1).fill(0n);
      for (let c = 1; c <= units; c++) {
        worth[c] = worth[c - 1];
        sizes.forEach((d, k) => {
          if (d <= c) worth[c] = larger(worth[c], worth[c - d] + price[k][j]);
        });
      }
      found += worth[units] * (at[j + 1] - at[j]);
    }
    return found;
  }

  // How much of each row of prices a job pays: its needs, and the first surcharge of one of its sizes.
  function amounts(one, { price, surcharges }) {
    const taken = one.need.map((d, k) => [k, one.tasks * d]);
    const sizes = surcharges.flatMap((more) => more.needs.map((d) => taken[Number(more.resource)][1] === d));
    const size = sizes.indexOf(true);
    return size < 0 ? taken : [...taken, [price.length + size, 1n]];
  }

  // The least cost with charge of a job in its window, rounded down: at one of the starts where the slope may change.
  function leastOf(inst, one, prices, until, bits, [low, high]) {
    const at = prices.times;
    const paid = amounts(one, prices);
    const isBounded = inst.objective === "slowdown";
    const unit = isBounded ? larger(one.run, 10n) : 1n;
    const weight = inst.objective === "makespan" ? 0n : one.weight << big(bits);
    const shift = inst.objective === "wait" ? 0n : one.run;
    const starts = new Set([low, ...at, ...at.map((t) => t - one.run), ...(isBounded ? [one.arrival + unit - one.run] : [])]);
    if (high !== null) starts.add(high);
    let best = null;
    for (const s of starts) {
      if (s < low || (high !== null && s > high)) continue;
      const late = larger(isBounded ? unit : 0n, s - one.arrival + shift);
      const [from, to] = [until(s), until(s + one.run)];
      const charge = paid.reduce((a, [k, d]) => a + d * (to[k] - from[k]), 0n);
      const cost = floorDiv(weight * late, unit) + charge;
      if (best === null || cost < best) best = cost;
    }
    return best;
  }

  function check(inst, cert) {
    const { nodes, prices, deadline, grid_bits: bits, relaxed } = cert;
    const isMakespan = inst.objective === "makespan";
    if (relaxed) {
      need(!isMakespan, "relaxed: the objective is the makespan");
      need(nodes.length === 1, "relaxed: there is a tree");
      need(prices.every((p) => p.surcharges.length === 0), "relaxed: there are surcharges");
    }
    need(isMakespan || deadline === null, "a deadline, expected none");
    let steps = 0n;
    prices.forEach(({ times: at, price, surcharges }, k) => {
      need(at.every((t, j) => j === 0 || t > at[j - 1]), `prices ${k}: breakpoints do not ascend`);
      need(price.length === inst.resources.length && price.every((p) => p.length === Math.max(0, at.length - 1)), `prices ${k}: not one price for each interval`);
      for (const more of surcharges) {
        need(more.resource < inst.resources.length, `prices ${k}: resource ${more.resource} does not exist`);
        need(more.needs.every((d, j) => j === 0 || d > more.needs[j - 1]), `prices ${k}: needs do not ascend`);
        need(more.price.length === more.needs.length && more.price.every((p) => p.length === Math.max(0, at.length - 1)), `prices ${k}: not one surcharge for each interval`);
        const part = more.needs.reduce(gcd, 0n);
        if (part === 0n) continue;
        const units = inst.total[Number(more.resource)] / part;
        const slow = units * more.price.flat().reduce(larger, 0n) >= 2n ** 62n ? 64n : 1n;
        steps += big(Math.max(0, at.length - 1) * more.needs.length) * units * slow;
      }
    });
    need(steps <= MOST_FILLED, "too many steps of knapsacks");
    const rents = prices.map(({ times: at, price, surcharges }) => {
      const worth = integrals(at, price).whole;
      return bigSum(inst.total.map((c, k) => c * worth[k])) + bigSum(surcharges.map((more) => filled(inst, at, more)));
    });
    const integral = prices.map(({ times: at, price, surcharges }) => integrals(at, [...price, ...surcharges.flatMap((more) => more.price)]).until);
    nodes.forEach((node, k) => {
      if (node.node === "leaf") need(node.prices < prices.length, `node ${k}: prices ${node.prices} do not exist`);
      else need(node.job < inst.jobs.length, `node ${k}: job ${node.job} does not exist`);
    });
    const walked = nodes.reduce((a, node) => a + (node.node === "leaf" ? prices[node.prices].times.length : 0), 0);
    need(big(walked) * big(inst.jobs.length) <= MOST_WALKED, "too many breakpoints of all leaves and jobs");
    const bounds = [];
    walkTree(nodes, (leaf, above) => {
      const windows = inst.jobs.map((one) => [one.arrival, deadline === null ? null : deadline - one.run]);
      for (const [{ job, at }, isRight] of above) {
        const range = windows[job];
        if (isRight) range[0] = larger(range[0], at + 1n);
        else range[1] = range[1] === null ? at : smaller(range[1], at);
      }
      if (windows.some(([low, high]) => high !== null && low > high)) return;
      const [own, until] = [prices[leaf.prices], integral[leaf.prices]];
      bounds.push(bigSum(inst.jobs.map((one, i) => leastOf(inst, one, own, until, bits, windows[i]))) - rents[leaf.prices]);
    });
    if (isMakespan) {
      const last = inst.jobs.reduce((a, one) => larger(a, one.arrival + one.run), 0n);
      if (deadline === null) return toFloat(frac(last), -1);
      need(bounds.every((b) => b > 0n), `deadline ${deadline} is not excluded`);
      return toFloat(frac(larger(last, deadline + 1n)), -1);
    }
    let least = bounds.length ? bounds.reduce(smaller) : 0n;
    let scale = 1n << big(bits);
    if (inst.objective !== "slowdown" && !relaxed) [least, scale] = [ceilDiv(least, scale), 1n];
    return least <= 0n ? 0 : toFloat({ n: least, d: scale * inst.weight }, -1);
  }

  return { name: "rigid", sense: "min", empty: false, ...rigidData, judge, check, draw };
})();
