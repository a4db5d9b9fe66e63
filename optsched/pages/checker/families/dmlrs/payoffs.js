// Family dmlrs: the most that a job earns within its limits, at what its workers cost.

const dmlrsPayoffs = (() => {
  const BASE = 2 ** 32; // a cost is high BASE + low
  const UNITS = 50; // binary digits of the work of a job
  const MOST_CHECKED = 4e6;

  // Small numbers for which A inner + B outer >= total says the same, for all A and B up to `most`.
  function smallWork({ inner, outer, total }, most) {
    const cap = (x) => smaller(x, total);
    if (bits(total) <= UNITS) return { inner: Number(cap(inner)), outer: Number(cap(outer)), total: Number(total) };
    const shift = bits(total) - UNITS;
    const [i, o] = [cap(inner), cap(outer)].map((x) => shifted(x, -shift));
    const top = smaller(ceilDiv(total, inner), big(most));
    need(top <= MOST_CHECKED, "a job has too many worker-slots to be looked at");
    let enough = null;
    let lacking = 0n;
    for (let a = 0n; a <= top; a += 1n) {
      const missing = total - a * inner;
      const b = missing > 0n ? ceilDiv(missing, outer) : 0n;
      if (b <= big(most)) enough = enough === null ? a * i + b * o : smaller(enough, a * i + b * o);
      if (b > 0n) lacking = larger(lacking, a * i + smaller(b - 1n, big(most)) * o);
    }
    if (enough === null) enough = lacking + 1n;
    need(enough > lacking, "the work of a job is too close to the edge to be looked at");
    return { inner: Number(i), outer: Number(o), total: Number(enough) };
  }

  // Options {work, high, low, cost}, work rising, of which none is dearer than one that does more.
  function useful(options, total) {
    const found = options.map(({ work, cost }) => ({ work: Math.min(work, total), exact: cost }));
    found.sort((a, b) => b.work - a.work || (a.exact < b.exact ? -1 : a.exact > b.exact ? 1 : 0));
    const kept = [];
    for (const x of found) if (!kept.length || x.exact < kept.at(-1).exact) kept.push(x);
    return kept.reverse().map(({ work, exact: c }) => ({ work, high: Number(c >> 32n), low: Number(c & 0xffffffffn), cost: Number(c), exact: c }));
  }

  // What missing work and the slots from t on cost at least: for several prices of work, in floats.
  function lowerBounds(slots, total) {
    const dense = slots.map((options) => options.reduce((best, o) => (o.cost / Math.max(o.work, 0.5) < best[0] ? [o.cost / Math.max(o.work, 0.5), o.work] : best), [Infinity, 0]));
    const order = dense.filter(([each]) => each < Infinity).sort((a, b) => a[0] - b[0]);
    let [reached, rate] = [0, 0];
    for (const [each, work] of order) {
      reached += work;
      rate = each;
      if (reached >= total) break;
    }
    return [rate, rate / 2, rate * 2].filter((each) => each > 0).map((each) => {
      const surplus = new Float64Array(slots.length + 1);
      for (let t = slots.length - 1; t >= 0; t -= 1) surplus[t] = surplus[t + 1] + slots[t].reduce((least, o) => Math.min(least, o.cost - each * o.work), 0);
      return { each, surplus };
    });
  }

  // slots[t]: options from arrival on; worth[t]: value of completing. The payoff, or null.
  function best({ slots, worth, forced, first, last, never, total }) {
    let found = never ? 0n : null;
    let foundNear = never ? 0 : -Infinity;
    const until = forced.reduce((a, is, t) => (is ? Math.max(a, t) : a), first);
    const near = worth.map(Number);
    const bounds = lowerBounds(slots, total);
    const MARGIN = 4096; // floats of whole numbers below 2^62 are off by less
    let done = Float64Array.of(0); // falling, and so do the costs
    let high = Float64Array.of(0);
    let low = Float64Array.of(0);
    for (let t = 0; t <= last; t += 1) {
      if (found !== null && worth[t] <= found) break;
      const options = slots[t];
      if (t >= until) {
        for (const o of options) {
          let k = done.length - 1; // the cheapest of those that have done enough
          if (done[0] + o.work < total) continue;
          if (done[k] + o.work < total) {
            let from = 0; // enough there, not at k
            while (k - from > 1) {
              const mid = (from + k) >> 1;
              if (done[mid] + o.work >= total) from = mid;
              else k = mid;
            }
            k = from;
          }
          if (near[t] - (high[k] * BASE + low[k]) - o.cost < foundNear - MARGIN) continue;
          const earns = worth[t] - (big(high[k]) << 32n) - big(low[k]) - o.exact;
          if (found === null || earns > found) [found, foundNear] = [earns, Number(earns)];
        }
      }
      if (t === last) break;
      const keeps = (work, paid) => {
        const rest = near[t + 1] - paid;
        if (rest < foundNear - MARGIN) return false;
        for (const { each, surplus } of bounds) {
          const missing = each * (total - work);
          if (rest - (missing + surplus[t + 1]) + (missing - surplus[t + 1]) * 1e-9 + MARGIN < foundNear) return false;
        }
        return true;
      };
      // merge what runs nothing with what runs each option
      let lists = forced[t] ? [] : [[done, high, low, done.length]];
      for (const o of options) {
        const [d, h, l] = [new Float64Array(done.length), new Float64Array(done.length), new Float64Array(done.length)];
        let n = 0;
        for (let k = 0; k < done.length; k += 1) {
          const work = Math.min(total, done[k] + o.work);
          let [a, b] = [high[k] + o.high, low[k] + o.low];
          if (b >= BASE) [a, b] = [a + 1, b - BASE];
          if (!keeps(work, a * BASE + b)) continue;
          if (n && d[n - 1] === work) n -= 1; // as much work, and cheaper
          [d[n], h[n], l[n]] = [work, a, b];
          n += 1;
        }
        lists.push([d, h, l, n]);
      }
      if (lists.length && !forced[t]) lists[0] = kept(lists[0], keeps);
      while (lists.length > 1) lists = lists.flatMap((x, k) => (k % 2 ? [] : k + 1 < lists.length ? [merged(x, lists[k + 1])] : [x]));
      if (!lists.length || !lists[0][3]) break;
      const [d, h, l, n] = lists[0];
      [done, high, low] = [d.subarray(0, n), h.subarray(0, n), l.subarray(0, n)];
    }
    return found;
  }

  function kept([d, h, l, n], keeps) {
    const [x, y, z] = [new Float64Array(n), new Float64Array(n), new Float64Array(n)];
    let m = 0;
    for (let k = 0; k < n; k += 1) {
      if (!keeps(d[k], h[k] * BASE + l[k])) continue;
      [x[m], y[m], z[m]] = [d[k], h[k], l[k]];
      m += 1;
    }
    return [x, y, z, m];
  }

  // Two lists, work falling; what does no more than another and is no cheaper is left out.
  function merged([d, h, l, n], [e, g, f, m]) {
    const [x, y, z] = [new Float64Array(n + m), new Float64Array(n + m), new Float64Array(n + m)];
    let [i, j, k] = [0, 0, 0];
    while (i < n || j < m) {
      const isFirst = j === m || (i < n && (d[i] > e[j] || (d[i] === e[j] && (h[i] < g[j] || (h[i] === g[j] && l[i] <= f[j])))));
      const [a, b, c] = isFirst ? [d[i], h[i], l[i]] : [e[j], g[j], f[j]];
      if (isFirst) i += 1;
      else j += 1;
      if (k && (b > y[k - 1] || (b === y[k - 1] && c >= z[k - 1]))) continue;
      [x[k], y[k], z[k]] = [a, b, c];
      k += 1;
    }
    return [x, y, z, k];
  }

  return { smallWork, useful, best };
})();
