// Answers with the intervals of `sklar estimate`, where measurements cover all columns of a question. Mirrors
// `sklar.pipeline.estimation.asking` and `sklar.inference.estimates`; whatever needs replicas has no answer here.

import { conditionTest } from "./conditions.mjs";
import { decodeColumn } from "./decode.mjs";
import { decodeRows, makeDrawTest } from "./draw.mjs";
import { withGaussianCopula } from "./gaussian_rows.mjs";
import { groupRows, influenceOf, shareOf } from "./influence.mjs";
import { Measured } from "./measured.mjs";
import { ndtri } from "./normal.mjs";
import { computeOneStep, coversAllPairs, selectStatistics } from "./one_step.mjs";
import { Generator } from "./random.mjs";
import { numbersOf } from "./statistics.mjs";
import { invertShares, placeThresholds } from "./thresholds.mjs";

const STEP_ROWS = 40_000;
// Numbers drawn for each row, from which on rows are picked by weight instead of by rejection.
const MAX_COST = 400;
const MAX_ADDED_CODES = 4_096;
const MAX_SKEWNESS = 2;
const NORMAL = ndtri(0.975);
const RULE_REDRAW_ROUNDS = 10;
const FROM_TABLES = "from released tables and their known noise";
const TAILS = "; tails below the noise level from all tail shapes consistent with it";
const FROM_COLUMNS_ALONE = "from released tables of each column and their known noise; no table of one of them together with others was released, so the interval allows for a correlation of typical size";
const NO_ROWS = "the model has no such rows, or too few for an estimate";

export class Estimator {
  // `stored` is the decoded model, `model` its sampler; `facts` describe the schema, `measured` the measurements.
  constructor(stored, model, facts, measured) {
    Object.assign(this, { model, facts });
    this.known = new Measured(measured, facts.coordinates, stored.margins);
    this.coordinates = new Map(facts.coordinates.map((column) => [column.name, column]));
    this.smooth = new Map();
  }

  // Rows of the model as codes by column, drawn once: those that `sklar estimate` draws, if that takes about a second.
  rows() {
    this.drawn ??= this.drawRows();
    return this.drawn;
  }

  drawRows() {
    const rng = new Generator(0n, 0), names = [...this.coordinates.keys()], slow = this.model.cost > MAX_COST;
    const draw = (rows) => (slow ? this.model.simulateRoughly(rows, rng) : this.model.simulate(rows, rng)), codes = draw(STEP_ROWS);
    for (let round = 0; round < RULE_REDRAW_ROUNDS && this.facts.rules.length; round++) {
      const holds = makeDrawTest(this.facts, codes, rng), bad = [...codes[0].keys()].filter((i) => !holds(i));
      if (!bad.length) break;
      const fresh = draw(bad.length);
      codes.forEach((line, j) => bad.forEach((row, k) => (line[row] = fresh[j][k])));
    }
    return Object.fromEntries(names.map((name, j) => [name, codes[j]]));
  }

  // How many of these rows meet conditions: { met, rows }.
  countMeeting(conditions) {
    this.table ??= decodeRows(this.facts, Object.values(this.rows()), new Generator(0n, 0)).table;
    const meets = conditionTest(conditions, this.table);
    let met = 0;
    for (let i = 0; i < STEP_ROWS; i++) met += Number(meets(i));
    return { met, rows: STEP_ROWS };
  }

  // Returns one estimate for each group, or null where replicas are needed.
  estimate(question, conditions) {
    const columns = [...new Set([...question.columns, ...conditions.map((one) => one.name), ...(question.by ? [question.by] : [])])];
    if (columns.some((name) => this.coordinates.get(name)?.part !== "same")) return null;
    const draws = this.drawsOf(columns, isShare(question)), table = this.decode(columns, draws);
    const groups = groupRows(question, conditions, this.facts, table);
    return question.statistic === "quantile" ? this.quantiles(question, conditions, columns, draws, table, groups) : this.means(question, conditions, columns, draws, table, groups);
  }

  // Codes of the rows that a question is answered from, and what is computed from them once.
  drawsOf(columns, share) {
    const all = this.rows(), kept = new Map(), remember = (what, make) => {
      if (!kept.has(what)) kept.set(what, make());
      return kept.get(what);
    };
    if (share && columns.length === 1) {
      const [name] = columns, codes = withEveryCode(all[name], this.coordinates.get(name).size);
      return { own: { [name]: codes }, rows: codes.length, smooth: () => null, has: false, remember };
    }
    const usable = columns.length > 1 ? selectStatistics(this.known.statistics, columns) : [];
    const has = columns.length > 1 && coversAllPairs(usable, columns);
    const names = [...this.coordinates.keys()].filter((name) => columns.includes(name) || usable.some((one) => one.needs.includes(name)));
    return { own: all, rows: STEP_ROWS, has, remember, smooth: () => this.smoothRows(names) };
  }

  smoothRows(names) {
    const key = JSON.stringify(names);
    if (!this.smooth.has(key)) this.smooth.set(key, withGaussianCopula(this.rows(), names));
    return this.smooth.get(key);
  }

  decode(columns, draws) {
    const rng = new Generator(0n, 0);
    return Object.fromEntries(columns.map((name) => {
      const codes = new Int32Array(draws.rows * (draws.has ? 2 : 1));
      codes.set(draws.own[name]);
      if (draws.has) codes.set(draws.smooth()[name], draws.rows);
      return [name, decodeColumn(this.coordinates.get(name), codes, rng)];
    }));
  }

