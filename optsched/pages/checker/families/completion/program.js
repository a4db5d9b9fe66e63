// Family completion: the program over time, which repeats all that could cost less than a value.

const completionProgram = (() => {
  const { BASE, pricing, placed } = completionPlacements;
  const { choicesOf, waysOf } = completionChoices;
  const { readConflicts, holds } = completionConflicts;
  const MOST = { jobs: 40, states: 2 ** 18, steps: 2 ** 22, looks: 2 ** 28, walk: 2 ** 25, cells: 2 ** 25, work: 2 ** 40 };
  const LIMIT = 2n ** 62n;

  const pair = (x) => [Number(x >> 32n), Number(x & 0xffffffffn)];

  // What is proved: value times step, or refused.
  function proved(inst, program, step, { dearest }) {
    const { value, grid_bits: g } = program;
    const jobs = inst.jobs.length;
    need(jobs >= 1 && jobs <= MOST.jobs, `a program over time has 1 to ${MOST.jobs} jobs`);
    const bound = times(frac(value), step);
    const choices = choicesOf(inst, value, step);
    const slots = program.prices.reduce((n, list) => list.reduce((a, [t]) => Math.max(a, t + 1), n), 0);
    if (choices === null) return bound;
    const { items, weights } = choices;
    const widest = Math.max(...items.flatMap((item) => item.n));
    const cells = program.prices.length * items.length * (slots + 1) ** 2;
    need(cells <= MOST.cells && cells * Math.max(1, inst.ps_types.length) * widest * inst.classes.length ** 2 <= MOST.work, "the price lists reach too far");
    const lists = program.prices.map((entries, l) => pricing(inst, entries, 0, `program, price list ${l}`));
    const gridded = weights.map((w) => shifted(w, g));
    checkRange(inst, program, choices, gridded, lists, slots, dearest, widest);
    const conflicts = readConflicts(inst, program.conflicts, items);
    const limit = smaller(shifted(value - 1n, g), 2n ** 63n);
    const search = states(inst, choices, gridded, lists, slots, limit, conflicts);
    need(!walk(search, conflicts, pair(limit)), "a path to the end costs less than the value");
    return bound;
  }

  function checkRange(inst, program, { items, jobs }, weights, lists, slots, dearest, widest) {
    const reach = Math.max(slots, ...inst.jobs.map((one) => one.arrival));
    const longest = sum(jobs.map((own) => Math.max(...own.map((c) => c.duration))));
    need(reach + longest <= 2 ** 46, "the last completion is too late");
    const ps = Math.max(0, ...inst.needed.flat().map((list) => list[Math.min(widest, list.length - 1)]));
    lists.forEach((list, l) => {
      const rents = inst.classes.map(() => 0n);
      for (const [, c, r, price] of program.prices[l]) rents[c] += price * dearest[r];
      const rent = rents.reduce(larger, 0n);
      const all = bigSum(weights) * big(reach + longest) + big(inst.jobs.length) * big(widest + ps) * rent + list.worth;
      need(all < LIMIT, `program, price list ${l}: numbers are too large`);
    });
  }

  // Tables at the price lists: rents of items, what a job costs from a slot on, what servers are worth from a slot on.
  function tablesOf(inst, { items, jobs }, weights, lists, slots) {
    const ways = items.map((item) => waysOf(inst, item));
    const size = slots + 1;
    const rents = lists.map(() => items.map(() => null));
    const rent = (l, item, a, b) => {
      a = Math.min(a, slots);
      b = Math.min(b, slots);
      if (a === b) return [0, 0];
      const table = (rents[l][item] ??= new Float64Array(2 * size * size).fill(NaN));
      const at = 2 * (a * size + b);
      if (Number.isNaN(table[at])) {
        const own = lists[l].slots;
        let best = null;
        for (const way of ways[item]) {
          const cost = placed(inst, lists[l], way, Math.min(a, own), Math.min(b, own));
          if (cost && (best === null || (cost.high - best.high) * BASE + (cost.low - best.low) < 0)) best = cost;
        }
        const carry = best ? Math.floor(best.low / BASE) : 0;
        [table[at], table[at + 1]] = best ? [best.high + carry, best.low - carry * BASE] : [0, 0];
      }
      return [table[at], table[at + 1]];
    };
    const pairs = weights.map(pair);
    const alone = lists.map((_, l) => jobs.map((own, j) => {
      const { arrival } = inst.jobs[j];
      const shortest = Math.min(...own.map((c) => c.duration));
      const found = { high: new Float64Array(size), low: new Float64Array(size), shortest };
      let best = null;
      for (let t = slots; t >= 0; t -= 1) {
        const begin = Math.max(t, arrival);
        if (begin === t || best === null) {
          for (const { item, duration } of own) {
            const [h, low] = rent(l, item, begin, begin + duration);
            const high = h + pairs[j][0] * (begin + duration);
            const sumLow = low + pairs[j][1] * (begin + duration);
            if (best === null || (high - best[0]) * BASE + (sumLow - best[1]) < 0) best = [high, sumLow];
          }
        }
        [found.high[t], found.low[t]] = best;
      }
      return found;
    }));
    const worths = lists.map((list, l) => {
      const found = { high: new Float64Array(size), low: new Float64Array(size) };
      const bySlot = Array(slots).fill(0n);
      for (const [t, c, r, price] of list.entries) bySlot[t] += price * inst.classes[c].units[r] * big(inst.classes[c].count);
      let total = 0n;
      for (let t = slots - 1; t >= 0; t -= 1) {
        total += bySlot[t];
        [found.high[t], found.low[t]] = pair(total);
      }
      return found;
    });
    // [high, low] of what job j costs if it starts in slot t or later
    const job = (l, j, t) => {
      const own = alone[l][j];
      if (t <= slots && inst.jobs[j].arrival <= slots) return [own.high[t], own.low[t]];
      const end = Math.max(t, inst.jobs[j].arrival) + own.shortest;
      return [pairs[j][0] * end, pairs[j][1] * end];
    };
    return { rent, job, worths, pairs };
  }

  // All states that may be part of a schedule within the limit, and the steps between them.
  function states(inst, choices, weights, lists, slots, limit, conflicts) {
    const { items, jobs } = choices;
    const tables = tablesOf(inst, choices, weights, lists, slots);
    const most = pair(limit);
    const cluster = inst.resources.map((_, r) => bigSum(inst.classes.map((c) => c.units[r] * big(c.count))));
    const whole = cluster.map(Number);
    const demand = items.map((item) => leastDemand(inst, item));
    const heldSlots = new Map();
    const holdsSlot = (runs) => {
      if (!conflicts.slot.length) return false;
      const key = runs.map((run) => run.item).sort((a, b) => a - b).join();
      if (!heldSlots.has(key)) heldSlots.set(key, holds(conflicts.slot, runs, () => true));
      return heldSlots.get(key);
    };
    const tooDear = (t, spent, runs, left, later) => {
      for (let l = 0; l < lists.length; l += 1) {
        let [high, low] = spent;
        if (t < slots) {
          high -= tables.worths[l].high[t];
          low -= tables.worths[l].low[t];
        }
        for (const run of runs) {
          const [h, w] = tables.rent(l, run.item, t, run.end);
          high += h;
          low += w;
        }
        for (const j of left) {
          const [h, w] = tables.job(l, j, later.includes(j) ? t + 1 : t);
          high += h;
          low += w;
        }
        if ((high - most[0]) * BASE + (low - most[1]) > 0) return true;
      }
      return false;
    };
    const tooMuch = (runs) => whole.some((most_, r) => runs.reduce((x, run) => x + demand[run.item][r], 0) > most_);

    const bySlot = new Map();
    const queue = [];
    let number = 0;
    let looks = 0;
    let steps = 0;
    const reach = (t, spent, runs, left, ended) => {
      if (!bySlot.has(t)) {
        bySlot.set(t, new Map());
        let at = queue.length;
        queue.push(t);
        while (at > 0 && queue[at - 1] < t) {
          queue[at] = queue[at - 1];
          at -= 1;
        }
        queue[at] = t; // descending: the next slot is the last
      }
      const key = `${left}|${ended}|${runs.map((run) => `${run.item}:${run.end}`).join()}`;
      const here = bySlot.get(t);
      let state = here.get(key);
      if (!state) {
        need((number += 1) <= MOST.states, "too many states");
        state = { t, spent, runs, left, ended, next: [], rest: null, isOpen: false };
        here.set(key, state);
      } else if ((spent[0] - state.spent[0]) * BASE + (spent[1] - state.spent[1]) < 0) state.spent = spent;
      return state;
    };
    const root = reach(0, [0, 0], [], inst.jobs.map((_, j) => j), false);
    const ordered = [];
    while (queue.length) {
      const t = queue.pop();
      for (const state of bySlot.get(t).values()) {
        const { left, runs, ended } = state;
        state.isOpen = !(tooDear(t, state.spent, runs, left, []) || tooMuch(runs) || holdsSlot(runs));
        if (!state.isOpen) continue;
        ordered.push(state);
        if (!left.length) continue;
        const starters = left.filter((j) => (ended ? inst.jobs[j].arrival <= t : inst.jobs[j].arrival === t));
        const begin = (k, spent, now, fresh, rest, later) => {
          need((looks += 1) <= MOST.looks, "too many starts");
          if (k === starters.length) {
            move(state, t, spent, now, fresh, rest);
            return;
          }
          const j = starters[k];
          for (const { item, duration } of jobs[j]) {
            const end = t + duration;
            if (inst.enforce_horizon && end > inst.horizon) continue;
            const [w, v] = tables.pairs[j];
            const paid = [spent[0] + w * end, spent[1] + v * end];
            const run = { item, end };
            const all = [...now, run];
            const others = rest.filter((i) => i !== j);
            if (tooMuch(all) || holdsSlot(all) || tooDear(t, paid, all, others, later)) continue;
            begin(k + 1, paid, all, [...fresh, { item, start: t, end }], others, later);
          }
          const waits = [...later, j];
          if (!tooDear(t, spent, now, rest, waits)) begin(k + 1, spent, now, fresh, rest, waits);
        };
        begin(0, state.spent, runs, [], left, []);
      }
    }
    function move(from, t, spent, now, fresh, rest) {
      let next = Infinity;
      for (const run of now) next = Math.min(next, run.end);
      for (const j of rest) if (inst.jobs[j].arrival > t) next = Math.min(next, inst.jobs[j].arrival);
      if (!rest.length) next = t + 1; // all have started: what remains is decided
      if (!Number.isFinite(next)) return;
      const runs = now.filter((run) => run.end > next).sort((a, b) => a.item - b.item || a.end - b.end);
      const isEnd = !rest.length;
      const to = isEnd ? reach(Infinity, spent, [], [], false) : reach(next, spent, runs, rest, runs.length < now.length);
      need((steps += 1) <= MOST.steps, "too many steps");
      from.next.push({ to, fresh, cost: [spent[0] - from.spent[0], spent[1] - from.spent[1]] });
    }
    return { root, ordered };
  }

  // The least that an item demands of each resource.
  function leastDemand(inst, item) {
    const ways = waysOf(inst, item);
    return inst.resources.map((_, r) =>
      Math.min(...ways.map(({ m, p, q, n }) => {
        const workers = big(n) * inst.workerUnits[m][r];
        if (inst.isRing) return Number(workers);
        const s = inst.needed[m][p];
        return Number(workers + big(q ? s[0] : s[1]) * inst.psUnits[p][r]);
      })),
    );
  }

  // Whether a path to the end costs no more than the limit and holds no conflict.
  function walk({ root, ordered }, conflicts, limit) {
    const less = (a, b) => (a[0] - b[0]) * BASE + (a[1] - b[1]) < 0;
    const plus = (a, b) => [a[0] + b[0], a[1] + b[1]];
    for (let k = ordered.length - 1; k >= 0; k -= 1) {
      const state = ordered[k];
      if (!state.left.length) {
        state.rest = [0, 0];
        continue;
      }
      state.next = state.next.filter(({ to }) => to.rest !== null);
      for (const { to, cost } of state.next) {
        const rest = plus(cost, to.rest);
        if (state.rest === null || less(rest, state.rest)) state.rest = rest;
      }
    }
    let nodes = 0;
    const suits = (one, run) => run.start <= one.first && one.last < run.end;
    const dive = (state, cost, runs) => {
      need((nodes += 1) <= MOST.walk, "too many paths");
      if (!state.left.length) return true;
      return state.next.some(({ to, fresh, cost: more }) => {
        const paid = plus(cost, more);
        if (less(limit, plus(paid, to.rest))) return false;
        const all = [...runs, ...fresh];
        if (fresh.length && holds(conflicts.other, all, suits)) return false;
        return dive(to, paid, all);
      });
    };
    return root.rest !== null && !less(limit, root.rest) && dive(root, [0, 0], []);
  }

  return { proved };
})();
