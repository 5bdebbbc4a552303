// The side of the page that draws: runs in a worker, which has the model and answers one message at a time.

import { decodeModel } from "./codec.mjs";
import { writeLines } from "./csv.mjs";
import { decodeColumn, unpackFacts } from "./decode.mjs";
import { BLOCK_ROWS, Drawer } from "./draw.mjs";
import { Estimator } from "./estimates.mjs";
import { prepareModel } from "./model.mjs";
import { Generator } from "./random.mjs";
import { computeStatistic } from "./statistics.mjs";
import { readArchive } from "./zip.mjs";

const PREVIEW_ROWS = 100;
const MAX_LOOK_CELLS = 400_000;

export function startWorker(scope) {
  let ready = null;
  const handle = {
    load({ model, facts, measured }) {
      const stored = decodeModel(readArchive(model).members), sampler = prepareModel(stored);
      ready = { model: sampler, facts: unpackFacts(facts), estimator: null };
      if (measured) ready.estimator = new Estimator(stored, sampler, ready.facts, measured);
      return {};
    },
    // Estimates with intervals; null where replicas are needed.
    estimates({ asked }) {
      ready.estimator?.rows();
      return asked.map(({ question, conditions }) => ready.estimator?.estimate(question, conditions) ?? null);
    },
    // One block of a stream as text, and its first rows.
    block({ rows, seed, number, conditions }) {
      const drawer = new Drawer(ready.model, ready.facts, conditions);
      const start = number * BLOCK_ROWS, count = Math.min(BLOCK_ROWS, rows - start);
      const report = (found) => scope.postMessage({ progress: number, found });
      const table = drawer.drawRows(count, new Generator(BigInt(seed), number), report);
      const lines = writeLines(ready.facts, { start, count, table });
      return { lines, preview: number === 0 ? previewOf(lines) : null };
    },
    // How many of some rows of the model meet conditions.
    meeting({ conditions }) {
      return ready.estimator && conditions.length ? ready.estimator.countMeeting(conditions) : { met: 1, rows: 1 };
    },
    // The model's own answer to a question, from rows that meet conditions.
    statistic({ question, conditions, rows }) {
      const table = new Drawer(ready.model, ready.facts, conditions).drawRows(rows, new Generator(0n));
      return { numbers: computeStatistic(question, ready.facts, table), rows };
    },
    // Rows as coordinates, for pictures of pairs.
    look({ rows }) {
      const { model, facts } = ready, rng = new Generator(0n);
      const count = Math.max(Math.min(rows, Math.floor(MAX_LOOK_CELLS / facts.coordinates.length)), 4_000);
      const codes = model.simulateRoughly(count, rng);
      return { columns: facts.coordinates.map((column, j) => decodeColumn(column, codes[j], rng)) };
    },
  };
  scope.onmessage = async ({ data }) => {
    try {
      scope.postMessage({ id: data.id, found: await handle[data.task](data) });
    } catch (error) {
      scope.postMessage({ id: data.id, error: error.message });
    }
  };
}

function previewOf(lines) {
  let at = 0;
  for (let i = 0; i < PREVIEW_ROWS && at >= 0; i++) at = lines.indexOf("\n", at) + 1 || -1;
  return at < 0 ? lines : lines.slice(0, at);
}
