// Family dmlrs: what machines take in at prices: the dearest packing of a slot; and slots in which workers find no place.

const dmlrsPackings = (() => {
  const { tables } = dmlrsData;
  const MOST_STEPS = 200000; // placements that are tried
  const INNER = 1;
  const OUTER = 2;

  // --- packings ---

  // jobs: for each class [{worth, load}] with rising loads.
  function dearestPacking(inst, jobs) {
    const sets = 1 << jobs.length;
    let total = Array(sets).fill(0n);
    inst.classes.forEach((c, k) => {
      const value = setWorths(jobs.map((options) => options[k]), c.units, sets);
      const useful = value.map((x, s) => [s, x]).filter(([s, x]) => {
        if (s === 0 || x === null) return false;
        for (let j = 0; j < jobs.length; j += 1) {
          const less = s & ~(1 << j);
          if (less !== s && value[less] !== null && value[less] >= x) return false;
        }
        return true;
      });
      for (let h = 0; h < Math.min(c.count, jobs.length) && useful.length; h += 1) {
        total = total.map((best, s) => {
          for (const [a, x] of useful) {
            if (a & ~s) continue;
            const other = total[s ^ a] + x;
            if (other > best) best = other;
          }
          return best;
        });
      }
    });
    return total[sets - 1];
  }

  // For every set of jobs the greatest worth of one machine with workers of all of them; null where they do not fit.
  function setWorths(jobs, capacity, sets) {
    const value = Array(sets).fill(null);
    value[0] = 0n;
    const dive = (k, s, worth, left) => {
      for (let j = k; j < jobs.length; j += 1) {
        for (const { worth: each, load } of jobs[j]) {
          const rest = load.map((x, r) => left[r] - x);
          if (rest.some((x) => x < 0n)) break; // more take no less
          const more = s | (1 << j);
          if (value[more] === null || worth + each > value[more]) value[more] = worth + each;
          dive(j + 1, more, worth + each, rest);
        }
      }
    };
    dive(0, 0, 0n, capacity);
    return value;
  }

  // --- slots without a place ---

  // wishes: {i, n, mode}; whether they cannot be placed on the single machines.
  function unpackable(inst, wishes) {
    const rooms = inst.classOf.map((c) => inst.classes[c].free);
    const scarce = ({ i, n }) => n * Math.max(0, ...tables(inst, i).alpha);
    const order = [...wishes].sort((a, b) => scarce(b) - scarce(a));
    const dead = new Set();
    let steps = 0;
    const count = () => {
      steps += 1;
      need(steps <= MOST_STEPS, "it takes too long to see that the workers find no place");
    };
    const key = (row) => row.join(",");
    const sorted = (all) => [...all].sort((a, b) => {
      const r = a.findIndex((x, q) => x !== b[q]);
      return r < 0 ? 0 : a[r] - b[r];
    });
    const put = (all, h, row) => all.map((x, k) => (k === h ? row : x));
    const less = (own, room, n, m) => {
      const left = room.map((c, r) => c - n * own.alpha[r] - m * own.beta[r]);
      return left.every((x) => x >= 0) ? left : null;
    };
    const placed = (all, k) => {
      if (k === order.length) return true;
      const state = `${k};${all.map(key).join(";")}`;
      if (dead.has(state)) return false;
      const { i, n, mode } = order[k];
      const own = tables(inst, i);
      const next = (rest) => placed(sorted(rest), k + 1);
      if (mode === INNER && own.near[n] >= 0) {
        for (let h = 0; h < all.length; h += 1) {
          if (h && key(all[h]) === key(all[h - 1])) continue;
          const left = less(own, all[h], n, own.near[n]);
          if (!left) continue;
          count();
          if (next(put(all, h, left))) return true;
        }
      }
      if (mode === OUTER && own.far[n] >= 0 && spread(own, all, 0, n, own.far[n], [n, own.far[n]], null, next)) return true;
      dead.add(state);
      return false;
    };
    // n workers and m PS on machines h, h + 1, ...; of equal machines the later one holds no more
    const spread = (own, all, h, n, m, alone, before, next) => {
      count();
      if (n === 0 && m === 0) return next(all);
      if (h === all.length) return false;
      for (let w = n; w >= 0; w -= 1) {
        for (let s = m; s >= 0; s -= 1) {
          if (w === alone[0] && s === alone[1]) continue;
          if (before && (w > before[0] || (w === before[0] && s > before[1]))) continue;
          const left = less(own, all[h], w, s);
          if (!left) continue;
          const isEqual = h + 1 < all.length && key(all[h]) === key(all[h + 1]);
          if (spread(own, put(all, h, left), h + 1, n - w, m - s, alone, isEqual ? [w, s] : null, next)) return true;
        }
      }
      return false;
    };
    return !placed(sorted(rooms), 0);
  }

  return { dearestPacking, unpackable };
})();
