// The joins by Mongoose: `node joins.js URI DATABASE QUERY`. For every line on standard input it carries out the query once
// and prints how long that took and what came out of it, so that the benchmark can take turns with it.
import mongoose from "mongoose";
import { createInterface } from "node:readline";

const { Schema } = mongoose;
const { ObjectId } = Schema.Types;
const [uri, dbName, name] = process.argv.slice(2);
const model = (model, collection, fields) =>
  mongoose.model(model, new Schema(fields, { collection, autoIndex: false, autoCreate: false }));

model("Part", "parts", { partno: String, name: String, qty: Number, price: Number });
model("Maker", "makers", { name: String, city: String, since: Number });
const Product = model("Product", "products", {
  name: String,
  catalog_number: Number,
  maker: { type: ObjectId, ref: "Maker" },
  parts: [{ type: ObjectId, ref: "Part" }],
});
model("LogMsg", "logmsg", { time: Date, pid: Number, message: String, host: { type: ObjectId, ref: "Host" } });
const hosts = new Schema({ name: String, ipaddr: String }, { collection: "hosts", autoIndex: false, autoCreate: false });
hosts.virtual("messages", { ref: "LogMsg", localField: "_id", foreignField: "host" });
const Host = mongoose.model("Host", hosts);

const newest = { path: "messages", perDocumentLimit: 10, options: { sort: { time: -1 } } };
// Each query, and what is counted and summed of what it joins.
const queries = {
  parts: [() => Product.find().populate("parts"), (p) => p.parts, (part) => part.qty],
  "parts lean": [() => Product.find().populate("parts").lean(), (p) => p.parts, (part) => part.qty],
  maker: [() => Product.find().populate("maker"), (p) => [p.maker], (maker) => maker.since],
  messages: [() => Host.find().populate(newest), (h) => h.messages, (message) => message.pid],
};
const [query, joined, number] = queries[name];

await mongoose.connect(uri, { dbName });
for await (const _ of createInterface({ input: process.stdin })) {
  const started = performance.now();
  const documents = await query();
  const seconds = (performance.now() - started) / 1000;
  const found = documents.flatMap(joined);
  const sum = found.reduce((sum, document) => sum + number(document), 0);
  console.log(JSON.stringify({ seconds, documents: documents.length, joined: found.length, sum }));
}
await mongoose.disconnect();
