// What the stages of a model call are built of.
import type { Checks } from '../../checks/create.ts';
import type { InFlightJournal } from '../../ledger/flight/in-flight-journal.ts';
import type { TargetLimits } from '../../ledger/limits/target-limits.ts';
import type { Dialer } from '../../lib/egress/outbound.ts';
import type { ModelCatalogue } from '../../providers/catalog/models.ts';
import type { Dialects } from '../../providers/dialects/registry.ts';
import type { ResponseCache } from '../cache/response-cache.ts';
import type { Credentials } from '../credentials/credentials.ts';
import type { ConditionContext } from '../plan/condition.ts';
import type { Planner } from '../plan/select.ts';
import type { RawPaths } from '../raw/govern.ts';
import type { AnswerReader } from '../reading/reader.ts';
import type { AffinityStore } from '../route/affinity.ts';
import type { CircuitStore } from '../route/circuits.ts';
import type { Loads } from '../route/loads.ts';
import type { StickyStore } from '../route/sticky.ts';
import type { Drains } from './drains.ts';
import type { KeepsLate } from './later-hooks.ts';
import type { FileInputsPort } from './own-files-port.ts';
import type { PlanGuardrails } from './plan-guardrails.ts';

/** What the pipeline is built of. */
export interface Pipeline {
  readonly dialer: Dialer;
  readonly dialects: Dialects;
  /** What proves who calls, where a provider wants more than a key. */
  readonly credentials: Credentials;
  /** What is known of providers' models. */
  readonly models: ModelCatalogue;
  readonly planner: Planner;
  readonly routes: RouteDeps;
  readonly cache: ResponseCache;
  /** Reads long answers. */
  readonly answers: AnswerReader;
  /** Streams that go on without their clients. */
  readonly drains: Drains;
  readonly checks: Pick<Checks, 'runner' | 'deps'>;
  /** Guardrails that are saved; undefined: none can be. */
  readonly savedGuardrails: Pick<PlanGuardrails, 'one'> | undefined;
  /** Keeps verdicts of asynchronous guardrails that come after their call's entry; undefined: they are lost. */
  readonly keepsLate: KeepsLate | undefined;
  /** Where attempts are noted before their providers can see them; undefined: nowhere. */
  readonly flights: Pick<InFlightJournal, 'attempt'> | undefined;
  /** Limits of targets; undefined: nothing is limited. */
  readonly targets: Pick<TargetLimits, 'hold'> | undefined;
  /** What becomes of requests that are passed through, and bytes of their JSON bodies that are held to be read. */
  readonly raw: { readonly paths: RawPaths; readonly bodyLimit: number };
  /** Whether what is said in calls of the workspace is kept for the log. */
  readonly keepsBodies: (workspaceId: string | undefined) => boolean;
  /** Whether the words of errors are kept, which may quote what was asked. */
  readonly keepsWords: (workspaceId: string | undefined) => boolean;
  /** Counts the tokens of texts, where no provider does. */
  readonly countTexts: (texts: readonly string[]) => Promise<readonly number[]>;
  /** Files of the gateway that requests name. */
  readonly fileInputs: FileInputsPort;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** What routes remember from call to call. */
export interface RouteDeps {
  readonly loads: Loads;
  readonly circuits: CircuitStore;
  readonly sticky: StickyStore;
  readonly affinity: AffinityStore;
  /** What tries users' patterns for one call, which has a bound of time for all of them. */
  readonly matcher: (owner: {
    readonly organisationId: string;
    readonly workspaceId: string | undefined;
  }) => ConditionContext['matches'];
}
