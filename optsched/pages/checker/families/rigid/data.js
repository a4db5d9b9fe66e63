// Family rigid: parallel jobs in a pool or on nodes. Formats, and what follows from an instance.

const rigidData = (() => {
  const LATEST = 2n ** 36n;
  const LARGEST = 2n ** 40n;
  const MOST_NODES = 2n ** 16n;
  const units = large(0, LARGEST);
  const machine = record({ name: [text, ""], count: [large(1, MOST_NODES), 1n], capacity: list(units) });
  const job = record({
    request: large(1, LATEST),
    tasks: [large(1, 2 ** 20), 1n],
    need: list(units),
    weight: [large(1, 2 ** 20), 1n],
    user: [text, ""],
    partition: [text, ""],
    arrival: large(0, LATEST),
    run: large(1, LATEST),
  });
  const instance = record({
    resources: list(text, { least: 1 }),
    units: [list(text), []],
    machines: list(machine, { least: 1 }),
    packed: [flag, false],
    objective: [oneOf("flow", "wait", "slowdown", "makespan"), "flow"],
    jobs: list(job),
    drawn: [list(text), []],
    source: [text, ""],
  });
  const schedule = record({
    start: list(orNull(large(0, 2n ** 62n))),
    nodes: [list(list(row(large(0, MOST_NODES), large(1, null)))), []],
  });
  const second = large(0, 2n * LATEST);
  const price = list(list(large(0, 2n ** 200n - 1n)));
  const surcharges = record({ resource: whole(0), needs: list(large(1, LARGEST)), price });
  const [several, one] = [list(surcharges), (v) => (v === null ? [] : [v])]; // earlier versions: one, or null
  const listed = { read: (v, place) => several.read(Array.isArray(v) ? v : one(v), place), write: several.write };
  const prices = record({ times: list(second), price, surcharges: [listed, []] });
  const node = tagged("node", {
    leaf: record({ node: [oneOf("leaf"), "leaf"], prices: whole(0) }),
    split: record({ node: [oneOf("split"), "split"], job: whole(0), at: second, left: whole(0), right: whole(0) }),
  });
  const certificate = record({
    instance_sha256: text,
    grid_bits: whole(0, 100),
    prices: list(prices),
    nodes: list(node, { least: 1 }),
    deadline: [orNull(second), null],
    relaxed: [flag, false],
  });

  function settle(inst) {
    const { resources, machines, jobs, packed } = inst;
    checkPlatform(inst);
    machines.forEach((m, k) => checkShape(resources, m.capacity, `machines[${k}]: capacity`));
    need(bigSum(machines.map((m) => m.count)) <= MOST_NODES, "machines: too many nodes");
    inst.total = resources.map((_, k) => bigSum(machines.map((m) => m.count * m.capacity[k])));
    need(inst.total.every((c) => c <= LARGEST), "machines: too many units");
    inst.weight = inst.objective === "makespan" ? 1n : larger(1n, bigSum(jobs.map((one) => one.weight)));
    jobs.forEach((one, i) => {
      checkShape(resources, one.need, `job ${i}: need`);
      need(one.request >= one.run, `job ${i}: request is below the run time`);
      const holds = (capacity) => one.need.reduce((a, d, k) => (d === 0n ? a : smaller(a, capacity[k] / d)), one.tasks);
      const most = packed ? bigSum(machines.map((m) => m.count * holds(m.capacity))) : holds(inst.total);
      need(most >= one.tasks, `job ${i}: never fits on the machines`);
    });
  }

  return { instance, schedule, certificate, settle };
})();
