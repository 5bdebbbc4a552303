// Decodes model.json and its arrays: classes become plain objects with a `word`, arrays become typed arrays.

const KINDS = {
  f8: Float64Array,
  f4: Float32Array,
  i4: Int32Array,
  u4: Uint32Array,
  i2: Int16Array,
  u2: Uint16Array,
  i1: Int8Array,
  u1: Uint8Array,
  b1: Uint8Array,
};

function fromInt64(buffer) {
  const words = new Uint32Array(buffer);
  const numbers = new Float64Array(words.length / 2);
  for (let i = 0; i < numbers.length; i++) numbers[i] = (words[2 * i + 1] | 0) * 4294967296 + words[2 * i];
  return numbers;
}

// Returns { data, shape } of the bytes of an .npy file. Arrays are in the order of rows.
export function parseArray(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const wide = bytes[6] > 1;
  const length = wide ? view.getUint32(8, true) : view.getUint16(8, true);
  const begin = (wide ? 12 : 10) + length;
  const header = new TextDecoder().decode(bytes.subarray(wide ? 12 : 10, begin));
  const kind = /'descr': '[<|=]?(\w+)'/.exec(header)?.[1];
  const shape = (/'shape': \(([^)]*)\)/.exec(header)?.[1] ?? "").split(",").filter((x) => x.trim()).map(Number);
  if (!/'fortran_order': False/.test(header)) throw new Error("an array of the model is not in the order of rows");
  const buffer = bytes.slice(begin).buffer;
  if (kind === "i8") return { data: fromInt64(buffer), shape };
  if (!KINDS[kind]) throw new Error(`arrays of type ${kind} are not supported`);
  return { data: new KINDS[kind](buffer), shape };
}

export function decodeTree(tree, arrays) {
  if (Array.isArray(tree)) return tree.map((item) => decodeTree(item, arrays));
  if (tree === null || typeof tree !== "object") return tree;
  if ("array" in tree) return arrays[tree.array];
  if ("float" in tree) return tree.float === "inf" ? Infinity : tree.float === "-inf" ? -Infinity : Number(tree.float);
  if ("pairs" in tree) return new Map(tree.pairs.map(([k, v]) => [decodeTree(k, arrays), decodeTree(v, arrays)]));
  const found = { word: tree.class };
  for (const [name, value] of Object.entries(tree.fields)) found[name] = decodeTree(value, arrays);
  return found;
}

// Returns the model of the members of a model file.
export function decodeModel(members) {
  const arrays = [];
  for (let i = 0; members.has(`arrays/${i}.npy`); i++) arrays.push(parseArray(members.get(`arrays/${i}.npy`)));
  return decodeTree(JSON.parse(new TextDecoder().decode(members.get("model.json"))), arrays);
}
