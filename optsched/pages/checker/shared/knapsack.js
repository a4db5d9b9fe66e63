// One machine: the most valuable whole numbers of items that fit.

// items: [{value, most, size: [units per resource]}].
function dearestLoad(items, capacity) {
  let sure = 0n;
  const rest = [];
  for (const item of items) {
    if (item.size.every((s) => s === 0n)) sure += item.value * big(item.most);
    else {
      const fit = item.size.reduce((n, s, r) => (s > 0n ? smaller(n, capacity[r] / s) : n), big(item.most));
      if (fit > 0n) rest.push({ ...item, most: Number(fit) });
    }
  }
  return sure + searchLoad(rest, capacity);
}

function searchLoad(items, capacity) {
  if (!items.length) return 0n;
  // for every resource that is needed, the items by value per unit: a bound for what is left of it
  const used = capacity.map((_, r) => r).filter((r) => items.some((item) => item.size[r] > 0n));
  const weight = (item) => used.reduce((w, r) => w + (item.size[r] << 60n) / (capacity[r] || 1n), 0n) || 1n;
  items.sort((a, b) => {
    const x = a.value * weight(b);
    const y = b.value * weight(a);
    return x > y ? -1 : x < y ? 1 : 0;
  });
  const orders = used.map((r) =>
    items.map((_, k) => k).sort((j, k) => {
      const x = items[j].value * items[k].size[r];
      const y = items[k].value * items[j].size[r];
      return x > y ? -1 : x < y ? 1 : j - k;
    }),
  );
  // what the items from k on are worth at most, by one resource alone (items without demand for it are free)
  const bound = (k, left) => {
    let least = null;
    used.forEach((r, i) => {
      let room = left[r];
      let worth = 0n;
      for (const j of orders[i]) {
        if (j < k) continue;
        const { size, most, value } = items[j];
        const all = size[r] * big(most);
        if (all <= room) {
          room -= all;
          worth += value * big(most);
        } else {
          worth += (value * room) / size[r];
          break;
        }
      }
      if (least === null || worth < least) least = worth;
    });
    return least;
  };
  let best = 0n;
  const left = [...capacity];
  const dive = (k, worth) => {
    if (worth > best) best = worth;
    if (k === items.length || worth + bound(k, left) <= best) return;
    const { size, value, most } = items[k];
    let n = most;
    used.forEach((r) => {
      if (size[r] > 0n) n = Math.min(n, Number(left[r] / size[r]));
    });
    for (; n >= 0; n -= 1) {
      used.forEach((r) => (left[r] -= size[r] * big(n)));
      dive(k + 1, worth + value * big(n));
      used.forEach((r) => (left[r] += size[r] * big(n)));
    }
  };
  dive(0, 0n);
  return best;
}
