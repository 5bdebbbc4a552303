// Evaluates the program's formulas at given points: node vectors.mjs STATIC INPUT prints JSON.

import fs from "node:fs";

const [, , place, input] = process.argv;
const load = (name) => import(`${place}/${name}.mjs`);
const [axis, copula, epsilon, model, normal, random, weights, zip, codec] = await Promise.all(
  ["axis", "copula", "epsilon", "model", "normal", "random", "weights", "zip", "codec"].map(load),
);
const asked = JSON.parse(fs.readFileSync(input, "utf8"));
const { members } = zip.readArchive(new Uint8Array(fs.readFileSync(asked.model)));
const stored = codec.decodeModel(members), fitted = model.prepareModel(stored);
const { u, v, seed, tables } = asked;

const boards = stored.vine.trees.flat().map((edge) => edge.copula).filter((one) => one.word === "checkerboard").slice(0, tables);
const particles = fitted.axes.map((_, j) => Float64Array.from(asked.particles[j]));
const places = fitted.axes.map((one, j) => axis.placesAt(one, particles[j]));
const rng = new random.Generator(BigInt(seed));

process.stdout.write(JSON.stringify({
  ndtr: u.map((x) => normal.ndtr(8 * x - 4)),
  ndtri: u.map((x) => normal.ndtri(x)),
  gaussian: u.map((x, i) => [copula.gaussianForward(-0.7, x, v[i]), copula.gaussianInverse(0.4, x, v[i])]),
  boards: boards.map((board) => {
    const table = copula.tabulate(board);
    return u.map((x, i) => [table.first.forward(x, v[i]), table.second.forward(x, v[i]), table.first.inverse(x, v[i]), table.second.inverse(x, v[i])]);
  }),
  codes: fitted.axes.map((one, j) => Array.from(particles[j], (x, i) => axis.codeAt(one, x, places[j][i]))),
  logs: Array.from(weights.logWeights(fitted.calibration, places)),
  margins: stored.margins.map((margin) => u.map((x) => model.invertMargin(model.prepareMargin(margin), x))),
  random: u.map(() => rng.random()),
  epsilons: asked.shifts.map((shift) => [epsilon.gaussianEpsilon(shift, 1e-9), epsilon.zcdpEpsilon(shift, 1e-9)]),
}));
