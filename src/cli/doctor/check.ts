// What a check of `sluice doctor` is.
import type { Settings } from '../../settings.ts';

/** What the checks look at. */
export interface Patient {
  readonly settings: Settings;
  /** Whether a gateway has the data folder open now: locked files cannot be checked. */
  readonly running: boolean;
}

/** What is wrong, and what to do. */
export interface Finding {
  readonly why: string;
  readonly todo: string;
}

/** A check's result: how much it checked without a finding, or its findings. */
export interface Verdict {
  /** One line, e.g. how many files were read. */
  readonly looked: string;
  readonly findings: readonly Finding[];
}

/** One check. It changes nothing, and an error that it throws is a finding. */
export interface Check {
  /** One word or two, as they are printed. */
  readonly name: string;
  /** Undefined: there is nothing of this kind to check. */
  run(patient: Patient): Promise<Verdict | undefined>;
}
