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

  // [f(y) or more, f'(y) or more, f'(y) or less] for all y from least to most.
  function tangent(kind, alpha, least, most) {
    if (kind === "log") return [up(alpha * logAbove(most)), up(alpha / down(1 + least)), down(alpha / up(1 + most))];
    if (kind === "reciprocal") {
      const [low, high] = [down(least + alpha), up(most + alpha)];
      return [up(most / down(alpha * down(most + alpha))), up(1 / down(low * low)), down(1 / up(high * high))];
    }
    if (kind === "poly") {
      const [low, high] = [down(Math.sqrt(down(1 + least))), up(Math.sqrt(up(1 + most)))];
      return [up(up(alpha * most) / down(down(Math.sqrt(down(1 + most))) + 1)), up(alpha / 2 / low), down(alpha / 2 / high)];
    }
    return [up(alpha * most), alpha, alpha];
  }

  // The y >= 0 with n f'(y) = price, about.
  function bestAmount(kind, alpha, n, price) {
    if (price <= 0) return Infinity;
    if (kind === "log") return (n * alpha) / price - 1;
    if (kind === "reciprocal") return Math.sqrt(n / price) - alpha;
    if (kind === "poly") return ((n * alpha) / (2 * price)) ** 2 - 1;
    return n * alpha > price ? Infinity : 0;
  }

  // The most of n f(sum y) - sum of price y over channels {most, price}, 0 <= y <= most, or more: by the tangent of f
  // near the best sum, with which each channel is the best on its own.
  function surplus(kind, alpha, n, channels) {
    const steepest = kind === "reciprocal" ? up(1 / down(alpha * alpha)) : kind === "poly" ? alpha / 2 : alpha;
    const useful = channels.filter(({ most, price }) => most > 0 && price < up(n * steepest)).sort((a, b) => a.price - b.price);
    if (!useful.length) return 0;
    let [least, greatest] = [0, 0]; // the sum so far
    const isOne = useful.length === 1;
    for (const c of useful) {
      c.y = Math.min(Math.max(bestAmount(kind, alpha, n, c.price) - greatest, 0), c.most);
      [least, greatest] = isOne ? [c.y, c.y] : [Math.max(0, down(least + c.y)), up(greatest + c.y)];
    }
    const [value, steep, flat] = tangent(kind, alpha, least, greatest);
    let total = up(n * value);
    for (const { most, price, y } of useful) {
      total = up(total - down(price * y));
      const rising = up(up(n * steep) - price);
      const falling = up(price - down(n * flat));
      if (rising > 0) total = up(total + up(rising * up(most - y)));
      if (falling > 0) total = up(total + up(falling * y));
    }
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
    const sums = new Map(); // channels of a copy and a resource, where f is of their sum
    rows.forEach(({ k, kind, alpha, capacity, copies }, row) => {
      const rent = nu[row];
      if (rent > 0 && capacity > 0) rents = up(rents + up(rent * capacity));
      for (const c of copies) {
        if (n[c] === 0) continue;
        const fee = Math.max(0, down(beta[k] * Math.max(0, down(n[c] * share[c * K + k]))));
        const price = Math.max(0, down(fee + rent));
        const channel = { most: Math.min(request[inst.copies[c].port][k], capacity), price };
        if (inst.isSummed) {
          if (!sums.has(c * K + k)) sums.set(c * K + k, []);
          sums.get(c * K + k).push(channel);
          continue;
        }
        const gained = surplus(kind, alpha, n[c], [channel]);
        if (gained > 0) worth[c] = up(worth[c] + gained);
      }
    });
    for (const [at, channels] of sums) {
      const [c, k] = [Math.floor(at / K), at % K];
      const gained = surplus(rows[k].kind, rows[k].alpha, n[c], channels);
      if (gained > 0) worth[c] = up(worth[c] + gained);
    }
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
