// Games: histories of revealed data, and the states that decisions leave at them.

// A row while its columns are decided: the sum so far has the number `sum` (0: nothing), undecided columns add from `least` to `most`.
function gameRows(inst, unit) {
  const users = inst.columns.map(() => []);
  const rows = inst.rows.map((r, i) => {
    const entries = r.entries.filter(([, a]) => a !== 0).map(([j, a]) => [j, (exact(a).n * unit) / exact(a).d]);
    const step = entries.reduce((g, [, a]) => gcd(g, a), 0n) || 1n;
    const side = (x, sign, round) => {
      if (!Number.isFinite(x)) return null;
      const { n, d } = (sign < 0 ? minus : add)(exact(x), slack(exact(x)));
      return round(n * unit, d * step) * step;
    };
    const made = { low: side(r.lower, -1, ceilDiv), high: side(r.upper, 1, floorDiv), sum: 0, least: 0n, most: 0n };
    for (const [j, a] of entries) {
      const ends = inst.boxes[j].map((x) => x * a);
      made.least += smaller(...ends);
      made.most += larger(...ends);
      users[j].push([i, a]);
    }
    return made;
  });
  const canFail = ({ low, high, least, most }) => (low !== null && least < low) || (high !== null && most > high);
  const open = new Map([...rows.entries()].filter(([, r]) => canFail(r)));
  return { place: new Map(inst.columns.map((c, j) => [c.name, j])), users, open };
}

// Move columns from what is undecided into the sums; returns new sum -> [sum before, entries].
function gameDecide(rows, inst, names, numbers) {
  const changed = new Map();
  for (const name of names) {
    const j = rows.place.get(name);
    for (const [i, a] of rows.users[j]) {
      const r = rows.open.get(i);
      if (!r) continue;
      if (!changed.has(i)) changed.set(i, [r.sum, []]);
      changed.get(i)[1].push([name, a]);
      const ends = inst.boxes[j].map((x) => x * a);
      r.least -= smaller(...ends);
      r.most -= larger(...ends);
    }
  }
  const origin = new Map();
  for (const [i, [before, entries]] of changed) {
    const r = rows.open.get(i);
    const key = JSON.stringify([before, entries.map(([name, a]) => [name, a.toString()])]);
    if (!numbers.has(key)) numbers.set(key, numbers.size + 1);
    r.sum = numbers.get(key);
    origin.set(r.sum, [before, entries]);
  }
  return origin;
}

// The limits of the sums of some instances: sum -> {allowed, free}, each [low, high] or null where there is no limit.
function gameLimits(rows, members) {
  const limits = new Map();
  const tighter = (at, low, high) => {
    if (low !== null) at[0] = at[0] === null ? low : larger(at[0], low);
    if (high !== null) at[1] = at[1] === null ? high : smaller(at[1], high);
  };
  for (const i of members) {
    for (const [at, { low, high, sum, least, most }] of [...rows[i].open]) {
      if (!limits.has(sum)) limits.set(sum, { allowed: [null, null], free: [null, null] });
      const { allowed, free } = limits.get(sum);
      tighter(allowed, low === null ? null : low - most, high === null ? null : high - least);
      tighter(free, low === null ? null : low - least, high === null ? null : high - most);
      if (least === most) rows[i].open.delete(at); // nothing changes it after this
    }
  }
  return limits;
}

const gameInside = (x, [low, high]) => (low === null || x >= low) && (high === null || x <= high);

const TOO_MANY = "the decisions in all states take too many numbers";

// All combinations of values of columns.
function gameActions(boxes) {
  let found = [[]];
  for (const [low, high] of boxes) {
    const values = Array.from({ length: Number(high - low) + 1 }, (_, k) => low + big(k));
    found = found.flatMap((one) => values.map((x) => [...one, x]));
  }
  return found;
}

