// Family dmlrs: what workers with their PS cost in one slot, on empty machines.

const dmlrsCosts = (() => {
  const { tables, fits } = dmlrsData;
  const lesser = (a, b) => (a === null || (b !== null && b < a) ? b : a);

  // n = 0 .. N_in workers on one machine: the least cost, null where none holds them.
  function together(inst, i, worker, ps) {
    const own = tables(inst, i);
    own.held ??= own.near.slice(0, own.mostNear + 1).map((m, n) => inst.classes.flatMap((c, k) => (m >= 0 && fits(own, c, n, m) ? [k] : [])));
    return own.held.map((held, n) => held.reduce((best, k) => lesser(best, big(n) * worker[k] + big(own.near[n]) * ps[k]), null));
  }

  // For each class, the most PS that all of its machines hold beside N workers; -1: none, nor the workers.
  function roomsApart(inst, own) {
    const top = own.mostFar;
    const servers = Math.max(0, ...own.far.slice(0, top + 1));
    return inst.classes.map((c) => {
      const one = Array.from({ length: top + 1 }, (_, w) => {
        if (!fits(own, c, w, 0)) return -1;
        let m = 0;
        while (m < servers && fits(own, c, w, m + 1)) m += 1;
        return m;
      });
      let all = [0, ...Array(top).fill(-1)];
      for (let k = 0; k < Math.min(c.count, top + servers); k += 1) {
        all = all.map((_, n) => {
          let best = -1;
          for (let w = 0; w <= n; w += 1) if (one[w] >= 0 && all[n - w] >= 0) best = Math.max(best, Math.min(servers, one[w] + all[n - w]));
          return best;
        });
      }
      return all;
    });
  }

  // n = 0 .. N_ex workers on two machines or more: the least cost, null where there is no such placement.
  // States: workers and PS so far; whether all are on one machine (1) or can be on two (2), 0 is nothing yet.
  function apart(inst, i, worker, ps) {
    const own = tables(inst, i);
    own.rooms ??= roomsApart(inst, own);
    const top = own.mostFar;
    const wide = Math.max(0, ...own.far.slice(0, top + 1)) + 1;
    const size = (top + 1) * wide;
    let states = [Array(size).fill(null), Array(size).fill(null), Array(size).fill(null)];
    states[0][0] = 0n;
    inst.classes.forEach((c, k) => {
      const next = states.map((x) => [...x]);
      for (let n = 0; n <= top; n += 1) {
        for (let m = 0; m <= Math.min(own.rooms[k][n], wide - 1); m += 1) {
          if (n + m === 0) continue;
          const cost = big(n) * worker[k] + big(m) * ps[k];
          const alone = c.count > 1 && n + m > 1 ? 2 : 1;
          states.forEach((before, kind) => {
            const after = next[kind === 0 ? alone : 2];
            for (let a = 0; a + n <= top; a += 1) {
              for (let b = 0; b + m < wide; b += 1) {
                const paid = before[a * wide + b];
                if (paid === null) continue;
                const at = (a + n) * wide + b + m;
                if (after[at] === null || paid + cost < after[at]) after[at] = paid + cost;
              }
            }
          });
        }
      }
      states = next;
    });
    return Array.from({ length: top + 1 }, (_, n) => (n && own.far[n] >= 0 ? states[2][n * wide + own.far[n]] : null));
  }

  // Link by link: [workers beside the PS, workers elsewhere, least cost].
  function linked(inst, i, worker, ps) {
    const own = tables(inst, i);
    const K = inst.jobs[i].chunks;
    const rooms = inst.classes.map((c) => roomOf(c.units, inst.demand[i][0], K));
    own.ps ??= Array.from({ length: K + 1 }, (_, a) => Array.from({ length: K + 1 - a }, (_, b) => own.linked(a, b)));
    const order = rooms.map((_, k) => k).sort((j, k) => (worker[j] < worker[k] ? -1 : worker[j] > worker[k] ? 1 : 0));
    const best = new Map();
    inst.classes.forEach((c, host) => {
      const far = [0n]; // cost of workers on all machines but the host
      for (const k of order) {
        const room = (inst.classes[k].count - (k === host ? 1 : 0)) * rooms[k];
        for (let n = 0; n < room && far.length <= K; n += 1) far.push(far.at(-1) + worker[k]);
      }
      for (let a = 0; a <= rooms[host]; a += 1) {
        for (let b = 0; b < far.length && a + b <= K; b += 1) {
          const m = own.ps[a][b];
          if (m < 0 || !fits(own, c, a, m)) continue;
          const cost = big(a) * worker[host] + big(m) * ps[host] + far[b];
          best.set(a * (K + 1) + b, lesser(best.get(a * (K + 1) + b) ?? null, cost));
        }
      }
    });
    return [...best].map(([key, cost]) => [Math.floor(key / (K + 1)), key % (K + 1), cost]);
  }

  return { together, apart, linked };
})();
