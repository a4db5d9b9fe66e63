// Family bipartite: the judge.

const bipartiteJudge = (() => {
  const ROOM = { n: EPS + 1n, d: EPS }; // a limit may be exceeded by 1e-9 of it
  const DEEP = 400; // binary places, where gains and overheads cancel
  const DOUBT = 2 ** -52 / 1e-10;

  const admitted = (x) => toFloat(times(exact(x), ROOM), -1);

  function gain(kind, alpha, y) {
    if (kind === "log") return alpha * Math.log1p(y);
    if (kind === "reciprocal") return y / (alpha * (y + alpha));
    if (kind === "poly") return (alpha * y) / (Math.sqrt(y + 1) + 1);
    return alpha * y;
  }

  function root(x) {
    const target = (x.n << big(2 * DEEP)) / x.d;
    let r = 1n << big((bits(target) >> 1) + 1);
    for (;;) {
      const next = (r + target / r) >> 1n;
      if (next >= r) return powerOfTwo(r, -DEEP);
      r = next;
    }
  }

  function exactGain(kind, alpha, v) {
    const a = exact(alpha);
    const grown = add(v, frac(1));
    if (kind === "log") return times(a, powerOfTwo(ln(grown, DEEP), -DEEP));
    if (kind === "reciprocal") return over(v, times(a, add(v, a)));
    if (kind === "poly") return times(a, minus(root(grown), frac(1)));
    return times(a, v);
  }

  // What a decision is worth to each copy that has a job; null where it breaks a limit.
  function worthOf(inst, decision, complain) {
    const K = inst.resources.length;
    inst.admitted ??= { row: inst.rows.map((row) => admitted(row.capacity)), request: inst.ports.map((p) => p.request.map(admitted)) };
    const worth = inst.copies.map(() => 0);
    const totals = inst.copies.map(() => new Float64Array(K));
    let at = 0;
    let isFine = true;
    const wrong = (stated) => {
      isFine = false;
      complain(stated);
    };
    inst.rows.forEach(({ k, kind, alpha, copies }, row) => {
      let used = 0;
      for (const c of copies) {
        const y = decision[at];
        at += 1;
        if (!(y >= 0 && y <= inst.admitted.request[inst.copies[c].port][k])) wrong(`(5) port ${inst.copies[c].port}, machine ${Math.floor(row / K)}, ${inst.resources[k]}: ${y}`);
        used += y;
        if (y > 0) {
          if (!inst.isSummed) worth[c] += gain(kind, alpha, y);
          totals[c][k] += y;
        }
      }
      if (!(used <= inst.admitted.row[row])) wrong(`(6) machine ${Math.floor(row / K)}, ${inst.resources[k]}: ${used}`);
    });
    if (!isFine) return null;
    return worth.map((ofMachines, c) => {
      const gained = inst.isSummed ? totals[c].reduce((a, y, k) => a + gain(inst.rows[k].kind, inst.rows[k].alpha, y), 0) : ofMachines;
      const most = inst.overhead.reduce((a, beta, k) => Math.max(a, beta * totals[c][k]), 0);
      const left = gained - most;
      return left > 0 && left < (inst.parts[c] + 8) * DOUBT * (gained + most) ? exactWorth(inst, decision, c) : left;
    });
  }

  function exactWorth(inst, decision, copy) {
    let total = frac(0);
    const sums = inst.resources.map(() => frac(0));
    let at = 0;
    for (const { k, kind, alpha, copies } of inst.rows) {
      const here = copies.indexOf(copy);
      const y = here < 0 ? 0 : decision[at + here];
      at += copies.length;
      if (y > 0) {
        if (!inst.isSummed) total = lowest(add(total, exactGain(kind, alpha, exact(y))));
        sums[k] = lowest(add(sums[k], exact(y)));
      }
    }
    if (inst.isSummed) sums.forEach((s, k) => (total = lowest(add(total, exactGain(inst.rows[k].kind, inst.rows[k].alpha, s)))));
    const most = sums.map((s, k) => times(exact(inst.overhead[k]), s)).reduce((a, b) => (compare(a, b) < 0 ? b : a));
    return toFloat(minus(total, most), -1);
  }

  function judge(inst, { decisions, used, rewards, record: kept }) {
    const broken = [];
    const refused = (stated) => ({ violations: [stated], value: null });
    if (kept !== null) return refused(`(9) only the policy itself (${kept.policy}) can repeat this run: its decisions are not here`);
    if (used.length !== inst.horizon) return refused(`(9) decisions for ${used.length} slots, expected ${inst.horizon}`);
    if (used.some((d) => d >= decisions.length)) return refused("(9) a decision does not exist");
    const worth = new Map();
    for (const d of new Set(used)) {
      if (decisions[d].length !== inst.channels) broken.push(`(4) decision ${d} has ${decisions[d].length} amounts, expected ${inst.channels}`);
      else worth.set(d, worthOf(inst, decisions[d], (stated) => broken.length < 100 && broken.push(`${stated} in decision ${d}`)));
    }
    if (broken.length) return { violations: broken, value: null };
    const earned = inst.arrivals.map((jobs, t) => {
      const each = worth.get(used[t]);
      let total = 0;
      inst.copies.forEach(({ port, nth }, c) => (total += jobs[port] > nth ? each[c] : 0));
      return total;
    });
    if (rewards.length) {
      const most = earned.reduce((a, x) => Math.max(a, Math.abs(x)), 0);
      if (rewards.length !== inst.horizon) return refused(`(9) rewards of ${rewards.length} slots`);
      const t = earned.findIndex((x, i) => Math.abs(x - rewards[i]) > SAME * most);
      if (t >= 0) return refused(`(9) slot ${t} earns ${earned[t]}, not ${rewards[t]}`);
    }
    const total = earned.map(bitwise).reduce((a, b) => lowest(add(a, b)), frac(0));
    return { violations: [], value: toFloat(total, 0), completion: [], obeys: true };
  }

  function isStationary(inst, { decisions, used, record: kept }) {
    if (kept !== null || !used.length || used.some((d) => d >= decisions.length)) return false;
    return new Set([...new Set(used)].map((d) => decisions[d].map((x) => x + 0).join())).size === 1;
  }

  // What the jobs of each port earn in every slot: for a picture.
  function draw(inst, { decisions, used }) {
    const worth = decisions.map((d) => worthOf(inst, d, () => {}));
    const all = inst.arrivals.map((jobs, t) => inst.copies.map(({ port, nth }, c) => (jobs[port] > nth ? worth[used[t]][c] : null)));
    const most = all.flat().reduce((a, x) => Math.max(a, Math.abs(x ?? 0)), 0) || 1;
    const rows = inst.copies.map(({ port, nth }, c) => ({
      label: `${inst.ports[port].name || `port ${port}`}${nth ? `, job ${nth + 1}` : ""}`,
      bars: all.flatMap((line, t) => (line[c] === null ? [] : [{ from: t, to: t + 1, shade: Math.abs(line[c]) / most, colour: line[c] < 0 ? 1 : 0, title: `slot ${t}: ${line[c]}` }])),
    }));
    return { caption: "When each port has a job; the stronger the colour, the more it earns", length: inst.horizon, unit: "slot", rows: rows.slice(0, 100) };
  }

  return { judge, isStationary, draw };
})();
