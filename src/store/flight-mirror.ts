// The port of a copy of processes' files of calls in flight, where other machines can read it: for a process that does
// not come back, on a machine that does not.

/** The copies of one process's files, taken because the process is gone. */
export interface LeftFlights {
  readonly owner: string;
  /** By their numbers, oldest first. */
  files(): Promise<readonly { readonly number: number; readonly lines: string }[]>;
  /** They are in the books: forgets them. */
  remove(): Promise<void>;
}

export interface FlightMirror {
  /** Adds lines to the copy of a file. Sent at once and not waited for; a copy that has a gap is told by `beat`. */
  append(file: number, lines: string): void;
  /** The file is not needed any more. */
  remove(file: number): void;
  /** Reports that this process is alive. False: its copies have a gap, or were taken, and must be made again. */
  beat(): Promise<boolean>;
  /** Takes the copies of processes that have not reported for too long. */
  takeLapsed(): Promise<readonly LeftFlights[]>;
  /** @param empty whether nothing of the copies is needed any more */
  close(empty: boolean): Promise<void>;
}
