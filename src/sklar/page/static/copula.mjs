// Pair copulas: h-functions of checkerboards and Gaussian copulas.
//
// A checkerboard has, for each of its two axes, a table of conditional distributions. `forward(u, v)` is the
// probability of a value of at most u given the other column's v; `inverse(p, v)` is the u where it is p.

import { clipOpen, findInterval, makeGuide } from "./axis.mjs";
import { ndtr, ndtri } from "./normal.mjs";

class Conditional {
  constructor(edges, given, mass, at) {
    const [cells, cases] = [edges.length - 1, given.length - 1];
    this.edges = edges;
    this.given = given;
    this.length = cells + 1;
    this.cdf = new Float64Array(cases * this.length);
    for (let j = 0; j < cases; j++) {
      let total = 0;
      for (let i = 0; i < cells; i++) total += mass[at(i, j)];
      for (let i = 0, sum = 0; i < cells; i++) this.cdf[j * this.length + i + 1] = sum += mass[at(i, j)] / total;
      this.cdf[j * this.length + cells] = 1;
    }
    this.edgesGuide = makeGuide(edges);
    this.givenGuide = makeGuide(given);
    this.guides = Array.from({ length: cases }, (_, j) => makeGuide(this.cdf, j * this.length, this.length));
  }

  forward(u, v) {
    const { edges, cdf } = this;
    const i = findInterval(edges, this.edgesGuide, u);
    const row = findInterval(this.given, this.givenGuide, v) * this.length;
    const part = (u - edges[i]) / (edges[i + 1] - edges[i]);
    return clipOpen(cdf[row + i] + part * (cdf[row + i + 1] - cdf[row + i]));
  }

  inverse(p, v) {
    const { edges, cdf } = this;
    const j = findInterval(this.given, this.givenGuide, v), row = j * this.length;
    const i = findInterval(cdf, this.guides[j], p, row, this.length);
    const rise = cdf[row + i + 1] - cdf[row + i];
    const part = rise > 1e-15 ? Math.min(Math.max((p - cdf[row + i]) / rise, 0), 1) : 0.5;
    return clipOpen(edges[i] + part * (edges[i + 1] - edges[i]));
  }
}

// Returns the conditional distributions of the first axis given the second, and of the second given the first.
export function tabulate(stored) {
  const [edges1, edges2] = [stored.edges1, stored.edges2].map((edges) => Float64Array.from(edges.data));
  const { data, shape } = stored.mass;
  return {
    first: new Conditional(edges1, edges2, data, (i, j) => i * shape[1] + j),
    second: new Conditional(edges2, edges1, data, (i, j) => j * shape[1] + i),
  };
}

// P(U1 <= u | U2 = v) of the Gaussian copula, which is symmetric in its columns.
export function gaussianForward(corr, u, v) {
  return clipOpen(ndtr((ndtri(u) - corr * ndtri(v)) / Math.sqrt(1 - corr * corr)));
}

export function gaussianInverse(corr, p, v) {
  return clipOpen(ndtr(ndtri(p) * Math.sqrt(1 - corr * corr) + corr * ndtri(v)));
}
