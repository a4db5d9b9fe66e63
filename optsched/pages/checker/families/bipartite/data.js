// Family bipartite: ports, machines, and what each gives. Formats, and what follows from an instance.

const bipartiteData = (() => {
  const quantity = {
    read(v, place) {
      const x = number({ least: 0, most: 1e15 }).read(v, place);
      need(x === 0 || x >= 1e-15, `${place}: is ${x}, expected 0 or at least 1e-15`);
      return x === 0 ? 0 : x;
    },
    write: floatText,
  };
  const utility = record({ kind: oneOf("linear", "log", "reciprocal", "poly"), alpha: number({ least: 1e-15, most: 1e15 }) });
  const port = record({ name: [text, ""], request: list(quantity), most_jobs: [whole(1), 1] });
  const machine = record({ name: [text, ""], capacity: list(quantity), ports: list(whole(0)), utility: list(utility) });
  const instance = record({
    slot_seconds: [number({ above: 0 }), 60],
    horizon: whole(1),
    resources: list(text, { least: 1 }),
    units: [list(text), []],
    gain: [oneOf("machine", "sum"), "machine", true],
    overhead: list(number({ least: 0, most: 1 })),
    ports: list(port, { least: 1 }),
    machines: list(machine, { least: 1 }),
    arrivals: list(list(whole(0))),
    drawn: [list(text), []],
    source: [text, ""],
  });
  const kept = record({ policy: text, options: anything, fingerprint: text });
  const schedule = record({
    decisions: list(list(number())),
    used: list(whole(0)),
    rewards: [list(number()), []],
    record: [orNull(kept), null],
  });
  const prices = record({ share: list(large(0, null)), nu: list(large(0, null)) });
  const certificate = record({
    instance_sha256: text,
    scope: oneOf("slots", "stationary"),
    share_bits: whole(0, 40),
    nu_bits: whole(-300, 300),
    prices: list(prices, { least: 1 }),
    assigned: list(whole(0)),
  });

  function settle(inst) {
    const { resources, ports, machines, horizon, arrivals } = inst;
    checkPlatform(inst);
    checkShape(resources, inst.overhead, "overhead");
    ports.forEach((p, l) => checkShape(resources, p.request, `port ${l}: request`));
    machines.forEach((m, r) => {
      checkShape(resources, m.capacity, `machine ${r}: capacity`);
      checkShape(resources, m.utility, `machine ${r}: utility`);
      need(inst.gain === "machine" || m.utility.every((f, k) => f.kind === machines[0].utility[k].kind && f.alpha === machines[0].utility[k].alpha), `machine ${r}: utility differs from that of machine 0`);
      need(m.ports.every((p, i) => p < ports.length && (i === 0 || p > m.ports[i - 1])), `machine ${r}: ports do not exist, or do not rise`);
    });
    const copies = sum(ports.map((p) => Number(p.most_jobs)));
    const channels = sum(machines.map((m) => sum(m.ports.map((p) => Number(ports[p].most_jobs))))) * resources.length;
    need(Math.max(copies * resources.length, channels) <= 1e7, "too many ports, machines and jobs");
    need(arrivals.length === horizon && horizon * copies <= 1e9, "arrivals: expected one line per slot");
    arrivals.forEach((jobs, t) => {
      need(jobs.length === ports.length, `slot ${t}: expected one number per port`);
      jobs.forEach((x, l) => need(x <= ports[l].most_jobs, `slot ${t}, port ${l}: more jobs than most_jobs`));
    });
    // copy j of a port has a job in a slot in which more than j arrive
    inst.copies = ports.flatMap((p, l) => Array.from({ length: p.most_jobs }, (_, nth) => ({ port: l, nth })));
    const ofPort = ports.map(() => []);
    inst.copies.forEach(({ port: l }, c) => ofPort[l].push(c));
    // a row is a resource of a machine, a channel a copy that is connected to it: row by row, copies in order
    inst.rows = machines.flatMap((m) => resources.map((_, k) => ({ k, capacity: m.capacity[k], ...m.utility[k], copies: m.ports.flatMap((l) => ofPort[l]) })));
    inst.channels = channels;
    inst.isSummed = inst.gain === "sum"; // a job gains f_k of the sum over machines: of all rows of k, f is the same
    inst.parts = inst.copies.map(() => 0);
    for (const { copies: here } of inst.rows) for (const c of here) inst.parts[c] += 1;
    // patterns of jobs, in order of first appearance, and how many slots have each
    inst.patterns = [];
    inst.patternOf = [];
    const byText = new Map();
    arrivals.forEach((jobs) => {
      const key = jobs.join();
      if (!byText.has(key)) {
        byText.set(key, inst.patterns.length);
        inst.patterns.push({ jobs, slots: 0 });
      }
      inst.patternOf.push(byText.get(key));
      inst.patterns[byText.get(key)].slots += 1;
    });
  }

  return { instance, schedule, certificate, settle };
})();