  means(question, conditions, columns, draws, table, groups) {
    const parts = groups.map(({ kept }) => shareOf(kept, draws.rows)), rows = this.known.rows;
    let found = groups.map(({ group, kept }, k) => ({ group, part: parts[k], ...influenceOf(question, this.facts, table, kept, draws.rows) }));
    if (question.statistic === "difference") found = [subtractAnswers(found)];
    const psi = found.map((one) => (one.psi.every(Number.isFinite) ? one.psi : new Float64Array(one.psi.length)));
    const steps = computeOneStep(this.known, draws, psi, columns, isShare(question));
    if (!steps) return null;
    const explain = (step) => explainAnswer(question, conditions, step.explained);
    return found.map(({ group, part, model, psi: own }, k) => {
      const step = steps[k], value = model + step.shift;
      if (!Number.isFinite(value) || !own.every(Number.isFinite)) return noAnswer(group);
      const variance = question.statistic === "share" ? shareChance(value, rows * part) : step.chance;
      return this.describe(question, group, part, intervalOf(value, variance, step), explain(step));
    });
  }

  quantiles(question, conditions, columns, draws, table, groups) {
    const x = numbersOf(table[question.columns[0]]), { rows } = this.known, [name] = question.columns;
    const levelError = this.levelError(name, question.at), found = [];
    for (const { group, kept } of groups) {
      const laid = placeThresholds(x, kept, draws.rows, question.at, levelError);
      const steps = laid && computeOneStep(this.known, draws, laid.psi, columns, true);
      if (laid && !steps) return null;
      const whole = this.coordinates.get(name).kind === "integer", options = { level: question.at, normal: NORMAL, rows, whole };
      const answer = laid && invertShares(laid, steps, options);
      found.push(answer ? this.describe(question, group, laid.part, answer, explainAnswer(question, conditions, answer.explained)) : noAnswer(group));
    }
    return found;
  }

  // The standard deviation of the share of rows below a quantile, from noise and sampling.
  levelError(name, at) {
    const means = this.known.column(name, true), mass = this.known.mass.get(name), place = this.known.places.get(name);
    if (!means) return 0;
    const total = mass.reduce((sum, x, code) => sum + (Number.isNaN(place[code]) ? 0 : x), 0);
    let upto = -at * total;
    const reach = mass.map((x, code) => (upto += Number.isNaN(place[code]) ? 0 : x));
    const below = [(x) => x <= 0, (x, code) => x < mass[code]].map((test) => reach.map((x, code) => Number(test(x, code) && !Number.isNaN(place[code]))));
    const noise = Math.max(...means.estimate(below).map((one) => one.variance));
    return Math.sqrt(noise + (at * (1 - at)) / this.known.rows);
  }

  // An answer on the scale of the question, clipped to the range that the schema allows.
  describe(question, group, part, { value, low, high, ratio }, how) {
    const [least, most] = possibleRange(question, this.coordinates.get(question.columns[0]));
    const back = question.statistic === "correlation" ? Math.tanh : (x) => x, clip = (x) => Math.min(Math.max(back(x), least), most);
    const effective = this.known.rows * part * Math.min(ratio, 1);
    return { group, term: null, value: clip(value), low: clip(low), high: clip(high), effective_rows: effective > 0 ? roundToTwoDigits(effective) : null, how };
  }
}

const isShare = (question) => question.value !== null && question.value !== undefined;
const noAnswer = (group) => ({ group, term: null, value: null, low: null, high: null, effective_rows: null, how: NO_ROWS });

function withEveryCode(codes, size) {
  const count = Math.min(size, MAX_ADDED_CODES), added = Array.from({ length: count }, (_, i) => (count > 1 ? Math.trunc((i * (size - 1)) / (count - 1)) : 0));
  const found = new Int32Array(codes.length + count);
  found.set(codes);
  found.set(added, codes.length);
  return found;
}

function subtractAnswers([one, other]) {
  return { group: `${one.group} - ${other.group}`, part: one.part + other.part, model: one.model - other.model, psi: one.psi.map((x, i) => x - other.psi[i]) };
}

// Two more rows inside and outside (Agresti and Coull 1998).
function shareChance(value, rows) {
  const likely = Math.min(Math.max((rows * value + 2) / (rows + 4), 0), 1);
  return (likely * (1 - likely)) / (rows + 4);
}

// Normal quantiles, and longer at the end where the error is skewed (Cornish and Fisher 1938).
function intervalOf(value, chance, { noise, skew }) {
  const variance = noise + chance, error = Math.sqrt(variance);
  const skewness = error > 0 ? Math.min(Math.max(skew / error ** 3, -MAX_SKEWNESS), MAX_SKEWNESS) : 0;
  const longer = (skewness * (NORMAL ** 2 - 1)) / 6;
  return { value, low: value - error * (NORMAL + Math.max(-longer, 0)), high: value + error * (NORMAL + Math.max(longer, 0)), ratio: chance / variance };
}

function explainAnswer(question, conditions, explained) {
  if (question.columns.length > 1 || question.by || conditions.length) {
    return explained > 0 ? `${FROM_TABLES}, which determine ${(100 * explained).toFixed(0)}% of the joint distribution that this depends on; the rest comes from the model` : FROM_COLUMNS_ALONE;
  }
  return isShare(question) || question.statistic === "quantile" ? FROM_TABLES : FROM_TABLES + TAILS;
}

function possibleRange(question, column) {
  const difference = question.statistic === "difference";
  let [least, most] = [-Infinity, Infinity];
  if (isShare(question) || question.statistic === "correlation") [least, most] = [question.statistic === "correlation" ? -1 : 0, 1];
  else if (["integer", "real"].includes(column.kind)) [least, most] = [column.lower, column.upper];
  return difference ? [least - most, most - least] : [least, most];
}

function roundToTwoDigits(number) {
  const step = 10 ** Math.max(String(Math.trunc(number)).length - 2, 0);
  return Math.max(Math.trunc(number / step) * step, 1);
}
