// Family bot: the judge.

const botJudge = (() => {
  const { wholes } = botData;
  const ROOM = { n: EPS + 1n, d: EPS }; // loads may be more than capacities by 1e-9 of these

  // The total rate of every application, exactly.
  function totals(inst, { rates }) {
    const { whole: numbers, unit } = wholes(rates.map(([, , x]) => x));
    const found = inst.applications.map(() => 0n);
    rates.forEach(([, k], i) => (found[k] += numbers[i]));
    return found.map((n) => lowest({ n, d: unit }));
  }

  function judge(inst, schedule) {
    const broken = [];
    const { rates } = schedule;
    const seen = new Set();
    const nodes = inst.speed.length;
    const rho = inst.applications.map(() => new Map());
    const { whole: numbers, unit } = wholes(rates.map(([, , x]) => x));
    rates.forEach(([n, k, rate], i) => {
      if (n >= nodes || k >= inst.applications.length) broken.push(`(10d) node ${n}, application ${k} does not exist`);
      else if (seen.has(k * nodes + n)) broken.push(`(10d) node ${n}, application ${k} is given twice`);
      else {
        seen.add(k * nodes + n);
        if (rate > 0 && !inst.ways[k].present[n]) broken.push(`(10d) node ${n}, application ${k}: may not run there`);
        rho[k].set(n, numbers[i]);
      }
    });
    if (broken.length) return { violations: broken, value: null };
    const fits = (load, capacity, what) => {
      if (compare(load, times(exact(capacity), ROOM)) > 0) broken.push(what);
    };
    const flop = wholes(inst.applications.map((app) => app.flop));
    const sent = wholes(inst.applications.map((app) => app.bytes));
    const back = wholes(inst.applications.map((app) => app.return_bytes));
    const atNode = inst.speed.map(() => 0n);
    const forth = inst.bandwidth.map(() => 0n);
    const home = inst.bandwidth.map(() => 0n);
    inst.ways.forEach(({ steps }, k) => {
      const below = inst.speed.map((_, n) => rho[k].get(n) ?? 0n);
      below.forEach((x, n) => (atNode[n] += x * flop.whole[k]));
      for (let i = steps.length - 1; i > 0; i -= 1) {
        const { node, before, arc } = steps[i];
        below[before] += below[node];
        forth[arc] += below[node] * sent.whole[k];
        home[arc ^ 1] += below[node] * back.whole[k];
      }
    });
    atNode.forEach((n, i) => fits({ n, d: unit * flop.unit }, inst.speed[i], `(10b) node ${i}`));
    inst.bandwidth.forEach((c, arc) => fits(add({ n: forth[arc], d: unit * sent.unit }, { n: home[arc], d: unit * back.unit }), c, `(10c) arc ${arc}`));
    if (broken.length) return { violations: broken, value: null };
    return { violations: [], value: objective(inst, totals(inst, schedule)), completion: [], obeys: true };
  }

  const DEEP = 300; // binary places of logarithms

  function objective(inst, rates) {
    const { alpha, applications } = inst;
    if (alpha === "inf") return toFloat(rates.reduce((a, b) => (compare(a, b) <= 0 ? a : b)), 0);
    if (alpha >= 1 && rates.some((x) => x.n === 0n)) return -Infinity;
    const power = minus(frac(1), exact(alpha));
    let total = frac(0);
    applications.forEach((app, k) => {
      const rate = rates[k];
      if (rate.n === 0n) return;
      let worth = rate;
      if (alpha === 1) worth = powerOfTwo(ln(rate, DEEP), -DEEP);
      else if (alpha > 0) {
        const e = exp(times(power, powerOfTwo(ln(rate, DEEP), -DEEP)), DEEP);
        worth = over(powerOfTwo(e.mantissa, e.power), power);
      }
      total = lowest(add(total, times(exact(app.weight), worth)));
    });
    return toFloat(total, 0);
  }

  // Who uses which node: for a picture.
  function draw(inst, { rates }) {
    const rows = inst.speed.map((speed, n) => ({ label: inst.names[n] || `node ${n}`, speed, at: 0, bars: [] }));
    for (const [n, k, rate] of rates) {
      const row = rows[n];
      const share = row.speed > 0 ? (rate * inst.applications[k].flop) / row.speed : 0;
      if (share < 1e-4) continue;
      row.bars.push({ from: row.at, to: Math.min(1, row.at + share), colour: k, title: `${inst.applications[k].name || `application ${k}`}: ${rate} tasks/s` });
      row.at += share;
    }
    return { caption: "What share of each node works for whom", length: 1, unit: "share", rows: rows.filter((row) => row.bars.length).slice(0, 200) };
  }

  return { judge, totals, draw };
})();
