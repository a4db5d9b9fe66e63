// Family oasis: the most that a job earns at prices.

const oasisPayoffs = (() => {
  const { tables } = oasisData;
  const PLACES_MOST = 2 ** 25;

  // Cost of 0 .. most workers of a job in a slot, with their PS, on the grid; null if all are free.
  function costsOf(all, prices, i, t) {
    const { inst, far, dearest } = all;
    const own = tables(inst, i);
    if (prices.kind === "none") return null;
    if (prices.kind === "slots") {
      const p = prices.at[0][i].get(t) ?? 0n;
      const q = prices.at[1][i].get(t) ?? 0n;
      if (p === 0n && q === 0n) return null;
      return BigInt64Array.from({ length: own.most + 1 }, (_, n) => big(n) * p + big(own.ps[n]) * q);
    }
    const one = (s, most) => {
      const at = prices.at[s].get(t);
      if (!at) return null;
      const offers = inst.sides[s].classes.map((c, k) => {
        const p = bigSum((at.get(k) ?? []).map(([r, x]) => x * inst.sides[s].demand[i][r]));
        return { room: own.rooms[s][k] * c.count, price: smaller(shifted(p, -far), dearest) };
      });
      offers.sort((a, b) => (a.price < b.price ? -1 : a.price > b.price ? 1 : 0));
      const costs = [0n];
      for (const { room, price } of offers) {
        for (let k = 0; k < room && costs.length <= most; k += 1) costs.push(costs.at(-1) + price);
      }
      return costs;
    };
    const workers = one(0, own.most);
    const servers = one(1, own.ps[own.most]);
    if (!workers && !servers) return null;
    return BigInt64Array.from({ length: own.most + 1 }, (_, n) => (workers ? workers[n] : 0n) + (servers ? servers[own.ps[n]] : 0n));
  }

  // The most that a job earns within its limits; null if it must complete and cannot.
  function payoffOf(all, prices, i, own) {
    const { inst, g } = all;
    const job = inst.jobs[i];
    const { work, most } = { ...inst.derived[i], ...tables(inst, i) };
    let best = own.never ? 0n : null;
    let reach = 0;
    for (let t = job.arrival; t <= own.last; t += 1) reach += own.high[t];
    if (reach < work || own.first > own.last) return best;
    need(((prices.kind === "capacity" ? inst.horizon : own.last + 1) - job.arrival) * (most + 1) <= PLACES_MOST, `job ${i}: too many costs`);
    const consider = (c, cost) => {
      const earns = ceilShifted(earned(job.utility, c - job.arrival), g) - cost;
      if (best === null || earns > best) best = earns;
    };
    let before = new BigInt64Array(work + 1).fill(NONE);
    let after = new BigInt64Array(work + 1);
    before[0] = 0n;
    let now = 0; // what can be done so far
    for (let c = job.arrival; c <= own.last; c += 1) {
      const costs = costsOf(all, prices, i, c) ?? (all.free ??= new Map()).get(most) ?? new BigInt64Array(most + 1);
      const [low, high] = [own.low[c], own.high[c]];
      if (c >= own.first) {
        let least = NONE;
        for (let n = Math.max(1, low); n <= high; n += 1) {
          const cost = BigInt.asIntN(64, before[Math.max(0, work - n)] + costs[n]);
          if (cost < least) least = cost;
        }
        if (least < NONE) consider(c, least);
      }
      now = Math.min(work, now + high);
      after.fill(NONE);
      for (let w = 0; w <= now; w += 1) {
        let least = NONE;
        for (let n = low; n <= high; n += 1) {
          const cost = BigInt.asIntN(64, before[w > n ? w - n : 0] + costs[n]);
          if (cost < least) least = cost;
          if (n >= w) break; // more of them cost no less
        }
        after[w] = least;
      }
      [before, after] = [after, before];
    }
    return best;
  }

  // An item of a machine on which its number is limited.

  // --- large instances: costs by hulls ---

  function payoffByHulls(all, prices, i) {
    const { inst, g, last } = all;
    const { utility, arrival } = inst.jobs[i];
    const { work, most } = { ...inst.derived[i], ...tables(inst, i) };
    if (last[i] < arrival || work > most * (last[i] + 1 - arrival)) return 0n;
    need((last[i] + 1 - arrival) * (most + 1) <= PLACES_MOST, `job ${i}: too many costs`);
    const held = []; // segments [slope, length], ascending: the cheapest that do the work
    let [best, total] = [0n, 0];
    for (let c = arrival; c <= last[i]; c += 1) {
      for (const [slope, length] of hull(costsOf(all, prices, i, c), most)) {
        if (total >= work && slope >= held.at(-1)[0]) break;
        let [from, to] = [0, held.length];
        while (from < to) {
          const mid = (from + to) >> 1;
          if (held[mid][0] <= slope) from = mid + 1;
          else to = mid;
        }
        held.splice(from, 0, [slope, length]);
        total += length;
        while (total - held.at(-1)[1] >= work) total -= held.pop()[1];
      }
      if (total < work) continue;
      const cost = bigSum(held.map(([slope, length]) => slope * big(length))) - big(total - work) * held.at(-1)[0];
      const earns = ceilShifted(earned(utility, c - arrival), g) - cost;
      if (earns > best) best = earns;
    }
    return best;
  }

  // The segments of a convex function below the costs of 0 .. most workers.
  function hull(costs, most) {
    if (!costs) return [[0n, most]];
    const found = [];
    let [at, height] = [0, 0n];
    for (let n = 1; n <= most; n += 1) {
      let [width, rise] = [n - at, costs[n] - height];
      let slope = rise / big(width);
      while (found.length && slope <= found.at(-1)[0]) {
        const [before, length] = found.pop();
        width += length;
        rise += before * big(length);
        slope = rise / big(width);
      }
      found.push([slope, width]);
      [at, height] = [n, costs[n] - rise + slope * big(width)];
    }
    return found;
  }

  return { PLACES_MOST, payoffOf, payoffByHulls };
})();
