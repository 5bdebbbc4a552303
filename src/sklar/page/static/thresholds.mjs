// Quantiles with error bars, by inverting shares of rows below thresholds. Mirrors `sklar.inference.quantiles`.

import { shareOf } from "./influence.mjs";

const THRESHOLDS_PER_GROUP = 33;
const THRESHOLD_SPAN = 4;

// The first place of a rising array whose number is above x (or, if `inclusive`, reaches it).
function findPlace(sorted, x, inclusive) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (inclusive ? sorted[middle] < x : sorted[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Places thresholds near a quantile of a group; null if the model has no rows in it.
export function placeThresholds(x, group, own, level, levelError) {
  const whole = group.map((kept, i) => Number(kept && !Number.isNaN(x[i]))), part = shareOf(whole, own);
  const values = x.subarray(0, own).filter((_, i) => whole[i]).sort(), count = values.length;
  if (!count) return null;
  const near = THRESHOLD_SPAN * Math.max(levelError / part, 1 / Math.sqrt(count));
  const at = Float64Array.from({ length: THRESHOLDS_PER_GROUP }, (_, k) => {
    const aim = Math.min(Math.max(level + near * (-1 + (2 * k) / (THRESHOLDS_PER_GROUP - 1)), 0), 1);
    return values[Math.min(Math.max(Math.ceil(aim * count - 1e-9) - 1, 0), count - 1)];
  });
  const shares = at.map((end) => findPlace(values, end, false) / count);
  const psi = Array.from(at, (end, k) => x.map((value, i) => (whole[i] ? (Number(value <= end) - shares[k]) / part : 0)));
  return { at, shares, psi, part };
}

const risingMost = (line) => {
  let most = -Infinity;
  return line.map((x) => (most = Math.max(most, x)));
};
const risingLeast = (line) => {
  let least = Infinity;
  return line.slice().reverse().map((x) => (least = Math.min(least, x))).reverse();
};

// The quantile and the ends of its interval, from corrections of the shares.
export function invertShares({ at, shares, part }, steps, { level, normal, rows, whole }) {
  const corrected = shares.map((x, k) => x + steps[k].shift), below = risingLeast(corrected);
  const rising = risingMost(corrected).map((x, k) => (x + below[k]) / 2);
  const chance = (level * (1 - level)) / (rows * part), error = steps.map(({ noise }) => normal * Math.sqrt(noise + chance));
  const curves = [rising, risingMost(rising.map((x, k) => x + error[k])), risingLeast(rising.map((x, k) => x - error[k]))];
  const [value, low, high] = curves.map((curve) => firstReaching(at, curve, level, whole));
  const noise = interpolate(value, at, steps.map((step) => step.noise));
  return { value, low, high, ratio: chance / (chance + noise), explained: steps[Math.floor(steps.length / 2)].explained };
}

function firstReaching(at, curve, level, whole) {
  const place = findPlace(curve, level, true);
  if (place === 0 || place === at.length) return at[Math.min(place, at.length - 1)];
  const part = whole ? 1 : (level - curve[place - 1]) / (curve[place] - curve[place - 1]);
  return at[place - 1] + part * (at[place] - at[place - 1]);
}

function interpolate(x, at, values) {
  const place = findPlace(at, x, false);
  if (place === 0 || place === at.length) return values[place === 0 ? 0 : at.length - 1];
  const part = (x - at[place - 1]) / (at[place] - at[place - 1]);
  return values[place - 1] + part * (values[place] - values[place - 1]);
}
