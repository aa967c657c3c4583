// Paths that look like the control plane's and are none of its routes: a typo in one must not send a key of the control
// plane, or a configuration with secrets in it, to a provider. The families are read off the contract's routes.
import { Plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { edits } from '../lib/nearest-names.ts';
import type { Route } from './routes.ts';

/** Finds lookalikes. Built once from the routes. */
export interface Lookalikes {
  /**
   * The control plane's path that is nearest to one that lies below a family of the control plane, or whose first segment
   * is another spelling of a family; undefined: the path resembles none. Ask it of undeclared paths only.
   * @param path after the base, without a query
   */
  nearest(path: string): string | undefined;
}

/** Segments and characters of a path that are compared. */
const MOST_SEGMENTS = 8;
const MOST_CHARACTERS = 64;

/**
 * Families are the first segments of control-plane paths (`/integrations`), and the second ones below a first segment that
 * only groups others (`/admin/workspaces`). A lookalike is a family in singular or plural, with other dashes or capitals, or
 * the last word of one (`/keys`).
 */
export function createLookalikes(routes: readonly Route[]): Lookalikes {
  const templates = [
    ...new Set(routes.filter(({ plane }) => plane === Plane.CONTROL).map(({ template }) => template.text)),
  ].map((text) => ({ text, segments: text.slice(1).split('/') }));
  const firsts = [...new Set(templates.map(({ segments }) => segments[0]!))];
  const groups = new Set(
    firsts.filter((first) =>
      templates.every(({ segments: [one, two] }) => one !== first || (two !== undefined && !isVariable(two))),
    ),
  );
  const seconds = templates.flatMap(({ segments: [one, two] }) =>
    groups.has(one!) && two !== undefined ? [two] : [],
  );
  const names = [...firsts, ...seconds];
  const words = names.flatMap((name) => {
    const word = name.split('-').at(-1)!;
    return [key(name), key(word)];
  });
  const families: ReadonlySet<string> = new Set(words);

  return {
    nearest(path) {
      const asked = segmentsOf(path);
      if (asked[0] === undefined || !families.has(key(asked[0]))) return undefined;
      let best: string | undefined;
      let least = Number.POSITIVE_INFINITY;
      for (const { text, segments } of templates) {
        const whole = distance(asked, segments);
        const inner = groups.has(segments[0]!) ? distance(asked, segments.slice(1)) + 0.1 : whole;
        const far = Math.min(whole, inner);
        if (far < least) [best, least] = [text, far];
      }
      return best;
    },
  };
}

function isVariable(segment: string): boolean {
  return segment.startsWith('{');
}

/** Decoded, without empty segments and dots, as a lenient server would read them. */
function segmentsOf(path: string): string[] {
  return path
    .split('/')
    .slice(0, 64)
    .map((segment) => decoded(segment).split(';', 1)[0]!.trim().slice(0, MOST_CHARACTERS))
    .filter((segment) => segment !== '' && segment !== '.')
    .slice(0, MOST_SEGMENTS);
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** What all spellings of a name have in common. */
function key(name: string): string {
  const plain = name.toLowerCase().replaceAll(/[-_.\s]/g, '');
  return plain.endsWith('ies') ? `${plain.slice(0, -3)}y` : plain.replace(/s$/, '');
}

/** How far a path is from a template: the sum over its segments, each from 0 to 1. */
function distance(asked: readonly string[], template: readonly string[]): number {
  let sum = Math.abs(asked.length - template.length);
  for (let i = 0; i < Math.min(asked.length, template.length); i++) {
    const [one, other] = [asked[i]!, template[i]!];
    // The family decides first.
    sum += (i === 0 ? 4 : 1) * (isVariable(other) ? 0.4 : unlike(one, other));
  }
  return sum;
}

function unlike(one: string, other: string): number {
  if (one === other) return 0;
  const [a, b] = [key(one), key(other)];
  if (a === b) return 0.01;
  const last = key(other.split('-').at(-1)!);
  return a === last ? 0.1 : edits(a, b) / Math.max(a.length, b.length);
}
