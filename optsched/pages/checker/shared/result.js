// Files: the envelope, and what is derived of a result, a run or a schedule.

const FAMILIES = {};
const SAME = 1e-9; // two evaluations of one number agree
const CLOSED = 1e-6; // so does a bound that closes the gap
const EXISTS = "it is stated that no schedule exists, but there is one";
const LARGEST_CERTIFICATE = 20000000; // characters

const CPSAT = ["cpsat", "cp-sat"]; // now, and in earlier files
const METHODS = {
  oasis: ["auto", "compact", ...CPSAT, "branch-and-price", "search", "relaxation"],
  dmlrs: ["auto", "compact", ...CPSAT, "colgen", "branch-and-price", "search", "relaxation"],
  completion: ["auto", "compact", ...CPSAT, "colgen", "search", "relaxation"],
  bipartite: ["auto", "stationary", "conic", "relaxation"],
  bot: ["auto", "interior", "conic", "simplex", "relaxation"],
  rigid: ["auto", ...CPSAT, "relaxation"],
  "declared-max": ["auto", "tree", "relaxation", ...CPSAT],
  "declared-min": ["auto", "tree", "relaxation", ...CPSAT],
};

const level = orNull(oneOf("claimed", "cross-checked", "certified"));
const numberOrNull = orNull(number());
const gapOrNull = orNull(gapSize);
const optimumKind = (family) =>
  record({
    family: text,
    sense: oneOf("max", "min"),
    instance_sha256: text,
    method: oneOf(...METHODS[family.name]),
    status: oneOf("optimal", "claimed optimal", "feasible", "infeasible", "no_schedule", "bound only"),
    value: numberOrNull,
    bound: numberOrNull,
    gap: [gapOrNull, null],
    value_level: level,
    bound_level: level,
    certified_bound: [numberOrNull, null],
    certified_gap: [gapOrNull, null],
    scope: [text, ""],
    schedule: orNull(family.schedule),
    certificate: orNull(family.certificate),
    seconds: number({ least: 0 }),
    effort: [orNull(number({ least: 0 })), null],
    history: [list(record({ seconds: number(), value: numberOrNull, bound: numberOrNull })), []],
    params: [anyObject, {}],
    shadow_prices: [list(anyObject), []],
    defects: [list(text), []],
  });

// What names have in common that look alike in a table, where "*" marks some rows.
const folded = (name) => name.toLowerCase().replaceAll("*", " ").split(" ").filter(Boolean).join(" ");

const mustDiffer = (names) => need(new Set(names.map(folded)).size === names.length, "two rows have one name");

// The name of a row of a table, which is shown as it is.
const rowName = (family) => ({
  read(v, place) {
    const longest = 100;
    const isShown = typeof v === "string" && v.length <= longest && /^[!-~](?:[ -~]*[!-~])?$/.test(v) && folded(v) !== "";
    if (!isShown) refuse(place, v, `1 to ${longest} ASCII characters that can be printed`);
    if (["lp relaxation", "relaxation", "optimum", ...Object.keys(family.scopes ?? {})].includes(folded(v))) refuse(place, v, "a name that no row of a table has");
    return v;
  },
});

const runKind = (family) =>
  record({
    family: text,
    instance_sha256: text,
    policy: rowName(family),
    information: oneOf("after", "before", "local"),
    seed: whole(),
    schedule: family.schedule,
    value: extended,
    obeys: [flag, true],
    completion: [list(orNull(whole())), []],
    prior: anyObject,
    sealed: [flag, false],
    decision_limit: [orNull(number({ above: 0 })), null],
    guards: [list(text), []],
    guarantee: orNull(number()),
    seconds: number({ least: 0 }),
    slowest: number({ least: 0 }),
  });

