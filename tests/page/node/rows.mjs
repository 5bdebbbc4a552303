// Draws rows as the page does: node rows.mjs STATIC MODEL FACTS ROWS SEED CONDITIONS prints CSV.

import fs from "node:fs";

const [, , place, file, facts, rows, seed, conditions] = process.argv;
const load = (name) => import(`${place}/${name}.mjs`);
const [zip, codec, model, draw, decode, csv] = await Promise.all(["zip", "codec", "model", "draw", "decode", "csv"].map(load));
const { members } = zip.readArchive(new Uint8Array(fs.readFileSync(file)));
const schema = decode.unpackFacts(JSON.parse(fs.readFileSync(facts, "utf8")));
const drawer = new draw.Drawer(model.prepareModel(codec.decodeModel(members)), schema, JSON.parse(conditions));
let text = csv.writeHeader(schema);
for (const block of drawer.blocks(Number(rows), seed)) text += csv.writeLines(schema, block);
process.stdout.write(text);
