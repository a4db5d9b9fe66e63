// Family dmlrs: the program over slots, which follows all that jobs can run together.

const dmlrsProgram = (() => {
  const { tables, earliest, fits } = dmlrsData;
  const { smallWork } = dmlrsPayoffs;
  const { unpackable } = dmlrsPackings;
  const INNER = 1;
  const OUTER = 2;
  const LONG = "the program over slots would take too long";
  const MOST = { machines: 2 ** 10, vectors: 2 ** 22, possible: 200000, amounts: 4096, states: 2e6, pairs: 1e8 };

  // Refuse a program that a schedule may exceed; `slots` holds prices [class, resource, price] by slot.
  function checkProgram(inst, cert, slots) {
    const { value, conflicts } = cert.program;
    need(inst.classOf.length <= MOST.machines, LONG);
    const able = inst.jobs.flatMap((_, i) => {
      const end = earliest(inst, i);
      return end === null ? [] : [{ i, end }];
    });
    for (const job of able) Object.assign(job, choicesOf(inst, job.i));
    for (const conflict of conflicts) checkConflict(inst, conflict);
    need(able.reduce((n, { choices }) => n * choices.length, 1) <= MOST.vectors, LONG);
    valued(inst, able, cert.grid_bits, slots);
    const [most, chunks] = [able.map(({ choices }) => choices.length - 1), inst.jobs.map((job) => job.chunks)].map((list) => Math.max(0, ...list));
    const richest = bigSum(able.map(({ worth }) => worth[0]));
    need(richest * big(2 * (inst.horizon + most + chunks + 2)) <= 2n ** 61n, "the utilities of a program are too large");
    const vectors = possibleVectors(inst, able, conflicts);
    follow(inst, able, vectors, value);
  }

  // What a job may run in a slot, by work; the first is nothing.
  function choicesOf(inst, i) {
    const own = tables(inst, i);
    const job = inst.jobs[i];
    inst.derived[i].small ??= smallWork(inst.derived[i].work, inst.horizon * job.chunks);
    const { inner, outer, total } = inst.derived[i].small;
    const all = inst.resources.map((_, r) => bigSum(inst.classes.map((c) => c.units[r] * big(c.count))));
    const found = [];
    const offer = (mode, n, m, each) => {
      const work = Math.min(total, n * each);
      if (!found.some((x) => x.mode === mode && x.work === work)) found.push({ mode, n, m, work, load: inst.demand[i][0].map((x, r) => big(n) * x + big(m) * inst.demand[i][1][r]) });
    };
    for (let n = 1; n <= job.chunks; n += 1) {
      if (own.near[n] >= 0 && inst.classes.some((c) => fits(own, c, n, own.near[n]))) offer(INNER, n, own.near[n], inner);
      if (own.far[n] >= 0 && inst.classOf.length > 1) {
        const load = inst.demand[i][0].map((x, r) => big(n) * x + big(own.far[n]) * inst.demand[i][1][r]);
        if (load.every((x, r) => x <= all[r])) offer(OUTER, n, own.far[n], outer);
      }
    }
    found.sort((a, b) => a.work - b.work || a.mode - b.mode);
    return { total, choices: [{ mode: 0, n: 0, m: 0, work: 0, load: inst.resources.map(() => 0n) }, ...found] };
  }

  function checkConflict(inst, conflict) {
    need(new Set(conflict.map(([i]) => i)).size === conflict.length, "a conflict names a job twice");
    for (const [i, mode, n] of conflict) {
      need(i < inst.jobs.length && (mode === INNER || mode === OUTER), "a conflict names what does not exist");
      need(n >= 1 && n <= inst.jobs[i].chunks, `a conflict has ${n} workers of job ${i}`);
    }
    need(unpackable(inst, conflict.map(([i, mode, n]) => ({ i, n, mode }))), "the workers of a conflict find a place");
  }

  // Choices of all jobs that may be possible together, of which no other one has later or the same ones throughout.
  function possibleVectors(inst, able, conflicts) {
    const place = new Map(able.map(({ i }, k) => [i, k]));
    const ending = able.map(() => []); // conflicts by the last job that they name
    for (const conflict of conflicts) {
      if (conflict.every(([i]) => place.has(i))) {
        const named = conflict.map(([i, mode, n]) => [place.get(i), mode, n]);
        if (!named.length) return [];
        ending[Math.max(...named.map(([k]) => k))].push(named);
      }
    }
    const all = inst.resources.map((_, r) => bigSum(inst.classes.map((c) => c.units[r] * big(c.count))));
    const kept = [];
    const now = Array(able.length).fill(0);
    const dive = (k, left, rooms) => {
      if (k === able.length) {
        if (!kept.some((v) => v.every((x, j) => x >= now[j]))) kept.push([...now]);
        need(kept.length <= MOST.possible, LONG);
        return;
      }
      for (let x = able[k].choices.length - 1; x >= 0; x -= 1) {
        const choice = able[k].choices[x];
        const rest = left.map((most, r) => most - choice.load[r]);
        if (rest.some((most) => most < 0n)) continue;
        now[k] = x;
        if (ending[k].some((named) => named.every(([j, mode, n]) => able[j].choices[now[j]].mode === mode && able[j].choices[now[j]].n >= n))) continue;
        const after = choice.mode === INNER ? hosted(inst, able[k].i, choice, rooms) : rooms;
        if (after.length) dive(k + 1, rest, after);
      }
      now[k] = 0;
    };
    dive(0, all, [inst.classOf.map((c) => inst.classes[c].free)]);
    return kept;
  }

  // What may be left of the machines after a job has a place on one of them: each way once, up to the order of machines.
  function hosted(inst, i, { n, m }, ways) {
    const own = tables(inst, i);
    const found = new Map();
    for (const rooms of ways) {
      const tried = new Set();
      rooms.forEach((room, h) => {
        const name = room.join();
        if (tried.has(name)) return;
        tried.add(name);
        const left = room.map((x, r) => x - n * own.alpha[r] - m * own.beta[r]);
        if (left.some((x) => x < 0)) return;
        const after = rooms.map((x, k) => (k === h ? left : x)).sort((a, b) => a.reduce((d, x, r) => d || x - b[r], 0));
        found.set(after.map((x) => x.join()).join(";"), after);
      });
      need(found.size <= MOST.possible, LONG);
    }
    return [...found.values()];
  }

  // Utilities and what choices pay, on the certificate's grid.
  function valued(inst, able, grid, slots) {
    const T = inst.horizon;
    for (const job of able) {
      const { arrival, utility } = inst.jobs[job.i];
      const [alpha, beta] = inst.demand[job.i];
      const own = tables(inst, job.i);
      job.worth = Array.from({ length: T }, (_, t) => ceilShifted(earned(utility, Math.max(t, job.end) - arrival), grid));
      const most = job.worth[0];
      job.pays = job.worth.map((_, t) => {
        const price = inst.classes.map(() => inst.resources.map(() => 0n));
        for (const [c, r, p] of slots.get(t) ?? []) price[c][r] = p;
        const charge = (c, demand) => demand.reduce((a, x, r) => a + x * price[c][r], 0n);
        const least = (list) => list.reduce(smaller);
        const paid = job.choices.map(({ mode, n, m, load }) => {
          if (t < arrival || mode === 0) return 0n;
          const classes = inst.classes.map((_, c) => c);
          if (mode === INNER) return least([most, ...classes.filter((c) => fits(own, inst.classes[c], n, m)).map((c) => charge(c, load))]);
          return smaller(most, big(n) * least(classes.map((c) => charge(c, alpha))) + big(m) * least(classes.map((c) => charge(c, beta))));
        });
        for (let x = paid.length - 2; x >= 0; x -= 1) paid[x] = smaller(paid[x], paid[x + 1]);
        return paid;
      });
    }
  }

  // The most of value less pay that a job has from slot t on with so much work left.
  function hopes(job, T) {
    const known = Array.from({ length: T + 1 }, () => new Map());
    const at = (t, left) => (t >= T || left <= 0 ? 0n : known[t].get(left));
    return (first, whole) => {
      const open = [[first, whole]]; // no recursion: there may be many slots
      while (open.length) {
        const [t, left] = open.at(-1);
        const later = job.choices.filter(({ work }) => work < left && at(t + 1, left - work) === undefined);
        if (at(t, left) !== undefined) open.pop();
        else if (later.length) open.push(...later.map(({ work }) => [t + 1, left - work]));
        else {
          let best = 0n;
          job.choices.forEach(({ work }, x) => {
            const gain = (work >= left ? job.worth[t] : at(t + 1, left - work)) - job.pays[t][x];
            if (gain > best && (x > 0 || left > 0)) best = gain;
          });
          known[t].set(left, best);
          need(known[t].size <= MOST.amounts, LONG);
        }
      }
      return at(first, whole);
    };
  }

  function follow(inst, able, vectors, value) {
    const T = inst.horizon;
    const hope = able.map((job) => hopes(job, T));
    const arrivals = able.map(({ i }) => inst.jobs[i].arrival);
    const dearest = Array(T + 1).fill(0n); // what vectors pay from a slot on
    for (let t = T - 1; t >= 0; t -= 1) {
      const paid = vectors.map((v) => bigSum(v.map((x, k) => able[k].pays[t][x])));
      dearest[t] = dearest[t + 1] + paid.reduce(larger, 0n);
    }
    const fastest = able.map(({ choices }) => choices.at(-1).work);
    // work left, 0 where nothing can be earned any more after slot t
    const open = (k, t, left) => {
      const end = t + Math.ceil(left / fastest[k]);
      return left > 0 && end < T && able[k].worth[end] > 0n ? left : 0;
    };
    let states = new Map([["", { left: able.map(({ total }) => total), sum: 0n }]]);
    let pairs = 0;
    for (let t = 0; t < T; t += 1) {
      const here = distinct(vectors.map((v) => v.map((x, k) => (t < arrivals[k] ? 0 : x))));
      const next = new Map();
      pairs += states.size * here.length;
      need(pairs <= MOST.pairs, LONG);
      for (const { left, sum: before } of states.values()) {
        for (const v of here) {
          let now = before;
          const rest = left.map((w, k) => {
            if (w === 0) return 0;
            const after = w - able[k].choices[v[k]].work;
            if (after > 0) return open(k, t, after);
            now += able[k].worth[t];
            return 0;
          });
          const name = rest.join();
          const old = next.get(name);
          if (old && old.sum >= now) continue;
          let most = now + dearest[t + 1];
          for (let k = 0; k < rest.length && most <= value; k += 1) most += hope[k](t + 1, rest[k]);
          if (most > value) next.set(name, { left: rest, sum: now });
        }
      }
      states = next;
      need(states.size <= MOST.states, LONG);
    }
    need(states.size === 0, "the program over slots finds more than its value");
  }

  const distinct = (vectors) => {
    const found = [...new Map(vectors.map((v) => [v.join(), v])).values()];
    if (found.length > 2000) return found;
    return found.filter((v) => !found.some((u) => u !== v && u.every((x, k) => x >= v[k])));
  };

  return { checkProgram };
})();