// Open a file: {kind, family, content, instance, digest}.
function openFile(text) {
  const content = readJson(text);
  need(content instanceof Map, 'expected an object with "format", "kind" and "family"');
  need(content.get("format") === 1, `"format" is ${shown(content.get("format"))}, expected 1`);
  const kind = content.get("kind");
  need(["instance", "schedule", "run", "result", "minimax"].includes(kind), `holds ${shown(kind)}, expected an instance, a schedule, a run, a result or a game`);
  const name = content.get("family");
  if (kind === "minimax") return openGame(content, name);
  need(hasName(FAMILIES, name), `"family" is ${shown(name)}, expected one of: ${Object.keys(FAMILIES).join(", ")}`);
  const family = FAMILIES[name];
  const found = { kind, family, content, stated: content.get("instance_sha256") ?? null, size: text.length };
  if (kind !== "schedule") {
    need(content.has("instance"), 'lacks "instance"');
    found.instance = readInstance(family, content.get("instance"));
    found.digest = found.instance.digest;
    if (kind === "instance") need(found.stated === null || found.stated === found.digest, "instance_sha256 does not belong to this instance");
  }
  return found;
}

function readInstance(family, raw) {
  const instance = family.instance.read(raw, "instance");
  family.settle(instance);
  instance.digest = sha256(family.instance.write(instance));
  return instance;
}

// All parts of a result or run: what was derived of each, and what contradicts the file.
function checkFile(file) {
  if (file.kind === "minimax") return checkGame(file);
  const { kind, family, content, instance, stated, digest, size } = file;
  const parts = [];
  if (kind === "run") parts.push(["run", runKind(family), content.get("run"), ""]);
  else {
    parts.push(["optimum", optimumKind(family), content.get("optimum"), ""]);
    const others = content.has("references") ? content.get("references") : new Map();
    need(others instanceof Map, '"references" is no object');
    for (const name of others.keys()) need(name === "relaxation" || hasName(family.scopes ?? {}, name), `references: has ${shown(name)}, expected the relaxation or a scope of the family`);
    for (const [name, other] of others) parts.push([`references.${name}`, optimumKind(family), other, name]);
    const runs = content.has("runs") ? content.get("runs") : [];
    need(Array.isArray(runs), '"runs" is no list');
    runs.forEach((run, i) => parts.push([`runs[${i}]`, runKind(family), run, null]));
  }
  const read = parts.map(([place, kindOf, raw, scope]) => {
    need(raw instanceof Map, `lacks "${place}"`);
    need(raw.get("family") === family.name, `${place}: "family" is ${shown(raw.get("family"))}, expected ${family.name}`);
    const length = size > LARGEST_CERTIFICATE ? lengthOf(raw.get("certificate")) : 0; // no longer than the file
    return [place, Object.assign(kindOf.read(raw, place), { length }), scope];
  });
  const found = read.map(([place, part, scope]) => ("policy" in part ? checkRun(family, instance, part, place) : checkOptimum(family, instance, part, place, scope)));
  const outside = content.has("schedules") ? content.get("schedules") : new Map();
  need(outside instanceof Map, '"schedules" is no object');
  const names = [...read.filter(([, part]) => "policy" in part).map(([, part]) => part.policy), ...[...outside.keys()].map((name) => rowName(family).read(name, "schedules"))];
  mustDiffer(names);
  for (const [name, raw] of outside) {
    const schedule = family.schedule.read(raw, `schedules.${name}`);
    const verdict = family.judge(instance, schedule, { unfinished: false });
    found.push({ place: `schedules.${name}`, what: `schedule '${name}'`, value: verdict.value, bound: null, gap: null, complaints: verdict.violations, schedule });
  }
  const [main, ...others] = read.map(([, part]) => part);
  const isFeasible = (schedule) => family.judge(instance, schedule, { unfinished: false }).value !== null;
  if (main.status === "infeasible" && (others.some((part) => part.obeys && isFeasible(part.schedule)) || found.some((part) => part.place.startsWith("schedules.") && part.value !== null))) found[0].complaints.push(EXISTS);
  if (stated !== digest) found[0].complaints.unshift(`the instance is not the one that was solved: its SHA-256 is ${digest}`);
  return found;
}

