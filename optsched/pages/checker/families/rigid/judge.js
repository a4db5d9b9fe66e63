// Family rigid: the judge.

const rigidJudge = (() => {
  function judge(inst, { start, nodes }) {
    const { jobs, packed } = inst;
    const none = jobs.map(() => null);
    if (start.length !== jobs.length || nodes.length !== (packed ? jobs.length : 0)) {
      return { violations: [`(2) ${start.length} starts and ${nodes.length} placements of ${jobs.length} jobs`], value: null, completion: none };
    }
    const broken = [];
    start.forEach((s, i) => {
      if (s === null) broken.push(`(2) job ${i} never starts`);
      else if (s < jobs[i].arrival) broken.push(`(2) job ${i} starts before its arrival`);
    });
    if (packed) checkNodes(inst, start, nodes, broken);
    else checkLoad(inst, start, jobs.map((one, i) => [i, one.tasks]), inst.total, "the pool", broken);
    const ends = start.map((s, i) => (s === null ? null : s + jobs[i].run));
    const value = broken.length ? null : toFloat(objective(inst, ends), 0);
    return { violations: broken, value, completion: ends, obeys: true };
  }

  function objective(inst, ends) {
    if (inst.objective === "makespan") return frac(ends.reduce(larger, 0n));
    let total = frac(0);
    inst.jobs.forEach((one, i) => {
      const flow = ends[i] - one.arrival;
      const long = larger(one.run, 10n);
      if (inst.objective === "flow") total = add(total, frac(one.weight * flow));
      else if (inst.objective === "wait") total = add(total, frac(one.weight * (flow - one.run)));
      else total = add(total, frac(ceilDiv(one.weight * larger(long, flow) << 64n, long)));
    });
    return over(total, frac(inst.weight << (inst.objective === "slowdown" ? 64n : 0n)));
  }

  function checkNodes(inst, start, nodes, broken) {
    const capacity = inst.machines.flatMap((m) => Array.from({ length: Number(m.count) }, () => m.capacity));
    const onNode = new Map();
    nodes.forEach((placed, i) => {
      const named = placed.map(([h]) => h);
      if (named.some((h) => h >= capacity.length) || new Set(named).size < named.length) broken.push(`(4) job ${i}: a node does not exist, or is named twice`);
      if (start[i] !== null && bigSum(placed.map(([, n]) => n)) !== inst.jobs[i].tasks) broken.push(`(4) job ${i}: not every task has a node`);
      for (const [h, n] of placed) {
        if (h >= capacity.length) continue;
        if (!onNode.has(h)) onNode.set(h, []);
        onNode.get(h).push([i, n]);
      }
    });
    for (const [h, use] of onNode) checkLoad(inst, start, use, capacity[Number(h)], `node ${h}`, broken);
  }

  function checkLoad(inst, start, use, capacity, where, broken) {
    const events = [];
    for (const [i, n] of use) {
      if (start[i] === null) continue;
      events.push([start[i], n, i], [start[i] + inst.jobs[i].run, -n, i]);
    }
    events.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : Number(a[1] - b[1]))); // what ends leaves before what begins
    const level = capacity.map(() => 0n);
    for (const [t, n, i] of events) {
      inst.jobs[i].need.forEach((d, k) => {
        level[k] += n * d;
        if (n > 0n && level[k] > capacity[k]) broken.push(`(3) ${where}, ${inst.resources[k]}, second ${t}`);
      });
    }
  }

  // When each job waits and runs: for a picture.
  function draw(inst, { start }) {
    const ends = start.map((s, i) => Number((s ?? inst.jobs[i].arrival) + inst.jobs[i].run));
    const rows = inst.jobs.map((one, i) => ({
      label: `job ${i}`,
      bars: start[i] === null ? [] : [{ from: Number(start[i]), to: ends[i], colour: i % 6, shade: 1, title: `seconds ${start[i]} to ${ends[i] - 1}` }],
    }));
    return { caption: "When each job runs", length: Math.max(1, ...ends), unit: "second", rows };
  }

  return { judge, draw };
})();
