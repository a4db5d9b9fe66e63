// Family dmlrs: the certificate, a tree with prices at its leaves.

FAMILIES.dmlrs = (() => {
  const { tables, earliest, fits } = dmlrsData;
  const { together, apart, linked } = dmlrsCosts;
  const { smallWork, useful, best } = dmlrsPayoffs;
  const { dearestPacking } = dmlrsPackings;
  const { checkProgram } = dmlrsProgram;
  const { relaxedBound } = dmlrsRelaxed;
  const LARGE = 50000; // jobs times slots
  const PLACES = 2 ** 26;

  function check(inst, cert) {
    const { jobs } = inst;
    const T = inst.horizon;
    checkSplits(inst, cert.nodes);
    if (cert.program !== null) return provedByProgram(inst, cert);
    if (cert.nodes.some((node) => node.prices?.kind === "relaxed")) return provedByDuals(inst, cert);
    const ends = jobs.map((_, i) => earliest(inst, i));
    const utility = (i, c) => earned(jobs[i].utility, c - jobs[i].arrival);
    const room = 2n ** 58n / (big(T) * big(Math.max(1, ...jobs.map((job) => job.chunks))));
    const richest = ends.reduce((most, c, i) => (c !== null && compare(utility(i, c), most) > 0 ? utility(i, c) : most), frac(0));
    const coarser = cert.grid_bits - cert.value_shift;
    const g = richest.n > 0n ? Math.min(coarser, -ceilLog2(over(richest, frac(room)))) : coarser;
    const all = { inst, cert, g, room, far: cert.grid_bits - g, sets: new Map(), payoffs: new Map(), packings: new Map() };
    all.lowered = (x) => smaller(shifted(x, -all.far), 2n * room);
    let found = null;
    const [root] = cert.nodes;
    const isPlain = root.node === "leaf" && root.prices === null;
    if (cert.nodes.length === 1 && isPlain && jobs.length * T > LARGE) {
      found = powerOfTwo(bigSum(ends.map((c, i) => (c === null ? 0n : ceilShifted(utility(i, c), g)))), -g);
    } else {
      all.worth = jobs.map((job, i) => Array.from({ length: T - job.arrival }, (_, d) => smaller(ceilShifted(utility(i, job.arrival + d), g), room)));
      walkTree(cert.nodes, (leaf, above) => {
        const bound = boundLeaf(all, leaf, above);
        if (bound !== null && (found === null || compare(bound, found) > 0)) found = bound;
      });
    }
    const result = toFloat(found ?? frac(0), 1);
    need(Number.isFinite(result), "the bound is beyond the largest float");
    return result;
  }

  // What the linear relaxation cannot exceed.
  function provedByDuals(inst, cert) {
    walkTree(cert.nodes, () => {});
    const [root] = cert.nodes;
    need(root.node === "leaf" && root.prices?.kind === "relaxed", "duals of the relaxation in a tree");
    const { slots } = readPrices({ inst, sets: new Map() }, { kind: "capacity", entries: root.prices.entries });
    const bound = toFloat(relaxedBound(inst, slots, root.prices, cert.grid_bits), 1);
    need(Number.isFinite(bound), "the bound is beyond the largest float");
    return bound;
  }

  // What the program over slots cannot exceed.
  function provedByProgram(inst, cert) {
    const [root] = cert.nodes;
    need(!inst.isLinked, "the program over slots means nothing link by link");
    walkTree(cert.nodes, () => {});
    need(root.node === "leaf", "with a program over slots, the only node is a leaf");
    need(root.prices === null || root.prices.kind === "capacity", "with a program over slots, there are prices of capacity, or none");
    need(cert.program.conflicts.length <= 1000, "too many conflicts");
    const { slots } = readPrices({ inst, sets: new Map() }, root.prices);
    checkProgram(inst, cert, slots);
    const bound = toFloat(powerOfTwo(cert.program.value, -cert.grid_bits), 1);
    need(Number.isFinite(bound), "the bound is beyond the largest float");
    return bound;
  }

  function boundLeaf(all, leaf, above) {
    const { inst, g } = all;
    const set = pricesOf(leaf, above);
    if (!all.sets.has(set)) all.sets.set(set, readPrices(all, set));
    const prices = all.sets.get(set);
    const limits = limitsOf(inst, above, () => inst.horizon - 1, (i) => tables(inst, i).most);
    for (const own of limits) {
      if (own.low.some((n) => n > 0)) own.never = false;
      if (own.low.some((n, t) => n > own.high[t])) return null;
    }
    let total = 0n;
    for (let i = 0; i < limits.length; i += 1) {
      const payoff = payoffOf(all, prices, i, limits[i]);
      if (payoff === null) return null;
      total += payoff;
    }
    if (prices.kind !== "capacity") total += worthOfPackings(all, prices, limits);
    return add(powerOfTwo(total, -g), powerOfTwo(prices.worth, -all.cert.grid_bits));
  }

  // --- prices ---

  function readPrices(all, set) {
    const { inst } = all;
    const [I, T, C, R] = [inst.jobs.length, inst.horizon, inst.classes.length, inst.resources.length];
    const read = (entries, shape) => {
      need(shape.reduce((a, b) => a * b, 1) <= PLACES, "too many places for prices");
      const seen = new Set();
      return entries.map((entry) => {
        const where = entry.slice(0, -1);
        need(where.every((x, k) => x >= 0 && x < shape[k]), `a price at a place that does not exist: ${where}`);
        const price = big(entry.at(-1));
        need(price >= 0n && price < 2n ** 62n, `a price is out of range: ${price}`);
        const key = where.join();
        need(!seen.has(key), `a price is given twice: ${key}`);
        seen.add(key);
        return [...where, price];
      });
    };
    const found = { kind: set?.kind ?? "capacity", id: all.sets.size, costs: new Map(), worth: 0n };
    if (found.kind === "packings") {
      need(!inst.isLinked, "prices of workers that sit together mean nothing link by link");
      const most = Math.max(1, ...inst.jobs.map((job) => job.chunks));
      const each = inst.jobs.map(() => new Map()); // slot: [k: lowered price]
      for (const [i, t, k, p] of read(set.together, [I, T, most])) {
        if (!each[i].has(t)) each[i].set(t, Array(most).fill(0n));
        each[i].get(t)[k] = all.lowered(p);
      }
      found.free = Array(most + 1).fill(0n);
      found.sums = each.map((slots) => new Map([...slots].map(([t, list]) => [t, list.reduce((sums, p) => [...sums, sums.at(-1) + p], [0n])])));
      found.dearest = found.sums.flatMap((slots) => [...slots.values()].map((sums) => sums.at(-1))).reduce(larger, 0n);
    }
    found.slots = new Map(); // slot: [class, resource, price]
    for (const [t, c, r, p] of read(found.kind === "packings" ? set.capacity : set?.entries ?? [], [T, C, R])) {
      if (!found.slots.has(t)) found.slots.set(t, []);
      found.slots.get(t).push([c, r, p]);
      found.worth += p * inst.classes[c].units[r] * big(inst.classes[c].count);
    }
    return found;
  }

  // The price of a worker (0) or PS (1) of a job in a slot, by class.
  function priceOf(all, prices, i, t, s) {
    const { inst } = all;
    const paid = inst.classes.map(() => 0n);
    for (const [c, r, p] of prices.slots.get(t) ?? []) paid[c] += p * inst.demand[i][s][r];
    return paid.map(all.lowered);
  }

  // --- payoffs ---

  // All that a job may run in a slot, at its prices: [{workers, inner, outer, cost}] with the numbers of worker-slots.
  function choices(all, prices, i, t) {
    const { inst } = all;
    const [worker, ps] = [0, 1].map((s) => priceOf(all, prices, i, t, s));
    const own = prices.kind === "packings" ? prices.sums[i].get(t) ?? prices.free : null;
    const key = `${i};${worker};${ps};${own ?? ""}`;
    if (!prices.costs.has(key)) {
      const found = [];
      if (inst.isLinked) {
        for (const [a, b, cost] of linked(inst, i, worker, ps)) found.push({ n: a + b, inner: a, outer: b, cost });
      } else {
        together(inst, i, worker, ps).forEach((cost, n) => {
          if (n && cost !== null) found.push({ n, inner: n, outer: 0, cost: own ? own[n] : cost });
        });
        apart(inst, i, worker, ps).forEach((cost, n) => {
          if (cost !== null) found.push({ n, inner: 0, outer: n, cost });
        });
      }
      prices.costs.set(key, { found, useful: new Map() });
    }
    return prices.costs.get(key);
  }

  function payoffOf(all, prices, i, own) {
    const { inst } = all;
    if (own.first > own.last) return own.never ? 0n : null;
    const { arrival, chunks } = inst.jobs[i];
    const key = `${prices.id};${i};${own.first};${own.last};${own.never};${own.low};${own.high}`;
    if (all.payoffs.has(key)) return all.payoffs.get(key);
    const derived = inst.derived[i];
    derived.small ??= smallWork(derived.work, inst.horizon * chunks);
    const { inner, outer, total } = derived.small;
    const slots = [];
    const forced = [];
    for (let t = arrival; t <= own.last; t += 1) {
      const offered = choices(all, prices, i, t);
      const [low, high] = [own.low[t], own.high[t]];
      const name = `${low};${high}`;
      if (!offered.useful.has(name)) {
        const allowed = offered.found.filter((o) => o.n >= low && o.n <= high);
        offered.useful.set(name, useful(allowed.map((o) => ({ work: o.inner * inner + o.outer * outer, cost: o.cost })), total));
      }
      slots.push(offered.useful.get(name));
      forced.push(low > 0);
    }
    let found = null;
    if (!own.low.subarray(own.last + 1).some((n) => n > 0)) {
      found = best({ slots, worth: all.worth[i], forced, first: own.first - arrival, last: own.last - arrival, never: own.never, total });
    }
    all.payoffs.set(key, found);
    return found;
  }

  // --- what the machines are worth ---

  function worthOfPackings(all, prices, limits) {
    const { inst, far } = all;
    const I = big(Math.max(1, inst.jobs.length));
    need(prices.dearest * I < 2n ** 60n, "prices of workers that sit together are too high");
    const cap = 2n ** 62n / (4n * I);
    let total = 0n;
    for (let t = 0; t < inst.horizon; t += 1) {
      const here = [];
      limits.forEach((own, i) => {
        const most = t >= inst.jobs[i].arrival && t <= own.last ? own.high[t] : 0;
        const sums = prices.sums[i].get(t) ?? prices.free;
        if (most > 0 && sums.at(-1) > 0n) here.push({ i, most, sums });
      });
      need(here.length <= 12, `slot ${t}: ${here.length} jobs have prices of workers that sit together`);
      const at = prices.slots.get(t) ?? [];
      const key = `${here.map(({ i, most, sums }) => `${i},${most},${sums}`).join(";")}/${at.join(";")}`;
      if (!all.packings.has(key)) {
        const jobs = here.map((x) => inst.classes.map((c, k) => packed(inst, x, c, at.filter(([b]) => b === k), far, cap)));
        all.packings.set(key, dearestPacking(inst, jobs));
      }
      total += all.packings.get(key);
    }
    return total;
  }

  // What a job may have on a machine of a class: {worth, load}, both rising. What takes more and is worth no more is left out.
  function packed(inst, { i, most, sums }, c, at, far, cap) {
    const own = tables(inst, i);
    const [alpha, beta] = inst.demand[i];
    const found = [];
    for (let n = 1; n <= Math.min(most, inst.jobs[i].chunks); n += 1) {
      const m = own.near[n];
      if (m < 0 || !fits(own, c, n, m)) continue;
      const load = alpha.map((x, r) => big(n) * x + big(m) * beta[r]);
      const paid = at.reduce((a, [, r, p]) => a + p * load[r], 0n);
      const worth = sums[n] - smaller(shifted(paid, -far), cap);
      if (worth > 0n && (!found.length || worth > found.at(-1).worth)) found.push({ worth, load });
    }
    return found;
  }

  const { instance, schedule, certificate, settle } = dmlrsData;
  return { name: "dmlrs", sense: "max", instance, schedule, certificate, settle, judge: judgeDmlrs, check, draw: drawJobs, empty: true };
})();
