// Family dmlrs: the judge.

function judgeDmlrs(inst, { jobs }, { unfinished }) {
  if (jobs.length !== inst.jobs.length) return { violations: [`${jobs.length} jobs, the instance has ${inst.jobs.length}`], value: null };
  const broken = [];
  const loads = new Map();
  const completion = [];
  let value = frac(0);
  jobs.forEach((plan, i) => {
    completion.push(null);
    if (plan === null) return;
    const job = inst.jobs[i];
    const slots = new Map(); // slot: [machine: workers, machine: PS]
    [plan.workers, plan.ps].forEach((entries, s) => {
      for (const [t, h, n] of entries) {
        if (t >= inst.horizon || h >= inst.classOf.length) {
          broken.push(`(3.3) job ${i}: slot ${t}, machine ${h} do not exist`);
          continue;
        }
        if (t < job.arrival) broken.push(`(3.7) job ${i}: runs in slot ${t}, before it arrives`);
        if (!slots.has(t)) slots.set(t, [new Map(), new Map()]);
        const here = slots.get(t)[s];
        here.set(h, (here.get(h) ?? 0n) + big(n));
        const key = h * inst.horizon + t;
        const load = loads.get(key) ?? inst.resources.map(() => 0n);
        loads.set(key, load.map((x, r) => x + big(n) * inst.demand[i][s][r]));
      }
    });
    let [inner, outer, last] = [0n, 0n, -1];
    for (const [t, placed] of slots) {
      const [near, far] = judgeSlot(inst, job, placed, `job ${i}, slot ${t}`, broken);
      [inner, outer] = [inner + near, outer + far];
      if (near + far > 0n) last = Math.max(last, t);
    }
    const { work } = inst.derived[i];
    if (inner * work.inner + outer * work.outer >= work.total) {
      completion[i] = last;
      if (!broken.length) value = lowest(add(value, earned(job.utility, last - job.arrival)));
    } else if (!unfinished) broken.push(`(3.1) job ${i}: does not do all of its work`);
  });
  for (const [key, load] of loads) {
    const h = Math.floor(key / inst.horizon);
    load.forEach((x, r) => {
      if (x > inst.classes[inst.classOf[h]].units[r]) broken.push(`(3.3) machine ${h}, ${inst.resources[r]}, slot ${key % inst.horizon}`);
    });
  }
  return { violations: broken, value: broken.length ? null : toFloat(value, 0), completion, obeys: true };
}

// One job in one slot: how many workers have the inner, and the outer rate.
function judgeSlot(inst, job, [workers, ps], place, broken) {
  const [n, m] = [workers, ps].map((there) => bigSum([...there.values()]));
  if (n > big(job.chunks)) broken.push(`(3.2) ${place}: ${n} workers, at most ${job.chunks}`);
  if (n > 0n && m === 0n) broken.push(`(3.4) ${place}: no PS`);
  if (m > n) broken.push(`(3.5) ${place}: ${m} PS for ${n} workers`);
  let near = 0n; // workers with the inner rate
  let links = 0n; // beside PS
  let all = n; // links in all
  if (inst.isLinked) {
    for (const h of ps.keys()) links += workers.get(h) ?? 0n;
    all = n * big(ps.size);
    if (ps.size === 1) near = links;
  } else if (new Set([...workers.keys(), ...ps.keys()]).size === 1) near = links = n;
  const flow = add(times(frac(links), exact(job.inner_bandwidth)), times(frac(all - links), exact(job.outer_bandwidth)));
  const required = over(flow, exact(job.ps_bandwidth));
  if (m > 0n && compare(required, add(frac(m), slack(required))) > 0) broken.push(`(3.4) ${place}: ${m} PS serve too little`);
  return [near, n - near];
}
