// Run by tests/surface/test_typescript_client.py with the packed client and a real service.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import test from "node:test";
import { generateText, stepCountIs, wrapLanguageModel } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { MemoryMesh, MemoryMeshError } from "memory-mesh";
import { memoryMiddleware, memoryTools } from "memory-mesh/ai";

const settings = { url: process.env.MEMORY_MESH_STORE, key: process.env.MEMORY_MESH_ACCESS_KEY };
const mesh = new MemoryMesh(settings);

test("a memory from its first day to its last", async () => {
  const team = mesh.view({ namespace: "team" });
  const { id, outcome } = await team.add("The office is in Oslo", { tags: ["place"], importance: "high" });
  assert.equal(outcome, "stored");
  assert.deepEqual((await team.search("Where is the office?", { limit: 1 })).map((hit) => hit.memory.id), [id]);
  assert.match((await team.context("Where is the office?", { max_tokens: 200 })).text, /Oslo/);
  assert.deepEqual((await team.get(id)).tags, ["place"]);
  assert.equal((await team.update(id, { content: "The office is in Bergen" })).text, "The office is in Bergen");
  assert.deepEqual((await team.call("history", { memory_id: id })).length, 2);
  await team.delete(id);
  assert.equal(await team.get(id), null);
  const receipts = await team.addMany(["Standup is at nine", { content: "Lunch is at noon" }]);
  assert.deepEqual(receipts.map((receipt) => receipt.outcome), ["stored", "stored"]);
  const page = await team.getAll({ limit: 1 });
  const next = await team.getAll({ limit: 1, cursor: page.cursor });
  assert.notEqual(page.items[0].id, next.items[0].id);
});

test("users are apart, and names may be any text", async () => {
  const [ann, bo] = ["ann", "bo"].map((user) => mesh.forUser(user));
  await ann.view({ project: "Köln/2 %" }).add("Ann likes tea");
  assert.equal((await ann.view({ project: "Köln/2 %" }).getAll()).items[0].scope.project, "Köln/2 %");
  assert.deepEqual(await bo.search("tea"), []);
});

test("errors have the words of the service", async () => {
  const wrong = new MemoryMesh({ ...settings, key: "mm_0_0" });
  await assert.rejects(wrong.search("x"), (error) => {
    assert.ok(error instanceof MemoryMeshError);
    assert.deepEqual([error.name, error.status], ["NotAllowed", 401]);
    return /keys add NAME/.test(error.message);
  });
  await assert.rejects(mesh.search("x", { limit: 0 }), { name: "InvalidInput", status: 400 });
  await assert.rejects(mesh.update("mem_none", { content: "x" }), { name: "NotFound", status: 404 });
  assert.throws(() => new MemoryMesh({ url: settings.url }), /opens with a key/);
});

/** A store where nobody listens. */
async function nobody() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  await new Promise((resolve) => server.close(resolve));
  return new MemoryMesh({ ...settings, url, retries: 0 });
}

/** A way to the service that treats its first requests as told: `busy`, or `lost` after they were done. */
async function through(troubles, call) {
  let asked = 0;
  const server = createServer(async (request, response) => {
    const trouble = troubles[asked++];
    const body = Buffer.concat(await request.toArray());
    const limited = { 503: "StoreIsBusy", 429: "TooManyRequests" }[trouble];
    if (limited) {
      response.writeHead(trouble, { "retry-after": "0" });
      return response.end(JSON.stringify({ title: limited, detail: "wait" }));
    }
    const { host, connection, "content-length": length, ...headers } = request.headers;
    const answer = await fetch(settings.url + request.url, { method: "POST", headers, body });
    if (trouble === "lost") return request.socket.destroy();
    response.writeHead(answer.status).end(await answer.text());
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const url = `http://127.0.0.1:${server.address().port}`;
    const found = await call(new MemoryMesh({ ...settings, url, namespace: "troubled" })).catch((error) => error);
    return { asked, found };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test("what is sent again is stored once", async () => {
  const stored = await through(["lost", 503, 429], (store) => store.add("Sent four times"));
  assert.deepEqual([stored.asked, stored.found.again], [4, true]);
  const many = await through(["lost"], (store) => store.addMany(["One of two", "Two of two"]));
  assert.deepEqual([many.asked, many.found.map((one) => one.again)], [2, [true, true]]);
  const all = await mesh.view({ namespace: "troubled" }).getAll();
  assert.equal(all.items.length, 3);
  const named = { idempotencyKey: "monday" };
  const twice = [1, 2].map(() => mesh.call("add", { content: "Under a name" }, named));
  const [first, second] = await Promise.all(twice);
  assert.equal(first.id, second.id);
});

test("a write that may be done is not sent again", async () => {
  const lost = await through(["lost"], (store) => store.call("stats", {}));
  assert.equal(lost.asked, 2); // it reads
  const { id } = await mesh.view({ namespace: "troubled" }).add("To be changed");
  const write = await through(["lost"], (store) => store.update(id, { content: "Changed" }));
  assert.deepEqual([write.asked, write.found.name], [1, "MayBeStored"]);
  const busy = await through([503], (store) => store.update(id, { content: "Changed" }));
  assert.deepEqual([busy.asked, busy.found.name], [1, "StoreIsBusy"]);
  const away = await nobody();
  await assert.rejects(away.delete("m"), { name: "StoreIsAway", status: 0 });
});

test("a model of the AI SDK searches and stores, and is told", async () => {
  const mia = mesh.forUser("mia");
  const usage = { inputTokens: {}, outputTokens: {} };
  const calls = (toolName, input) => ({
    content: [{ type: "tool-call", toolCallId: toolName, toolName, input: JSON.stringify(input) }],
    finishReason: { unified: "tool-calls" }, usage, warnings: [],
  });
  const says = { content: [{ type: "text", text: "Done." }], finishReason: { unified: "stop" }, usage, warnings: [] };
  const model = new MockLanguageModelV3({
    doGenerate: [calls("memory_store", { content: "Mia prefers dark themes" }), calls("memory_search", { query: "Which theme?" }), says],
  });
  const { steps } = await generateText({ model, tools: memoryTools(mia), prompt: "Remember my theme", stopWhen: stepCountIs(3) });
  const [[stored], [found]] = steps.map((step) => step.toolResults);
  assert.equal(stored.output.outcome, "stored");
  assert.deepEqual(found.output.map((one) => one.text), ["Mia prefers dark themes"]);

  const told = new MockLanguageModelV3({ doGenerate: says });
  await generateText({
    model: wrapLanguageModel({ model: told, middleware: memoryMiddleware(mia) }),
    prompt: "Which theme does Mia prefer?",
  });
  assert.match(JSON.stringify(told.doGenerateCalls[0].prompt[0]), /system.*dark themes/);

  const heard = [];
  const middleware = memoryMiddleware(await nobody(), { onError: (error) => heard.push(error.name) });
  await generateText({ model: wrapLanguageModel({ model: told, middleware }), prompt: "Hello" });
  assert.deepEqual([heard, told.doGenerateCalls[1].prompt.length], [["StoreIsAway"], 1]);
});
