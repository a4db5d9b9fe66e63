// Family oasis: the judge.

function judgeOasis(inst, { jobs }, { unfinished }) {
  const broken = [];
  if (jobs.length !== inst.jobs.length) return { violations: [`${jobs.length} jobs, the instance has ${inst.jobs.length}`], value: null };
  const loads = inst.sides.map(() => new Map());
  const completion = [];
  let total = frac(0);
  jobs.forEach((plan, i) => {
    completion.push(null);
    if (plan === null) return;
    const job = inst.jobs[i];
    const { work } = inst.derived[i];
    const share = over(exact(job.worker_bandwidth), exact(job.ps_bandwidth));
    const slots = new Map();
    [plan.workers, plan.ps].forEach((entries, s) => {
      const { of, demand } = inst.sides[s];
      for (const [t, h, n] of entries) {
        if (t >= inst.horizon || h >= of.length) {
          broken.push(`job ${i}: slot ${t}, machine ${h} do not exist`);
          continue;
        }
        if (t < job.arrival) broken.push(`(${9 + s}) job ${i}: runs in slot ${t}, before it arrives`);
        const at = slots.get(t) ?? [0n, 0n];
        at[s] += big(n);
        slots.set(t, at);
        const key = h * inst.horizon + t;
        const load = loads[s].get(key) ?? inst.resources.map(() => 0n);
        demand[i].forEach((d, r) => (load[r] += d * big(n)));
        loads[s].set(key, load);
      }
    });
    let done = 0n;
    let last = -1;
    for (const [t, [workers, ps]] of slots) {
      if (workers > big(job.chunks)) broken.push(`(3) job ${i}, slot ${t}: ${workers} workers, at most ${job.chunks}`);
      if (ps > workers) broken.push(`(7) job ${i}, slot ${t}: ${ps} PS for ${workers} workers`);
      if (ps < ceilTol({ n: share.n * workers, d: share.d })) broken.push(`(6) job ${i}, slot ${t}: ${ps} PS for ${workers} workers`);
      done += workers;
      if (workers > 0n && t > last) last = t;
    }
    if (done >= big(work)) {
      completion[i] = last;
      if (!broken.length) total = lowest(add(total, earned(job.utility, last - job.arrival)));
    } else if (!unfinished) broken.push(`(2) job ${i}: ${done} worker-slots, needs ${work}`);
  });
  loads.forEach((side, s) => {
    const { name, of, classes } = inst.sides[s];
    for (const [key, load] of side) {
      const h = Math.floor(key / inst.horizon);
      load.forEach((x, r) => {
        if (x > classes[of[h]].units[r]) broken.push(`(${4 + s}) ${name} machine ${h}, ${inst.resources[r]}, slot ${key % inst.horizon}`);
      });
    }
  });
  return { violations: broken, value: broken.length ? null : toFloat(total, 0), completion, obeys: true };
}
