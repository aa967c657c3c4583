// Models that a body names in addition to its own: OpenRouter and others fall back to some, tools answer with models of
// their own (OpenAI's images, Anthropic's advisor), lists of requests have one each.

type Json = Readonly<Record<string, unknown>>;

/** Lists whose items are models, or objects that name one. */
const LISTS: ReadonlySet<string> = new Set([
  ...['models', 'fallbacks', 'fallback_models', 'tools', 'requests'],
  ...['generatecontentrequest', 'extra_body', 'params'],
]);

/** Every one, and those under other spellings of `model`, which some providers read as the same. */
export function furtherModels(json: Json, isOuter = true): string[] {
  const found: string[] = [];
  for (const [name, value] of Object.entries(json)) {
    const lower = name.toLowerCase();
    if (lower === 'model' && (name !== lower || !isOuter)) found.push(...textsOf([value]));
    else if (LISTS.has(lower)) {
      const items = Array.isArray(value) ? (value as unknown[]) : [value];
      if (lower.endsWith('models') || lower === 'fallbacks') found.push(...textsOf(items));
      for (const one of items) if (isObject(one)) found.push(...furtherModels(one, false));
    }
  }
  return found;
}

/** Whether a text may be that of a body with further models: most are not, and need not be parsed for it. */
export function mayNameFurther(text: string): boolean {
  const first = text.search(MODEL);
  return first !== -1 && (MODEL.test(text.slice(first + 1)) || /"fallback/i.test(text));
}

const MODEL = /"models?"/i;

function textsOf(values: readonly unknown[]): string[] {
  return values.filter((value) => typeof value === 'string');
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
