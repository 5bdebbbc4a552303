// Reads zip archives: the model file is one. Members are stored or deflated; anything else is refused.

import { inflateRaw } from "./inflate.mjs";

const END_RECORD = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;
const MAX_COMMENT = 65_535;
const DEFLATED = 8;

// Unpacks a gzip file, by the browser.
export async function gunzip(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  try {
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch {
    throw new Error("its packed data is damaged"); // the browser says that a fetch failed
  }
}

function findEnd(view) {
  const last = view.byteLength - 22;
  for (let at = last; at >= Math.max(0, last - MAX_COMMENT); at--) {
    if (view.getUint32(at, true) === END_RECORD) return at;
  }
  throw new Error("the model file in this page is not an archive");
}

function listEntries(bytes, view, end) {
  const entries = [];
  let at = view.getUint32(end + 16, true);
  for (let i = 0; i < view.getUint16(end + 10, true); i++) {
    if (view.getUint32(at, true) !== DIRECTORY_ENTRY) throw new Error("the directory of the model file is damaged");
    const nameLength = view.getUint16(at + 28, true);
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength));
    const packed = view.getUint32(at + 20, true), size = view.getUint32(at + 24, true);
    entries.push({ name, packed, size, method: view.getUint16(at + 10, true), header: view.getUint32(at + 42, true) });
    at += 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return entries;
}

function unpack(bytes, view, entry) {
  const start = entry.header + 30 + view.getUint16(entry.header + 26, true) + view.getUint16(entry.header + 28, true);
  const content = bytes.subarray(start, start + entry.packed);
  return entry.method === DEFLATED ? inflateRaw(content, entry.size) : content;
}

// Returns { members: Map of name to bytes, comment }.
export function readArchive(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = findEnd(view);
  const entries = listEntries(bytes, view, end);
  const contents = entries.map((entry) => unpack(bytes, view, entry));
  const comment = new TextDecoder().decode(bytes.subarray(end + 22));
  return { members: new Map(entries.map((entry, i) => [entry.name, contents[i]])), comment };
}
