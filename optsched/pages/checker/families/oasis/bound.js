// Family oasis: the certificate, a tree with prices at its leaves.

FAMILIES.oasis = (() => {
  const { tables } = oasisData;
  const { PLACES_MOST, payoffOf, payoffByHulls } = oasisPayoffs;
  const { worthOfLoads } = oasisLoads;
  const { relaxedBound } = oasisRelaxed;
  const LARGE = 400000; // jobs times slots

  function check(inst, cert) {
    const { jobs } = inst;
    checkSplits(inst, cert.nodes);
    if (cert.nodes.some((node) => node.prices?.kind === "relaxed")) {
      walkTree(cert.nodes, () => {});
      const { entries, work, kind } = cert.nodes[0].prices ?? {};
      need(cert.nodes.length === 1 && kind === "relaxed", "duals of the relaxation in a tree");
      need(work.length === jobs.length && work.every((m) => m >= 0n), "prices of work: expected one for each job, none negative");
      const { at } = readPrices({ inst, sets: new Map() }, { kind: "capacity", entries });
      const bound = toFloat(relaxedBound(inst, at, work, cert.grid_bits), 1);
      need(Number.isFinite(bound), "the bound is beyond the largest float");
      return bound;
    }
    const T = inst.horizon;
    const delays = jobs.map((job, i) => shortest(inst, i));
    const best = jobs.map((job, i) => (delays[i] < T - job.arrival ? earned(job.utility, delays[i]) : frac(0))).reduce((a, b) => (compare(a, b) < 0 ? b : a), frac(0));
    const most = Math.max(1, ...jobs.map((job) => job.chunks));
    const places = big(Math.max(T, jobs.length, 1)) * big(most);
    const g = Math.min(cert.grid_bits, 59 - bits(places) - ceilLog2(best));
    const chunks = sum(jobs.map((job) => job.chunks));
    const dearest = smaller(2n ** 61n / big(2 * T * most), 2n ** 61n / big(Math.max(1, chunks)));
    const all = { inst, cert, g, dearest, far: cert.grid_bits - g, last: [], lost: 0n, sets: new Map(), loads: new Map() };
    const small = { n: best.n, d: best.d << 29n };
    jobs.forEach((job, i) => {
      const end = job.arrival + delays[i];
      let u = T - 1;
      while (u >= end && compare(earned(job.utility, u - job.arrival), small) <= 0) u -= 1;
      all.last.push(end <= u ? u : -1);
      if (end < T && u + 1 < T) all.lost += ceilShifted(earned(job.utility, u + 1 - job.arrival), g);
    });
    let found = null;
    const [root] = cert.nodes;
    if (cert.nodes.length === 1 && root.prices?.kind === "capacity" && jobs.length * T > LARGE) found = boundLarge(all, root);
    else walkTree(cert.nodes, (leaf, above) => {
      const bound = boundLeaf(all, leaf, above);
      if (bound !== null && (found === null || compare(bound, found) > 0)) found = bound;
    });
    need(found !== null, "all leaves are empty");
    const result = toFloat(found, 1);
    need(Number.isFinite(result), "the bound is beyond the largest float");
    return result;
  }

  // The delay with which a job completes on the empty machines at the earliest.
  function shortest(inst, i) {
    const { most } = tables(inst, i);
    return most > 0 ? Math.ceil(inst.derived[i].work / most) - 1 : Infinity;
  }

  // Whether a job has a schedule within its limits, which least numbers of workers narrow.
  function settled(inst, own) {
    for (let t = 0; t < inst.horizon; t += 1) {
      if (own.low[t] > own.high[t]) return false;
      if (own.low[t] > 0) [own.never, own.first] = [false, Math.max(own.first, t)];
    }
    if (own.first > own.last) own.last = -1; // it stays out
    return true;
  }

  function boundLeaf(all, leaf, above) {
    const { inst, g, lost } = all;
    const set = pricesOf(leaf, above);
    const prices = readPrices(all, set);
    const limits = limitsOf(inst, above, (i) => all.last[i], (i) => tables(inst, i).most);
    if (!limits.every((own) => settled(inst, own))) return null;
    let total = lost;
    for (let i = 0; i < inst.jobs.length; i += 1) {
      const payoff = payoffOf(all, prices, i, limits[i]);
      if (payoff === null) return null;
      total += payoff;
    }
    if (prices.kind === "slots") total += worthOfLoads(all, prices, limits);
    return add(powerOfTwo(total, -g), powerOfTwo(prices.worth, prices.kind === "slots" ? -g : -all.cert.grid_bits));
  }

  function boundLarge(all, leaf) {
    const { inst, g, lost, cert } = all;
    const prices = readPrices(all, leaf.prices);
    let total = lost;
    inst.jobs.forEach((_, i) => (total += payoffByHulls(all, prices, i)));
    return add(powerOfTwo(total, -g), powerOfTwo(prices.worth, -cert.grid_bits));
  }

  function readPrices(all, set) {
    if (all.sets.has(set)) return all.sets.get(set);
    const { inst } = all;
    const shape = set?.kind === "capacity" ? inst.sides.map(({ classes }) => classes.length * inst.resources.length) : [inst.jobs.length];
    need(shape.every((n) => n * inst.horizon <= PLACES_MOST), "too many places for prices");
    const found = { kind: set === null ? "none" : set.kind, worth: 0n, costs: new Map() };
    const given = new Set();
    const once = (key) => {
      need(!given.has(key), `a price is given twice: ${key}`);
      given.add(key);
    };
    if (found.kind === "capacity") {
      found.at = inst.sides.map(() => new Map());
      for (const [s, t, c, r, p] of set.entries) {
        need((s === 0 || s === 1) && t >= 0 && t < inst.horizon && c >= 0 && c < inst.sides[s].classes.length && r >= 0 && r < inst.resources.length, `a price at a place that does not exist: ${[s, t, c, r]}`);
        once(`${s},${t},${c},${r}`);
        need(p >= 0n, "a price is negative");
        const there = found.at[s].get(t) ?? new Map();
        there.set(c, [...(there.get(c) ?? []), [r, p]]);
        found.at[s].set(t, there);
        found.worth += p * inst.sides[s].classes[c].units[r] * big(inst.sides[s].classes[c].count);
      }
    } else if (found.kind === "slots") {
      found.at = [0, 1].map(() => inst.jobs.map(() => new Map()));
      for (const [s, i, t, p] of set.entries) {
        need((s === 0 || s === 1) && i >= 0 && i < inst.jobs.length && t >= 0 && t < inst.horizon, `a price at a place that does not exist: ${[s, i, t]}`);
        once(`${s},${i},${t}`);
        need(p >= 0n && p < 2n ** 62n, "a price is out of range");
        found.at[s][i].set(t, smaller(shifted(p, -all.far), all.dearest));
      }
    }
    all.sets.set(set, found);
    return found;
  }

  const { instance, schedule, certificate, settle } = oasisData;
  return { name: "oasis", sense: "max", instance, schedule, certificate, settle, judge: judgeOasis, check, draw: drawJobs, empty: true };
})();
