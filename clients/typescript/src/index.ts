/**
 * The client of a memory-mesh service: every operation of it, with the types of its description.
 *
 * Options are named as in the service (`max_tokens`), so that one page of documentation serves all.
 */
import type { components, paths } from "./openapi.js";

export type Schemas = components["schemas"];
export type Memory = Schemas["Memory"];
export type Hit = Schemas["Hit"];
export type Receipt = Schemas["Receipt"];

type Post<P> = P extends { post: infer O } ? O : never;
/** The operations as `review/decide`. */
export type OperationName = keyof {
  [P in keyof paths as P extends `/v1/${infer Name}` ? Name : never]: true;
};
type Operation<N extends OperationName> = Post<paths[`/v1/${N}`]>;
type Body<O> = O extends { requestBody?: infer B }
  ? NonNullable<B> extends { content: { "application/json": infer J } } ? J : never
  : never;
/** The options of an operation. */
export type Options<N extends OperationName> = Body<Operation<N>>;
/** What an operation returns. */
export type Answer<N extends OperationName> =
  Operation<N> extends { responses: { 200: { content: { "application/json": infer J } } } } ? J : never;
type Rest<N extends OperationName, K extends string> = Omit<Options<N>, K>;

/** Whose memories, and who reads and writes. */
export interface View {
  user?: string;
  namespace?: string;
  project?: string;
  agent?: string;
  session?: string;
  channel?: string;
}

export interface Settings extends View {
  /** Where the service is, such as `https://memory.example.com`. */
  url: string;
  /** What the service handed out. */
  key: string;
  /** Seconds for one request; 60 by default. */
  timeout?: number;
  /** How often a request is sent again when that is safe; 3 by default. */
  retries?: number;
  /** Another `fetch`, such as one with a proxy. */
  fetch?: typeof fetch;
}

/** What went wrong in the words of the service, and what to do. */
export class MemoryMeshError extends Error {
  /**
   * @param name the name of the error, such as `NotAllowed`
   * @param status of the answer; 0 when there was none
   */
  constructor(override readonly name: string, message: string, readonly status: number, options?: ErrorOptions) {
    super(message, options);
  }
}

const KEYED = new Set(["add", "evolve", "add_many"]); // stored once under one Idempotency-Key
const READS = /^(.*\/)?(get|search|list|stats|history|explain|context|profile|users)/;
const NOT_SENT = new Set<unknown>(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]);
const LONGEST_WAIT = 30; // seconds

export class MemoryMesh {
  readonly #settings: Settings;
  readonly #base: string;

  constructor(settings: Settings) {
    if (!settings.key) throw new TypeError(`${settings.url} opens with a key: give { key }`);
    this.#settings = settings;
    this.#base = `${new URL(settings.url).href.replace(/\/+$/, "")}/v1/`;
  }

