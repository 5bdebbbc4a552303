// Draws uniforms from a vine, column by column, with the conditional uniforms that deeper trees need.

import { clipOpen, findInterval, makeGuide, TINY } from "./axis.mjs";
import { tabulate } from "./copula.mjs";
import { ndtr, ndtri } from "./normal.mjs";

const FARTHEST = ndtri(1 - TINY);

const keyOf = (column, given) => `${column}|${given.join(",")}`;
const sorted = (numbers) => [...numbers].sort((a, b) => a - b);

function prepareEdge(stored, tables) {
  const copula = stored.copula;
  const edge = { ...stored, columns: [stored.first, stored.second, ...stored.given], kind: copula.word };
  if (copula.word === "gaussian-pair") edge.corr = copula.corr;
  if (copula.word === "checkerboard") edge.table = tabulateOnce(copula, tables);
  if (copula.word === "class-pairs") prepareClasses(edge, copula, tables);
  const beyond = (column, other) => keyOf(column, sorted([...stored.given, other]));
  edge.beyond = { [stored.first]: beyond(stored.first, stored.second), [stored.second]: beyond(stored.second, stored.first) };
  edge.within = { [stored.first]: keyOf(stored.first, stored.given), [stored.second]: keyOf(stored.second, stored.given) };
  return edge;
}

function tabulateOnce(copula, tables) {
  if (!tables.has(copula)) tables.set(copula, tabulate(copula));
  return tables.get(copula);
}

function prepareClasses(edge, copula, tables) {
  edge.classColumn = copula.column;
  edge.classEdges = Float64Array.from(copula.edges.data);
  edge.classGuide = makeGuide(edge.classEdges);
  if (copula.pairs[0].word === "gaussian-pair") edge.corrs = copula.pairs.map((pair) => pair.corr);
  else edge.classTables = copula.pairs.map((pair) => tabulateOnce(pair, tables));
}

// Prepares a stored vine: its edges, and the order in which columns are drawn (those in `first` as early as possible).
export function prepareVine(stored, first = []) {
  const tables = new Map();
  const trees = stored.trees.map((tree) => tree.map((edge) => prepareEdge(edge, tables)));
  const byKey = new Map();
  for (const edge of trees.flat()) for (const column of [edge.first, edge.second]) byKey.set(edge.beyond[column], edge);
  return { size: stored.size, trees, byKey, steps: samplingOrder(stored.size, trees, first) };
}

// Works backwards: a column can come last if it is in exactly one edge of each tree, and never as a condition.
export function samplingOrder(size, trees, first = []) {
  const alive = trees.map((tree) => new Set(tree.keys()));
  const members = trees.map((tree) => {
    const of = Array.from({ length: size }, () => new Set());
    tree.forEach((edge, position) => edge.columns.forEach((column) => of[column].add(position)));
    return of;
  });
  const early = new Set(first);
  let left = sorted(Array(size).keys()).sort((a, b) => early.has(a) - early.has(b));
  const canLeave = (column) => {
    for (let level = 0; level < trees.length; level++) {
      if (!alive[level].size) return true;
      const inside = members[level][column];
      if (inside.size !== 1 || trees[level][inside.values().next().value].given.includes(column)) return false;
    }
    return true;
  };
  const takeAway = (column) => {
    const chain = [];
    for (let level = 0; level < trees.length && alive[level].size; level++) {
      const position = members[level][column].values().next().value;
      chain.push(trees[level][position]);
      alive[level].delete(position);
      trees[level][position].columns.forEach((other) => members[level][other].delete(position));
    }
    return chain;
  };
  const steps = [];
  while (left.length > 1) {
    const column = left.find(canLeave);
    steps.push({ column, chain: takeAway(column) });
    left = left.filter((other) => other !== column);
  }
  return [{ column: left[0], chain: [] }, ...steps.reverse()];
}

// Uniforms of particles, by column and the columns they are given: as themselves, as normal scores, or both.
export class Uniforms {
  constructor(vine, rows) {
    this.vine = vine;
    this.rows = rows;
    this.levels = new Map();
    this.scores = new Map();
    this.classes = new Map();
  }

  put(key, u) {
    this.levels.set(key, u);
    this.scores.delete(key);
  }

  get(key) {
    if (!this.levels.has(key)) {
      if (!this.scores.has(key)) this.compute(key);
      if (!this.levels.has(key)) this.levels.set(key, this.scores.get(key).map((z) => clipOpen(ndtr(z))));
    }
    return this.levels.get(key);
  }

