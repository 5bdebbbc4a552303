// Workers that draw rows: started with the program of this page, ended on cancel.

import { BLOCK_ROWS } from "./draw.mjs";

const MAX_WORKERS = 4;
const ASKED_ROWS = 20_000;
// The smallest share of rows for which drawing until enough rows meet conditions ends in reasonable time.
const MIN_SHARE = 1e-4;

class Hand {
  constructor(source, load) {
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    this.worker = new Worker(url);
    this.waiting = new Map();
    this.count = 0;
    this.report = () => {};
    this.worker.onmessage = ({ data }) => this.receive(data);
    this.worker.onerror = () => this.fail("the worker that draws rows did not start");
    this.ready = this.request("load", load).then(() => URL.revokeObjectURL(url));
  }

  receive(data) {
    if ("progress" in data) return this.report(data.progress, data.found);
    const { resolve, reject } = this.waiting.get(data.id);
    this.waiting.delete(data.id);
    return "error" in data ? reject(new Error(data.error)) : resolve(data.found);
  }

  fail(message) {
    for (const { reject } of this.waiting.values()) reject(new Error(message));
    this.waiting.clear();
  }

  request(task, content) {
    const id = ++this.count;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, task, ...content });
    });
  }
}

export class Engine {
  constructor(source, load) {
    Object.assign(this, { source, load, hands: [] });
  }

  first() {
    if (!this.hands.length) this.hands.push(new Hand(this.source, this.load));
    return this.hands[0];
  }

  async look(rows) {
    const hand = this.first();
    await hand.ready;
    return hand.request("look", { rows });
  }

  // Refuses conditions that too few rows meet, before any are drawn.
  async requireLikely(hand, conditions) {
    await hand.ready;
    const { met, rows } = await hand.request("meeting", { conditions });
    if (met / rows >= MIN_SHARE) return;
    throw new Error(`${met} of ${rows.toLocaleString("en")} rows of the model meet these conditions, about ${(100 * Math.max(met, 0.5) / rows).toPrecision(1)}%, too few to be found by drawing`);
  }

  async statistic(question, conditions) {
    const hand = this.first();
    await this.requireLikely(hand, conditions);
    return hand.request("statistic", { question, conditions, rows: ASKED_ROWS });
  }

  // Estimates with intervals for each of some questions; null for those that need replicas.
  async estimates(asked) {
    const hand = this.first();
    await hand.ready;
    return hand.request("estimates", { asked });
  }

  // Draws a sample; calls `report` with the rows found, and `preview` with the first lines. Returns the lines by block.
  async draw({ rows, seed, conditions }, report, preview) {
    const blocks = Math.ceil(rows / BLOCK_ROWS), lines = new Array(blocks), found = new Map();
    const wanted = Math.min(blocks, MAX_WORKERS, Math.max(navigator.hardwareConcurrency - 1, 1));
    await this.requireLikely(this.first(), conditions);
    while (this.hands.length < wanted) this.hands.push(new Hand(this.source, this.load));
    let next = 0;
    const work = async (hand) => {
      hand.report = (number, count) => {
        found.set(number, count);
        report([...found.values()].reduce((sum, x) => sum + x, 0));
      };
      await hand.ready;
      while (next < blocks) {
        const number = next++;
        const block = await hand.request("block", { rows, seed, number, conditions });
        lines[number] = block.lines;
        if (block.preview !== null) preview(block.preview);
      }
    };
    await Promise.all(this.hands.slice(0, wanted).map(work));
    return lines;
  }

  cancel() {
    for (const hand of this.hands) {
      hand.worker.terminate();
      hand.fail("cancelled");
    }
    this.hands = [];
    this.first();
  }
}
