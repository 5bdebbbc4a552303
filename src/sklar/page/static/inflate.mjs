// Unpacks deflated bytes (RFC 1951). A model file has hundreds of small members: browsers' own streams take longer.

const LENGTH_BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCE_BASE = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
const CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const END = 256;
const DAMAGED = "packed data is damaged";

// For each sequence of as many bits as the longest code, the symbol it begins with, and the bits of that (in 4).
function makeCodes(lengths) {
  const most = Math.max(...lengths, 1), table = new Uint16Array(1 << most), count = new Uint16Array(17);
  for (const length of lengths) count[length]++;
  count[0] = 0;
  const next = new Uint16Array(17);
  for (let bits = 1; bits < 16; bits++) next[bits + 1] = (next[bits] + count[bits]) << 1;
  lengths.forEach((length, symbol) => {
    if (!length) return;
    let code = next[length]++, turned = 0;
    for (let i = 0; i < length; i++, code >>= 1) turned = (turned << 1) | (code & 1);
    for (let at = turned; at < table.length; at += 1 << length) table[at] = (symbol << 4) | length;
  });
  return { table, mask: table.length - 1 };
}

const FIXED_LENGTHS = Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8));
const FIXED = { symbols: makeCodes(FIXED_LENGTHS), distances: makeCodes(new Array(30).fill(5)) };

class Bits {
  constructor(bytes) {
    Object.assign(this, { bytes, at: 0, kept: 0, held: 0 });
  }

  take(count) {
    while (this.held < count) {
      if (this.at > this.bytes.length + 4) throw new Error(DAMAGED);
      this.kept |= (this.bytes[this.at++] ?? 0) << this.held;
      this.held += 8;
    }
    const found = this.kept & ((1 << count) - 1);
    this.kept >>>= count;
    this.held -= count;
    return found;
  }

  symbol({ table, mask }) {
    while (this.held < 15 && this.at < this.bytes.length) {
      this.kept |= this.bytes[this.at++] << this.held;
      this.held += 8;
    }
    const entry = table[this.kept & mask], length = entry & 15;
    if (!length || length > this.held) throw new Error(DAMAGED);
    this.kept >>>= length;
    this.held -= length;
    return entry >> 4;
  }

  // Skips to the next whole byte and returns its place.
  align() {
    this.at -= this.held >> 3;
    this.kept = this.held = 0;
    return this.at;
  }
}

function readCodes(bits) {
  const symbols = bits.take(5) + 257, distances = bits.take(5) + 1, coded = bits.take(4) + 4;
  const lengths = new Array(19).fill(0);
  for (let i = 0; i < coded; i++) lengths[CODE_ORDER[i]] = bits.take(3);
  const codes = makeCodes(lengths), found = [];
  while (found.length < symbols + distances) {
    const symbol = bits.symbol(codes);
    if (symbol < 16) found.push(symbol);
    else {
      const repeats = symbol === 16 ? 3 + bits.take(2) : symbol === 17 ? 3 + bits.take(3) : 11 + bits.take(7);
      const value = symbol === 16 ? found.at(-1) : 0;
      for (let i = 0; i < repeats; i++) found.push(value);
    }
  }
  return { symbols: makeCodes(found.slice(0, symbols)), distances: makeCodes(found.slice(symbols, symbols + distances)) };
}

function unpackBlock(bits, { symbols, distances }, out, place) {
  for (;;) {
    const symbol = bits.symbol(symbols);
    if (symbol === END) return place;
    if (symbol < END) {
      out[place++] = symbol;
      continue;
    }
    const length = LENGTH_BASE[symbol - 257] + bits.take(LENGTH_BITS[symbol - 257]), far = bits.symbol(distances);
    const distance = DISTANCE_BASE[far] + bits.take(far < 4 ? 0 : (far >> 1) - 1);
    if (distance > place || place + length > out.length) throw new Error(DAMAGED);
    for (let i = 0; i < length; i++, place++) out[place] = out[place - distance];
  }
}

// Returns the bytes, of which there are `size`.
export function inflateRaw(bytes, size) {
  const out = new Uint8Array(size), bits = new Bits(bytes);
  let place = 0, last = false;
  while (!last) {
    last = bits.take(1) === 1;
    const kind = bits.take(2);
    if (kind === 0) {
      const at = bits.align(), length = bytes[at] | (bytes[at + 1] << 8);
      out.set(bytes.subarray(at + 4, at + 4 + length), place);
      place += length;
      bits.at = at + 4 + length;
    } else if (kind === 3) throw new Error(DAMAGED);
    else place = unpackBlock(bits, kind === 1 ? FIXED : readCodes(bits), out, place);
  }
  if (place !== size) throw new Error(DAMAGED);
  return out;
}
