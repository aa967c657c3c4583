// Members whose names differ from those that guardrails read in their capitals alone. JSON readers of Go and .NET take
// them for the same: "Messages" would be read by a provider and by no guardrail.
import type { JsonObject } from './traffic.ts';

/** Members that hold texts, or the parts that do. */
const READ: ReadonlySet<string> = new Set([
  ...['model', 'models', 'messages', 'input', 'inputs', 'prompt', 'suffix', 'system', 'instructions'],
  ...['contents', 'content', 'parts', 'text', 'refusal', 'thinking', 'output', 'arguments', 'tool_calls'],
  ...['query', 'documents', 'requests', 'reasoning_content'],
]);

/** Members of the body that hold more that a model is told; what is in them is read whole. */
const TOLD: ReadonlySet<string> = new Set(['tools', 'functions', 'response_format', 'name']);

/** Levels that are looked at: the body, its messages, their parts. What is deeper is data of the caller's own. */
const DEEPEST = 3;

/** The first such name; undefined: there is none. */
export function oddName(json: JsonObject, depth = 1): string | undefined {
  for (const name in json) {
    const lower = name.toLowerCase();
    if (lower !== name && (READ.has(lower) || TOLD.has(lower))) return name;
    if (depth === DEEPEST || !READ.has(name)) continue;
    const value = json[name];
    for (const one of Array.isArray(value) ? value : [value]) {
      const found = isObject(one) ? oddName(one, depth + 1) : undefined;
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
