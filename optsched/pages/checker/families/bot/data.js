// Family bot: bags of tasks on a platform. Formats, and what follows from an instance.

const botData = (() => {
  const size = {
    read(v, place) {
      const x = number({ least: 0, most: 1e30 }).read(v, place);
      need(x === 0 || x >= 1e-30, `${place}: is ${x}, expected 0 or at least 1e-30`);
      return x;
    },
    write: floatText,
  };
  const positive = number({ least: 1e-30, most: 1e30 });
  const alphaKind = {
    read(v, place) {
      if (v === "inf") return v;
      const x = number({ least: 0, most: 100 }).read(v, place);
      const off = minus(exact(x), frac(1));
      need(off.n === 0n || larger(off.n, -off.n) * 1000000n >= off.d, `${place}: ${x} is too near to 1`);
      return x;
    },
    write: (v) => (v === "inf" ? '"inf"' : floatText(v)),
  };
  const link = record({ a: whole(0), b: whole(0), forward: size, backward: size });
  const application = record({
    master: whole(0),
    flop: positive,
    bytes: size,
    return_bytes: [size, 0],
    weight: [positive, 1],
    allowed: [orNull(list(whole(0))), null],
    name: [text, ""],
  });
  const instance = record({
    speed: list(size, { least: 1 }),
    links: [list(link), []],
    names: [list(text), []],
    alpha: [alphaKind, 1],
    applications: list(application, { least: 1 }),
    routes: [orNull(list(list(whole()))), null],
    drawn: [list(text), []],
    source: [text, ""],
  });
  const rate = {
    read(v, place) {
      need(Array.isArray(v) && v.length === 3, `${place}: expected [node, application, rate]`);
      return [whole(0).read(v[0], place), whole(0).read(v[1], place), number({ least: 0 }).read(v[2], place)];
    },
  };
  const schedule = record({ rates: list(rate) });
  const entry = row(whole(0), number({ least: 0, most: 1e300 }));
  const level = record({ nodes: list(entry), arcs: list(entry), floors: [orNull(list(orNull(number({ least: 0 })))), null] });
  const certificate = record({ instance_sha256: text, levels: list(level, { least: 1 }) });

  function settle(inst) {
    const count = inst.speed.length;
    if (inst.names.length) need(inst.names.length === count, "names: expected one per node");
    inst.bandwidth = inst.links.flatMap((l) => [l.forward, l.backward]); // arc 2 l leads from a to b, 2 l + 1 back
    inst.beside = inst.speed.map(() => []); // [neighbour, arc that leads there]
    const seen = new Set();
    inst.links.forEach(({ a, b }, l) => {
      need(a < count && b < count && a !== b, `links[${l}]: does not join two nodes`);
      const pair = `${Math.min(a, b)},${Math.max(a, b)}`;
      need(!seen.has(pair), `links[${l}]: joins two nodes that are joined already`);
      seen.add(pair);
      inst.beside[a].push([b, 2 * l]);
      inst.beside[b].push([a, 2 * l + 1]);
    });
    need(treeFrom(inst, 0).length === count, "a node cannot be reached from node 0");
    const isTree = inst.links.length === count - 1;
    need(isTree || inst.routes !== null, "the platform has cycles, and there are no routes");
    if (inst.routes !== null) need(inst.routes.length === inst.applications.length, "routes: expected one per application");
    const trees = new Map();
    inst.ways = inst.applications.map((app, k) => {
      need(app.master < count, `application ${k}: master ${app.master} does not exist`);
      need((app.allowed ?? []).every((n) => n < count), `application ${k}: an allowed node does not exist`);
      if (inst.routes === null && !trees.has(app.master)) trees.set(app.master, treeFrom(inst, app.master));
      const way = inst.routes === null ? trees.get(app.master) : routed(inst, k);
      return deployed(inst, app, way, k);
    });
    checkUtilities(inst);
  }

  // Steps of routes from the master outwards: [{node, before, arc}]; arc -1 at the master.
  function treeFrom(inst, master) {
    const seen = new Set([master]);
    const way = [{ node: master, before: -1, arc: -1 }];
    for (const { node } of way) {
      for (const [other, arc] of inst.beside[node]) {
        if (seen.has(other)) continue;
        seen.add(other);
        way.push({ node: other, before: node, arc });
      }
    }
    return way;
  }

  function routed(inst, k) {
    const before = inst.routes[k];
    const { master } = inst.applications[k];
    need(before.length === inst.speed.length && before[master] === -1, `routes[${k}]: expected one node before each, -1 before the master`);
    const after = inst.speed.map(() => []);
    let number = 0;
    before.forEach((last, node) => {
      if (last === -1) return;
      const found = inst.beside[last]?.find(([other]) => other === node);
      need(found, `routes[${k}]: no link joins node ${node} to the node before it`);
      after[last].push({ node, before: last, arc: found[1] });
      number += 1;
    });
    const way = [{ node: master, before: -1, arc: -1 }];
    for (const { node } of way) way.push(...after[node]);
    need(way.length === number + 1, `routes[${k}]: a route does not come from the master`);
    return way;
  }

  // The way, and on which nodes the application may run.
  function deployed(inst, app, way, k) {
    const { bandwidth, speed } = inst;
    const open = speed.map(() => false);
    const present = speed.map(() => false);
    const allowed = app.allowed && new Set(app.allowed);
    for (const { node, before, arc } of way) {
      open[node] = before < 0 || (open[before] && bandwidth[arc] > 0 && (app.return_bytes === 0 || bandwidth[arc ^ 1] > 0));
      present[node] = open[node] && speed[node] > 0 && (!allowed || allowed.has(node));
    }
    need(present.some((x) => x), `application ${k}: no node can run its tasks`);
    return { steps: way, present };
  }

  // Of an application: the best rate of a single node, and the rate alone on the whole platform; in floats.
  function reaches(inst, k) {
    const app = inst.applications[k];
    const { steps, present } = inst.ways[k];
    const width = inst.speed.map(() => Infinity);
    const path = inst.speed.map(() => Infinity);
    const runs = inst.speed.map((w, n) => (present[n] ? w / app.flop : 0));
    let single = 0;
    for (const { node, before, arc } of steps) {
      if (before >= 0) {
        if (app.bytes > 0) width[node] = inst.bandwidth[arc] / app.bytes;
        if (app.return_bytes > 0) width[node] = Math.min(width[node], inst.bandwidth[arc ^ 1] / app.return_bytes);
        path[node] = Math.min(width[node], path[before]);
      }
      if (present[node]) single = Math.max(single, Math.min(path[node], runs[node]));
    }
    for (let i = steps.length - 1; i > 0; i -= 1) {
      const { node, before } = steps[i];
      runs[before] += Math.min(runs[node], width[node]);
    }
    return { single, alone: runs[steps[0].node] };
  }

  function checkUtilities(inst) {
    inst.reaches = inst.applications.map((_, k) => reaches(inst, k));
    if (inst.alpha === 0 || inst.alpha === 1 || inst.alpha === "inf") return;
    const low = Math.min(...inst.reaches.map((r) => r.single)) / inst.applications.length;
    const high = Math.max(...inst.reaches.map((r) => r.alone));
    const factor = Math.log(sum(inst.applications.map((app) => app.weight)) / Math.abs(1 - inst.alpha));
    for (const x of [low, high]) need(Math.abs(factor + (1 - inst.alpha) * Math.log(x)) <= 690, "utilities may be no floats");
  }

  // Numbers as whole ones over a power of ten that they share.
  function wholes(numbers) {
    let places = 0;
    const read = numbers.map((x) => {
      const { digits, power } = decimals(x);
      const after = digits.length - 1 - power;
      if (x !== 0) places = Math.max(places, after);
      return [x === 0 ? 0n : BigInt(digits), after];
    });
    return { whole: read.map(([n, after]) => (n === 0n ? 0n : n * 10n ** big(places - after))), unit: 10n ** big(places) };
  }

  return { instance, schedule, certificate, settle, wholes };
})();
