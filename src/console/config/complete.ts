// Completion of configs: members and words by the descriptor, names by what the gateway has.
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { placeAt } from './json-place.ts';
import { membersAt, wordsAt } from './members.ts';
import { Named } from './named.ts';

/** @param workspace whose names are offered, by id */
export function completion(
  workspace: () => string,
): (context: CompletionContext) => Promise<CompletionResult | null> {
  const named = new Named(workspace);
  return async ({ state, pos, explicit }) => {
    const place = placeAt(state.doc.sliceString(0, pos));
    if (place === undefined || (!explicit && place.from === pos)) return null;
    const { path, role, from, texts } = place;
    const options =
      role === 'member' ? await membersFor(named, path, texts.provider) : await valuesFor(named, path);
    // The mark that closes a word is taken along when it is there already.
    const to = state.doc.sliceString(pos, pos + 1) === '"' ? pos + 1 : pos;
    return options.length === 0 ? null : { from, to, options, validFor: /^"?[\w@./-]*$/ };
  };
}

async function membersFor(
  named: Named,
  path: readonly (string | number)[],
  provider: string | undefined,
): Promise<readonly Completion[]> {
  const members = membersAt(path);
  const isConfig = members.some(({ name }) => name === 'provider');
  const options = isConfig ? await named.optionsOf(provider) : [];
  return [
    ...members.map(({ name, takes, words }) => ({
      label: `"${name}"`,
      type: 'property',
      detail: words.length === 0 ? takes : words.join(', '),
    })),
    ...options.map((name) => ({ label: `"${name}"`, type: 'property', detail: `of ${provider}` })),
  ];
}

async function valuesFor(named: Named, path: readonly (string | number)[]): Promise<readonly Completion[]> {
  const words = wordsAt(path).map((word) => (word === 'true' || word === 'false' ? word : `"${word}"`));
  const names = (await named.valuesAt(path)).map((name) => JSON.stringify(name));
  return [...words, ...names].map((label) => ({ label, type: 'enum' }));
}
