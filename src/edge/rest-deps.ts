// What the REST surface is built of.
import type { HeaderNames } from '../lib/gateway-headers.ts';
import type { Pace } from '../lib/incoming/pace.ts';
import type { ReadingBudget } from '../lib/incoming/reading-budget.ts';
import type { RouteTable } from '../rest/routes.ts';
import type { InProcess } from '../rpc/in-process.ts';
import type { KnownDeps } from './known-caller.ts';

export interface RestDeps extends KnownDeps {
  readonly routes: RouteTable;
  readonly transport: InProcess;
  readonly names: HeaderNames;
  /** Bytes. */
  readonly bodyLimit: number;
  readonly pace: Pace;
  readonly budget: ReadingBudget;
  /** Whether no more calls are taken now; asked before a body is read. */
  readonly full: (control: boolean) => boolean;
}
