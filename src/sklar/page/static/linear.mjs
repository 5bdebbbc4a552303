// Linear algebra of estimates: symmetric systems, and the part of a table that its margins do not determine.

const MIN_RECIPROCAL_CONDITION = 1e-13;
const RELATIVE_RESIDUAL = 1e-13;

// The lower Cholesky factor of a symmetric matrix (rows one after another); null if it is not positive definite.
export function factorCholesky(matrix, n) {
  const low = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      const [a, b] = [i * n, j * n];
      let sum = matrix[a + j];
      for (let k = 0; k < j; k++) sum -= low[a + k] * low[b + k];
      if (i !== j) low[a + j] = sum / low[b + j];
      else if (sum > 0) low[a + i] = Math.sqrt(sum);
      else return null;
    }
  }
  return low;
}

function solveFactored(low, n, right) {
  const x = Float64Array.from(right);
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < i; k++) x[i] -= low[i * n + k] * x[k];
    x[i] /= low[i * n + i];
  }
  for (let i = n - 1; i >= 0; i--) {
    x[i] /= low[i * n + i];
    for (let k = 0; k < i; k++) x[k] -= low[i * n + k] * x[i];
  }
  return x;
}

// Solves a consistent semidefinite system by conjugate gradients (Hestenes, Stiefel 1952): its shortest solution.
export function solveByGradients(multiply, right) {
  const n = right.length, x = new Float64Array(n), left = Float64Array.from(right), way = Float64Array.from(right);
  const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
  let square = dot(left, left);
  const enough = square * RELATIVE_RESIDUAL ** 2;
  for (let step = 0; step < 4 * n + 20 && square > enough; step++) {
    const image = multiply(way), length = square / dot(way, image);
    if (!Number.isFinite(length)) break;
    for (let i = 0; i < n; i++) {
      x[i] += length * way[i];
      left[i] -= length * image[i];
    }
    const next = dot(left, left), turn = next / square;
    for (let i = 0; i < n; i++) way[i] = left[i] + turn * way[i];
    square = next;
  }
  return x;
}

// Returns a function that solves a symmetric system; where it is (nearly) singular, in least squares.
export function prepareSolver(matrix, n) {
  const low = factorCholesky(matrix, n);
  if (low) {
    let least = Infinity, most = 0;
    for (let i = 0; i < n; i++) {
      least = Math.min(least, low[i * n + i]);
      most = Math.max(most, low[i * n + i]);
    }
    if ((least / most) ** 2 > MIN_RECIPROCAL_CONDITION) return (right) => solveFactored(low, n, right);
  }
  const multiply = (x) => Float64Array.from(x, (_, i) => {
    let sum = 0;
    for (let k = 0; k < n; k++) sum += matrix[i * n + k] * x[k];
    return sum;
  });
  return (right) => solveByGradients(multiply, right);
}

// Replaces each line along an axis of a table by what `change` makes of its values and their sum.
function alongAxes(table, shape, change) {
  shape.forEach((size, axis) => {
    const step = shape.slice(axis + 1).reduce((product, x) => product * x, 1);
    for (let start = 0; start < table.length; start++) {
      if (Math.floor(start / step) % size) continue;
      let sum = 0;
      for (let k = 0; k < size; k++) sum += table[start + k * step];
      for (let k = 0; k < size; k++) table[start + k * step] = change(table[start + k * step], sum, size);
    }
  });
  return table;
}

// The table without its mean along each axis, in place.
export function centreTable(table, shape) {
  return alongAxes(table, shape, (x, sum, size) => x - sum / size);
}

// The same map with the squares of its coefficients, in place.
export function centreVariances(table, shape) {
  return alongAxes(table, shape, (x, sum, size) => (1 - 2 / size) * x + sum / size ** 2);
}

export function meanOf(x) {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i];
  return sum / x.length;
}

export function varianceOf(x) {
  const centre = meanOf(x);
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += (x[i] - centre) ** 2;
  return sum / x.length;
}