// Characters of a value as JSON without blanks.
function lengthOf(v) {
  if (v instanceof Map) return 1 + sum([...v].map(([name, x]) => textText(name).length + 2 + lengthOf(x)));
  if (Array.isArray(v)) return 1 + v.reduce((n, x) => n + 1 + lengthOf(x), 0);
  return (typeof v === "string" ? textText(v) : String(v)).length;
}

function foreign(instance, part) {
  return part.instance_sha256 === instance.digest ? [] : [`made for another instance: ${part.instance_sha256}`];
}

function judged(verdict, stated) {
  if (verdict.value === null) return verdict.violations.length ? verdict.violations : ["the schedule has no value"];
  return stated !== null && agree(verdict.value, stated, SAME) ? [] : [`value is ${verdict.value}, the file states ${stated}`];
}

function checkRun(family, instance, run, place) {
  const complaints = foreign(instance, run);
  const verdict = family.judge(instance, run.schedule, { unfinished: true });
  complaints.push(...judged(verdict, run.value));
  if (verdict.value !== null && verdict.obeys !== run.obeys) complaints.push("the run keeps to the model, or leaves it, and the file states the contrary");
  if (verdict.value !== null && verdict.completion.map(String).join() !== run.completion.map(String).join()) complaints.push("other jobs are completed, or in other slots, than the file states");
  return { place, what: `run of ${run.policy}`, value: verdict.value, bound: null, gap: null, complaints, schedule: run.schedule };
}

function checkOptimum(family, instance, stated, place, scope) {
  const complaints = foreign(instance, stated);
  const scopes = family.scopes ?? {};
  if (hasName(scopes, scope) && stated.scope !== scope) complaints.push(`it is the reference ${scope}, but its scope is "${stated.scope}"`);
  if (scope === "relaxation" && (stated.value !== null || stated.schedule !== null)) complaints.push(`it is the reference ${scope}, which has no schedule, but there is one`);
  if (stated.scope && !hasName(scopes, stated.scope)) complaints.push(`the scope is "${stated.scope}"`);
  else {
    if (stated.scope && stated.schedule && !scopes[stated.scope](instance, stated.schedule)) complaints.push(`the schedule is not ${stated.scope}`);
    const proved = stated.certificate && family.scope ? family.scope(stated.certificate) : "";
    if (proved !== "" && proved !== stated.scope) complaints.push(`the certificate is about ${proved} schedules`);
  }
  let value = null;
  if (stated.schedule === null) {
    if (stated.value !== null) complaints.push("a value without a schedule");
  } else {
    const verdict = family.judge(instance, stated.schedule, { unfinished: false });
    complaints.push(...judged(verdict, stated.value));
    value = verdict.value;
  }
  const bound = proveBound(family, instance, stated, complaints);
  const sign = family.sense === "max" ? 1 : -1;
  const same = family.same ?? ((_, a, b) => relative(a, b) <= CLOSED);
  const refutes = (b) => value !== null && sign * (value - b) > 0 && !same(instance, value, b);
  if (bound !== null && refutes(bound)) complaints.push(`value ${value} is beyond the bound ${bound}`);
  const apart = (a, b) => (a === null || b === null ? null : family.gap ? family.gap(instance, a, b, stated.schedule, stated.certificate) : relative(a, b));
  const gap = apart(value, bound);
  if (stated.bound !== null && stated.bound_level !== "certified" && refutes(stated.bound)) complaints.push(`value ${value} is beyond the bound ${stated.bound}`);
  complaints.push(...wrongLevels(family, stated), ...wrongStatus(family, stated, { value, bound, gap }, (b) => apart(value, b)));
  return { place, what: stated.scope ? `best ${stated.scope} schedule` : "optimum", value, bound, gap, complaints, schedule: stated.schedule };
}