  /** The same store as somebody else, or from elsewhere: `mesh.view({ project: "shop" })`. */
  view(view: View): MemoryMesh {
    return new MemoryMesh({ ...this.#settings, ...view });
  }

  /** The memories of one user. */
  forUser(user: string): MemoryMesh {
    return this.view({ user, namespace: undefined });
  }

  /** Stores one memory; the receipt says what became of it and why. */
  add(content: string, options: Rest<"add", "content"> = {}): Promise<Receipt> {
    return this.call("add", { ...options, content });
  }

  /** Stores many memories; one receipt for each, in their order. */
  addMany(items: Options<"add_many">["items"], options: Rest<"add_many", "items"> = {}): Promise<Answer<"add_many">> {
    return this.call("add_many", { ...options, items });
  }

  /** The best memories for a question, best first. */
  async search(query: string, options: Rest<"search", "query"> = {}): Promise<Hit[]> {
    return (await this.call("search", { ...options, query })).items;
  }

  /** The memories that a prompt should have: `text` is for the prompt. */
  context(question: string, options: Rest<"context", "question"> = {}): Promise<Answer<"context">> {
    return this.call("context", { ...options, question });
  }

  /** One memory, or null. */
  get(memory_id: string, options: Rest<"get", "memory_id"> = {}): Promise<Memory | null> {
    return this.call("get", { ...options, memory_id });
  }

  /** A page of memories; its `cursor` asks for the next one. */
  getAll(options: Options<"get_all"> = {}): Promise<Answer<"get_all">> {
    return this.call("get_all", options);
  }

  /** Records a new version of a memory; what is not given stays. */
  update(memory_id: string, options: Rest<"update", "memory_id">): Promise<Answer<"update">> {
    return this.call("update", { ...options, memory_id });
  }

  /** Hides a memory at once; it can be restored for 30 days. */
  delete(memory_id: string, options: Rest<"delete", "memory_id"> = {}): Promise<Answer<"delete">> {
    return this.call("delete", { ...options, memory_id });
  }

  /**
   * Any operation of the service: `mesh.call("review/decide", { memory_id, approve: true })`.
   *
   * A request is sent again when the service refused it for now (429, 503 with Retry-After) or the
   * connection broke, unless it is a write that could have been done already. What `add`, `evolve`
   * and `addMany` store is stored once, however often it is sent.
   */
  async call<N extends OperationName>(
    name: N,
    options: Options<N>,
    { idempotencyKey }: { idempotencyKey?: string } = {},
  ): Promise<Answer<N>> {
    const headers = this.#headers();
    const keyed = KEYED.has(name) && !("key" in (options as object));
    if (keyed || idempotencyKey) headers["Idempotency-Key"] = idempotencyKey ?? crypto.randomUUID();
    const repeatable = keyed || idempotencyKey !== undefined || READS.test(name);
    const request = { method: "POST", headers, body: JSON.stringify(options) };
    for (let left = this.#settings.retries ?? 3; ; left--) {
      const found = await this.#sent(name, request, repeatable);
      if (!(found instanceof Refusal)) return found.answer as Answer<N>;
      const passing = found.status === 429 || (repeatable && [0, 502, 503].includes(found.status));
      if (left <= 0 || !passing) throw found;
      const wait = Math.min(found.wait ?? 0.2, LONGEST_WAIT);
      await new Promise((resolve) => setTimeout(resolve, wait * 1000));
    }
  }

  async #sent(name: string, request: RequestInit, repeatable: boolean): Promise<{ answer: unknown } | Refusal> {
    const { timeout = 60, fetch: send = fetch, url } = this.#settings;
    try {
      const response = await send(this.#base + name, { ...request, signal: AbortSignal.timeout(timeout * 1000) });
      return response.ok ? { answer: await response.json() } : await refusal(response);
    } catch (cause) {
      const error = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
      const { code, message } = error as { code?: string; message?: string };
      const said = `${url} does not answer: ${message || code}`;
      return repeatable || NOT_SENT.has(code)
        ? new Refusal("StoreIsAway", `${said}. Look whether it runs; retry`, 0, { cause })
        : new Refusal("MayBeStored", `${said}; what was written may be stored. Look before you write it again`, 0, { cause });
    }
  }

  #headers(): Record<string, string> {
    const { user, namespace, project, agent, session, channel } = this.#settings;
    const view = { User: user, Namespace: namespace, Project: project, Agent: agent, Session: session, Channel: channel };
    const found: Record<string, string> = {
      Authorization: `Bearer ${this.#settings.key}`,
      "Content-Type": "application/json",
    };
    for (const [name, value] of Object.entries(view)) {
      if (value !== undefined) found[`Memory-Mesh-${name}`] = encodeURIComponent(value);
    }
    return found;
  }
}

class Refusal extends MemoryMeshError {
  wait: number | undefined; // seconds
}

/** The error that an answer tells of. */
async function refusal(response: Response): Promise<Refusal> {
  const problem = (await response.json().catch(() => ({}))) as Partial<Schemas["Problem"]>;
  const said = problem.detail ?? `the service answered ${response.status} ${response.statusText}`;
  const found = new Refusal(problem.title ?? "NetworkError", said, response.status);
  const wait = Number(response.headers.get("retry-after") ?? undefined);
  if (Number.isFinite(wait)) found.wait = wait;
  return found;
}
