// Games: instances of a declared problem with times. Formats, and what follows from an instance.

const gameData = (() => {
  const moderate = {
    read(v, place) {
      const x = number().read(v, place);
      need(x === 0 || (Math.abs(x) >= 1e-15 && Math.abs(x) <= 1e15), `${place}: is ${x}, expected 0 or a size from 1e-15 to 1e15`);
      return x;
    },
  };
  const limit = { read: (v, place) => (v === "inf" ? Infinity : v === "-inf" ? -Infinity : moderate.read(v, place)) };
  const name = {
    read(v, place) {
      need(text.read(v, place).length > 0, `${place}: is empty, expected a name`);
      return v;
    },
  };
  const column = record({
    name,
    cost: [moderate, 0],
    lower: [limit, 0],
    upper: [limit, Infinity],
    integer: [flag, false],
    revealed: moderate,
    decided: moderate,
    auxiliary: [flag, false],
  });
  const constraint = record({ name, lower: [limit, -Infinity], upper: [limit, Infinity], entries: list(row(whole(0), moderate)) });
  const instance = record({ problem: [text, ""], source: [text, ""], offset: [moderate, 0], columns: list(column), rows: list(constraint), cones: [list(text, { most: 0 }), []] });
  const choice = row(large(1), list(large()), list(whole(0)));
  const policy = list(list(choice), { least: 1 });
  const certificate = record({ weights: list(large(0)), randomized: policy, deterministic: policy });
  const claim = record({ proved: text, reached: text, deterministic: text });

  function settle(inst, place) {
    for (const part of ["columns", "rows"]) {
      const names = inst[part].map((one) => one.name);
      need(new Set(names).size === names.length, `${place}.${part}: a name is used twice`);
    }
    for (const c of inst.columns) {
      need(c.decided >= c.revealed, `${place}: ${c.name} is decided before it is revealed`);
      need(c.lower <= c.upper && c.lower < Infinity && c.upper > -Infinity, `${place}: ${c.name} has no value`);
    }
    for (const r of inst.rows) {
      need(r.lower < Infinity && r.upper > -Infinity, `${place}: ${r.name} has an infinite limit on the wrong side`);
      const seen = new Set(r.entries.map(([j]) => j));
      need(seen.size === r.entries.length, `${place}: ${r.name} lists a column twice`);
      need([...seen].every((j) => j < inst.columns.length), `${place}: ${r.name} has a column that does not exist`);
    }
    inst.boxes = inst.columns.map((c) => {
      need(!c.auxiliary, `${place}: variable ${c.name} is decided by no policy`);
      need(c.integer, `${place}: variable ${c.name} is continuous`);
      need(Number.isFinite(c.lower) && Number.isFinite(c.upper), `${place}: variable ${c.name} has no finite bounds`);
      const [low, high] = [exact(c.lower), exact(c.upper)];
      const box = [ceilDiv(low.n, low.d), floorDiv(high.n, high.d)];
      need(box[0] <= box[1], `${place}: variable ${c.name} has no integer within its bounds`);
      return box;
    });
    inst.events = eventsOf(inst);
  }

  // When a row becomes known: as soon as one of its sides can bind.
  function known(r, columns) {
    const used = r.entries.filter(([, a]) => a !== 0).map(([j, a]) => [columns[j], a]);
    const times = [];
    for (const [side, sign] of [[r.upper, 1], [r.lower, -1]]) {
      if (!Number.isFinite(side)) continue;
      const helping = used.filter(([c, a]) => (sign * a > 0 ? c.lower < 0 : c.upper > 0)).map(([c]) => c.revealed);
      times.push(helping.length ? Math.max(...helping) : Math.min(...used.map(([c]) => c.revealed)));
    }
    return Math.min(...times);
  }

  // What is revealed, event by event: {key, decide}, where the key is a text that tells events apart.
  function eventsOf(inst) {
    const { columns, rows } = inst;
    const since = rows.map((r) => known(r, columns));
    const users = columns.map(() => []);
    rows.forEach((r, i) => r.entries.forEach(([j, a]) => users[j].push([i, a])));
    const byTime = new Map();
    const at = (time) => {
      if (!byTime.has(time)) byTime.set(time, { columns: [], rows: [], decide: [] });
      return byTime.get(time);
    };
    columns.forEach((c, j) => {
      at(c.revealed).columns.push(j);
      at(c.decided).decide.push(c.name);
    });
    since.forEach((time, i) => byTime.has(time) && at(time).rows.push(i));
    return [...byTime.keys()].sort((a, b) => a - b).map((time) => {
      const now = byTime.get(time);
      const news = now.columns.map((j) => columns[j]).map((c) => [c.name, floatText(c.cost), c.lower, c.upper, c.integer, c.revealed, c.decided].map(String));
      const limits = now.rows.map((i) => rows[i]).map((r) => [r.name, String(r.lower), String(r.upper)]);
      const entries = now.rows.flatMap((i) => rows[i].entries.filter(([j]) => columns[j].revealed <= time).map(([j, a]) => [rows[i].name, columns[j].name, String(a)]));
      const older = now.columns.flatMap((j) => users[j].filter(([i]) => since[i] < time).map(([i, a]) => [rows[i].name, columns[j].name, String(a)]));
      return { key: JSON.stringify([time, news, limits, entries, older, now.decide]), decide: now.decide };
    });
  }

  return { instance, certificate, claim, settle };
})();
