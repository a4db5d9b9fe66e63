// Trees of a certificate, and programs over slots.

const NONE = 1n << 62n; // the cost of what does not exist

// Walk a tree of nodes from its root; `visit` gets every leaf with the list of [node, isRight] above it.
function walkTree(nodes, visit) {
  const seen = new Set([0]);
  const walk = [[0, []]];
  while (walk.length) {
    const [k, above] = walk.pop();
    const node = nodes[k];
    if (node.node === "leaf") visit(node, above);
    else {
      for (const [side, isRight] of [["right", true], ["left", false]]) {
        const child = node[side];
        need(child >= 0 && child < nodes.length, `node ${k}: child ${child} does not exist`);
        need(!seen.has(child), `node ${k}: child ${child} is the root, or a child already`);
        seen.add(child);
        walk.push([child, [...above, [node, isRight]]]);
      }
    }
  }
  need(seen.size === nodes.length, "a node is not reached from the root");
}

// The prices of a leaf: its own, or the nearest above it.
const pricesOf = (leaf, above) => leaf.prices ?? above.findLast(([node]) => node.prices !== null)?.[0].prices ?? null;

// Refuse splits on jobs, slots and numbers of workers that the instance lacks.
function checkSplits(inst, nodes) {
  nodes.forEach((node, k) => {
    if (node.node === "leaf") return;
    const job = inst.jobs[node.job];
    need(job, `node ${k}: job ${node.job} does not exist`);
    need(node.slot >= job.arrival && node.slot < inst.horizon, `node ${k}: slot ${node.slot} does not exist, or is before the arrival`);
    if (node.node === "workers") need(node.at < job.chunks, `node ${k}: at ${node.at} is too large`);
  });
}

// What the splits above a leaf say of each job that may complete until `last` and have `most` workers.
function limitsOf(inst, above, last, most) {
  const found = inst.jobs.map((job, i) => ({
    first: job.arrival,
    last: last(i),
    never: true,
    low: new Int32Array(inst.horizon),
    high: new Int32Array(inst.horizon).fill(most(i)),
  }));
  for (const [{ node, job, slot: t, at }, isRight] of above) {
    const own = found[job];
    if (node === "workers") {
      if (isRight) own.low[t] = Math.max(own.low[t], at + 1);
      else own.high[t] = Math.min(own.high[t], at);
    } else if (isRight) own.first = Math.max(own.first, t + 1);
    else [own.last, own.never] = [Math.min(own.last, t), false];
  }
  return found;
}
