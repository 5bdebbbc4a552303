// The normal distribution function and its inverse, to double precision: rational approximations of
// Cody (1969, Mathematics of Computation 23) and Wichura (1988, Applied Statistics 37, AS 241).

const NEAR_P = [1.85777706184603153e-1, 3.1611237438705656, 1.13864154151050156e2, 3.77485237685302021e2, 3.20937758913846947e3];
const NEAR_Q = [1, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3];
const MIDDLE_P = [
  2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594, 6.61191906371416295e1, 2.98635138197400131e2,
  8.8195222124176909e2, 1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3,
];
const MIDDLE_Q = [
  1, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3, 3.29079923573345963e3,
  4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3,
];
const FAR_P = [1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4];
const FAR_Q = [1, 2.56852019228982242, 1.87295284992346047, 5.27905102951428412e-1, 6.05183413124413191e-2, 2.33520497626869185e-3];

function ratio(p, q, x) {
  let above = p[0], below = q[0];
  for (let i = 1; i < p.length; i++) above = above * x + p[i];
  for (let i = 1; i < q.length; i++) below = below * x + q[i];
  return above / below;
}

// exp(-x^2), with x split so that its square is exact where the exponent is large.
function gauss(x) {
  const head = Math.trunc(x * 16) / 16;
  return Math.exp(-head * head) * Math.exp(-(x - head) * (x + head));
}

function complement(x) {
  if (x > 4) {
    const square = 1 / (x * x);
    return (gauss(x) * (0.5641895835477563 - square * ratio(FAR_P, FAR_Q, square))) / x;
  }
  return gauss(x) * ratio(MIDDLE_P, MIDDLE_Q, x);
}

// P(Z <= z) of a standard normal Z.
export function ndtr(z) {
  const x = z * Math.SQRT1_2, size = Math.abs(x);
  if (size <= 0.46875) return 0.5 + 0.5 * x * ratio(NEAR_P, NEAR_Q, x * x);
  const tail = 0.5 * complement(size);
  return x > 0 ? 1 - tail : tail;
}

const CENTRE_P = [
  2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
  1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.387132872796366608,
];
const CENTRE_Q = [
  5.226495278852854561e3, 2.8729085735721942674e4, 3.930789580009271061e4, 2.1213794301586595867e4,
  5.3941960214247511077e3, 6.871870074920579083e2, 4.2313330701600911252e1, 1,
];
const SIDE_P = [
  7.7454501427834140764e-4, 2.27238449892691845833e-2, 2.4178072517745061177e-1, 1.27045825245236838258,
  3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734,
];
const SIDE_Q = [
  1.05075007164441684324e-9, 5.475938084995344946e-4, 1.51986665636164571966e-2, 1.4810397642748007459e-1,
  6.8976733498510000455e-1, 1.6763848301838038494, 2.05319162663775882187, 1,
];
const END_P = [
  2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.2426609473880784386e-3, 2.6532189526576123093e-2,
  2.9656057182850489123e-1, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772,
];
const END_Q = [
  2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
  1.48753612908506148525e-2, 1.3692988092273580531e-1, 5.9983220655588793769e-1, 1,
];

// The z with P(Z <= z) = p.
export function ndtri(p) {
  const centred = p - 0.5;
  if (Math.abs(centred) <= 0.425) return centred * ratio(CENTRE_P, CENTRE_Q, 0.180625 - centred * centred);
  const tail = centred < 0 ? p : 1 - p;
  if (tail <= 0) return centred < 0 ? -Infinity : Infinity;
  const r = Math.sqrt(-Math.log(tail));
  const size = r <= 5 ? ratio(SIDE_P, SIDE_Q, r - 1.6) : ratio(END_P, END_Q, r - 5);
  return centred < 0 ? -size : size;
}
