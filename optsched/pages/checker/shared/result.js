// Files: the envelope, and what is derived of a result, a run or a schedule.

const FAMILIES = {};
const SAME = 1e-9; // two evaluations of one number agree
const CLOSED = 1e-6; // so does a bound that closes the gap
const LARGEST_CERTIFICATE = 20000000; // characters

const level = orNull(oneOf("claimed", "cross-checked", "certified"));
const numberOrNull = orNull(number());
const gapOrNull = orNull(gapSize);
const optimumKind = (family) =>
  record({
    family: text,
    sense: oneOf("max", "min"),
    instance_sha256: text,
    method: text,
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
    seconds: number(),
    effort: [orNull(number({ least: 0 })), null],
    history: [list(record({ seconds: number(), value: numberOrNull, bound: numberOrNull })), []],
    shadow_prices: [list(anyObject), []],
    defects: [list(text), []],
  });
const runKind = (family) =>
  record({
    family: text,
    instance_sha256: text,
    policy: text,
    information: oneOf("after", "before", "local"),
    seed: whole(),
    schedule: family.schedule,
    value: extended,
    obeys: [flag, true],
    completion: [list(orNull(whole())), []],
    prior: anyObject,
    sealed: [flag, false],
    decision_limit: [orNull(number()), null],
    guards: [list(text), []],
    guarantee: orNull(number()),
    seconds: number(),
    slowest: number(),
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
  const found = { kind, family, content, said: content.get("instance_sha256") ?? null, size: text.length };
  if (kind !== "schedule") {
    need(content.has("instance"), 'lacks "instance"');
    found.instance = readInstance(family, content.get("instance"));
    found.digest = found.instance.digest;
    if (kind === "instance") need(found.said === null || found.said === found.digest, "instance_sha256 does not belong to this instance");
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
  const { kind, family, content, instance, said, digest, size } = file;
  const parts = [];
  if (kind === "run") parts.push(["run", runKind(family), content.get("run"), ""]);
  else {
    parts.push(["optimum", optimumKind(family), content.get("optimum"), ""]);
    const others = content.has("references") ? content.get("references") : new Map();
    need(others instanceof Map, '"references" is no object');
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
  for (const [name, raw] of outside) {
    const schedule = family.schedule.read(raw, `schedules.${name}`);
    const verdict = family.judge(instance, schedule, { unfinished: false });
    found.push({ place: `schedules.${name}`, what: `schedule '${name}'`, value: verdict.value, bound: null, gap: null, complaints: verdict.violations, schedule });
  }
  if (said !== digest) found[0].complaints.unshift(`the instance is not the one that was solved: its SHA-256 is ${digest}`);
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

function judged(verdict, said) {
  if (verdict.value === null) return verdict.violations.length ? verdict.violations : ["the schedule has no value"];
  return said !== null && agree(verdict.value, said, SAME) ? [] : [`value is ${verdict.value}, the file says ${said}`];
}

function checkRun(family, instance, run, place) {
  const complaints = foreign(instance, run);
  const verdict = family.judge(instance, run.schedule, { unfinished: true });
  complaints.push(...judged(verdict, run.value));
  if (verdict.value !== null && verdict.obeys !== run.obeys) complaints.push("the run keeps to the model, or leaves it, and the file says the contrary");
  if (verdict.value !== null && verdict.completion.map(String).join() !== run.completion.map(String).join()) complaints.push("other jobs are completed, or in other slots, than the file says");
  return { place, what: `run of ${run.policy}`, value: verdict.value, bound: null, gap: null, complaints, schedule: run.schedule };
}

function checkOptimum(family, instance, said, place, scope) {
  const complaints = foreign(instance, said);
  const scopes = family.scopes ?? {};
  if (hasName(scopes, scope) && said.scope !== scope) complaints.push(`it is the reference ${scope}, but its scope is "${said.scope}"`);
  if (said.scope && !hasName(scopes, said.scope)) complaints.push(`the scope is "${said.scope}"`);
  else {
    if (said.scope && said.schedule && !scopes[said.scope](instance, said.schedule)) complaints.push(`the schedule is not ${said.scope}`);
    const proved = said.certificate && family.scope ? family.scope(said.certificate) : "";
    if (proved !== "" && proved !== said.scope) complaints.push(`the certificate speaks of ${proved} schedules`);
  }
  let value = null;
  if (said.schedule === null) {
    if (said.value !== null) complaints.push("a value without a schedule");
  } else {
    const verdict = family.judge(instance, said.schedule, { unfinished: false });
    complaints.push(...judged(verdict, said.value));
    value = verdict.value;
  }
  const bound = proveBound(family, instance, said, complaints);
  const sign = family.sense === "max" ? 1 : -1;
  const same = family.same ?? ((_, a, b) => relative(a, b) <= CLOSED);
  const refutes = (b) => value !== null && sign * (value - b) > 0 && !same(instance, value, b);
  if (bound !== null && refutes(bound)) complaints.push(`value ${value} is beyond the bound ${bound}`);
  const apart = (a, b) => (a === null || b === null ? null : family.gap ? family.gap(instance, a, b, said.schedule, said.certificate) : relative(a, b));
  const gap = apart(value, bound);
  if (said.bound !== null && said.bound_level !== "certified" && refutes(said.bound)) complaints.push(`value ${value} is beyond the bound ${said.bound}`);
  complaints.push(...wrongLevels(family, said), ...wrongStatus(family, said, { value, bound, gap }, (b) => apart(value, b)));
  return { place, what: said.scope ? `best ${said.scope} schedule` : "optimum", value, bound, gap, complaints, schedule: said.schedule };
}

// Levels that belong to nothing, and what lacks one.
function wrongLevels(family, said) {
  const found = [];
  if (said.sense !== family.sense) found.push(`sense is ${said.sense}, expected ${family.sense}`);
  if (said.value === null && said.value_level !== null) found.push("a level of a value that is not there");
  if (said.bound === null && said.bound_level !== null && said.status !== "infeasible") found.push("a level of a bound that is not there");
  if (said.bound !== null && said.bound_level === null) found.push("a bound without a level");
  return found;
}

// Where status and gaps do not follow from what was derived.
function wrongStatus(family, said, { value, bound, gap }, apart) {
  if (said.status === "infeasible") {
    if (value !== null || family.empty) return ["it is said that no schedule exists, but there is one"];
    if (said.bound_level === null) return ["it is said that no schedule exists, without a level"];
    if (said.bound_level === "certified" && (bound === null || Number.isFinite(bound))) return [`no schedule is said to exist (certified), but ${bound === null ? "nothing" : `the bound ${bound}`} is proved`];
  }
  if ((said.value === null) !== ["no_schedule", "bound only", "infeasible"].includes(said.status)) return [`status is ${said.status}, but the value is ${said.value}`];
  if (said.status === "bound only" && said.bound === null) return [`status is ${said.status}, but there is no bound`];
  const isRefused = said.schedule !== null && value === null;
  if (isRefused || (said.certificate !== null && bound === null)) return []; // there is a complaint already, and no gap
  const found = [];
  const near = (a, b) => agree(a, b, SAME) || Math.abs(a - b) <= SAME; // rounding may leave little of a difference
  for (const [name, side] of [["gap", said.bound], ["certified_gap", said.certified_bound]]) {
    const is = apart(side);
    if (said[name] !== null && (is === null || !near(said[name], is))) found.push(`${name} is ${is}, the file says ${said[name]}`);
  }
  if (gap !== null && gap <= CLOSED) return found;
  if (said.status === "optimal") found.push(`status is optimal (certified), but the gap is ${gap}`);
  const claim = apart(said.bound);
  if (said.status === "claimed optimal" && !(claim !== null && claim <= CLOSED)) found.push(`status is claimed optimal, but the claimed gap is ${claim}`);
  return found;
}

// What the certificate proves; null with a complaint if that is nothing, or without a certificate.
function proveBound(family, instance, said, complaints) {
  const sign = family.sense === "max" ? 1 : -1;
  const certified = [said.bound_level === "certified" ? said.bound : null, said.certified_bound].filter((b) => b !== null);
  if (said.certificate === null) {
    if (certified.length || said.bound_level === "certified") complaints.push("the bound is said to be certified, but the certificate is missing");
    return null;
  }
  let proved;
  try {
    const { instance_sha256: owner = instance.digest } = said.certificate;
    need(owner === instance.digest, "it belongs to another instance");
    need(said.length <= (family.longest?.(instance) ?? LARGEST_CERTIFICATE), `it has ${said.length} characters`);
    proved = family.check(instance, said.certificate);
    need(sign * proved < Infinity, `the bound ${proved} excludes no value`);
  } catch (err) {
    if (!(err instanceof Refused)) throw err;
    complaints.push(`the certificate proves nothing: ${err.message}`);
    return null;
  }
  for (const better of new Set(certified)) {
    if (sign * (proved - better) > 0 && !agree(proved, better, SAME)) complaints.push(`the certificate proves the bound ${proved}, the file says ${better}`);
  }
  return proved;
}

// Judge a schedule file against an instance.
function checkSchedule(file, instance) {
  const { family, content, said } = file;
  need(said === null || said === instance.digest, "belongs to another instance");
  need(content.has("schedule"), "lacks a schedule");
  const schedule = family.schedule.read(content.get("schedule"), "schedule");
  const verdict = family.judge(instance, schedule, { unfinished: false });
  return [{ place: "schedule", what: "schedule", value: verdict.value, bound: null, gap: null, complaints: verdict.violations, schedule }];
}

// Whether something was derived, and nothing contradicts it.
const accepted = (part) => !part.complaints.length && (part.value !== null || part.bound !== null);
