// What crosses to the state's worker: the scripts whose rows must outlive the process, and the windows that are
// checked with them in one step.
import type { ArgsOf, ResultOf, ScriptName } from '../shared/scripts.ts';
import type { Moment } from './moment.ts';

export const DURABLE = [
  'admit',
  'settle',
  'renew',
  'sweep',
  'readBudget',
  'correctBudget',
  'appendJournal',
  'claimJournal',
  'acknowledgeJournal',
  'readJournal',
  'readValue',
  'writeValue',
] as const;

export type DurableName = (typeof DURABLE)[number];

export type StateCall =
  | {
      readonly kind: 'run';
      readonly name: DurableName;
      readonly org: string;
      readonly args: ArgsOf<DurableName>;
      readonly at: Moment;
    }
  | { readonly kind: 'ping' }
  | { readonly kind: 'close' };

/** A script's body: runs to its end before the next one begins. */
export type Body<N extends ScriptName> = (org: string, args: ArgsOf<N>, at: Moment) => ResultOf<N>;
