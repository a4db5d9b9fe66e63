// Family completion: jobs that run once, in one piece, on servers. Formats, and what follows from an instance.

const completionData = (() => {
  const LATEST = 2 ** 40;
  const MOST_PS = 2n ** 20n;
  const NEAR = 1e-8; // a float this close to a whole number is rounded in exact arithmetic
  const measure = number({ least: 1e-100, most: 1e100 });
  const measureOrZero = {
    read(v, place) {
      const x = number({ least: 0, most: 1e100 }).read(v, place);
      need(x === 0 || x >= 1e-100, `${place}: is ${x}, expected 0 or at least 1e-100`);
      return x;
    },
    write: floatText,
  };
  const count = whole(1, LATEST);
  const workerType = record({ name: [text, ""], demand: list(amount), bandwidth: measure });
  const job = record({
    arrival: whole(0),
    epochs: count,
    chunks: whole(1, 10000),
    batches_per_chunk: count,
    weight: measure,
    batch_time: list(number({ above: 0 })),
    update_time: list(number({ least: 0 })),
    gradient_mb: measureOrZero,
  });
  const instance = record({
    architecture: oneOf("ps", "ring"),
    slot_seconds: [measure, 3600],
    horizon: count,
    enforce_horizon: [flag, false],
    resources: list(text, { least: 1 }),
    units: [list(text), []],
    servers: list(machineKind, { least: 1 }),
    worker_types: list(workerType, { least: 1 }),
    ps_types: [list(workerType), []],
    jobs: list(job),
    drawn: [list(text), []],
    source: [text, ""],
    redrawn: [whole(0), 0],
  });
  const entry = row(whole(0), count);
  const piece = record({
    start: whole(0, 2 * LATEST),
    duration: whole(1, 2 * LATEST),
    worker_type: whole(0),
    ps_type: orNull(whole(0)),
    workers: list(entry),
    ps: list(entry),
  });
  const schedule = record({ jobs: list(list(piece)) });

  const priceList = list(row(whole(0, LATEST), whole(0), whole(0), large(0, 2n ** 62n - 1n)));
  const bitsKind = large(0, 2n ** 60n - 1n);
  const run = row(whole(0), whole(0, 10000), bitsKind, whole(0, 10000), bitsKind, whole(0, LATEST), whole(0, LATEST));
  const credit = whole(0, LATEST - 1);
  const program = record({
    value: large(1, 2n ** 2048n - 1n),
    grid_bits: whole(-1024, 1024),
    prices: list(priceList, { least: 1, most: 13 }),
    conflicts: list(record({ runs: list(run, { least: 1, most: 62 }), credits: list(row(credit, credit)) }), { most: 10000 }),
  });
  const leaf = record({ node: [oneOf("leaf"), "leaf"], prices: whole(0) });
  const certificate = record({
    instance_sha256: text,
    grid_bits: whole(-400, 400),
    prices: list(priceList),
    nodes: list(leaf, { least: 1, most: 1 }),
    program: [orNull(program), null],
    relaxed: [flag, false],
  });

  function settle(inst) {
    const { resources, servers, worker_types: workers, ps_types: ps, jobs } = inst;
    checkPlatform(inst);
    servers.forEach((c, k) => checkShape(resources, c.capacity, `servers[${k}]`));
    workers.forEach((w, m) => checkShape(resources, w.demand, `worker_types[${m}]`));
    ps.forEach((z, p) => checkShape(resources, z.demand, `ps_types[${p}]`));
    inst.isRing = inst.architecture === "ring";
    need(inst.isRing ? ps.length === 0 : ps.length >= 1 && ps.length <= 60, "ps_types: expected none in a ring, else 1 to 60");
    need(sum(servers.map((c) => Number(c.count))) <= 2 ** 20, "servers: too many");
    const scale = unitsOf([...workers, ...ps].map((x) => x.demand), resources.length);
    const { classes, of } = classesOf(servers);
    for (const c of classes) {
      c.units = capacityUnits(c.capacity, scale);
      need(c.units.every((x) => x < 2n ** 40n), "a capacity has 2^40 units or more");
    }
    inst.classes = classes;
    inst.classOf = of;
    const enough = resources.map((_, r) => classes.reduce((a, c) => larger(a, c.units[r]), 0n) + 1n);
    const clipped = (x) => demandUnits(x.demand, scale).map((d, r) => smaller(d, enough[r]));
    inst.workerUnits = workers.map(clipped);
    inst.psUnits = ps.map(clipped);
    inst.exactUnits = { worker: workers.map((x) => demandUnits(x.demand, scale)), ps: ps.map((x) => demandUnits(x.demand, scale)) };
    const most = jobs.reduce((n, one) => Math.max(n, one.chunks), 1);
    const least = (list) => list.reduce((a, b) => (compare(a, b) <= 0 ? a : b));
    const greatest = (list) => list.reduce((a, b) => (compare(a, b) >= 0 ? a : b));
    const bandwidth = (list) => list.map((x) => exact(x.bandwidth));
    jobs.forEach((one, j) => {
      need(one.arrival < inst.horizon, `job ${j}: arrival ${one.arrival} is outside the horizon`);
      need(one.batch_time.length === workers.length, `job ${j}: batch_time: expected one per worker type`);
      need(one.update_time.length === (inst.isRing ? 1 : ps.length), `job ${j}: update_time: expected one per PS type, or one in a ring`);
      const slowest = sendSlots(inst, one, least(bandwidth(workers)));
      const batch = add(add(greatest(one.batch_time.map(exact)), greatest(one.update_time.map(exact))), slowest);
      need(compare(times(frac(batchesOf(one)), batch), frac(LATEST)) <= 0, `job ${j}: one worker takes more than 2^40 slots`);
      need(workers.length * Math.max(1, ps.length) * 2 * one.chunks <= 2 ** 21, `job ${j}: too many modes`);
      if (!inst.isRing) {
        const want = times(frac(one.chunks), greatest(bandwidth(workers)));
        need(compare(want, times(frac(MOST_PS), least(bandwidth(ps)))) <= 0, `job ${j}: needs too many PS`);
      }
    });
    // PS for k workers elsewhere, by type of worker and of PS
    inst.needed = workers.map((w) => ps.map((z) => {
      const share = over(exact(w.bandwidth), exact(z.bandwidth));
      return Array.from({ length: most + 1 }, (_, k) => Math.max(1, Number(ceilTol({ n: share.n * big(k), d: share.d }))));
    }));
  }

  const sendSlots = (inst, one, rate) =>
    times(frac(2), over(times(MB, exact(one.gradient_mb)), times(rate, exact(inst.slot_seconds))));

  // Slots per mini-batch of each of n workers, (1) and (14).
  function batchSlots(inst, one, m, p, together, n) {
    const own = exact(one.batch_time[m]);
    const send = together ? frac(0) : sendSlots(inst, one, exact(inst.worker_types[m].bandwidth));
    const rest = add(exact(one.update_time[inst.isRing ? 0 : p]), send);
    return add(own, inst.isRing ? times(rest, frac(n - 1, n)) : rest);
  }

  // The least duration, (2f).
  function duration(inst, one, m, p, together, n) {
    const found = ceilTol(over(times(frac(batchesOf(one)), batchSlots(inst, one, m, p, together, n)), frac(n)));
    return Math.max(1, Number(found));
  }

  // The modes of a job: {duration, m, p, q, n}, by duration, worker type, PS type, locality, workers.
  function modesOf(inst, j) {
    inst.modes ??= [];
    if (inst.modes[j]) return inst.modes[j];
    const one = inst.jobs[j];
    const found = [];
    const all = Number(batchesOf(one));
    inst.worker_types.forEach((w, m) => {
      for (let p = 0; p < Math.max(1, inst.ps_types.length); p += 1) {
        for (let q = 0; q < 2; q += 1) {
          const rest = one.update_time[p] + (q ? 0 : (2 * 0.008 * one.gradient_mb) / w.bandwidth / inst.slot_seconds);
          let before = Infinity;
          for (let n = inst.isRing && q === 0 ? 2 : 1; n <= one.chunks; n += 1) {
            const near = (all * (one.batch_time[m] + (inst.isRing ? (rest * (n - 1)) / n : rest))) / n;
            const isClear = Math.abs(near - Math.round(near)) > NEAR * Math.max(1, near);
            const d = isClear ? Math.max(1, Math.ceil(near)) : duration(inst, one, m, p, q === 1, n);
            if (d < before) found.push({ duration: d, m, p, q, n });
            before = Math.min(before, d);
          }
        }
      }
    });
    found.sort((a, b) => a.duration - b.duration || a.m - b.m || a.p - b.p || a.q - b.q || a.n - b.n);
    inst.modes[j] = found;
    return found;
  }

  return { instance, schedule, certificate, settle, batchSlots, duration, modesOf };
})();
