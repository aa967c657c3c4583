// Providers of the environment: the variables that providers' own libraries take their credentials from.

/** A provider as the environment says. It holds secrets. */
export interface EnvironmentProvider {
  readonly slug: string;
  readonly name: string;
  /** The catalogue's. */
  readonly providerId: string;
  /** The variable that brings the credential. */
  readonly variable: string;
  readonly key: string | undefined;
  /** Options that are no secrets, by name. */
  readonly options: Readonly<Record<string, string>>;
  /** Options that are never shown, by name. */
  readonly secretOptions: Readonly<Record<string, string>>;
}

/** What the environment has. */
export interface EnvironmentProviders {
  readonly providers: readonly EnvironmentProvider[];
  /** Why variables that are set make no provider, each naming its variable and no value. */
  readonly faults: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

interface Keyed {
  readonly slug: string;
  readonly name: string;
  readonly providerId: string;
  readonly variable: string;
  /** The variable by which its library takes another address, and what follows the address. */
  readonly base?: readonly [variable: string, suffix: string];
  /** Options by the variables that its library reads them from. */
  readonly options?: Readonly<Record<string, string>>;
}

const keyed = (slug: string, name: string, variable: string, providerId = slug): Keyed => ({
  slug,
  name,
  providerId,
  variable,
});

const KEYED: readonly Keyed[] = [
  {
    ...keyed('openai', 'OpenAI', 'OPENAI_API_KEY'),
    // A key of another server must not go to OpenAI.
    base: ['OPENAI_BASE_URL', ''],
    options: { openai_organization: 'OPENAI_ORG_ID', openai_project: 'OPENAI_PROJECT_ID' },
  },
  { ...keyed('anthropic', 'Anthropic', 'ANTHROPIC_API_KEY'), base: ['ANTHROPIC_BASE_URL', '/v1'] },
  keyed('gemini', 'Google Gemini', 'GEMINI_API_KEY', 'google'),
  keyed('groq', 'Groq', 'GROQ_API_KEY'),
  keyed('mistral', 'Mistral AI', 'MISTRAL_API_KEY', 'mistral-ai'),
  keyed('cohere', 'Cohere', 'COHERE_API_KEY'),
  keyed('deepseek', 'DeepSeek', 'DEEPSEEK_API_KEY'),
  keyed('openrouter', 'OpenRouter', 'OPENROUTER_API_KEY'),
  keyed('together', 'Together AI', 'TOGETHER_API_KEY', 'together-ai'),
  keyed('xai', 'xAI', 'XAI_API_KEY', 'x-ai'),
  keyed('perplexity', 'Perplexity', 'PERPLEXITY_API_KEY', 'perplexity-ai'),
];

const AWS = 'AWS_ACCESS_KEY_ID';
const AZURE = 'AZURE_OPENAI_API_KEY';

/** Variables that bring a credential, in the order of the providers. */
export const PROVIDER_VARIABLES: readonly string[] = [...KEYED.map(({ variable }) => variable), AWS, AZURE];

/** Each provider and all variables that it is made of, the credential first; for the guide. */
export const ENVIRONMENT_PROVIDERS: readonly {
  readonly slug: string;
  readonly providerId: string;
  readonly variables: readonly string[];
  /** Variables that may be set in addition. */
  readonly optional: readonly string[];
}[] = [
  ...KEYED.map(({ slug, providerId, variable, base, options = {} }) => ({
    slug,
    providerId,
    variables: [variable],
    optional: [...(base === undefined ? [] : [base[0]]), ...Object.values(options)],
  })),
  {
    slug: 'bedrock',
    providerId: 'bedrock',
    variables: [AWS, 'AWS_SECRET_ACCESS_KEY', 'AWS_REGION'],
    optional: ['AWS_SESSION_TOKEN', 'AWS_DEFAULT_REGION'],
  },
  {
    slug: 'azure-openai',
    providerId: 'azure-openai',
    variables: [AZURE, 'AZURE_OPENAI_ENDPOINT'],
    optional: [],
  },
];

/** Reads them. A value of blanks counts as absent. */
export function providersFromEnvironment(env: Environment): EnvironmentProviders {
  const read = (name: string): string | undefined => env[name]?.trim() || undefined;
  const providers: EnvironmentProvider[] = [];
  const faults: string[] = [];
  const take = (made: EnvironmentProvider | string | undefined): void => {
    if (typeof made === 'string') faults.push(made);
    else if (made !== undefined) providers.push(made);
  };
  for (const one of KEYED) take(withKey(one, read));
  take(bedrock(read));
  take(azure(read));
  return { providers, faults };
}

type Read = (name: string) => string | undefined;

function withKey(
  { base, options = {}, ...one }: Keyed,
  read: Read,
): EnvironmentProvider | string | undefined {
  const key = read(one.variable);
  if (key === undefined) return undefined;
  if (!isHeaderValue(key)) return `${one.variable}: holds characters that no credential has`;
  const given = Object.entries(options).flatMap(([option, variable]): [string, string][] => {
    const value = read(variable);
    return value === undefined || !isHeaderValue(value) ? [] : [[option, value]];
  });
  const address = base && read(base[0]);
  if (base !== undefined && address !== undefined) {
    if (!isAddress(address)) return `${base[0]}: must be an http:// or https:// address`;
    given.push(['custom_host', `${address.replace(/\/+$/, '')}${base[1]}`]);
  }
  return { ...one, key, options: Object.fromEntries(given), secretOptions: {} };
}

function bedrock(read: Read): EnvironmentProvider | string | undefined {
  const [id, secret] = [read(AWS), read('AWS_SECRET_ACCESS_KEY')];
  if (id === undefined) return undefined;
  const region = read('AWS_REGION') ?? read('AWS_DEFAULT_REGION');
  if (secret === undefined || region === undefined)
    return `${AWS}: makes a provider together with AWS_SECRET_ACCESS_KEY and AWS_REGION`;
  if (!/^[a-z]{2}[a-z0-9-]{1,30}$/.test(region)) return 'AWS_REGION: must be a region such as eu-central-1';
  const token = read('AWS_SESSION_TOKEN');
  return {
    slug: 'bedrock',
    name: 'Amazon Bedrock',
    providerId: 'bedrock',
    variable: AWS,
    key: undefined,
    options: { aws_auth_type: 'accessKey', aws_region: region },
    secretOptions: {
      aws_access_key_id: id,
      aws_secret_access_key: secret,
      ...(token === undefined ? {} : { aws_session_token: token }),
    },
  };
}

/** The API of version v1, where the request's model names the deployment. */
function azure(read: Read): EnvironmentProvider | string | undefined {
  const [key, endpoint] = [read(AZURE), read('AZURE_OPENAI_ENDPOINT')];
  if (key === undefined) return undefined;
  if (endpoint === undefined) return `${AZURE}: makes a provider together with AZURE_OPENAI_ENDPOINT`;
  if (!isHeaderValue(key)) return `${AZURE}: holds characters that no credential has`;
  if (!isAddress(endpoint)) return 'AZURE_OPENAI_ENDPOINT: must be an http:// or https:// address';
  const { origin, protocol, hostname } = new URL(endpoint);
  const resource = /^([a-z0-9][a-z0-9-]{0,62})\.openai\.azure\.com$/.exec(hostname)?.[1];
  const own = resource !== undefined && protocol === 'https:';
  return {
    slug: 'azure-openai',
    name: 'Azure OpenAI',
    providerId: 'azure-openai',
    variable: AZURE,
    key,
    options: {
      azure_auth_mode: 'default',
      azure_api_version: 'v1',
      ...(own ? { azure_resource_name: resource } : { custom_host: `${origin}/openai` }),
    },
    secretOptions: {},
  };
}

/** Texts that a header may carry. */
function isHeaderValue(text: string): boolean {
  return /^[\x21-\x7e]{1,8192}$/.test(text);
}

function isAddress(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.search === '';
}
