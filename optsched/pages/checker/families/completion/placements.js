// Family completion: what it costs to place workers and PS on empty servers, in whole numbers.
// A whole number below 2^63 is a pair of floats, high 2^32 + low, so that sums and products are exact.

const completionPlacements = (() => {
  const BASE = 2 ** 32;
  const value = (high, low) => BigInt(high) * 4294967296n + BigInt(low);

  // Prices [slot, class, resource, price] on a grid, with sums up to each slot of what one worker or PS pays.
  function pricing(inst, entries, finer, where) {
    const { classes, resources } = inst;
    const slots = entries.reduce((n, [t]) => Math.max(n, t + 1), 0);
    const unit = new Map(); // slot: [class, resource, price]
    const seen = new Set();
    let worth = 0n;
    for (const [t, c, r, price] of entries) {
      need(c < classes.length && r < resources.length, `${where}: class ${c}, resource ${r} do not exist`);
      const key = (t * classes.length + c) * resources.length + r;
      need(!seen.has(key), `${where}: a price is given twice`);
      seen.add(key);
      const p = shifted(price, finer);
      if (!unit.has(t)) unit.set(t, []);
      unit.get(t).push([c, r, p]);
      worth += p * classes[c].units[r] * big(classes[c].count);
    }
    const tables = (demands) => demands.map((demand) => {
      const table = { high: classes.map(() => new Float64Array(slots + 1)), low: classes.map(() => new Float64Array(slots + 1)), cheap: new Float64Array(slots + 1) };
      const fits = classes.map((c) => demand.every((d, r) => d <= c.units[r]));
      const up = classes.map(() => 0n);
      let cheap = 0n;
      for (let t = 0; t < slots; t += 1) {
        const paid = classes.map(() => 0n);
        for (const [c, r, p] of unit.get(t) ?? []) paid[c] += p * demand[r];
        let least = null;
        paid.forEach((x, c) => {
          up[c] += x;
          table.high[c][t + 1] = Number(up[c] >> 32n);
          table.low[c][t + 1] = Number(up[c] & 0xffffffffn);
          if (fits[c] && (least === null || x < least)) least = x;
        });
        cheap += least ?? 0n;
        table.cheap[t + 1] = Number(cheap);
      }
      return table;
    });
    return { slots, entries, worth, worker: tables(inst.workerUnits), ps: tables(inst.psUnits) };
  }

  // How many of n workers one server of each class holds.
  function roomsOf(inst, m, n) {
    inst.rooms ??= new Map();
    const key = m * 16384 + n;
    if (!inst.rooms.has(key)) inst.rooms.set(key, inst.classes.map((c) => roomOf(c.units, inst.workerUnits[m], n)));
    return inst.rooms.get(key);
  }

  const fits = (inst, c, m, n, p, s) =>
    inst.classes[c].units.every((most, r) => big(n) * inst.workerUnits[m][r] + big(s) * inst.psUnits[p][r] <= most);

  // All ways to host: [class, workers beside the PS, PS]; for workers alone, in a ring, [class, n, 0] or null (spread).
  function hostsOf(inst, { m, p, q, n }) {
    inst.hosts ??= new Map();
    const key = `${m},${p},${q},${n}`;
    if (inst.hosts.has(key)) return inst.hosts.get(key);
    const rooms = roomsOf(inst, m, n);
    const found = [];
    const total = sum(rooms.map((room, c) => room * inst.classes[c].count));
    if (inst.isRing) {
      if (q) rooms.forEach((room, c) => room >= n && found.push([c, n, 0]));
      else if (sum(rooms.map((room, c) => Math.min(room, n - 1) * inst.classes[c].count)) >= n) found.push(null);
    } else {
      rooms.forEach((room, c) => {
        for (let g = q ? n : 0; g <= (q ? n : Math.min(room, n - 1)); g += 1) {
          const s = inst.needed[m][p][n - g];
          if (g <= room && total - room >= (q ? 0 : n - g) && fits(inst, c, m, g, p, s)) found.push([c, g, s]);
        }
      });
    }
    inst.hosts.set(key, found);
    return found;
  }

  // The least cost {high, low} of a mode that runs from slot a to slot b (of those with a price); null if it fits nowhere.
  function placed(inst, prices, mode, a, b) {
    const { m, p, q, n } = mode;
    const hosts = hostsOf(inst, mode);
    if (!hosts.length) return null;
    const table = prices.worker[m];
    const count = inst.classes.length;
    const high = Array(count);
    const low = Array(count);
    for (let c = 0; c < count; c += 1) {
      high[c] = table.high[c][b] - table.high[c][a];
      low[c] = table.low[c][b] - table.low[c][a];
    }
    const order = [...high.keys()].sort((x, y) => (high[x] - high[y]) * BASE + (low[x] - low[y]));
    const rooms = roomsOf(inst, m, n);
    let best = null;
    for (const host of hosts) {
      let [h, l] = [0, 0];
      let left = n;
      let own = -1;
      if (host) {
        const [c, g, s] = host;
        own = c;
        [h, l, left] = [g * high[c], g * low[c], n - g];
        if (s) {
          const ps = prices.ps[p];
          h += s * (ps.high[c][b] - ps.high[c][a]);
          l += s * (ps.low[c][b] - ps.low[c][a]);
        }
      }
      for (const c of order) {
        if (!left) break;
        const each = host ? rooms[c] : Math.min(rooms[c], n - 1);
        const take = Math.min(left, each * (inst.classes[c].count - (c === own ? 1 : 0)));
        h += take * high[c];
        l += take * low[c];
        left -= take;
      }
      if (left) continue;
      if (best === null || (h - best.high) * BASE + (l - best.low) < 0) best = { high: h, low: l };
    }
    return best;
  }

  // Shortest duration of a mode that finds room on empty servers, by number of modes: those that do.
  const placeable = (inst, modes) => modes.filter((mode) => hostsOf(inst, mode).length > 0);

  return { BASE, value, pricing, roomsOf, fits, hostsOf, placed, placeable };
})();
