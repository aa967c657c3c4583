// OpenAI's own values of members of relayed requests (API reference), which are checked where OpenAI is called: other
// providers have others.
import { type Violation, validationFailed } from '../lib/errors.ts';
import type { ProviderEntry } from './dialect.ts';
import { isObject } from './json-object.ts';

interface Words {
  /** The words that a member may be, by its path. */
  readonly words: Readonly<Record<string, readonly string[]>>;
  /** Members that must be given. */
  readonly required?: readonly string[];
}

const AUTO = ['auto'];
const CHUNKING = { 'chunking_strategy.type': ['auto', 'static'] } as const;
const STATUS = { filter: ['in_progress', 'completed', 'failed', 'cancelled'] } as const;
const NUMBERS = [
  'n_epochs',
  'batch_size',
  'learning_rate_multiplier',
  'beta',
  'compute_multiplier',
  'eval_interval',
  'eval_samples',
];
const PARAMETERS = [
  'hyperparameters',
  ...['supervised', 'dpo', 'reinforcement'].map((way) => `method.${way}.hyperparameters`),
];

/** By the method's name. */
const WORDS: Readonly<Record<string, Words>> = Object.freeze({
  CreateBatch: {
    words: {
      endpoint: [
        '/v1/responses',
        '/v1/chat/completions',
        '/v1/embeddings',
        '/v1/completions',
        '/v1/moderations',
        '/v1/images/generations',
        '/v1/images/edits',
        '/v1/videos',
      ],
      completion_window: ['24h'],
    },
  },
  CreateFineTuningJob: {
    words: {
      'method.type': ['supervised', 'dpo', 'reinforcement'],
      'method.reinforcement.hyperparameters.reasoning_effort': ['default', 'low', 'medium', 'high'],
      ...Object.fromEntries(
        PARAMETERS.flatMap((path) => NUMBERS.map((name) => [`${path}.${name}`, AUTO] as const)),
      ),
    },
    required: ['training_file'],
  },
  CreateVectorStore: { words: CHUNKING },
  CreateVectorStoreFile: { words: CHUNKING },
  CreateVectorStoreFileBatch: { words: CHUNKING },
  ListVectorStoreFiles: { words: STATUS },
  ListVectorStoreFileBatchFiles: { words: STATUS },
  SearchVectorStore: { words: { 'ranking_options.ranker': ['none', 'auto', 'default-2024-11-15'] } },
  CreateContainer: { words: { memory_limit: ['1g', '4g', '16g', '64g'] } },
});

/** @param method the name of the contract's method @throws GatewayError `validation_failed` naming every member at fault */
export function checkRelayedWords({ ownWords }: ProviderEntry, method: string, members: unknown): void {
  if (!ownWords || !Object.hasOwn(WORDS, method)) return;
  const { words, required = [] } = WORDS[method]!;
  const faults: Violation[] = [];
  for (const field of required)
    if (valueAt(members, field) === undefined)
      faults.push({ field, rule: 'required', message: 'is required' });
  for (const [field, allowed] of Object.entries(words)) {
    const value = valueAt(members, field);
    if (typeof value !== 'string' || allowed.includes(value)) continue;
    const number = allowed === AUTO ? ', or a number' : '';
    const of = allowed.length === 1 ? allowed[0]! : `one of ${allowed.join(', ')}`;
    faults.push({ field, rule: 'in', message: `must be ${of}${number}` });
  }
  if (faults.length > 0) throw validationFailed(faults);
}

function valueAt(members: unknown, path: string): unknown {
  let at = members;
  for (const name of path.split('.')) {
    if (!isObject(at)) return undefined;
    at = at[name];
  }
  return at;
}