  score(key) {
    if (!this.scores.has(key)) {
      if (!this.levels.has(key)) this.compute(key);
      if (!this.scores.has(key)) this.scores.set(key, this.levels.get(key).map(ndtri));
    }
    return this.scores.get(key);
  }

  column(column) {
    return this.get(keyOf(column, []));
  }

  // From u of `column` given all columns of an edge to the one without its partner (inverse h-function).
  descend(edge, column) {
    const partner = column === edge.first ? edge.second : edge.first;
    const [beyond, within] = [edge.beyond[column], edge.within[column]];
    if (edge.kind === "independent-pair") return this.share(beyond, within);
    if (edge.corr !== undefined || edge.corrs) {
      const z = this.score(beyond), y = this.score(edge.within[partner]);
      return this.scores.set(within, this.gaussian(edge, z, y, (s, v, corr, root) => s * root + corr * v));
    }
    const p = this.get(beyond), v = this.get(edge.within[partner]);
    const tables = this.tablesOf(edge, column), classes = this.classesOf(edge), u = new Float64Array(this.rows);
    for (let i = 0; i < u.length; i++) u[i] = tables[classes ? classes[i] : 0].inverse(p[i], v[i]);
    return this.put(within, u);
  }

  // u of `column` given also its partner on the edge, from any u given the other columns of the edge.
  forward(edge, column, u) {
    if (edge.kind === "independent-pair") return u;
    const partner = column === edge.first ? edge.second : edge.first;
    if (edge.corr !== undefined || edge.corrs) {
      const z = this.gaussian(edge, u.map(ndtri), this.score(edge.within[partner]), (s, v, c, root) => (s - c * v) / root);
      return z.map((x) => clipOpen(ndtr(x)));
    }
    const v = this.get(edge.within[partner]);
    const tables = this.tablesOf(edge, column), classes = this.classesOf(edge), found = new Float64Array(u.length);
    for (let i = 0; i < u.length; i++) found[i] = tables[classes ? classes[i] : 0].forward(u[i], v[i]);
    return found;
  }

  gaussian(edge, s, v, combine) {
    const classes = this.classesOf(edge), z = new Float64Array(this.rows);
    for (let i = 0; i < z.length; i++) {
      const corr = classes ? edge.corrs[classes[i]] : edge.corr;
      const found = combine(s[i], v[i], corr, Math.sqrt(1 - corr * corr));
      z[i] = found > FARTHEST ? FARTHEST : found < -FARTHEST ? -FARTHEST : found;
    }
    return z;
  }

  tablesOf(edge, column) {
    const side = column === edge.first ? "first" : "second";
    return edge.table ? [edge.table[side]] : edge.classTables.map((table) => table[side]);
  }

  // The class of each particle; null of edges without classes.
  classesOf(edge) {
    if (edge.classColumn === undefined) return null;
    if (!this.classes.has(edge)) {
      const u = this.column(edge.classColumn), found = new Int32Array(u.length);
      for (let i = 0; i < u.length; i++) found[i] = findInterval(edge.classEdges, edge.classGuide, u[i]);
      this.classes.set(edge, found);
    }
    return this.classes.get(edge);
  }

  compute(key) {
    const edge = this.vine.byKey.get(key), column = Number(key.split("|")[0]);
    const partner = column === edge.first ? edge.second : edge.first;
    const within = edge.within[column];
    if (edge.kind === "independent-pair") {
      this.get(within);
      this.share(within, key);
    } else if (edge.corr !== undefined || edge.corrs) {
      const z = this.score(within), y = this.score(edge.within[partner]);
      this.scores.set(key, this.gaussian(edge, z, y, (s, v, corr, root) => (s - corr * v) / root));
    } else {
      this.levels.set(key, this.forward(edge, column, this.get(within)));
    }
  }

  share(source, target) {
    for (const known of [this.levels, this.scores]) {
      known.delete(target);
      if (known.has(source)) known.set(target, known.get(source));
    }
  }
}

export function topKey(step) {
  return step.chain.length ? step.chain.at(-1).beyond[step.column] : keyOf(step.column, []);
}

// Draws one column from its conditional distribution at levels p.
export function drawStep(step, uniforms, p) {
  uniforms.put(topKey(step), p);
  for (let k = step.chain.length - 1; k >= 0; k--) uniforms.descend(step.chain[k], step.column);
}

// Particles of the vine from independent levels, one array per column.
export function transform(vine, levels) {
  const uniforms = new Uniforms(vine, levels[0].length);
  for (const step of vine.steps) drawStep(step, uniforms, levels[step.column]);
  return levels.map((_, column) => uniforms.column(column));
}
