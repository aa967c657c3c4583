// The texts of a message, for an estimate of its tokens.

/** Members that are no text of the conversation. */
const SKIPPED = new Set([
  '$typeName',
  '$unknown',
  'case',
  'id',
  'toolCallId',
  'finishReason',
  'model',
  'object',
  'role',
  'type',
  'user',
]);
/** Of all texts together, in UTF-16 units. */
const MOST = 1024 * 1024;
const DEEPEST = 32;

/** All texts in a value, one after the other; data URLs and bytes are not text. */
export function textsIn(value: unknown): string {
  const found: string[] = [];
  let size = 0;
  const walk = (part: unknown, depth: number): void => {
    if (size > MOST || depth > DEEPEST) return;
    if (typeof part === 'string') {
      if (part.startsWith('data:')) return;
      found.push(part);
      size += part.length;
    } else if (Array.isArray(part)) {
      for (const one of part) walk(one, depth + 1);
    } else if (typeof part === 'object' && part !== null && !ArrayBuffer.isView(part)) {
      // Anthropic's sources of images and documents.
      if ((part as { readonly type?: unknown }).type === 'base64') return;
      for (const [name, one] of Object.entries(part)) if (!SKIPPED.has(name)) walk(one, depth + 1);
    }
  };
  walk(value, 0);
  return found.join('\n');
}
