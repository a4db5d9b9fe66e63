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
