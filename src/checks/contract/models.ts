// Whether a model is one of a list.
import type { CheckContext } from './check.ts';

/** The model that a call asks for. */
export interface AskedModel {
  /** As the caller wrote it, e.g. `gpt-5`, `@team/gpt-5`. */
  readonly model: string;
  /** The provider's id, where it is known. */
  readonly provider: string | undefined;
}

/**
 * Whether an entry of a list means the model. An entry is a model's name, `@slug/name`, `provider/name`, any of them
 * with `*` for any run of characters. A name without a slug means that model wherever it is had.
 */
export function meansModel(entry: string, { model, provider }: AskedModel): boolean {
  const spellings = [model];
  const slash = model.indexOf('/');
  if (model.startsWith('@') && slash !== -1) spellings.push(model.slice(slash + 1));
  const bare = spellings.at(-1) ?? model;
  if (provider !== undefined) spellings.push(`${provider}/${bare}`);
  return spellings.some((spelling) => fits(entry, spelling));
}

/** Whether a text fits a pattern with `*`, in time linear in both for each star. */
function fits(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return pattern === text;
  const last = rest.pop() ?? '';
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length)
    return false;
  let at = first.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return at <= text.length - last.length;
}

/** The model of the call; undefined when it names none. */
export function askedModel({ traffic }: CheckContext): AskedModel | undefined {
  const { model, provider } = traffic;
  return model === undefined || model === '' ? undefined : { model, provider };
}
