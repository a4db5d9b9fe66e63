// Training jobs on machines: utilities, whole units of resources, rooms, classes of equal machines.

const utilityKind = tagged("kind", {
  sigmoid: record({ kind: [oneOf("sigmoid"), "sigmoid"], scale: number({ above: 0 }), decay: number({ least: 0 }), target: number() }),
  inverse: record({ kind: [oneOf("inverse"), "inverse"], scale: [number({ above: 0 }), 1] }),
  constant: record({ kind: [oneOf("constant"), "constant"], value: number({ least: 0 }) }),
  table: record({ kind: [oneOf("table"), "table"], values: list(number({ least: 0 }), { least: 1 }) }),
});
const machineKind = record({ name: [text, ""], count: [whole(1), 1], capacity: list(amount) });
const countKind = whole(1, 1e9);
const MB = frac(8n, 1000n); // seconds that 1 MB takes on 1 Gbit/s
const FAR = 5000n;
const PLACES = 200; // binary places of an exponential
const RAISED = { n: 10n ** 45n + 1n, d: 10n ** 45n };

// The utility at a delay, or a fraction that is more by 1e-45 of it at most.
function earned(utility, delay) {
  const kind = utility.kind;
  if (kind === "constant") return exact(utility.value);
  if (kind === "table") return delay < utility.values.length ? exact(utility.values[delay]) : frac(0);
  if (kind === "inverse") return times(exact(utility.scale), frac(1n, 1 + delay));
  let z = times(exact(utility.decay), minus(frac(delay), exact(utility.target)));
  if (compare(z, frac(-FAR)) < 0) return exact(utility.scale);
  if (compare(z, frac(FAR)) > 0) z = frac(FAR);
  const { mantissa, power } = exp(z, PLACES);
  const growth = over(powerOfTwo(mantissa, power), RAISED);
  return over(exact(utility.scale), add(frac(1), growth));
}

function checkUtility(utility, place) {
  (utility.values ?? []).forEach((x, d, all) => need(d === 0 || x <= all[d - 1], `${place}: the utility increases at delay ${d}`));
}

const ceilShifted = (x, by) => (by >= 0 ? ceilDiv(x.n << big(by), x.d) : ceilDiv(x.n, x.d << big(-by)));

// 10^k for the least k that makes all demands for a resource whole, one per resource.
function unitsOf(demands, resources) {
  return Array.from({ length: resources }, (_, r) => {
    let scale = 1n;
    for (const row of demands) while ((exact(row[r]).n * scale) % exact(row[r]).d) scale *= 10n;
    return scale;
  });
}
const demandUnits = (row, scale) => row.map((x, r) => (exact(x).n * scale[r]) / exact(x).d);
const capacityUnits = (row, scale) =>
  row.map((x, r) => {
    const most = add(exact(x), slack(exact(x)));
    return floorDiv(most.n * scale[r], most.d);
  });

// How many fit on an empty machine, at most `most`; demands and capacity in units.
function roomOf(capacity, demand, most) {
  let found = big(most);
  demand.forEach((d, r) => {
    if (d > 0n) found = smaller(found, capacity[r] / d);
  });
  return Number(found);
}

// Classes of machines with equal capacities: {capacity, count, first}; and the class of every machine.
function classesOf(machines) {
  const classes = [];
  const of = [];
  const byText = new Map();
  for (const { capacity, count } of machines) {
    const key = capacity.map((x) => x + 0).join();
    if (!byText.has(key)) {
      byText.set(key, classes.length);
      classes.push({ capacity, count: 0, first: of.length });
    }
    const c = byText.get(key);
    classes[c].count += count;
    for (let k = 0; k < count; k += 1) of.push(c);
  }
  return { classes, of };
}

function checkShape(resources, entries, what) {
  need(entries.length === resources.length, `${what} has ${entries.length} entries, expected ${resources.length}`);
}

function checkPlatform(instance) {
  need(new Set(instance.resources).size === instance.resources.length, "a name of a resource is used twice");
  if (instance.units.length) checkShape(instance.resources, instance.units, "units");
}

function checkJobs(instance) {
  instance.jobs.forEach((job, i) => {
    need(job.arrival < instance.horizon, `job ${i}: arrival ${job.arrival} is outside the horizon`);
    for (const side of ["worker_demand", "ps_demand"]) checkShape(instance.resources, job[side], `job ${i}: ${side}`);
    need(job.batch_time !== 0 || job.gradient_mb !== 0, `job ${i}: batch_time and gradient_mb are both 0`);
    checkUtility(job.utility, `job ${i}`);
  });
}

// Time to send the gradients once, in slots.
const transfer = (mb, rate, slotSeconds) => over(times(MB, exact(mb)), times(exact(rate), exact(slotSeconds)));
const batchesOf = (job) => big(job.epochs) * big(job.chunks) * big(job.batches_per_chunk);

// The least e with x <= 2^e; 0 for x = 0.
function ceilLog2(x) {
  if (x.n <= 0n) return 0;
  let e = bits(x.n) - bits(x.d) - 1;
  while (compare(powerOfTwo(1n, e), x) < 0) e += 1;
  return e;
}

// When each job runs, with how many workers: for a picture.
function drawJobs(inst, { jobs }) {
  const rows = jobs.map((plan, i) => {
    const slots = new Map();
    for (const [t, , n] of plan?.workers ?? []) slots.set(t, (slots.get(t) ?? 0) + n);
    const bars = [];
    for (const t of [...slots.keys()].sort((a, b) => a - b)) {
      const n = slots.get(t);
      const before = bars.at(-1);
      if (before && before.to === t && before.n === n) before.to = t + 1;
      else bars.push({ from: t, to: t + 1, n });
    }
    return {
      label: `job ${i}`,
      bars: bars.map(({ from, to, n }) => ({ from, to, shade: Math.min(1, n / inst.jobs[i].chunks), title: `slots ${from} to ${to - 1}: ${n} workers` })),
    };
  });
  return { caption: "When each job runs; the stronger the colour, the more workers", length: Number(inst.horizon), unit: "slot", rows };
}
