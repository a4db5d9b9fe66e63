// Family completion: what a job may choose in a program over time, and which choices are no better than others.

const completionChoices = (() => {
  const { modesOf } = completionData;
  const { placeable } = completionPlacements;
  const MOST_MODES = 4096;
  const MOST_ITEMS = 2 ** 14;

  // Whether demands of a type are no more than those of another one.
  const noHeavier = (a, b) => a.every((x, r) => x <= b[r]);

  // Whether PS of type p beside workers of type m never demand more than those of other types.
  function psNoHeavier(inst, m, p, otherM, otherP, most) {
    if (inst.isRing) return true;
    inst.lighter ??= new Map();
    const key = `${m},${p},${otherM},${otherP},${most}`;
    if (!inst.lighter.has(key)) {
      const [mine, theirs] = [inst.needed[m][p], inst.needed[otherM][otherP]];
      const [z, y] = [inst.psUnits[p], inst.psUnits[otherP]];
      let is = true;
      for (let k = 0; is && k <= most; k += 1) is = z.every((x, r) => x * big(mine[k]) <= y[r] * big(theirs[k]));
      inst.lighter.set(key, is);
    }
    return inst.lighter.get(key);
  }

  // The choices {item, duration} of every job; null if a job has none, which proves the value.
  function choicesOf(inst, value, step) {
    const weights = inst.jobs.map((one) => {
      const w = over(exact(one.weight), step);
      return w.n / w.d; // a whole number
    });
    const fitting = inst.jobs.map((_, j) => placeable(inst, modesOf(inst, j)));
    if (fitting.some((modes) => !modes.length)) return null;
    const quickest = inst.jobs.map((one, j) => weights[j] * big(one.arrival + fitting[j][0].duration));
    const all = bigSum(quickest);
    const items = new Map();
    const jobs = [];
    const short = inst.jobs.map((one, j) => {
      const spare = value - 1n - (all - quickest[j]);
      return fitting[j].filter(({ duration }) => weights[j] * big(one.arrival + duration) <= spare && (!inst.enforce_horizon || one.arrival + duration <= inst.horizon));
    });
    if (short.some((modes) => !modes.length)) return null;
    const most = Math.max(...short.map((modes) => Math.max(...modes.map((mode) => mode.n))));
    for (const modes of short) {
      need(modes.length <= MOST_MODES, "a job has too many modes");
      const rank = (x) => [x.duration, x.m, x.p, x.q, x.n];
      const before = (x, y) => {
        const [a, b] = [rank(x), rank(y)];
        const i = a.findIndex((v, k) => v !== b[k]);
        return i >= 0 && a[i] < b[i];
      };
      const covers = (x, y) =>
        x.q === y.q && x.duration <= y.duration && x.n <= y.n && noHeavier(inst.workerUnits[x.m], inst.workerUnits[y.m]) && psNoHeavier(inst, x.m, x.p, y.m, y.p, most);
      const kept = modes.filter((y) => !modes.some((x) => x !== y && covers(x, y) && (!covers(y, x) || before(x, y))));
      const grouped = new Map();
      for (const { m, p, q, n, duration } of kept) {
        const key = `${m},${duration}`;
        if (!grouped.has(key)) grouped.set(key, { m, duration, n: [0, 0], bits: [0n, 0n] });
        const own = grouped.get(key);
        own.n[q] = own.n[q] === 0 ? n : Math.min(own.n[q], n);
        own.bits[q] |= 1n << big(inst.isRing ? 0 : p);
      }
      jobs.push([...grouped.values()].map(({ m, duration, n, bits: masks }) => {
        const key = `${m},${n},${masks}`;
        if (!items.has(key)) items.set(key, { index: items.size, m, n, bits: masks });
        return { item: items.get(key).index, duration };
      }));
    }
    need(items.size <= MOST_ITEMS, "too many items");
    return { weights, items: [...items.values()], jobs };
  }

  // The ways to run an item: modes without a duration.
  function waysOf(inst, { m, n, bits: masks }) {
    const ways = [];
    for (let q = 0; q < 2; q += 1) {
      for (let p = 0; p < Math.max(1, inst.ps_types.length); p += 1) {
        if (n[q] > 0 && (masks[q] >> big(p)) & 1n) ways.push({ m, p, q, n: n[q] });
      }
    }
    return ways;
  }

  // Whether an item can run wherever another one can.
  function coversItem(inst, mine, other, most) {
    if (!noHeavier(inst.workerUnits[mine.m], inst.workerUnits[other.m])) return false;
    for (let q = 0; q < 2; q += 1) {
      if (other.n[q] === 0) continue;
      if (mine.n[q] === 0 || mine.n[q] > other.n[q]) return false;
      const own = waysOf(inst, mine).filter((way) => way.q === q);
      for (const { p } of waysOf(inst, other).filter((way) => way.q === q)) {
        if (!own.some((way) => psNoHeavier(inst, mine.m, way.p, other.m, p, most))) return false;
      }
    }
    return true;
  }

  return { choicesOf, waysOf, coversItem };
})();
