// What a chaos scenario is: an attack on a gateway process, and the figures that must hold meanwhile.
import type { GatewayProcess } from './gateway-process.ts';

/** One figure that was measured, and whether it is within its bound. */
export interface Verdict {
  readonly what: string;
  /** With its unit. */
  readonly measured: string;
  /** With its unit. */
  readonly bound: string;
  readonly holds: boolean;
}

/** What a scenario starts; everything is ended after it, however it ends. */
export interface ChaosLab {
  /** A gateway of its own on a free port with its own data folder. `env` overrides its environment. */
  startGateway(env?: Readonly<Record<string, string>>, options?: StartOptions): Promise<GatewayProcess>;
  /** An empty folder for this scenario. */
  readonly folder: string;
  /** Runs when the scenario is over, last registered first. */
  onEnd(end: () => void | Promise<void>): void;
}

/** How a gateway is started. */
export interface StartOptions {
  /** Options of Node.js, e.g. a heap limit. */
  readonly nodeOptions?: readonly string[];
  /** An existing data folder in the place of a new one. */
  readonly dataDir?: string;
  /** Whether dist/ is run, as users do (the default), or the sources. */
  readonly built?: boolean;
}

/** The default export of each file in `scenarios/`; the file is named after the scenario. */
export interface Scenario {
  /** kebab-case; what `--only` takes. */
  readonly name: string;
  /** One line for the table of the security guide: what a hostile party does. */
  readonly attack: string;
  /** One line: what holds, with figures. */
  readonly bound: string;
  /** The test file of the suite that proves the same mechanism in small, as a path from the project's root. */
  readonly test: string;
  run(lab: ChaosLab): Promise<readonly Verdict[]>;
}

/** A verdict on a figure that must not exceed its bound. */
export function atMost(what: string, value: number, bound: number, unit: string): Verdict {
  const shown = Math.round(value * 10) / 10;
  return { what, measured: `${shown} ${unit}`, bound: `at most ${bound} ${unit}`, holds: value <= bound };
}

/** A verdict on a fact. */
export function isTrue(what: string, holds: boolean, measured = String(holds)): Verdict {
  return { what, measured, bound: 'true', holds };
}
