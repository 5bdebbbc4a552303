// Answers questions as the page does: node estimates.mjs STATIC MODEL FACTS ASKED [SMOOTH] prints JSON.
// SMOOTH has rows with a Gaussian copula, to be used in the place of the program's own.

import fs from "node:fs";

const [, , place, file, facts, asked, smooth] = process.argv;
const load = (name) => import(`${place}/${name}.mjs`);
const [zip, codec, model, decode, estimates] = await Promise.all(["zip", "codec", "model", "decode", "estimates"].map(load));
const { schema, measured } = JSON.parse(fs.readFileSync(facts, "utf8"));
const stored = codec.decodeModel(zip.readArchive(new Uint8Array(fs.readFileSync(file))).members);
const estimator = new estimates.Estimator(stored, model.prepareModel(stored), decode.unpackFacts(schema), measured);
if (smooth) {
  const rows = JSON.parse(fs.readFileSync(smooth, "utf8"));
  estimator.smoothRows = () => rows;
}
const began = (process.cpuUsage().user / 1000);
estimator.rows();
const drawn = (process.cpuUsage().user / 1000) - began;
const answers = JSON.parse(fs.readFileSync(asked, "utf8")).map(({ question, conditions }) => {
  const start = (process.cpuUsage().user / 1000), numbers = estimator.estimate(question, conditions);
  return { numbers, milliseconds: (process.cpuUsage().user / 1000) - start };
});
const codes = Object.fromEntries(Object.entries(estimator.rows()).map(([name, line]) => [name, Array.from(line.subarray(0, 500))]));
process.stdout.write(JSON.stringify({ drawn, answers, codes }));