// The histories of instances, in the order of time: {above, members, ended, below, names, actions, costs, states}.
function gameTree(instances, sign, scale) {
  const unit = instances.flatMap((inst) => inst.rows.flatMap((r) => r.entries.map(([, a]) => exact(a).d))).reduce((m, d) => (m / gcd(m, d)) * d, 1n);
  const cost = (x) => (big(sign) * exact(x).n * scale) / exact(x).d;
  const rows = instances.map((inst) => gameRows(inst, unit));
  const numbers = new Map();
  const first = { moves: [] };
  const root = { above: null, members: instances.map((_, i) => i), ended: [], below: [], names: [], states: [first] };
  const entered = new Map([[root, { sums: [], found: new Map([["", [[], first]]]) }]]);
  const histories = [root];
  let count = 0n;
  for (let h = 0; h < histories.length; h += 1) {
    const history = histories[h];
    const depth = history.depth ?? 0;
    const { sums, found } = entered.get(history);
    entered.delete(history);
    history.states = [...found.values()].map(([, state]) => state);
    const place = new Map(sums.map((sum, k) => [sum, k]));
    const origin = new Map();
    const groups = new Map();
    for (const i of history.members) {
      for (const [sum, from] of gameDecide(rows[i], instances[i], history.names, numbers)) origin.set(sum, from);
      const event = instances[i].events[depth];
      const key = event ? event.key : null;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(i);
    }
    history.ended = groups.get(null) ?? [];
    const ways = [...groups].map(([key, members]) => {
      const limits = gameLimits(rows, members);
      const parts = [...limits].map(([sum, { allowed, free }]) => {
        const [before, entries] = place.has(sum) || sum === 0 ? [sum, []] : origin.get(sum);
        return { from: before === 0 ? -1 : place.get(before), entries, allowed, free };
      });
      if (key === null) return { parts };
      const names = instances[members[0]].events[depth].decide;
      const child = { above: history, depth: depth + 1, members, ended: [], below: [], names, states: [] };
      history.below.push(child);
      histories.push(child);
      const there = { sums: [...limits.keys()], found: new Map() };
      entered.set(child, there);
      return { parts, there };
    });
    const inst = instances[history.members[0]];
    const columns = history.names.map((name) => rows[history.members[0]].place.get(name));
    const boxes = columns.map((j) => inst.boxes[j]);
    const size = 1 + columns.length + sum(ways.map(({ parts }) => parts.length));
    count += boxes.reduce((n, [low, high]) => n * (high - low + 1n), big(found.size * size));
    need(count <= 10000000n, TOO_MANY);
    history.actions = found.size ? gameActions(boxes) : [];
    history.costs = history.actions.map((values) => bigSum(values.map((x, k) => x * cost(inst.columns[columns[k]].cost))));
    history.actions.forEach((values, a) => {
      const value = new Map(history.names.map((name, k) => [name, values[k]]));
      const plans = ways.map(({ parts, there }) => ({ there, steps: parts.map((p) => ({ ...p, added: bigSum(p.entries.map(([name, x]) => x * value.get(name))) })) }));
      for (const [state, here] of found.values()) {
        const nexts = gameMove(state, plans);
        if (nexts) here.moves.push([a, nexts]);
      }
    });
  }
  return { histories, first, offsets: instances.map((inst) => cost(inst.offset)), count };
}

// The states that follow a decision, one for each way that goes on; null if a row is violated.
function gameMove(state, plans) {
  const reached = [];
  for (const { there, steps } of plans) {
    const after = [];
    for (const { from, added, allowed, free } of steps) {
      let x = from < 0 ? 0n : state[from];
      if (x !== null) {
        x += added;
        if (!gameInside(x, allowed)) return null;
        if (gameInside(x, free)) x = null;
      }
      after.push(x);
    }
    if (there) reached.push([there.found, after]);
  }
  return reached.map(([found, after]) => {
    const key = after.join(",");
    if (!found.has(key)) found.set(key, [after, { moves: [] }]);
    return found.get(key)[1];
  });
}
