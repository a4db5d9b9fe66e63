// Games: what weights of instances and policies prove, by backward induction and by following every state.

// The least cost of weighted instances, null where nothing is feasible.
function gameLeastCost({ histories, first, offsets }, weights) {
  for (let h = histories.length - 1; h >= 0; h -= 1) {
    const { members, costs, states } = histories[h];
    const weight = bigSum(members.map((i) => weights[i]));
    for (const state of states) {
      state.least = null;
      for (const [a, nexts] of state.moves) {
        let total = weight * costs[a];
        let isOpen = true;
        for (const next of nexts) {
          if (next.least === null) isOpen = false;
          else total += next.least;
        }
        if (isOpen && (state.least === null || total < state.least)) state.least = total;
      }
    }
  }
  return first.least === null ? null : first.least + bigSum(offsets.map((x, i) => weights[i] * x));
}

// Whether one policy without chance keeps the cost of every instance within its cap.
function gameKeeps({ histories, first, offsets }, caps) {
  for (let h = histories.length - 1; h >= 0; h -= 1) {
    const { ended, costs, states } = histories[h];
    const cap = ended.map((i) => caps[i] - offsets[i]).reduce((a, b) => (a === null ? b : smaller(a, b)), null);
    for (const state of states) {
      state.left = null; // what may have been paid before
      for (const [a, nexts] of state.moves) {
        if (nexts.some((next) => next.left === null)) continue;
        const most = nexts.reduce((least, next) => (least === null ? next.left : smaller(least, next.left)), cap) - costs[a];
        if (state.left === null || most > state.left) state.left = most;
      }
    }
  }
  return first.left !== null && first.left >= 0n;
}

// The cost of every instance under a policy, as a fraction.
function gameFollow({ histories, first, offsets }, policy) {
  const whole = bigSum(policy[0].map(([flow]) => flow));
  const entered = policy.map(() => 0n);
  const states = policy.map(() => null);
  entered[0] = whole;
  states[0] = first;
  const paid = new Map(histories.map((history) => [history, 0n]));
  const walk = [[0, histories[0]]];
  for (const [k, history] of walk) {
    const left = bigSum(policy[k].map(([flow]) => flow));
    need(left === entered[k] && left > 0n, `node ${k}: is entered ${entered[k]} times, and left ${left} times`);
    const known = new Map(states[k].moves.map(([a, after]) => [history.actions[a].join(","), [a, after]]));
    for (const [flow, values, nexts] of policy[k]) {
      const move = known.get(values.join(","));
      need(move && values.length === history.names.length, `node ${k}: ${values} cannot be decided there`);
      need(nexts.length === history.below.length, `node ${k}: ${nexts.length} nodes follow, expected one a history`);
      paid.set(history, paid.get(history) + flow * history.costs[move[0]]);
      nexts.forEach((n, c) => {
        need(n > 0 && n < policy.length && (states[n] === null || states[n] === move[1][c]), `node ${k}: node ${n} is another state, or none`);
        if (states[n] === null) walk.push([n, history.below[c]]);
        states[n] = move[1][c];
        entered[n] += flow;
      });
    }
  }
  need(walk.length === policy.length, "a node is never entered");
  const costs = offsets.map(() => null);
  for (const history of histories) {
    if (history.above) paid.set(history, paid.get(history) + paid.get(history.above));
    for (const i of history.ended) costs[i] = { n: paid.get(history) + offsets[i] * whole, d: whole };
  }
  return costs;
}

// The cost on the worst instance, divided by its optimum.
function gameWorst(costs, best, sign) {
  let worst = null;
  costs.forEach(({ n, d }, i) => {
    need(best[i] !== 0n || n <= 0n, `instance ${i}: its optimum is 0, the policy's value is not`);
    if (best[i] === 0n) return;
    const share = over({ n, d }, frac(best[i]));
    if (worst === null || sign * compare(share, worst) > 0) worst = share;
  });
  need(worst !== null, "the optimum of every instance is 0");
  return worst;
}

function gameProof(instances, sign, certificate) {
  const numbers = instances.flatMap((inst) => [inst.offset, ...inst.columns.map((c) => c.cost)]);
  const scale = numbers.reduce((m, x) => (m / gcd(m, exact(x).d)) * exact(x).d, 1n);
  const tree = gameTree(instances, sign, scale);
  const { weights, randomized, deterministic } = certificate;
  need(weights.length === instances.length, `there are ${weights.length} weights, expected ${instances.length}`);
  let count = 0n;
  const best = instances.map((inst, i) => {
    const own = gameTree([inst], sign, scale);
    count += own.count;
    need(count <= 100000000n, TOO_MANY);
    const least = gameLeastCost(own, [1n]);
    need(least !== null, `instance ${i}: is infeasible`);
    need(least * big(sign) >= 0n, `instance ${i}: its optimum is below 0`);
    return least;
  });
  const whole = bigSum(weights.map((w, i) => w * best[i]));
  need(whole !== 0n, "the weights prove nothing");
  const least = gameLeastCost(tree, weights);
  need(least !== null, "no algorithm is feasible");
  need(deterministic.every((choices) => choices.length === 1), "the deterministic policy has a node with two choices");
  const reached = gameWorst(gameFollow(tree, randomized), best, sign);
  const alone = gameWorst(gameFollow(tree, deterministic), best, sign);
  const caps = best.map((b) => (b === 0n ? 0n : ceilDiv(alone.n * b, alone.d) - 1n));
  need(!gameKeeps(tree, caps), "a deterministic policy is better than the one that is given");
  return { proved: over(frac(least), frac(whole)), reached, deterministic: alone, best: best.map((b) => over(frac(b < 0n ? -b : b), frac(scale))), histories: tree.histories };
}

