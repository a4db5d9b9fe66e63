// Family completion: the judge.

const completionJudge = (() => {
  const { batchSlots, duration } = completionData;

  function judge(inst, { jobs }, { unfinished }) {
    if (jobs.length !== inst.jobs.length) return { violations: [`${jobs.length} jobs, the instance has ${inst.jobs.length}`], value: null };
    const broken = [];
    const completion = [];
    const sound = [];
    let obeys = true;
    jobs.forEach((pieces, j) => {
      completion.push(null);
      if (!pieces.length || (pieces.length > 1 && !unfinished)) {
        broken.push(`(2a) job ${j} runs in ${pieces.length} pieces, expected 1`);
        return;
      }
      const one = inst.jobs[j];
      let done = frac(0);
      let isLong = true;
      pieces.forEach((piece, k) => {
        if (k && piece.start < pieces[k - 1].start + pieces[k - 1].duration) broken.push(`(2a) job ${j}: two pieces at once`);
        if (piece.start < one.arrival) broken.push(`(2j) job ${j} starts before its arrival`);
        if (!exists(inst, j, piece, broken)) return;
        sound.push(piece);
        const n = sum(piece.workers.map(([, x]) => x));
        if (n > one.chunks) broken.push(`(2g) job ${j}: ${n} workers`);
        if (!inst.isRing) checkHosts(inst, j, piece, n, broken);
        if (n === 0 || n > one.chunks) {
          isLong = false;
          return;
        }
        const hosts = new Set([...piece.workers, ...piece.ps].map(([h]) => h));
        const p = piece.ps_type ?? 0;
        isLong = piece.duration >= duration(inst, one, piece.worker_type, p, hosts.size <= 1, n);
        if (pieces.length > 1) done = lowest(add(done, over(frac(big(piece.duration) * big(n)), batchSlots(inst, one, piece.worker_type, p, hosts.size <= 1, n))));
      });
      const work = frac(batchesOf(one));
      if (pieces.length > 1 ? compare(add(done, slack(work)), work) < 0 : !isLong) broken.push(`(2f) job ${j}: does not do all of its work`);
      const end = pieces.at(-1).start + pieces.at(-1).duration;
      if (inst.enforce_horizon && end > inst.horizon) {
        if (!unfinished) broken.push(`(2a) job ${j} ends after the horizon`);
        obeys = false;
      }
      obeys = obeys && pieces.length === 1;
      completion[j] = end;
    });
    checkLoads(inst, sound, broken);
    let value = null;
    if (!broken.length) value = toFloat(completion.reduce((a, c, j) => lowest(add(a, times(exact(inst.jobs[j].weight), frac(c)))), frac(0)), 0);
    return { violations: broken, value, completion, obeys };
  }

  function exists(inst, j, piece, broken) {
    const before = broken.length;
    const { ps_type: p } = piece;
    if (piece.worker_type >= inst.worker_types.length) broken.push(`(2b) job ${j}: worker type ${piece.worker_type} does not exist`);
    if (inst.isRing && (p !== null || piece.ps.length)) broken.push(`(15) job ${j}: PS in a ring`);
    if (!inst.isRing && (p === null || p >= inst.ps_types.length)) broken.push(`(2c) job ${j}: PS type ${p} does not exist`);
    for (const entries of [piece.workers, piece.ps]) {
      const named = entries.map(([h]) => h);
      if (named.some((h) => h >= inst.classOf.length) || new Set(named).size < named.length) broken.push(`(2h) job ${j}: a server does not exist, or is named twice`);
    }
    return broken.length === before;
  }

  // Every host of PS has enough of them for the workers elsewhere.
  function checkHosts(inst, j, piece, n, broken) {
    if (!piece.ps.length) broken.push(`(2e) job ${j} has no PS`);
    const here = new Map(piece.workers);
    const share = over(exact(inst.worker_types[piece.worker_type].bandwidth), exact(inst.ps_types[piece.ps_type].bandwidth));
    for (const [h, s] of piece.ps) {
      const least = larger(1n, ceilTol({ n: share.n * big(n - (here.get(h) ?? 0)), d: share.d }));
      if (big(s) < least) broken.push(`(2i) job ${j}, server ${h}: ${s} PS, needs ${least}`);
    }
  }

  function checkLoads(inst, sound, broken) {
    const events = new Map(); // server: [slot, sign, load]
    for (const piece of sound) {
      const loads = new Map();
      const charge = (entries, demand) => {
        for (const [h, n] of entries) {
          const load = loads.get(h) ?? inst.resources.map(() => 0n);
          loads.set(h, load.map((x, r) => x + big(n) * demand[r]));
        }
      };
      charge(piece.workers, inst.exactUnits.worker[piece.worker_type]);
      if (piece.ps_type !== null) charge(piece.ps, inst.exactUnits.ps[piece.ps_type]);
      for (const [h, load] of loads) {
        if (!events.has(h)) events.set(h, []);
        events.get(h).push([piece.start, 1n, load], [piece.start + piece.duration, -1n, load]);
      }
    }
    for (const [h, list] of events) {
      list.sort((a, b) => a[0] - b[0] || Number(a[1] - b[1])); // what ends leaves before what begins
      const capacity = inst.classes[inst.classOf[h]].units;
      const level = inst.resources.map(() => 0n);
      for (const [t, sign, load] of list) {
        load.forEach((x, r) => {
          level[r] += sign * x;
          if (level[r] > capacity[r] && sign > 0n) broken.push(`(2h) server ${h}, ${inst.resources[r]}, slot ${t}`);
        });
      }
    }
  }

  // When each job runs: for a picture.
  function draw(inst, { jobs }) {
    const length = Math.max(1, ...jobs.flat().map((piece) => piece.start + piece.duration));
    const rows = jobs.map((pieces, j) => ({
      label: `job ${j}`,
      bars: pieces.map((piece) => {
        const n = sum(piece.workers.map(([, x]) => x));
        return { from: piece.start, to: piece.start + piece.duration, colour: piece.worker_type, shade: n / inst.jobs[j].chunks, title: `slots ${piece.start} to ${piece.start + piece.duration - 1}: ${n} workers of type ${piece.worker_type}` };
      }),
    }));
    return { caption: "When each job runs; the colour is the type of its workers", length, unit: "slot", rows };
  }

  return { judge, draw };
})();
