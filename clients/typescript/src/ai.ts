/** Memory for the Vercel AI SDK: tools that a model calls, and a middleware that it need not call. */
import { jsonSchema, tool, type LanguageModelMiddleware } from "ai";
import type { MemoryMesh } from "./index.js";

/** Tools to search and store: `generateText({ model, tools: memoryTools(mesh), … })`. */
export function memoryTools(mesh: MemoryMesh) {
  const options = <T>(properties: Record<string, object>, required: string[]) =>
    jsonSchema<T>({ type: "object", properties, required, additionalProperties: false });
  return {
    memory_search: tool({
      description: "Searches long-term memory for what was said or decided earlier.",
      inputSchema: options<{ query: string; limit?: number }>(
        { query: { type: "string" }, limit: { type: "integer", minimum: 1, maximum: 50 } },
        ["query"],
      ),
      execute: async ({ query, limit = 5 }) =>
        (await mesh.search(query, { limit })).map(({ memory, score }) => ({ id: memory.id, text: memory.text, score })),
    }),
    memory_store: tool({
      description: "Stores one fact, decision or preference in long-term memory, as a whole sentence.",
      inputSchema: options<{ content: string }>({ content: { type: "string" } }, ["content"]),
      execute: async ({ content }) => {
        const { id, outcome, reasons } = await mesh.add(content);
        return { id, outcome, reasons };
      },
    }),
  };
}

/**
 * Puts what memory knows about the last message of the user before each prompt:
 * `wrapLanguageModel({ model, middleware: memoryMiddleware(mesh) })`.
 *
 * Where nothing fits, or the service is away, the prompt stays as it was; `onError` hears why.
 */
export function memoryMiddleware(
  mesh: MemoryMesh,
  { maxTokens = 800, onError }: { maxTokens?: number; onError?: (error: unknown) => void } = {},
): LanguageModelMiddleware {
  return {
    specificationVersion: "v3",
    transformParams: async ({ params }) => {
      const asked = params.prompt.findLast((message) => message.role === "user");
      const question = asked?.content.map((part) => (part.type === "text" ? part.text : "")).join("\n").trim();
      if (!question) return params;
      try {
        const { text } = await mesh.context(question, { max_tokens: maxTokens });
        if (!text) return params;
        return { ...params, prompt: [{ role: "system", content: text }, ...params.prompt] };
      } catch (error) {
        onError?.(error);
        return params;
      }
    },
  };
}
