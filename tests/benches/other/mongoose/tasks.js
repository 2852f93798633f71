// The tasks of MongoDB's benchmark for ODMs by Mongoose: `node tasks.js URI DATABASE TASK WAY`, by its documents or `lean`. For every
// line on standard input it executes one block of the task and prints how long that took and its result, so that the
// benchmark can take turns with it.
import mongoose from "mongoose";
import { createInterface } from "node:readline";

const { Schema } = mongoose;
const [uri, dbName, task, way] = process.argv.slice(2);
const BLOCK = 300;
const DOCUMENTS = 1000;

const fields = (count, type) => Object.fromEntries(Array.from({ length: count }, (_, k) => [`field${k + 1}`, type]));
const model = (name, collection, shape) =>
  mongoose.model(name, new Schema(shape, { collection, autoIndex: false, autoCreate: false, versionKey: false }));

const ForeignKey = model("ForeignKey", "foreign_keys", { name: String });
const small = { ...fields(7, String) };
for (let k = 8; k <= 13; k++) small[`field${k}`] = Number;
const Small = model("Small", "small", { ...small, field_fk: { type: Schema.Types.ObjectId, ref: ForeignKey.modelName } });
const texts = new Schema({ unique_id: Number, ...fields(15, String) }, { _id: false });
const numbers = new Schema(fields(15, Number), { _id: false });
const shape = { embedded_str_doc_array: [texts] };
for (let k = 1; k <= 5; k++) shape[`embedded_str_doc_${k}`] = texts;
for (let k = 8; k <= 14; k++) shape[`embedded_int_doc_${k}`] = numbers;
const Nested = model("Nested", "nested", shape);

const number = (n, k) => (n * 7919 + k * 104729) % 100_000_000;
const word = (n, k) => String(number(n, k)).padStart(8, "0");
const text = (n, k) => "abcdefghijklmnopqrstuv" + word(n, k);
const made = (count, value) => Object.fromEntries(Array.from({ length: count }, (_, k) => [`field${k + 1}`, value(k + 1)]));
const newSmall = (n) => made(13, (k) => (k <= 7 ? word(n, k) : number(n, k)));
const newTexts = (n, at) => ({ unique_id: 100 * n + at, ...made(15, (k) => text(n, 100 * at + k)) });
const newNested = (n) => {
  const one = { embedded_str_doc_array: [newTexts(n, 6), newTexts(n, 7)] };
  for (let k = 1; k <= 5; k++) one[`embedded_str_doc_${k}`] = newTexts(n, k);
  for (let k = 8; k <= 14; k++) one[`embedded_int_doc_${k}`] = made(15, (f) => number(n, 100 * k + f));
  return one;
};

await mongoose.connect(uri, { dbName });
const ids = (model) => model.find({}, { _id: 1, field_fk: 1 }).sort({ _id: 1 }).limit(DOCUMENTS).lean();
const [storedSmall, storedNested] = [await ids(Small), await ids(Nested)];
const found = (query) => (way === "lean" ? query.lean() : query);
// Each task, by the round and the number of a document. It gives a number of the document that it finds.
const tasks = {
  "small insert": async (_, n) => void (await Small.create(newSmall(n))),
  "small update": async (round, n) =>
    void (await Small.updateOne({ _id: storedSmall[n]._id }, { field1: `updated_value${round}` })),
  "small find": async (_, n) => (await found(Small.findOne({ _id: storedSmall[n]._id }))).field8,
  "small find by foreign key": async (_, n) => (await found(Small.findOne({ field_fk: storedSmall[n].field_fk }))).field8,
  "nested insert": async (_, n) => void (await Nested.create(newNested(n))),
  "nested update": async (round, n) =>
    void (await Nested.updateOne({ _id: storedNested[n]._id }, { "embedded_str_doc_1.field1": `updated_value${round}` })),
  "nested find": async (_, n) =>
    (await found(Nested.findOne({ "embedded_str_doc_1.unique_id": 100 * n + 1 }))).embedded_int_doc_8.field1,
  "nested find in array": async (_, n) =>
    (await found(Nested.findOne({ "embedded_str_doc_array.unique_id": 100 * n + 6 }))).embedded_int_doc_8.field1,
};
let round = 0;
for await (const _ of createInterface({ input: process.stdin })) {
  let sum = 0;
  const started = performance.now();
  for (let at = 0; at < BLOCK; at++) {
    sum += (await tasks[task](round, (round * BLOCK + at) % DOCUMENTS)) ?? 0;
  }
  const seconds = (performance.now() - started) / 1000;
  round += 1;
  console.log(JSON.stringify({ seconds, documents: BLOCK, joined: 0, sum }));
}
await mongoose.disconnect();