// Levels that belong to nothing, and what lacks one.
function wrongLevels(family, stated) {
  const found = [];
  if (stated.sense !== family.sense) found.push(`sense is ${stated.sense}, expected ${family.sense}`);
  if (stated.value === null && stated.value_level !== null) found.push("a level of a value that is not there");
  if (stated.bound === null && stated.bound_level !== null && stated.status !== "infeasible") found.push("a level of a bound that is not there");
  if (stated.bound !== null && stated.bound_level === null) found.push("a bound without a level");
  return found;
}

// Where status and gaps do not follow from what was derived.
function wrongStatus(family, stated, { value, bound, gap }, apart) {
  if (stated.status === "infeasible") {
    if (value !== null || family.empty) return [EXISTS];
    if (stated.bound_level === null) return ["it is stated that no schedule exists, without a level"];
    if (stated.bound_level === "certified" && (bound === null || Number.isFinite(bound))) return [`no schedule is stated to exist (certified), but ${bound === null ? "nothing" : `the bound ${bound}`} is proved`];
  }
  if ((stated.value === null) !== ["no_schedule", "bound only", "infeasible"].includes(stated.status)) return [`status is ${stated.status}, but the value is ${stated.value}`];
  if (stated.status === "bound only" && stated.bound === null) return [`status is ${stated.status}, but there is no bound`];
  const isRefused = stated.schedule !== null && value === null;
  if (isRefused || (stated.certificate !== null && bound === null)) return []; // there is a complaint already, and no gap
  const found = [];
  const near = (a, b) => agree(a, b, SAME) || Math.abs(a - b) <= SAME; // rounding may leave little of a difference
  for (const [name, side] of [["gap", stated.bound], ["certified_gap", stated.certified_bound]]) {
    const is = apart(side);
    if (stated[name] !== null && (is === null || !near(stated[name], is))) found.push(`${name} is ${is}, the file states ${stated[name]}`);
  }
  if (gap !== null && gap <= CLOSED) return found;
  if (stated.status === "optimal") found.push(`status is optimal (certified), but the gap is ${gap}`);
  const claim = apart(stated.bound);
  if (stated.status === "claimed optimal" && !(claim !== null && claim <= CLOSED)) found.push(`status is claimed optimal, but the claimed gap is ${claim}`);
  return found;
}

// What the certificate proves; null with a complaint if that is nothing, or without a certificate.
function proveBound(family, instance, stated, complaints) {
  const sign = family.sense === "max" ? 1 : -1;
  const certified = [stated.bound_level === "certified" ? stated.bound : null, stated.certified_bound].filter((b) => b !== null);
  if (stated.certificate === null) {
    if (certified.length || stated.bound_level === "certified") complaints.push("the bound is stated to be certified, but the certificate is missing");
    return null;
  }
  let proved;
  try {
    const { instance_sha256: owner = instance.digest } = stated.certificate;
    need(owner === instance.digest, "it belongs to another instance");
    need(stated.length <= (family.longest?.(instance) ?? LARGEST_CERTIFICATE), `it has ${stated.length} characters`);
    proved = family.check(instance, stated.certificate);
    need(sign * proved < Infinity, `the bound ${proved} excludes no value`);
  } catch (err) {
    if (!(err instanceof Refused)) throw err;
    complaints.push(`the certificate proves nothing: ${err.message}`);
    return null;
  }
  for (const better of new Set(certified)) {
    if (sign * (proved - better) > 0 && !agree(proved, better, SAME)) complaints.push(`the certificate proves the bound ${proved}, the file states ${better}`);
  }
  return proved;
}

// Judge a schedule file against an instance.
function checkSchedule(file, instance) {
  const { family, content, stated } = file;
  need(stated === null || stated === instance.digest, "belongs to another instance");
  need(content.has("schedule"), "lacks a schedule");
  const schedule = family.schedule.read(content.get("schedule"), "schedule");
  const verdict = family.judge(instance, schedule, { unfinished: false });
  return [{ place: "schedule", what: "schedule", value: verdict.value, bound: null, gap: null, complaints: verdict.violations, schedule }];
}

// Whether something was derived, and nothing contradicts it.
const accepted = (part) => !part.complaints.length && (part.value !== null || part.bound !== null);
