// What each provider's wire can carry of the published forms.
import type { ProviderEntry } from '../dialect.ts';
import type { Carries } from './ability.ts';

const OPENAI: Carries = Object.freeze({
  signatures: false,
  reasoning: false,
  cacheControl: false,
  toolErrors: false,
  toolMedia: false,
  documents: 'files',
  topK: false,
  oneTool: true,
  thinking: 'effort',
  bound: 'max_tokens',
  stops: 4,
  own: false,
  tiers: false,
  choices: true,
  penalties: true,
  google: false,
});

const CLAUDE: Carries = Object.freeze({
  signatures: true,
  reasoning: false,
  cacheControl: true,
  toolErrors: true,
  toolMedia: true,
  documents: 'blocks',
  topK: true,
  oneTool: true,
  thinking: 'member',
  bound: 'max_tokens',
  stops: 8191,
  own: true,
  tiers: true,
  choices: false,
  penalties: false,
  google: false,
});

const BY_DIALECT: Readonly<Record<string, Carries>> = Object.freeze({
  openai: OPENAI,
  anthropic: CLAUDE,
  gemini: {
    ...OPENAI,
    toolMedia: true,
    topK: true,
    thinking: 'member',
    stops: 5,
    oneTool: false,
    google: true,
  },
  cohere: {
    ...OPENAI,
    signatures: true,
    documents: 'text',
    topK: true,
    oneTool: false,
    thinking: 'member',
    stops: 5,
    choices: false,
  },
});

const CLAUDE_MODEL = /(?:^|[./])claude|anthropic\./;

/** What the provider's wire carries of a request for the model. */
export function carriesOf(provider: ProviderEntry, model: string): Carries {
  const known = carriesBy(provider.dialect, model);
  return provider.carries === undefined ? known : { ...known, ...provider.carries };
}

function carriesBy(dialect: string, model: string): Carries {
  const isClaude = CLAUDE_MODEL.test(model);
  switch (dialect) {
    case 'bedrock':
      // Its own wire knows nothing of the further members, and refuses betas that it does not have.
      return isClaude
        ? { ...CLAUDE, documents: 'files', own: false, tiers: false }
        : {
            ...OPENAI,
            cacheControl: true,
            toolErrors: true,
            toolMedia: true,
            thinking: 'none',
            oneTool: false,
            choices: false,
            penalties: false,
          };
    case 'vertex':
      return isClaude
        ? CLAUDE
        : model.includes('/') && !model.startsWith('google/')
          ? OPENAI
          : BY_DIALECT.gemini!;
    default:
      return BY_DIALECT[dialect] ?? OPENAI;
  }
}
