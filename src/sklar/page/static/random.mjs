// Random numbers as numpy draws them: PCG64 (XSL-RR 128/64, O'Neill 2014) seeded by a SeedSequence.
// The same seed gives the same rows here and in Python.

const POOL = 4;

function seedWords(entropy) {
  const words = [];
  for (let rest = BigInt(entropy); rest > 0n || !words.length; rest >>= 32n) words.push(Number(rest & 0xffffffffn));
  return words;
}

function mixPool(words) {
  let constant = 0x43b0d7e5;
  const hash = (value) => {
    value = (value ^ constant) >>> 0;
    constant = Math.imul(constant, 0x931e8875) >>> 0;
    value = Math.imul(value, constant) >>> 0;
    return (value ^ (value >>> 16)) >>> 0;
  };
  const mix = (x, y) => {
    const value = (Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y)) >>> 0;
    return (value ^ (value >>> 16)) >>> 0;
  };
  const pool = Array.from({ length: POOL }, (_, i) => hash(i < words.length ? words[i] : 0));
  for (let from = 0; from < POOL; from++) {
    for (let to = 0; to < POOL; to++) if (from !== to) pool[to] = mix(pool[to], hash(pool[from]));
  }
  for (let from = POOL; from < words.length; from++) {
    for (let to = 0; to < POOL; to++) pool[to] = mix(pool[to], hash(words[from]));
  }
  return pool;
}

function generateState(pool, count) {
  let constant = 0x8b51f9dd;
  return Array.from({ length: count }, (_, i) => {
    let value = (pool[i % POOL] ^ constant) >>> 0;
    constant = Math.imul(constant, 0x58f38ded) >>> 0;
    value = Math.imul(value, constant) >>> 0;
    return (value ^ (value >>> 16)) >>> 0;
  });
}

const MASK = (1n << 128n) - 1n;
const MULTIPLIER = 0x2360ed051fc65da44385df649fccf645n;
const [M3, M2, M1, M0] = [0x2360ed05, 0x1fc65da4, 0x4385df64, 0x9fccf645];
const TWO32 = 4294967296, UNIT = 1 / TWO32;

export class Generator {
  // `key` is the number of a block of a stream; none for a whole sample.
  constructor(seed, key = null) {
    let words = seedWords(seed);
    if (key !== null) words = [...words, ...Array(Math.max(POOL - words.length, 0)).fill(0), key];
    const w = generateState(mixPool(words), 8).map(BigInt);
    const state = (w[1] << 96n) | (w[0] << 64n) | (w[3] << 32n) | w[2];
    const sequence = (w[5] << 96n) | (w[4] << 64n) | (w[7] << 32n) | w[6];
    const step = ((sequence << 1n) | 1n) & MASK;
    const first = ((step + state) * MULTIPLIER + step) & MASK;
    const limbs = (x) => [0n, 32n, 64n, 96n].map((shift) => Number((x >> shift) & 0xffffffffn));
    [this.s0, this.s1, this.s2, this.s3] = limbs(first);
    [this.c0, this.c1, this.c2, this.c3] = limbs(step);
    this.high = 0;
    this.low = 0;
    this.half = -1;
  }

  // Advances the state; the next 64 bits are in `high` and `low`.
  step() {
    const { s0, s1, s2, s3 } = this;
    // Low halves of 32-bit products by imul; high halves exactly, since the rest is far below half a unit.
    const l00 = Math.imul(s0, M0) >>> 0, h00 = ((s0 * M0 - l00) * UNIT + 0.5) >>> 0;
    const l01 = Math.imul(s0, M1) >>> 0, h01 = ((s0 * M1 - l01) * UNIT + 0.5) >>> 0;
    const l10 = Math.imul(s1, M0) >>> 0, h10 = ((s1 * M0 - l10) * UNIT + 0.5) >>> 0;
    const l02 = Math.imul(s0, M2) >>> 0, h02 = ((s0 * M2 - l02) * UNIT + 0.5) >>> 0;
    const l11 = Math.imul(s1, M1) >>> 0, h11 = ((s1 * M1 - l11) * UNIT + 0.5) >>> 0;
    const l20 = Math.imul(s2, M0) >>> 0, h20 = ((s2 * M0 - l20) * UNIT + 0.5) >>> 0;
    const top = (Math.imul(s0, M3) >>> 0) + (Math.imul(s1, M2) >>> 0) + (Math.imul(s2, M1) >>> 0) + (Math.imul(s3, M0) >>> 0);
    let sum = l00 + this.c0;
    this.s0 = sum >>> 0;
    sum = h00 + l01 + l10 + this.c1 + (sum >= TWO32 ? 1 : 0);
    this.s1 = sum >>> 0;
    sum = h01 + h10 + l02 + l11 + l20 + this.c2 + ((sum * UNIT) >>> 0);
    this.s2 = sum >>> 0;
    sum = h02 + h11 + h20 + top + this.c3 + ((sum * UNIT) >>> 0);
    this.s3 = sum >>> 0;
    // Exclusive or of both halves of the state, rotated right by its six highest bits.
    const xl = (this.s0 ^ this.s2) >>> 0, xh = (this.s1 ^ this.s3) >>> 0;
    let turn = this.s3 >>> 26;
    const [a, b] = turn >= 32 ? [xh, xl] : [xl, xh];
    turn &= 31;
    this.low = turn ? ((a >>> turn) | (b << (32 - turn))) >>> 0 : a;
    this.high = turn ? ((b >>> turn) | (a << (32 - turn))) >>> 0 : b;
  }

  // A uniform in [0, 1).
  random() {
    this.step();
    return (this.high * 2097152 + (this.low >>> 11)) / 9007199254740992;
  }

  fill(array) {
    for (let i = 0; i < array.length; i++) array[i] = this.random();
    return array;
  }

  uint32() {
    if (this.half >= 0) {
      const kept = this.half;
      this.half = -1;
      return kept;
    }
    this.step();
    this.half = this.high;
    return this.low;
  }

  // A whole number from 0 to `most`, both included (Lemire 2019).
  upto(most) {
    if (most === 0) return 0;
    if (most === 0xffffffff) return this.uint32();
    if (most > 0xffffffff) return this.wide(most);
    const span = most + 1;
    let draw = this.uint32();
    let left = Math.imul(draw, span) >>> 0;
    if (left < span) {
      const threshold = (0xffffffff - most) % span;
      while (left < threshold) {
        draw = this.uint32();
        left = Math.imul(draw, span) >>> 0;
      }
    }
    return Math.round((draw * span - left) / TWO32);
  }

  // The elements in a random order, in place: as numpy's `permutation`, which takes the lowest bits of each draw.
  shuffle(list) {
    for (let i = list.length - 1; i > 0; i--) {
      const mask = (2 ** (32 - Math.clz32(i)) - 1) >>> 0;
      let j = (this.uint32() & mask) >>> 0;
      while (j > i) j = (this.uint32() & mask) >>> 0;
      [list[i], list[j]] = [list[j], list[i]];
    }
    return list;
  }

  wide(most) {
    const span = BigInt(most) + 1n, size = 1n << 64n;
    for (;;) {
      this.step();
      const product = ((BigInt(this.high) << 32n) | BigInt(this.low)) * span;
      const left = product & (size - 1n);
      if (left >= span || left >= (size - span) % span) return Number(product >> 64n);
    }
  }
}
