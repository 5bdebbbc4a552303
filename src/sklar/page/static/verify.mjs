// Checks the page against its manifest, the model file against its own, the ledger's chain and the signature.
// A check is { part, ok (true, false, or null if not checked), says }.

import { recomputePrice } from "./epsilon.mjs";
import { gunzip, readArchive } from "./zip.mjs";

const CLAIM_FACTS = ["epsilon", "delta", "accounting", "neighbours", "rows_per_person", "method"];
const GENESIS = "0".repeat(64);
const text = (bytes) => new TextDecoder().decode(bytes);

export async function digest(content) {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (x) => x.toString(16).padStart(2, "0")).join("");
}

export function fromBase64(encoded) {
  const raw = atob(encoded);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

// `parts` has the texts of program, style, facts and document, and the bytes of manifest, model, ledger and signature.
export async function verifyPage(parts) {
  if (!globalThis.crypto?.subtle) {
    return [{ part: "page", ok: null, says: "This browser computes hashes only for pages that were opened from a file or over https." }];
  }
  const manifest = await attempt("page", () => ({ ok: true, ...JSON.parse(text(parts.manifest)) }));
  if (!manifest.members) return [{ part: "page", ok: false, says: "Its manifest cannot be read: it was changed." }];
  const checks = [await attempt("page", () => checkPage(parts, manifest))];
  const { members, ...model } = await attempt("model file", () => checkModel(parts.model, manifest.members.model));
  checks.push(model);
  if (members) checks.push(await attempt("claim", () => checkClaim(parts.facts, members)));
  if (members) checks.push(await attempt("price", () => checkPrice(members)));
  checks.push(parts.ledger ? await attempt("ledger", () => checkLedger(parts.ledger, members)) : notChecked("ledger", "This page has no extract of the ledger."));
  checks.push(await checkSignature(parts));
  return checks;
}

// A part that cannot be read was changed.
async function attempt(part, check) {
  try {
    return await check();
  } catch (error) {
    return { part, ok: false, says: `It cannot be read: ${error.message}.` };
  }
}

const notChecked = (part, says) => ({ part, ok: null, says });

async function checkPage(parts, manifest) {
  const found = {};
  for (const name of ["program", "style", "facts", "document"]) found[name] = await digest(parts[name]);
  if (parts.ledger) found.ledger = await digest(parts.ledger);
  const wrong = Object.keys(found).filter((name) => found[name] !== manifest.members[name]);
  if (Object.keys(manifest.members).some((name) => name !== "model" && !(name in found))) wrong.push("a part that is missing");
  if (wrong.length) return { part: "page", ok: false, says: `Changed after it was written: ${wrong.join(", ")}.` };
  return { part: "page", ok: true, says: `Program, style, data and document have the hashes of the manifest, ${(await digest(parts.manifest)).slice(0, 16)}.` };
}

async function checkModel(bytes, expected) {
  const part = "model file", found = await digest(bytes);
  if (found !== expected) return { part, ok: false, says: "It was changed: its SHA-256 is not that of the manifest." };
  const { members, comment } = readArchive(bytes);
  const listing = members.get("manifest.json"), listed = JSON.parse(text(listing)).members;
  const names = [...members.keys()].filter((name) => name !== "manifest.json");
  const digests = await Promise.all(names.map((name) => digest(members.get(name))));
  const wrong = names.filter((name, i) => digests[i] !== listed[name]);
  if (Object.keys(listed).length !== names.length) wrong.push("a member that is missing");
  if ((await digest(listing)) !== comment) wrong.push("manifest.json");
  if (wrong.length) return { part, ok: false, says: `Members do not match its manifest: ${wrong.slice(0, 3).join(", ")}.` };
  return { part, ok: true, members, says: `All ${members.size} members have the hashes of its manifest. SHA-256 of the file: ${found}.` };
}

// What the page shows as the claim is the claim in the model file.
async function checkClaim(facts, members) {
  const shown = JSON.parse(text(await gunzip(fromBase64(facts)))).claim, stated = JSON.parse(text(members.get("claim.json")));
  const wrong = CLAIM_FACTS.filter((name) => shown[name] !== stated[name]);
  if (wrong.length) return { part: "claim", ok: false, says: `The page shows another claim than the model file: ${wrong.join(", ")}.` };
  return { part: "claim", ok: true, says: `The claim shown is that of the model file: epsilon = ${stated.epsilon} at delta = ${stated.delta}.` };
}

function checkPrice(members) {
  const json = (name) => JSON.parse(text(members.get(name)));
  const steps = text(members.get("releases.jsonl")).split("\n").map((line) => JSON.parse(line));
  return { part: "price", ...recomputePrice(json("fit.json"), json("claim.json"), steps, json("queries.json")) };
}

// Each line has the hash of the line before; the digests of the fit's steps are those of the model's releases.
export async function checkLedger(bytes, members) {
  const lines = text(bytes).split("\n").filter(Boolean), digests = new Set();
  let previous = GENESIS;
  for (const [i, line] of lines.entries()) {
    const entry = JSON.parse(line);
    const content = line.replace(new RegExp(`,?"sha256":"${entry.sha256}"`), "").replace("{,", "{");
    if (entry.prev !== previous || (await digest(content)) !== entry.sha256) {
      return { part: "ledger", ok: false, says: `The chain breaks at line ${i + 1}.` };
    }
    if (entry.digest) digests.add(entry.digest);
    previous = entry.sha256;
  }
  const steps = members ? text(members.get("releases.jsonl")).split("\n") : [];
  for (const step of steps) {
    if (!digests.has(await digest(step))) return { part: "ledger", ok: false, says: "It does not have the releases of this model." };
  }
  return { part: "ledger", ok: true, says: `The chain of ${lines.length} lines holds, and it has all ${steps.length} steps of this model. Its last hash: ${previous.slice(0, 16)}.` };
}

export async function checkSignature({ manifest, signature }) {
  if (!signature) return notChecked("signature", "This page is not signed.");
  try {
    const record = JSON.parse(text(signature)), raw = fromBase64(record.public_key);
    const fingerprint = (await digest(raw)).slice(0, 16);
    let key;
    try {
      key = await crypto.subtle.importKey("raw", raw, { name: "Ed25519" }, false, ["verify"]);
    } catch {
      return notChecked("signature", `This browser cannot check Ed25519 signatures; that of key ${fingerprint} was not checked.`);
    }
    const valid = await crypto.subtle.verify({ name: "Ed25519" }, key, fromBase64(record.signature), manifest);
    if (!valid) return { part: "signature", ok: false, says: "The signature is not one of this page." };
    return { part: "signature", ok: true, says: `Signed with the key ${fingerprint}: compare this with the fingerprint that the custodian publishes.` };
  } catch {
    return { part: "signature", ok: false, says: "The signature cannot be read." };
  }
}
