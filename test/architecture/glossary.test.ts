// One word for one thing: the words that the tree has retired, and the term that each of them gave way to.
import { basename } from 'node:path';
import test from 'ava';
import { sourcesOf } from './sources.ts';

/** A retired word, the term that is used now, and where the old word still stands with reason. */
interface Retired {
  readonly word: string;
  /** What it looks like in code without comments and texts. */
  readonly pattern: RegExp;
  readonly term: string;
  /** Files, or folders that end in `/`, where another meaning or a stored name keeps it. */
  readonly except?: readonly string[];
}

/** Names of types, variables, members and functions. */
const NAMES: readonly Retired[] = [
  {
    word: 'XFacts',
    pattern: /\b[A-Z]\w*Facts\b/,
    term: 'XDeps (what it needs) or XOptions (what a caller chooses)',
  },
  { word: 'desk', pattern: wordOf('desk'), term: 'lookup' },
  { word: 'Visit', pattern: /\b(?:[A-Z]\w*)?Visits?\b/, term: 'request' },
  { word: 'duty', pattern: wordOf('duty'), term: 'fill lease' },
  { word: 'brought', pattern: wordOf('brought'), term: 'result' },
  { word: 'shelf', pattern: wordOf('shelf'), term: 'replica, or what the collection holds' },
  { word: 'shelves', pattern: wordOf('shelves'), term: 'replicas' },
  { word: 'turnstile', pattern: wordOf('turnstile'), term: 'semaphore' },
  { word: 'debts', pattern: wordOf('debts'), term: 'deferred charges' },
  { word: 'patrol', pattern: wordOf('patrol'), term: 'scanner' },
  { word: 'alertBoard', pattern: wordOf('alertBoard'), term: 'alert states' },
  {
    word: 'cuboid',
    pattern: wordOf('cuboids?'),
    term: 'roll-up',
    // The stored documents' field of that name.
    except: ['src/store/mongo/log/'],
  },
  {
    word: 'heard',
    pattern: /\b(?:heard(?:In|Events|Answer|Request)|Heard[A-Z]?\w*)\b/,
    term: 'collector, recorder, usage',
  },
  { word: 'untilWon', pattern: /\buntilWon\b/, term: 'retryOnConflict' },
  { word: 'untilFree', pattern: /\buntilFree\b/, term: 'retryUntilFree' },
  // Roll-ups count calls that were retried; the function of that name is gone.
  { word: 'retried()', pattern: /(?<!\.)\bretried\s*\(/, term: 'retryOnConflict' },
  {
    word: '...{ a, b }',
    pattern: /\.\.\.\{/,
    term: 'the members themselves, in the literal around it',
  },
];

/** Words of comments that made riddles, and what is said in their place. */
const COMMENTS: readonly Retired[] = [
  {
    word: 'nobody',
    pattern: /\bnobody(?:'s)?\b/i,
    term: 'the noun: no other process, unknown, without an owner',
  },
  { word: 'whoever', pattern: /\bwhoever\b/i, term: 'callers that …, the instance that …' },
  {
    word: 'is to be',
    pattern: /\b(?:is|are) to be\b/i,
    term: 'the present tense: is released, must be JSON',
  },
];

/** Names of files, without folder and ending. */
const FILES: readonly Retired[] = [
  ...NAMES.flatMap((one) =>
    /^\w+$/.test(one.word) ? [{ ...one, pattern: fileOf(one.word.replace(/^X/, '').toLowerCase()) }] : [],
  ),
];

/** Names that many files once had: at most one may have it. */
const ONCE = ['open.ts', 'collections.ts'];

const sources = sourcesOf('src');

test('code uses the terms of the glossary', (t) => {
  t.deepEqual(
    sources.flatMap(({ path, code }) => NAMES.flatMap((one) => faultsIn(path, code, one))),
    [],
  );
});

test('comments are plain', (t) => {
  t.true(sources.length > 0);
  t.deepEqual(
    sources.flatMap(({ path, comments }) =>
      comments.flatMap(({ line, text }) => COMMENTS.flatMap((one) => faultsIn(path, text, one, line))),
    ),
    [],
  );
});

test('files are named by the terms of the glossary', (t) => {
  const faults = sources.flatMap(({ path }) =>
    FILES.filter(({ pattern }) => pattern.test(basename(path, '.ts'))).map(
      ({ word, term }) => `${path}: a file's name says "${word}"; the term is ${term}`,
    ),
  );
  t.deepEqual(faults, []);
});

test('a file is named after what is in it', (t) => {
  const faults = ONCE.flatMap((name) => {
    const paths = sources.filter(({ path }) => basename(path) === name).map(({ path }) => path);
    return paths.length > 1 ? [`${paths.join(', ')}: name each after what is in it`] : [];
  });
  t.deepEqual(faults, []);
});

test('the glossary finds what it looks for, and nothing else', (t) => {
  const found = (code: string): string[] =>
    NAMES.filter(({ pattern }) => pattern.test(code)).map(({ word }) => word);
  t.deepEqual(found('interface PlanFacts {}'), ['XFacts']);
  t.deepEqual(found('const shelfOf = this.#turnstile;'), ['shelf', 'turnstile']);
  t.deepEqual(found('class CacheDesk implements AlertBoard {}'), ['desk', 'alertBoard']);
  t.deepEqual(found('await untilWon(() => retried(change))'), ['untilWon', 'retried()']);
  t.deepEqual(found('f({ ...{ a, b }, c })'), ['...{ a, b }']);
  t.deepEqual(found('const { desktop, retried, visitor } = { ...rest };'), []);
  t.deepEqual(
    faultsIn('src/a.ts', '\n\nclass Patrol {}', NAMES.find(({ word }) => word === 'patrol') as Retired),
    ['src/a.ts:3: "patrol" is retired; the term is scanner'],
  );
});

/** @param first the line that the text begins on */
function faultsIn(
  path: string,
  text: string,
  { word, pattern, term, except = [] }: Retired,
  first = 1,
): string[] {
  if (except.some((place) => path === place || (place.endsWith('/') && path.startsWith(place)))) return [];
  return text
    .split('\n')
    .flatMap((line, at) =>
      pattern.test(line) ? [`${path}:${at + first}: "${word}" is retired; the term is ${term}`] : [],
    );
}

/** A word of a camel-case name: `shelf`, `shelfOf` and `PromptShelf`, but not `shelfish`. */
function wordOf(word: string): RegExp {
  const capital = `${word[0]?.toUpperCase()}${word.slice(1)}`;
  return new RegExp(`(?<![A-Za-z])${word}(?![a-z])|${capital}(?![a-z])`);
}

/** A word of a file's name: `shelf` and `prompt-shelf`. */
function fileOf(word: string): RegExp {
  return new RegExp(`(?:^|-)${word}(?:-|$)`);
}
