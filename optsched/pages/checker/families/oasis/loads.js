// Family oasis: what machines are worth at prices of workers and PS.

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

  return { worthOfLoads };
})();
