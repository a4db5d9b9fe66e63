// Family dmlrs: the bound at the duals of the linear relaxations, by job and link by link.

const dmlrsRelaxed = (() => {
  const { tables, earliest, fits } = dmlrsData;
  const [WORKERS, BANDWIDTH, SERVERS, AWAY, NEAR_CAPACITY, NEAR_WORKERS, ALONE] = [0, 1, 2, 3, 4, 5, 6];
  const [NO_OTHER, LINK, LINK_HERE, SOME_SERVER, HOLDS_SOME, HOLDS_NONE] = [7, 8, 9, 10, 11, 12];
  const ROWS = 13;
  const positive = (x) => larger(0n, x);

  // The work in the smallest numbers that say the same of up to `most` worker-slots of either kind.
  function small({ inner, outer, total }, most) {
    const unit = gcd(inner, outer);
    const [e, i, o] = [ceilDiv(total, unit), inner / unit, outer / unit];
    if (e > i * most) return { total: most + 1n, inner: 1n, outer: 1n };
    if (i <= 2n * most) return { total: e, inner: i, outer: o };
    const [a, b] = leastEnough(e, i, o, most);
    const [x, y] = between(i, o, most);
    return { total: x * a + y * b, inner: x, outer: y };
  }

  const plus = (step, other, k) => ({ inner: step.inner + k * other.inner, outer: step.outer + k * other.outer, change: step.change - k * other.change });

  // A ratio between the two fractions next to outer / inner with terms up to `most`.
  function between(inner, outer, most) {
    let down = { inner: 1n, outer: 0n, change: inner };
    let up = { inner: 0n, outer: 1n, change: outer };
    const room = (step, other) => ["inner", "outer"].filter((x) => other[x] > 0n).map((x) => (most - step[x]) / other[x]).reduce(smaller);
    let [k, j] = [1n, 1n];
    while (k || j) {
      k = smaller((down.change - 1n) / up.change, room(down, up));
      down = plus(down, up, k);
      j = smaller((up.change - 1n) / down.change, room(up, down));
      up = plus(up, down, j);
    }
    return [down.outer + up.outer, down.inner + up.inner];
  }

  // The worker-slots of both kinds that are enough with the least work.
  function leastEnough(total, inner, outer, most) {
    let [a, b] = [ceilDiv(total, inner), 0n];
    let excess = a * inner - total;
    let down = { inner: 1n, outer: 0n, change: inner };
    let up = { inner: 0n, outer: 1n, change: outer };
    while (excess) {
      const k = positive(ceilDiv(down.change - excess, up.change));
      if (k * up.change >= down.change) {
        down = plus(down, up, (down.change - 1n) / up.change);
        up = plus(up, down, (up.change - 1n) / down.change);
        continue;
      }
      down = plus(down, up, k);
      let times_ = smaller(excess / down.change, a / down.inner);
      if (down.outer) times_ = smaller(times_, (most - b) / down.outer);
      if (!times_) break;
      a -= times_ * down.inner;
      b += times_ * down.outer;
      excess -= times_ * down.change;
    }
    return [a, b];
  }

  function workRow(exactWork, most) {
    const first = small(exactWork, 2n ** 27n);
    const shift = big(Math.max(0, 56 - bits(first.total)));
    const whole = Object.fromEntries(Object.entries(first).map(([name, x]) => [name, smaller(x, first.total) << shift]));
    return small(whole, most);
  }

  // slots: Map of slots to [class, resource, price]
  function relaxedBound(inst, slots, { work, rows }, gridBits) {
    const { jobs, classes } = inst;
    const C = classes.length;
    need(work.length === jobs.length, "prices of work: expected one for each job");
    const multipliers = new Map();
    for (const [row, i, t, c, p, m] of rows) {
      need(row >= 0 && row < ROWS && i >= 0 && i < jobs.length && t >= 0 && t < inst.horizon && c >= 0 && c < C && p >= 0 && p < C, "a multiplier of a row that does not exist");
      const key = `${row},${i},${t},${c},${p}`;
      need(!multipliers.has(key), `a multiplier is given twice: ${key}`);
      multipliers.set(key, big(m));
    }
    const measure = inst.resources.map((_, r) => larger(1n, inst.demand.flat().reduce((a, row) => gcd(a, row[r]), 0n)));
    let total = 0n;
    for (const there of slots.values()) for (const [c, r, p] of there) total += p * (classes[c].units[r] - (classes[c].units[r] % measure[r])) * big(classes[c].count);
    jobs.forEach((job, i) => {
      const first = earliest(inst, i);
      if (first === null) return;
      const needed = workRow(inst.derived[i].work, big(job.chunks * (inst.horizon - job.arrival)));
      const m = big(work[i]);
      const K = big(job.chunks);
      const rooms = [0, 1].map((s) => classes.map((c) => big(roomOf(c.units, inst.demand[i][s], job.chunks))));
      const modes = inst.isLinked ? null : modesOf(inst, i, rooms);
      let beyond = -floorDiv(m * (2n * needed.total - 1n), 2n);
      let [always, best] = [0n, 0n];
      const most = ceilShifted(earned(job.utility, 0), gridBits);
      for (let t = job.arrival; t < inst.horizon; t += 1) {
        const of = (row, c = 0, p = 0) => multipliers.get(`${row},${i},${t},${c},${p}`) ?? 0n;
        const paid = [0, 1].map((s) => {
          const each = classes.map(() => 0n);
          for (const [c, r, p] of slots.get(t) ?? []) each[c] += p * inst.demand[i][s][r];
          return each;
        });
        const terms = { inner: m * needed.inner, outer: m * needed.outer, worker: paid[0], ps: paid[1] };
        beyond += K * of(WORKERS);
        if (inst.isLinked) always += linked(inst, i, rooms, of, terms);
        else beyond += byJob(inst, rooms, modes, of, terms);
        if (t >= first && beyond + most > best) best = larger(best, beyond + ceilShifted(earned(job.utility, t - job.arrival), gridBits));
      }
      total += best + always;
    });
    return powerOfTwo(total, -gridBits);
  }

  // What a job may run in a slot: [class, workers, PS] on one machine; b and B, or null.
  function modesOf(inst, i, rooms) {
    const own = tables(inst, i);
    const inner = [];
    own.near.forEach((m, n) => {
      if (n && m >= 0) inst.classes.forEach((c, k) => fits(own, c, n, m) && inner.push([k, big(n), big(m)]));
    });
    const isSpread = inst.classOf.length > 1 && rooms.every((side) => side.some((x) => x > 0n)) && !own.far.includes(-1);
    if (!isSpread) return { inner, outer: null };
    let [b, B] = [0, 1];
    for (let n = 1; n < own.far.length; n += 1) if (n === 1 || own.far[n] * B < b * n) [b, B] = [own.far[n], n];
    const unit = gcd(big(b), big(B));
    return { inner, outer: [big(b) / unit, big(B) / unit] };
  }

  function byJob(inst, rooms, { inner, outer }, of, terms) {
    let best = 0n;
    const workers = of(WORKERS);
    for (const [c, n, m] of inner) best = larger(best, n * (terms.inner - workers - terms.worker[c]) - m * terms.ps[c]);
    if (outer === null) return best;
    const away = inst.classes.map((_, c) => of(AWAY, c));
    const apart = bigSum(inst.classes.map((c, k) => big(c.count) * away[k]));
    const [b, B] = outer.map((x) => x * of(BANDWIDTH));
    const more = of(SERVERS);
    let spread = -apart;
    inst.classes.forEach((c, k) => {
      const elsewhere = apart - away[k];
      spread += big(c.count) * rooms[0][k] * positive(terms.outer - workers - terms.worker[k] - b + more + elsewhere);
      spread += big(c.count) * rooms[1][k] * positive(B - terms.ps[k] - more + elsewhere);
    });
    return larger(best, spread);
  }

  function linked(inst, i, rooms, of, terms) {
    const { classes } = inst;
    const job = inst.jobs[i];
    const [near, far] = [job.inner_bandwidth, job.outer_bandwidth].map((x) => over(exact(x), exact(job.ps_bandwidth)));
    const others = big(sum(classes.map((c) => c.count)) - 1);
    const [flow, some, more] = [of(BANDWIDTH), of(SOME_SERVER), of(SERVERS)];
    const nobody = bigSum(classes.map((c, k) => big(c.count) * of(NO_OTHER, k)));
    let total = 0n;
    classes.forEach((one, c) => {
      const pairs = classes.map((x, p) => big(x.count - (p === c ? 1 : 0)));
      const to = bigSum(pairs.map((k, p) => k * of(LINK, c, p)));
      const back = bigSum(pairs.map((k, p) => k * rooms[0][p] * of(LINK, p, c)));
      const [room, servers, own, noOther] = [rooms[0][c], rooms[1][c], of(LINK_HERE, c), of(NO_OTHER, c)];
      const worker = terms.outer - terms.worker[c] - of(WORKERS) + of(NEAR_WORKERS, c) + more - to - own - some;
      const server = flow - terms.ps[c] + big(job.chunks) * some + of(HOLDS_SOME, c) - of(HOLDS_NONE, c) - more;
      const holds = of(ALONE, c) - (nobody - noOther) - back - room * own + servers * of(HOLDS_NONE, c) - of(HOLDS_SOME, c);
      let sum_ = others * noOther + room * (own + to) + room * positive(worker);
      sum_ += room * positive(terms.inner - terms.outer - of(NEAR_CAPACITY, c) - of(NEAR_WORKERS, c));
      sum_ += positive(room * of(NEAR_CAPACITY, c) - of(ALONE, c) - others * noOther);
      sum_ += positive(holds) + servers * positive(server);
      sum_ += room * positive(own - (near.n * flow) / near.d);
      const each = (far.n * flow) / far.d;
      sum_ += room * bigSum(pairs.map((k, p) => k * positive(of(LINK, c, p) - each)));
      total += big(one.count) * sum_;
    });
    return total;
  }

  return { relaxedBound };
})();
