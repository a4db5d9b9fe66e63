// Family oasis: jobs with workers and parameter servers (PS) on machines apart. Formats, and what follows from an instance.

const oasisData = (() => {
  const jobKind = record({
    arrival: whole(0),
    epochs: countKind,
    chunks: countKind,
    batches_per_chunk: countKind,
    batch_time: number({ least: 0 }),
    gradient_mb: number({ least: 0 }),
    worker_bandwidth: number({ above: 0 }),
    ps_bandwidth: number({ above: 0 }),
    worker_demand: list(amount),
    ps_demand: list(amount),
    utility: utilityKind,
  });
  const instance = record({
    slot_seconds: [number({ above: 0 }), 3600],
    horizon: whole(1),
    resources: list(text, { least: 1 }),
    units: [list(text), []],
    worker_machines: list(machineKind, { least: 1 }),
    ps_machines: list(machineKind, { least: 1 }),
    jobs: list(jobKind),
    drawn: [list(text), []],
    source: [text, ""],
    redrawn: [whole(0), 0],
  });
  const place = whole(0, 2 ** 53 - 1);
  const entry = row(place, place, whole(1, 2 ** 53 - 1));
  const schedule = record({ jobs: list(orNull(record({ workers: list(entry), ps: list(entry) }))) });

  const index = whole(-(2n ** 63n) + 1n, 2n ** 63n - 1n);
  const child = whole(0, 2n ** 63n - 1n);
  const price = large(-(2n ** 190n) + 1n, 2n ** 190n - 1n);
  const prices = orNull(
    tagged("kind", {
      capacity: record({ kind: [oneOf("capacity"), "capacity"], entries: list(row(index, index, index, index, price)) }),
      relaxed: record({ kind: [oneOf("relaxed"), "relaxed"], entries: list(row(index, index, index, index, price)), work: list(price) }),
      slots: record({ kind: [oneOf("slots"), "slots"], entries: list(row(index, index, index, price)), limits: [list(index, { most: 0 }), []] }),
    }),
  );
  const split = (word, more) => record({ prices: [prices, null], job: child, slot: child, left: child, right: child, node: [oneOf(word), word], ...more });
  const nodes = tagged("node", {
    leaf: record({ prices: [prices, null], node: [oneOf("leaf"), "leaf"] }),
    completion: split("completion", {}),
    workers: split("workers", { at: child }),
  });
  const certificate = record({
    instance_sha256: text,
    grid_bits: whole(-1200, 1200),
    limits: [list(index, { most: 0 }), []], // of earlier versions
    nodes: list(nodes, { least: 1 }),
  });

  // --- what follows from an instance ---

  function settle(inst) {
    const { jobs, resources } = inst;
    checkPlatform(inst);
    checkJobs(inst);
    inst.sides = ["worker", "ps"].map((name) => {
      const machines = inst[`${name}_machines`];
      machines.forEach((m, c) => checkShape(resources, m.capacity, `${name}_machines[${c}]: capacity`));
      const count = sum(machines.map((m) => Number(m.count)));
      need(count <= 1e6 && count * resources.length <= 1e7, `${name}_machines: too many`);
      need(Number(inst.horizon) * count * resources.length <= 2 ** 26, `${name}_machines: too many slots and machines`);
      const scale = unitsOf(jobs.map((job) => job[`${name}_demand`]), resources.length);
      const { classes, of } = classesOf(machines);
      for (const c of classes) {
        c.units = capacityUnits(c.capacity, scale);
        need(c.units.every((x) => x < 2n ** 50n), "a capacity has 2^50 units or more");
      }
      return { name, scale, classes, of, demand: jobs.map((job) => demandUnits(job[`${name}_demand`], scale)) };
    });
    need(Math.max(jobs.length, 1) * Number(inst.horizon) <= 1e7, "too many jobs and slots");
    need(sum(jobs.map((job) => job.chunks)) <= 4e6, "too many chunks");
    const r = resources.indexOf("bandwidth");
    let all = frac(0);
    inst.derived = jobs.map((job, i) => {
      need(job.worker_bandwidth <= job.ps_bandwidth, `job ${i}: worker_bandwidth is above ps_bandwidth`);
      for (const name of r < 0 ? [] : ["worker", "ps"]) {
        need(Math.abs(job[`${name}_demand`][r] - job[`${name}_bandwidth`]) <= 1e-9, `job ${i}: the demand for bandwidth is not the bandwidth`);
      }
      const each = add(exact(job.batch_time), times(frac(2), transfer(job.gradient_mb, job.worker_bandwidth, inst.slot_seconds)));
      const work = larger(1n, ceilTol(times(frac(batchesOf(job)), each)));
      need(work <= 2n ** 53n, `job ${i}: needs more than 2^53 worker-slots`);
      all = lowest(add(all, bitwise(toFloat(earned(job.utility, 0), 0))));
      return { work: Number(work) };
    });
    need(compare(all, frac(10n ** 305n)) <= 0, "the utilities add up to more than 1e305");
  }

  // m(n), the PS that n workers need; and the rooms, both only where they are asked for
  function tables(inst, i) {
    const own = inst.derived[i];
    if (own.ps) return own;
    const job = inst.jobs[i];
    const share = over(exact(job.worker_bandwidth), exact(job.ps_bandwidth));
    own.need = (n) => Number(ceilTol({ n: share.n * big(n), d: share.d }));
    own.ps = Array.from({ length: job.chunks + 1 }, (_, n) => own.need(n));
    own.rooms = inst.sides.map(({ classes, demand }) => classes.map((c) => roomOf(c.units, demand[i], job.chunks)));
    own.room = own.rooms.map((rooms, s) => sum(rooms.map((room, c) => room * inst.sides[s].classes[c].count)));
    let most = Math.min(job.chunks, own.room[0]);
    while (own.ps[most] > own.room[1]) most -= 1;
    own.most = most;
    return own;
  }

  return { instance, schedule, certificate, settle, tables };
})();
