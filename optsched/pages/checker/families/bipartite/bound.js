// Family bipartite: the certificate, prices of capacity and shares of overheads, in floats that are rounded outwards.

FAMILIES.bipartite = (() => {
  const { judge, isStationary, draw } = bipartiteJudge;
  const ULP = 2 ** -52;
  const TINY = 2 ** -1000;
  const TERMS = 12;
  const PRICE = 1n << 200n;

  const up = (x) => x + (Math.abs(x) * ULP + TINY);
  const down = (x) => x - (Math.abs(x) * ULP + TINY);

  // 2 artanh(s) or more, for 0 <= s with s^2 < 0.03
  function artanhAbove(s) {
    const t = up(s * s);
    let total = up(up(1 / (2 * TERMS + 1)) / down(1 - t));
    for (let j = TERMS - 1; j >= 0; j -= 1) total = up(up(total * t) + up(1 / (2 * j + 1)));
    return up(2 * up(s * total));
  }
  function artanhBelow(s) {
    const t = Math.max(0, down(s * s));
    let total = 0;
    for (let j = TERMS - 1; j >= 0; j -= 1) total = Math.max(0, down(down(total * t) + down(1 / (2 * j + 1))));
    return Math.max(0, down(2 * down(s * total)));
  }
  const LN2 = toFloat(powerOfTwo(lnTwo(200) + 1000n, -200), 1);

  // ln(1 + y) or more
  function logAbove(y) {
    if (y <= 0.4) return artanhAbove(up(y / down(2 + y)));
    let m = up(1 + y);
    let e = 0;
    while (m >= 2 ** 16) [m, e] = [m / 2 ** 16, e + 16];
    while (m >= Math.SQRT2) [m, e] = [m / 2, e + 1];
    const part = m >= 1 ? artanhAbove(up((m - 1) / down(m + 1))) : -artanhBelow(Math.max(0, down((1 - m) / up(m + 1))));
    return up(up(e * LN2) + part);
  }

  // The most of n f(y) - price y over 0 <= y <= most, or more: by the tangent of f near its best point.
  function surplus(kind, alpha, n, most, price) {
    const steepest = kind === "reciprocal" ? up(1 / down(alpha * alpha)) : kind === "poly" ? alpha / 2 : alpha;
    if (most === 0 || price >= up(n * steepest)) return 0;
    let y = most;
    if (price > 0) {
      if (kind === "log") y = (n * alpha) / price - 1;
      else if (kind === "reciprocal") y = Math.sqrt(n / price) - alpha;
      else if (kind === "poly") y = ((n * alpha) / (2 * price)) ** 2 - 1;
      else y = n * alpha > price ? most : 0;
      y = Math.min(Math.max(y, 0), most);
    }
    let [value, steep, flat] = [up(alpha * y), alpha, alpha]; // f(y) and f'(y), from above and below
    if (kind === "log") [value, steep, flat] = [up(alpha * logAbove(y)), up(alpha / down(1 + y)), down(alpha / up(1 + y))];
    if (kind === "reciprocal") {
      const [low, high] = [down(y + alpha), up(y + alpha)];
      [value, steep, flat] = [up(y / down(alpha * low)), up(1 / down(low * low)), down(1 / up(high * high))];
    }
    if (kind === "poly") {
      const [low, high] = [down(Math.sqrt(down(1 + y))), up(Math.sqrt(up(1 + y)))];
      [value, steep, flat] = [up(up(alpha * y) / down(low + 1)), up(alpha / 2 / low), down(alpha / 2 / high)];
    }
    let total = up(up(n * value) - down(price * y));
    const rising = up(up(n * steep) - price);
    const falling = up(price - down(n * flat));
    if (rising > 0) total = up(total + up(rising * up(most - y)));
    if (falling > 0) total = up(total + up(falling * y));
    return Math.max(0, total);
  }

  // Data from outside: no float is nearer to what is written than half of the way to the next one.
  function enclose(inst) {
    const room = { n: EPS + 1n, d: EPS };
    const request = inst.ports.map((p) => p.request.map((x) => toFloat(times(exact(x), room), 1)));
    const beta = inst.overhead.map((b) => Math.max(0, toFloat(exact(b), -1)));
    const rows = inst.rows.map((row) => {
      const sums = { n: (1n << 51n) + big(row.copies.length), d: 1n << 51n }; // the judge adds up floats
      const capacity = toFloat(times(times(exact(row.capacity), room), sums), 1);
      return { ...row, capacity, alpha: toFloat(exact(row.alpha), row.kind === "reciprocal" ? -1 : 1) };
    });
    return { request, beta, rows };
  }

  function readSet(inst, cert, k) {
    const { share, nu } = cert.prices[k];
    const K = inst.resources.length;
    need(share.length === inst.copies.length * K && nu.length === inst.rows.length, `price set ${k}: has ${share.length} shares and ${nu.length} nu`);
    need(nu.every((x) => x < PRICE), `price set ${k}: a nu of 2^200 or more`);
    const one = 1n << big(cert.share_bits);
    inst.copies.forEach((_, c) => need(bigSum(share.slice(c * K, c * K + K)) === one, `price set ${k}: the shares of copy ${c} do not add up to 1`));
    const found = { share: share.map((x) => Number(x) / 2 ** cert.share_bits), nu: nu.map((x) => Number(x) * 2 ** -cert.nu_bits) };
    need(found.nu.every((x) => x < Number(PRICE)), `price set ${k}: a nu of 2^200 or more`);
    return found;
  }

  // [what capacity is worth, what each copy with n jobs earns], at least
  function boundOf(inst, { share, nu }, n) {
    inst.enclosed ??= enclose(inst);
    const { request, beta, rows } = inst.enclosed;
    const K = inst.resources.length;
    const worth = inst.copies.map(() => 0);
    let rents = 0;
    rows.forEach(({ k, kind, alpha, capacity, copies }, row) => {
      const rent = nu[row];
      if (rent > 0 && capacity > 0) rents = up(rents + up(rent * capacity));
      for (const c of copies) {
        if (n[c] === 0) continue;
        const fee = Math.max(0, down(beta[k] * Math.max(0, down(n[c] * share[c * K + k]))));
        const price = Math.max(0, down(fee + rent));
        const gained = surplus(kind, alpha, n[c], Math.min(request[inst.copies[c].port][k], capacity), price);
        if (gained > 0) worth[c] = up(worth[c] + gained);
      }
    });
    return [rents, worth];
  }

  function check(inst, cert) {
    const jobsOf = ({ jobs }) => inst.copies.map(({ port, nth }) => (jobs[port] > nth ? 1 : 0));
    const served = new Map(); // price set: [slots, jobs of each copy in them]
    const serve = (k, slots, jobs) => {
      const own = served.get(k) ?? [0, inst.copies.map(() => 0)];
      own[0] += slots;
      jobs.forEach((x, c) => (own[1][c] += x * slots));
      served.set(k, own);
    };
    const isOne = cert.scope === "stationary";
    if (isOne) {
      need(cert.prices.length === 1 && !cert.assigned.length, "stationary: expected one price set, and nothing assigned");
      for (const pattern of inst.patterns) serve(0, pattern.slots, jobsOf(pattern));
    } else {
      need(cert.assigned.length === inst.patterns.length, `price sets are assigned to ${cert.assigned.length} patterns, expected ${inst.patterns.length}`);
      cert.assigned.forEach((k, i) => {
        need(k < cert.prices.length, `price set ${k} does not exist`);
        serve(k, inst.patterns[i].slots, jobsOf(inst.patterns[i]));
      });
    }
    let total = frac(0);
    for (const [k, [slots, jobs]] of served) {
      const [rents, worth] = boundOf(inst, readSet(inst, cert, k), isOne ? jobs : jobs.map((x) => Math.min(x, 1)));
      const plus = (times_, x) => (total = lowest(add(total, times(frac(times_), bitwise(x)))));
      plus(isOne ? 1 : slots, rents);
      worth.forEach((x, c) => plus(isOne ? 1 : jobs[c], x));
    }
    const bound = toFloat(total, 1);
    need(Number.isFinite(bound), "the bound is no number");
    return bound;
  }

  const longest = (inst) => Math.max(LARGEST_CERTIFICATE, 80 * (inst.rows.length + inst.copies.length * inst.resources.length + inst.patterns.length));
  const scope = (cert) => (cert.scope === "slots" ? "" : cert.scope);
  return { name: "bipartite", sense: "max", empty: true, ...bipartiteData, judge, check, longest, scope, scopes: { stationary: isStationary }, draw };
})();
