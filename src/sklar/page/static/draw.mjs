// Draws rows: codes from the model, values inside their cells, declared columns from coordinates, rules by rejection.

import { assemble } from "./assemble.mjs";
import { conditionTest } from "./conditions.mjs";
import { decodeColumn } from "./decode.mjs";
import { Generator } from "./random.mjs";
import { makeRuleTest } from "./rules.mjs";

export const BLOCK_ROWS = 65_536;
const ROUNDS = 25;
const MIN_REDRAW_ROWS = 10_000;
const MAX_DRAWN = 4_000_000;

function copyRows(table, to, from, source) {
  for (const name of Object.keys(table)) {
    to.forEach((row, k) => {
      table[name].data[row] = source[name].data[from[k]];
      table[name].null[row] = source[name].null[from[k]];
    });
  }
}

// Whether a row of codes obeys every rule, once it is decoded.
export function makeDrawTest(facts, codes, rng) {
  const { table, bent } = decodeRows(facts, codes, rng), obeys = makeRuleTest(facts.rules, table);
  return (i) => !bent[i] && obeys(i);
}

// Declared columns of rows of codes, and the rows whose coordinates are inconsistent.
export function decodeRows(facts, codes, rng) {
  const drawn = {};
  facts.coordinates.forEach((part, j) => (drawn[part.name] = decodeColumn(part, codes[j], rng)));
  return assemble(facts, drawn, codes[0].length, rng);
}

export class Drawer {
  // `facts` are the public facts of the schema; `conditions` restrict rows (see conditions.mjs).
  constructor(model, facts, conditions = []) {
    Object.assign(this, { model, facts, conditions });
  }

  drawOnce(rows, rng) {
    const { table, bent } = decodeRows(this.facts, this.model.simulate(rows, rng), rng);
    const obeys = makeRuleTest(this.facts.rules, table), meets = conditionTest(this.conditions, table);
    const good = [], bad = [], checked = this.facts.rules.length > 0 || this.conditions.length > 0;
    for (let i = 0; i < rows; i++) (!checked || (!bent[i] && obeys(i) && meets(i)) ? good : bad).push(i);
    return { table, good, bad };
  }

  // Rows that obey every rule and condition: others are drawn again. `report` is called with the rows found so far.
  drawRows(rows, rng, report = () => {}) {
    const first = this.drawOnce(rows, rng), table = first.table, most = Math.max(rows, MIN_REDRAW_ROWS);
    let bad = first.bad, drawn = rows, accepted = first.good.length;
    for (let round = 0; bad.length; round++) {
      report(rows - bad.length);
      if (round >= ROUNDS && (drawn > MAX_DRAWN || accepted === 0)) throw new Error(RARE);
      const wanted = Math.min(most, 16 + Math.ceil((1.1 * bad.length * (drawn + 1)) / (accepted + 1)));
      const fresh = this.drawOnce(wanted, rng);
      drawn += wanted;
      accepted += fresh.good.length;
      const used = fresh.good.slice(0, bad.length);
      copyRows(table, bad.slice(0, used.length), used, fresh.table);
      bad = bad.slice(used.length);
    }
    report(rows);
    return table;
  }

  // Blocks of a stream of rows: block k depends on the seed and k alone, as in `model.stream` of Python.
  *blocks(rows, seed, report = () => {}) {
    for (let start = 0; start < rows; start += BLOCK_ROWS) {
      const count = Math.min(BLOCK_ROWS, rows - start);
      const rng = new Generator(BigInt(seed), start / BLOCK_ROWS);
      yield { start, count, table: this.drawRows(count, rng, (found) => report(start + found)) };
    }
  }
}

const RARE =
  "rows that meet these conditions are too rare to be found here: give weaker conditions, or use `sklar sample --given`";
