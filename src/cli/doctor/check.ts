// What a check of `sluice doctor` is.
import type { Settings } from '../../settings.ts';

/** What the checks look at. */
export interface Patient {
  readonly settings: Settings;
  /** Whether a gateway has the data folder open now: what it locks cannot be looked at. */
  readonly running: boolean;
}

/** What is wrong, and what to do. */
export interface Finding {
  readonly why: string;
  readonly todo: string;
}

/** What a check found: nothing wrong, and how much it looked at; or what is. */
export interface Verdict {
  /** One line, e.g. how many files were read. */
  readonly looked: string;
  readonly findings: readonly Finding[];
}

/** One thing that is looked at. It changes nothing, and what it throws is a finding. */
export interface Check {
  /** One word or two, as they are printed. */
  readonly name: string;
  /** Undefined: there is nothing of the kind to look at. */
  run(patient: Patient): Promise<Verdict | undefined>;
}
