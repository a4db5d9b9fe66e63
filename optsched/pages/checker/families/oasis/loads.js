// Family oasis: what machines are worth at prices of workers and PS.

const oasisLoads = (() => {
  const { tables } = oasisData;

  function worthOfLoads(all, prices, limits) {
    const { inst } = all;
    let total = 0n;
    for (let t = 0; t < inst.horizon; t += 1) {
      for (let s = 0; s < 2; s += 1) {
        const { classes, demand } = inst.sides[s];
        const items = [];
        limits.forEach((own, i) => {
          const { ps } = tables(inst, i);
          const most = own.high[t];
          const value = prices.at[s][i].get(t) ?? 0n;
          const runs = value > 0n && t >= inst.jobs[i].arrival && t <= own.last;
          if (runs) items.push({ i, value, most: s ? ps[most] : most, size: demand[i] });
        });
        classes.forEach((c, k) => {
          if (!items.length) return;
          const key = `${s},${k};${items.map((item) => `${item.i},${item.most},${item.value}`).join(";")}`;
          if (!all.loads.has(key)) all.loads.set(key, dearestLoad(items, c.units));
          total += all.loads.get(key) * big(c.count);
        });
      }
    }
    return total;
  }

  return { worthOfLoads };
})();
