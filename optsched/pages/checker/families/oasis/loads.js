// Family oasis: what machines are worth at prices of workers and PS; limits on what a slot holds.

const oasisLoads = (() => {
  const { tables } = oasisData;

  // An item of a machine on which its number is limited.
  const limited = (item, range) => (range ? { ...item, least: range.low, most: Math.max(range.low, Math.min(item.most, range.high)) } : item);

  function worthOfLoads(all, prices, limits) {
    const { inst } = all;
    let total = 0n;
    for (let t = 0; t < inst.horizon; t += 1) {
      for (let s = 0; s < 2; s += 1) {
        const { of, classes, demand } = inst.sides[s];
        const special = new Set();
        const items = [];
        limits.forEach((own, i) => {
          for (const range of own.hosted.values()) if (range.side === s && range.t === t) special.add(range.machine);
          const { ps } = tables(inst, i);
          const most = own.high[t];
          const value = prices.at[s][i].get(t) ?? 0n;
          const runs = value > 0n && t >= inst.jobs[i].arrival && t <= own.last;
          items.push({ i, value: runs ? value : 0n, least: 0, most: runs ? (s ? ps[most] : most) : 0, size: demand[i] });
        });
        const plain = items.filter((item) => item.value > 0n);
        const count = classes.map((c) => c.count);
        for (const h of special) {
          count[of[h]] -= 1;
          const here = items.map((item) => limited(item, limits[item.i].hosted.get(`${s},${t},${h}`)));
          const worth = dearestLoad(here, classes[of[h]].units);
          if (worth === null) return null;
          total += worth;
        }
        classes.forEach((c, k) => {
          if (!plain.length || !count[k]) return;
          const key = `${s},${k};${plain.map((item) => `${item.i},${item.most},${item.value}`).join(";")}`;
          if (!all.loads.has(key)) all.loads.set(key, dearestLoad(plain, c.units));
          total += all.loads.get(key) * big(count[k]);
        });
      }
    }
    return total;
  }

  // --- limits on slots ---

  function checkLimit(inst, one, where) {
    const weights = new Map();
    for (const [i, w] of one.weights) {
      need(i >= 0 && i < inst.jobs.length && !weights.has(i), `${where}: job ${i} does not exist, or twice`);
      need(w >= 1 && w <= 2 ** 16, `${where}: weight ${w} is out of range`);
      weights.set(i, w);
    }
    walkTree(one.nodes, (leaf, above) => {
      const bound = boundSlot(inst, one, weights, leaf, above, where);
      need(bound === null || bound >> big(one.grid_bits) <= big(one.most), `${where}: the proof shows ${bound === null ? "nothing" : bound >> big(one.grid_bits)}, not ${one.most}`);
    });
  }

  function boundSlot(inst, one, weights, leaf, above, where) {
    const most = (i) => (weights.has(i) ? tables(inst, i).most : 0); // jobs without a weight have no workers
    const limits = inst.jobs.map((job, i) => ({ low: 0, high: most(i), hosted: [new Map(), new Map()] }));
    for (const [node, isRight] of above) {
      need(node.job < inst.jobs.length, `${where}: job ${node.job} does not exist`);
      need(node.at <= inst.jobs[node.job].chunks, `${where}: at ${node.at} is too large`);
      const own = limits[node.job];
      let range = own;
      if (node.node === "machine") {
        need(node.machine < inst.sides[node.side].of.length, `${where}: machine ${node.machine} does not exist`);
        range = own.hosted[node.side].get(node.machine) ?? { low: 0, high: inst.jobs[node.job].chunks };
        own.hosted[node.side].set(node.machine, range);
      }
      if (isRight) range.low = Math.max(range.low, node.at + 1);
      else range.high = Math.min(range.high, node.at);
    }
    const prices = [new Map(), new Map()];
    for (const [s, i, p] of leaf.prices) {
      need((s === 0 || s === 1) && i >= 0 && i < inst.jobs.length && !prices[s].has(i), `${where}: a price at a place that does not exist, or twice`);
      need(p >= 0 && p < 2 ** 36, `${where}: a price is out of range`);
      prices[s].set(i, big(p));
    }
    for (const { low, high, hosted } of limits) {
      for (const range of [{ low, high }, ...hosted[0].values(), ...hosted[1].values()]) if (range.low > range.high) return null;
    }
    let total = 0n;
    for (const [i, weight] of weights) {
      const own = limits[i];
      const { ps } = tables(inst, i);
      const each = (big(weight) << big(one.grid_bits)) - (prices[0].get(i) ?? 0n);
      const other = prices[1].get(i) ?? 0n;
      let best = null;
      for (let n = own.low; n <= own.high; n += 1) {
        const earns = each * big(n) - other * big(ps[n]);
        if (best === null || earns > best) best = earns;
      }
      total += best;
    }
    for (let s = 0; s < 2; s += 1) {
      const { of, classes, demand } = inst.sides[s];
      const special = new Set(limits.flatMap((own) => [...own.hosted[s].keys()]));
      const items = limits.map((own, i) => ({
        value: prices[s].get(i) ?? 0n,
        least: 0,
        most: s ? tables(inst, i).ps[own.high] : own.high,
        size: demand[i],
      }));
      const count = classes.map((c) => c.count);
      for (const h of special) {
        count[of[h]] -= 1;
        const worth = dearestLoad(items.map((item, i) => limited(item, limits[i].hosted[s].get(h))), classes[of[h]].units);
        if (worth === null) return null;
        total += worth;
      }
      classes.forEach((c, k) => {
        if (count[k]) total += dearestLoad(items, c.units) * big(count[k]);
      });
    }
    return total;
  }

  return { worthOfLoads, checkLimit };
})();
