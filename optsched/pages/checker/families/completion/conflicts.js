// Family completion: runs that cannot stand together on the servers, shown by credits.

const completionConflicts = (() => {
  const { coversItem } = completionChoices;
  const MOST_OPTIONS = 4096;

  // Read a conflict: {items, first, last} of its runs; refused if its credits show nothing.
  function readConflict(inst, { runs, credits }, where, most) {
    const P = inst.ps_types.length;
    need(credits.length === runs.length, `${where}: ${credits.length} credits for ${runs.length} runs`);
    const read = runs.map(([m, apart, apartBits, together, togetherBits, first, last], x) => {
      const place = `${where}, run ${x}`;
      need(m < inst.worker_types.length, `${place}: worker type ${m} does not exist`);
      need(apart <= most && together <= most, `${place}: too many workers`);
      for (const [n, masks] of [[apart, apartBits], [together, togetherBits]]) {
        need((n === 0) === (masks === 0n), `${place}: workers are 0 where PS types are none`);
        need(inst.isRing ? masks <= 1n : masks >> big(P) === 0n, `${place}: a PS type does not exist`);
      }
      need(apart + together > 0 && first <= last && !(inst.isRing && apart === 1), `${place}: cannot run`);
      need(!inst.isRing || apart === 0 || credits[x][1] === 0, `${place}: no PS, no host`);
      return { m, n: [apart, together], bits: [apartBits, togetherBits], first, last };
    });
    const all = bigSum(read.map((run, x) => big(run.n[0]) * big(credits[x][0]) + big(credits[x][1])));
    const as = all < 2n ** 53n ? Number : big; // exact either way
    const begins = [...new Set(read.map((run) => run.first))];
    const layers = read.map((run) => begins.flatMap((t, i) => (run.first <= t && t <= run.last ? [i] : [])));
    let earned = 0n;
    for (const { units, count } of inst.classes) {
      let number = 0;
      const options = read.map((run, x) => {
        const own = optionsOf(inst, units, run, credits[x]);
        number += own.length;
        return own.map(({ credit, load }) => ({ credit: as(credit), load: load.map(Number) }));
      });
      need(number <= MOST_OPTIONS, `${where}: too many options`);
      earned += BigInt(bestShare(options, units.map(Number), layers, begins.length, as(0))) * big(count);
      need(earned < all, `${where}: its credits show nothing`);
    }
    return read;
  }

  // What a run may have on a server: [{credit, load}], the most credit first.
  function optionsOf(inst, capacity, { m, n: [apart, together], bits: [apartBits, togetherBits] }, [mu, nu]) {
    const e = inst.workerUnits[m];
    const found = [];
    const offer = (credit, load) => {
      if (credit <= 0n || load.some((x, r) => x > capacity[r])) return;
      if (found.some((o) => o.credit >= credit && o.load.every((x, r) => x <= load[r]))) return;
      for (let i = found.length - 1; i >= 0; i -= 1) {
        if (found[i].credit <= credit && found[i].load.every((x, r) => x >= load[r])) found.splice(i, 1);
      }
      found.push({ credit, load });
    };
    const types = (masks) => [...Array(Math.max(1, inst.ps_types.length)).keys()].filter((p) => (masks >> big(p)) & 1n);
    for (let y = 1; y <= (inst.isRing ? apart - 1 : apart); y += 1) offer(big(y) * big(mu), e.map((x) => x * big(y)));
    const hosted = (g, elsewhere, p, counted) => {
      const s = inst.isRing ? 0n : big(inst.needed[m][p][elsewhere]);
      offer(big(counted) * big(mu) + big(nu), e.map((x, r) => x * big(g) + (inst.isRing ? 0n : s * inst.psUnits[p][r])));
    };
    if (!inst.isRing) for (const p of types(apartBits)) for (let g = 0; g < apart; g += 1) hosted(g, apart - g, p, g);
    for (const p of types(togetherBits)) hosted(together, 0, p, apart);
    return found.sort((a, b) => (a.credit > b.credit ? -1 : a.credit < b.credit ? 1 : 0));
  }

  // The most credits of runs on one server.
  function bestShare(options, capacity, layers, count, zero) {
    const free = Array.from({ length: count }, () => [...capacity]);
    const order = [...options.keys()].filter((x) => options[x].length).sort((x, y) => (options[y][0].credit > options[x][0].credit ? 1 : -1));
    const resources = capacity.length;
    const fits = (x, load) => layers[x].every((t) => load.every((y, r) => y <= free[t][r]));
    let best = zero;
    const dive = (k, worth) => {
      if (worth > best) best = worth;
      let promise = worth;
      for (let i = k; i < order.length; i += 1) {
        const x = order[i];
        const one = options[x].find(({ load }) => fits(x, load));
        if (one) promise += one.credit;
        if (promise > best) break;
      }
      if (k === order.length || promise <= best) return;
      const x = order[k];
      for (const { credit, load } of options[x]) {
        if (!fits(x, load)) continue;
        for (const t of layers[x]) for (let r = 0; r < resources; r += 1) free[t][r] -= load[r];
        dive(k + 1, worth + credit);
        for (const t of layers[x]) for (let r = 0; r < resources; r += 1) free[t][r] += load[r];
      }
      dive(k + 1, worth);
    };
    dive(0, zero);
    return best;
  }

  // Conflicts and the items that each of their runs covers: those of one slot, and the others.
  function readConflicts(inst, list, items) {
    const most = inst.jobs.reduce((n, one) => Math.max(n, one.chunks), 1);
    const widest = Math.max(0, ...items.flatMap((item) => item.n));
    const known = new Map();
    const covered = (run) => {
      const key = `${run.m},${run.n},${run.bits}`;
      if (!known.has(key)) known.set(key, items.map((item) => coversItem(inst, run, item, widest)));
      return known.get(key);
    };
    const slot = [];
    const other = [];
    list.forEach((conflict, k) => {
      const runs = readConflict(inst, conflict, `conflict ${k}`, most);
      const [{ first }] = runs;
      const isSlot = runs.every((run) => run.first === first && run.last === first);
      (isSlot ? slot : other).push(runs.map((run) => ({ covers: covered(run), first: run.first, last: run.last })));
    });
    return { slot, other };
  }

  // Whether each run of a conflict finds one of its own; allowed[x]: those that will do.
  function assigned(allowed) {
    const owner = new Map();
    const place = (x, seen) => {
      for (const r of allowed[x]) {
        if (seen.has(r)) continue;
        seen.add(r);
        if (!owner.has(r) || place(owner.get(r), seen)) {
          owner.set(r, x);
          return true;
        }
      }
      return false;
    };
    return allowed.every((_, x) => place(x, new Set()));
  }

  function holds(conflicts, runs, suits) {
    return conflicts.some((conflict) => {
      if (conflict.length > runs.length) return false;
      const allowed = [];
      for (const one of conflict) {
        const those = [];
        for (let r = 0; r < runs.length; r += 1) if (one.covers[runs[r].item] && suits(one, runs[r])) those.push(r);
        if (!those.length) return false;
        allowed.push(those);
      }
      return assigned(allowed);
    });
  }

  return { readConflicts, holds };
})();
