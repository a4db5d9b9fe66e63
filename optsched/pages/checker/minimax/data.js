// Games: instances of declared problems. Formats, and what is revealed when.

const gameData = (() => {
  const choice = row(large(1), list(large()), list(whole(0)));
  const policy = list(list(choice), { least: 1 });
  const certificate = record({ weights: list(large(0)), randomized: policy, deterministic: policy });
  const claim = record({ proved: text, reached: text, deterministic: text });

  const rows = ["best randomized algorithm", "given randomized algorithm", "best deterministic algorithm"]; // of the table
  const played = list(record({ policy: rowName({}), seed: large(0), runs: list(list(declaredData.schedule)), sealed: [flag, false], guards: [list(text), []] }));

  function settle(inst, place) {
    declaredData.settle(inst);
    need(!inst.cones.length, `${place}: has conic constraints`);
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
      const parts = used.map(([c, a]) => (sign * a > 0 ? [c.revealed, c.lower, c.upper] : [c.revealed, -c.upper, -c.lower]));
      const timesOf = (some) => parts.filter(some).map(([t]) => t);
      const helping = timesOf(([, least]) => least < 0);
      let since = helping.length ? Math.max(...helping) : Math.min(...timesOf(() => true));
      // What only lowers the activity, such as a capacity, waits for the first that raises it.
      const waits = helping.length && sign * side >= 0 && parts.every(([t, least]) => t <= since || least <= 0);
      const raising = waits ? timesOf(([, , most]) => most > 0) : [];
      if (raising.length) since = Math.max(since, Math.min(...raising));
      times.push(since);
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
      const news = now.columns.map((j) => columns[j]).map((c) => [c.name, c.cost, c.lower, c.upper, c.integer, c.revealed, c.decided].map(String));
      const limits = now.rows.map((i) => rows[i]).map((r) => [r.name, String(r.lower), String(r.upper)]);
      const entries = now.rows.flatMap((i) => rows[i].entries.filter(([j]) => columns[j].revealed <= time).map(([j, a]) => [rows[i].name, columns[j].name, String(a)]));
      const older = now.columns.flatMap((j) => users[j].filter(([i]) => since[i] < time).map(([i, a]) => [rows[i].name, columns[j].name, String(a)]));
      return { key: JSON.stringify([time, news, limits, entries, older, now.decide]), decide: now.decide };
    });
  }

  return { certificate, claim, played, rows, settle };
})();