const GAMES = { "declared-max": -1, "declared-min": 1 };

// Open the file of a game.
function openGame(content, name) {
  need(hasName(GAMES, name), `"family" is ${shown(name)}, expected one of: ${Object.keys(GAMES).join(", ")}`);
  const instances = list(declaredData.instance, { least: 1 }).read(content.get("instances"), "instances");
  instances.forEach((inst, i) => gameData.settle(inst, `instances[${i}]`));
  need(instances.every((inst) => inst.problem === instances[0].problem), "the instances are of several problems");
  const certificate = gameData.certificate.read(content.get("certificate"), "certificate");
  const claim = gameData.claim.read(content.get("claim"), "claim");
  for (const [field, stated] of Object.entries(claim)) need(/^(0|[1-9]\d{0,999})(\/[1-9]\d{0,999})?$/.test(stated), `claim.${field}: is ${shown(stated)}, expected a fraction`);
  const played = content.has("played") ? gameData.played.read(content.get("played"), "played") : [];
  mustDiffer([...gameData.rows, ...played.map(({ policy }) => policy)]);
  return { kind: "minimax", family: { name, games: true }, sign: GAMES[name], instances, certificate, claim, played };
}

// The mean value of a policy on its worst instance, divided by the optimum.
function gameStanding(instances, sign, { best, histories }, runs) {
  const many = runs.length ? runs[0].length : 0;
  need(runs.length === instances.length && many > 0 && runs.every((one) => one.length === many), `expected runs on ${instances.length} instances, equally many on each`);
  const judge = declaredJudge.judge(sign < 0 ? "max" : "min");
  let worst = null;
  runs.forEach((solutions, i) => {
    const values = solutions.map((solution) => {
      const { violations, value } = judge(instances[i], solution);
      need(value !== null, `instance ${i}: ${violations[0]}`);
      return exact(value);
    });
    const mean = over(values.reduce((a, b) => lowest(add(a, b))), frac(BigInt(many)));
    const isZero = best[i].n === 0n;
    if (isZero && big(sign) * mean.n <= 0n) return;
    const share = isZero ? sign * Infinity : toFloat(over(mean, best[i]), 0);
    if (worst === null || sign * (share - worst) > 0) worst = share;
  });
  const decided = instances.map(({ columns }, i) => runs[i].map(({ values }) => new Map(columns.map((c, j) => [c.name, declaredJudge.settled(c, values[j]).n]))));
  for (const { members, names } of histories) {
    for (const i of members) {
      const other = names.find((name) => decided[i].some((run, k) => run.get(name) !== decided[members[0]][k].get(name)));
      need(other === undefined, `instances ${members[0]} and ${i}: ${other} differs, the events until then do not`);
    }
  }
  return worst;
}

function checkGame({ sign, instances, certificate, claim, played }) {
  let proof;
  try {
    proof = gameProof(instances, sign, certificate);
  } catch (err) {
    if (!(err instanceof Refused)) throw err;
    const complaints = [`the certificate proves nothing: ${err.message}`];
    return [{ place: "certificate", what: "best online algorithms", value: null, bound: null, gap: null, complaints, schedule: null }];
  }
  const wrong = (field) => {
    const [n, d = "1"] = claim[field].split("/");
    return compare(proof[field], frac(BigInt(n), BigInt(d))) === 0 ? [] : [`${field} is ${toFloat(proof[field], 0)}, the file states ${shown(claim[field])}`];
  };
  const part = (what, high, low, complaints) => {
    const [value, bound] = [toFloat(high, sign), toFloat(low, -sign)];
    return { place: "certificate", what, value, bound, gap: relative(value, bound), complaints, schedule: null };
  };
  return [
    part("best randomized online algorithm", proof.reached, proof.proved, [...wrong("proved"), ...wrong("reached")]),
    part("best deterministic online algorithm", proof.deterministic, proof.deterministic, wrong("deterministic")),
    ...played.map(({ policy, runs }, k) => {
      const found = { place: `played[${k}]`, what: `policy ${policy}`, value: null, bound: null, gap: null, complaints: [], schedule: null };
      try {
        found.value = gameStanding(instances, sign, proof, runs);
      } catch (err) {
        if (!(err instanceof Refused)) throw err;
        found.complaints.push(err.message);
      }
      return found;
    }),
  ];
}
