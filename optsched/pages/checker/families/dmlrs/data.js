// Family dmlrs: workers and parameter servers (PS) that share machines. Formats, and what follows from an instance.

const dmlrsData = (() => {
  const CLIPPED = 2 ** 50; // units that no machine has
  const jobKind = record({
    arrival: whole(0),
    epochs: countKind,
    chunks: countKind,
    batches_per_chunk: countKind,
    batch_time: number({ least: 0 }),
    gradient_mb: number({ least: 0 }),
    inner_bandwidth: number({ above: 0 }),
    outer_bandwidth: number({ above: 0 }),
    ps_bandwidth: number({ above: 0 }),
    worker_demand: list(amount),
    ps_demand: list(amount),
    utility: utilityKind,
  });
  const instance = record({
    slot_seconds: [number({ above: 0 }), 300],
    horizon: whole(1),
    resources: list(text, { least: 1 }),
    units: [list(text), []],
    machines: list(machineKind, { least: 1 }),
    locality: [oneOf("job", "link"), "job"],
    jobs: list(jobKind),
    drawn: [list(text), []],
    source: [text, ""],
    redrawn: [whole(0), 0],
  });
  const entry = row(whole(0), whole(0), whole(1));
  const schedule = record({ jobs: list(orNull(record({ workers: list(entry), ps: list(entry) }))) });

  const index = whole(0, 2n ** 63n - 1n);
  const entries = (n) => list(row(...Array(n).fill(whole())));
  const prices = orNull(
    tagged("kind", {
      capacity: record({ kind: [oneOf("capacity"), "capacity"], entries: entries(4) }),
      relaxed: record({ kind: [oneOf("relaxed"), "relaxed"], entries: entries(4), work: list(whole(0)), rows: [list(row(...Array(5).fill(whole()), whole(0))), []] }),
      packings: record({ kind: [oneOf("packings"), "packings"], together: entries(4), capacity: entries(4) }),
    }),
  );
  const split = (word, more) => record({ prices: [prices, null], job: index, slot: index, left: index, right: index, node: [oneOf(word), word], ...more });
  const nodes = tagged("node", {
    leaf: record({ prices: [prices, null], node: [oneOf("leaf"), "leaf"], unpackable: [orNull(oneOf()), null] }), // of earlier versions: null
    completion: split("completion", {}),
    workers: split("workers", { at: index }),
  });
  const program = record({ value: large(0, 2n ** 63n - 1n), conflicts: list(list(row(index, index, index))) });
  const certificate = record({
    instance_sha256: text,
    grid_bits: whole(-1100, 1200),
    value_shift: [whole(0, 1200), 0],
    nodes: list(nodes, { least: 1 }),
    program: [orNull(program), null],
  });

  // --- what follows from an instance ---

  function settle(inst) {
    const { jobs, resources, machines } = inst;
    checkPlatform(inst);
    machines.forEach((m, c) => checkShape(resources, m.capacity, `machines[${c}]: capacity`));
    const count = sum(machines.map((m) => Number(m.count)));
    need(count <= 2 ** 20, "machines: too many");
    need(Number(inst.horizon) * count * resources.length <= 2 ** 26, "too many slots and machines");
    checkJobs(inst);
    need(Math.max(1, jobs.length) * Number(inst.horizon) <= 2 ** 26, "too many jobs and slots");
    let all = 0;
    jobs.forEach((job, i) => {
      need(job.chunks <= Math.min(2 ** 13, Math.floor(2 ** 27 / inst.horizon)), `job ${i}: too many chunks`);
      need(inst.locality !== "link" || job.chunks <= 2 ** 10 - 1, `job ${i}: too many chunks to be looked at link by link`);
      need(job.inner_bandwidth >= job.outer_bandwidth, `job ${i}: inner_bandwidth is below outer_bandwidth`);
      all += toFloat(earned(job.utility, 0), 0);
    });
    need(Number.isFinite(all), "the utilities add up to more than a float");
    const scale = unitsOf(jobs.flatMap((job) => [job.worker_demand, job.ps_demand]), resources.length);
    const { classes, of } = classesOf(machines);
    for (const c of classes) {
      c.units = capacityUnits(c.capacity, scale);
      need(c.units.every((x) => x < 2n ** 50n), "a capacity has 2^50 units or more");
      c.free = c.units.map(Number);
    }
    inst.isLinked = inst.locality === "link";
    inst.classes = classes;
    inst.classOf = of;
    inst.demand = jobs.map((job) => [job.worker_demand, job.ps_demand].map((row) => demandUnits(row, scale)));
    inst.derived = jobs.map((job) => ({ work: workOf(job, inst.slot_seconds) }));
  }

  // A inner and B outer worker-slots are enough if A inner + B outer >= total.
  function workOf(job, slotSeconds) {
    const slots = (rate) => lowest(add(exact(job.batch_time), times(frac(2), transfer(job.gradient_mb, rate, slotSeconds))));
    const [near, far] = [slots(job.inner_bandwidth), slots(job.outer_bandwidth)];
    const asked = frac(batchesOf(job) * (EPS - 1n), EPS);
    const [inner, outer, total] = [far.n * near.d * asked.d, near.n * far.d * asked.d, asked.n * near.n * far.n];
    const unit = gcd(inner, outer);
    return { inner: inner / unit, outer: outer / unit, total: ceilDiv(total, unit) };
  }

  const least = (total, each) => Number(ceilDiv(total, each)); // worker-slots of one kind that are enough

  // Whether n workers and m PS fit on an empty machine.
  const fits = (own, { free }, n, m) => free.every((most, r) => n * own.alpha[r] + m * own.beta[r] <= most);

  // PS for n workers, rooms and most workers of a job: worked out where they are asked for. -1 is impossible.
  function tables(inst, i) {
    const own = inst.derived[i];
    if (own.alpha) return own;
    const job = inst.jobs[i];
    const K = job.chunks;
    const ratio = (rate) => over(exact(rate), exact(job.ps_bandwidth));
    const [near, far] = [ratio(job.inner_bandwidth), ratio(job.outer_bandwidth)];
    const within = (flow, n) => {
      const m = Math.max(1, Number(ceilTol(flow)));
      return m <= n ? m : -1;
    };
    [own.alpha, own.beta] = inst.demand[i].map((row) => row.map((x) => Math.min(Number(x), CLIPPED)));
    const table = (share) => Array.from({ length: K + 1 }, (_, n) => (n ? within({ n: share.n * big(n), d: share.d }, n) : 0));
    own.near = table(near);
    own.far = table(far);
    own.linked = (a, b) => within({ n: near.n * far.d * big(a) + far.n * near.d * big(b), d: near.d * far.d }, a + b);
    const { inner, outer, total } = own.work;
    const most = (psTable, each) => Math.min(psTable.findLastIndex((m) => m >= 0), least(total, each));
    own.mostNear = most(own.near, inner);
    own.mostFar = most(own.far, outer);
    own.most = inst.isLinked ? K : Math.max(own.mostNear, own.mostFar);
    return own;
  }

  // A slot before which the job does not complete; null if it never can.
  function earliest(inst, i) {
    const own = tables(inst, i);
    const job = inst.jobs[i];
    const { classes } = inst;
    const held = (demand) => {
      const each = sum(classes.map((c) => c.count * roomOf(c.units, demand, job.chunks)));
      return Math.min(job.chunks, each);
    };
    const { inner, outer, total } = own.work;
    let slots = Infinity;
    const consider = (n, each) => {
      if (n > 0) slots = Math.min(slots, least(total, each * big(n)));
    };
    if (inst.isLinked) {
      const alone = classes.map((c) => roomOf(c.units, inst.demand[i][0], job.chunks));
      const every = sum(classes.map((c, k) => c.count * alone[k]));
      classes.forEach((c, k) => {
        for (let a = alone[k]; a >= 0; a -= 1) {
          for (let b = Math.min(job.chunks - a, every - alone[k]); b >= 0 && a + b > 0; b -= 1) {
            const m = own.linked(a, b);
            if (m >= 0 && fits(own, c, a, m)) {
              consider(1, big(a) * inner + big(b) * outer);
              break;
            }
          }
        }
      });
    } else {
      let n = job.chunks;
      while (n > 0 && !(own.near[n] >= 0 && classes.some((c) => fits(own, c, n, own.near[n])))) n -= 1;
      consider(n, inner);
      const able = classes.filter((c) => inst.demand[i].some((demand) => roomOf(c.units, demand, 1) > 0));
      if (sum(able.map((c) => c.count)) > 1) {
        const servers = held(inst.demand[i][1]);
        n = held(inst.demand[i][0]);
        while (n > 0 && !(own.far[n] >= 0 && own.far[n] <= servers)) n -= 1;
        consider(n, outer);
      }
    }
    const found = job.arrival + slots - 1;
    return found < inst.horizon ? found : null;
  }

  return { instance, schedule, certificate, settle, tables, earliest, fits };
})();
