// What a call will cost, as far as it is known before it is made.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { ModelPricingService } from '../../../gen/gateway/admin/v2/model_pricing_pb.ts';
import { ProvidersService } from '../../../gen/gateway/admin/v2/providers_pb.ts';
import { client, may, session } from '../api.ts';
import { now } from '../clock.ts';
import { whole } from '../figures.ts';
import { useLoaded } from '../parts.tsx';

const SETTLED_MS = 400;
/** Bytes of a token, as the gateway estimates where it has no tokenizer. */
const TOKEN_BYTES = 4;

interface Rates {
  /** Dollars for a token. */
  readonly input: number;
  readonly output: number;
  readonly isOwn: boolean;
}

interface PriceProps {
  readonly label: string;
  readonly provider: string;
  readonly model: string;
  readonly workspace: string;
  /** All that is sent. */
  readonly text: string;
  readonly maxTokens: number;
}

export function Price({ label, provider, model, workspace, text, maxTokens }: PriceProps) {
  const wanted = JSON.stringify([provider, model, workspace]);
  const asked = useSignal('');
  useEffect(() => {
    const timer = setTimeout(() => {
      asked.value = wanted;
    }, SETTLED_MS);
    return () => clearTimeout(timer);
  }, [wanted, asked]);
  const { value } = useLoaded(asked.value, async (signal) => {
    const of = asked.value;
    // No price is no fault: the call can be made all the same.
    return { of, rates: await ratesOf(of, signal).catch(() => undefined) };
  });
  const tokens = Math.ceil(new TextEncoder().encode(text).length / TOKEN_BYTES);
  if (provider === '' || model === '' || value?.of !== wanted) return null;
  return (
    <p class="hint" role="status" aria-label={label}>
      {value.rates === undefined
        ? 'Price: not known for this model.'
        : wordsFor(value.rates, tokens, maxTokens)}
    </p>
  );
}

function wordsFor({ input, output, isOwn }: Rates, tokens: number, maxTokens: number): string {
  const most = maxTokens > 0 ? `; at most ${money(tokens * input + maxTokens * output)} in all` : '';
  const whose = isOwn ? 'own price' : 'list price';
  return `Price (${whose}): about ${money(tokens * input)} for about ${whole(tokens)} tokens in, ${money(output * 1e6)} for a million tokens out${most}.`;
}

function money(dollars: number): string {
  return `$${dollars.toFixed(12).replace(/\.?0+$/, '')}`;
}

/** @throws ConnectError when there is no price */
async function ratesOf(asked: string, signal: AbortSignal): Promise<Rates | undefined> {
  if (asked === '') return undefined;
  const [named, model, workspace] = JSON.parse(asked) as [string, string, string];
  if (named === '' || model === '') return undefined;
  const provider = named.startsWith('@') ? await serviceOf(named.slice(1), workspace, signal) : named;
  const isOrganisation = session.value?.workspaceId === '' && may('organisation_settings.read');
  const pricing = client(ModelPricingService);
  if (isOrganisation) {
    const { data } = await pricing.listModelPrices({ provider, model, pageSize: 100 }, { signal });
    const today = new Date(now()).toISOString();
    const own = data
      .filter((one) => one.effectiveFrom <= today)
      .sort((a, b) => (a.effectiveFrom < b.effectiveFrom ? 1 : -1))[0];
    if (own !== undefined) return rates(own.payAsYouGo, true);
  }
  const { payAsYouGo } = await pricing.getModelPricing({ provider, model }, { signal });
  return rates(payAsYouGo, false);
}

type Units =
  | {
      readonly requestToken?: { readonly price: number };
      readonly responseToken?: { readonly price: number };
    }
  | undefined;

/** Prices are in cents. */
function rates(units: Units, isOwn: boolean): Rates {
  return {
    input: (units?.requestToken?.price ?? 0) / 100,
    output: (units?.responseToken?.price ?? 0) / 100,
    isOwn,
  };
}

/** The service of a stored provider. */
async function serviceOf(slug: string, workspace: string, signal: AbortSignal): Promise<string> {
  const of = session.value?.workspaceId === '' ? { workspaceId: workspace } : {};
  return (await client(ProvidersService).getProvider({ slug, ...of }, { signal })).aiProviderName;
}
