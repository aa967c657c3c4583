// Calls in flight, written so that kill -9 loses none: each attempt before its provider can see it, each entry
// before its answer ends. What is noted in one turn of the event loop is one write.
import { randomUUID } from 'node:crypto';
import type { Call } from '../../call/call.ts';
import type { FlightMirror } from '../../store/flight-mirror.ts';
import type { SettleRequest } from '../../store/shared-state.ts';
import { type FlightFolder, makeFolder } from './flight-folder.ts';
import { type AttemptNote, attemptLine, endLine, movedLines, releaseLine } from './lines.ts';
import { type Flight, Segment } from './segment.ts';

export interface InFlightJournalDeps {
  /** The folder of all processes' flights on this machine. */
  readonly folder: string;
  /** Bytes of a file; beyond it the next one begins. */
  readonly segmentBytes?: number;
  /** Bytes of all files together; beyond it the oldest entries that wait for the store are given up. */
  readonly mostBytes?: number;
  /** Where other machines find a copy of the files; undefined: there is none. */
  readonly mirrorOf?: ((owner: string) => FlightMirror) | undefined;
  readonly onTrouble: (error: unknown, what: string) => void;
  /** Told of entries that were given up. */
  readonly onLost: (count: number) => void;
}

const SEGMENT_BYTES = 8 * 1024 * 1024;
/** Files that are kept for reuse. */
const MOST_FREE = 4;
const MOST_BYTES = 1024 * 1024 * 1024;
/** Between two log lines about a disk that cannot be written. */
const QUIET_MS = 10_000;

/** The flights of this process. Nothing here rejects: a disk that cannot be written is reported, and calls go on. */
export class InFlightJournal {
  readonly #deps: InFlightJournalDeps;
  readonly #folder: FlightFolder;
  readonly #mirror: FlightMirror | undefined;
  readonly #segmentBytes: number;
  readonly #mostBytes: number;
  #lost = 0;
  /** Oldest first; the last one is appended to. */
  #segments: Segment[] = [];
  /** Not needed, kept for reuse. */
  readonly #free: Segment[] = [];
  #number = 0;
  #lines = '';
  #turn: Promise<void> | undefined;
  #endTurn: () => void = () => {};
  #passed = 0;
  #quietUntil = 0;

  /** @throws Error of the system when the folder cannot be written */
  constructor(deps: InFlightJournalDeps) {
    this.#deps = deps;
    this.#segmentBytes = deps.segmentBytes ?? SEGMENT_BYTES;
    this.#mostBytes = deps.mostBytes ?? MOST_BYTES;
    this.#folder = makeFolder(deps.folder, randomUUID());
    this.#mirror = deps.mirrorOf?.(this.#folder.owner);
    this.#begin();
  }

  get owner(): string {
    return this.#folder.owner;
  }

  /** Where other machines find a copy. */
  get mirror(): FlightMirror | undefined {
    return this.#mirror;
  }

  /** Writes all that is in flight anew, because the copy of it has a gap. */
  renew(): void {
    this.#write();
    try {
      this.#rotate();
      this.#rotate();
    } catch (error) {
      this.#folder.lostLines();
      this.#tell(error);
    }
  }

  /** Bytes of all files. */
  get bytes(): number {
    return this.#segments.reduce((sum, { size }) => sum + size, 0);
  }

  /** Entries that wait in files alone, for want of room in memory. */
  get spilled(): number {
    return this.#segments.reduce((sum, { spilled }) => sum + spilled, 0);
  }

  /** Entries that were given up because the files were full as well. */
  get lost(): number {
    return this.#lost;
  }

  /** Notes an attempt. Its provider may be called when the promise resolves. */
  attempt(call: Call, attempt: AttemptNote): Promise<void> {
    const { account } = call;
    // Its entry is written: no other code ends the flight.
    if (account.taken) return this.turn();
    const known = account.flight as Flight | undefined;
    const segment = this.#current;
    const line = attemptLine(segment.number, call, attempt, account.held);
    if (known === undefined) {
      const flight: Flight = { lines: line, segment };
      segment.flights.add(flight);
      account.flight = flight;
    } else {
      if (known.segment !== segment) this.#join(known);
      known.lines += line;
    }
    this.#lines += line;
    return this.turn();
  }

  /**
   * Notes a call's entry, which is the request log's from here on. The answer may end when the promise resolves.
   * @param entry as `encodeEntry` writes it @param position how many entries the log had taken with this one
   */
  ended(call: Call, entry: string, position: number): Promise<void> {
    const current = this.#current;
    this.#lines += endLine(current.number, entry, undefined);
    current.lastPosition = position;
    this.over(call);
    return this.turn();
  }

  /** Notes a call's entry and the settlement that writes it; `over` follows when that is made. @param entry as above */
  settling(call: Call, entry: string, order: Omit<SettleRequest, 'entry'>): void {
    const segment = this.#current;
    const line = endLine(segment.number, entry, order);
    this.over(call);
    const flight: Flight = { lines: line, segment };
    segment.flights.add(flight);
    call.account.flight = flight;
    this.#lines += line;
    void this.turn();
  }

  /** Notes a hold without a call, for release. Returns the function to call when the hold is released. */
  releasing(organisationId: string, id: string): () => void {
    const segment = this.#current;
    const lines = releaseLine(segment.number, organisationId, id);
    const flight: Flight = { lines, segment };
    segment.flights.add(flight);
    this.#lines += lines;
    void this.turn();
    return () => void flight.segment.flights.delete(flight);
  }

  /** No note of the call is needed any more. */
  over(call: Call): void {
    const flight = call.account.flight as Flight | undefined;
    if (flight === undefined) return;
    flight.segment.flights.delete(flight);
    call.account.flight = undefined;
  }

  /** Resolves when all notes so far, this turn of the event loop included, are written. */
  turn(): Promise<void> {
    if (this.#turn === undefined) {
      this.#turn = new Promise((resolve) => {
        this.#endTurn = resolve;
      });
      setImmediate(this.#write);
    }
    return this.#turn;
  }

  /** The log's entries up to a position are done. */
  passed(position: number): void {
    this.#passed = position;
    if (this.#segments.length > 1) this.#tidy();
  }

  /** The log has no room for the entry of a position: it stays in its file. False: no file has it. */
  spill(position: number): boolean {
    const segment = this.#segments.find(({ lastPosition }) => lastPosition >= position);
    if (segment === undefined) return false;
    segment.spilled++;
    return true;
  }

  /**
   * Takes the oldest file with spilled entries to the store again. Answers whether there was one.
   * @param carry stores a file's entries, each once @throws what it throws; the file is kept then
   */
  async unspill(carry: (path: string) => Promise<void>): Promise<boolean> {
    const segment = this.#segments.find(({ spilled }) => spilled > 0);
    if (segment === undefined) return false;
    if (segment === this.#current) {
      // Notes that wait to be written belong to this file.
      this.#write();
      if (segment === this.#current) this.#rotate();
    }
    const { spilled } = segment;
    await carry(segment.path);
    segment.spilled = Math.max(0, segment.spilled - spilled);
    this.#tidy();
    return true;
  }

  /** Writes all notes. Unfinished calls are left for the next process on the folder. Returns whether there are none. */
  close(): boolean {
    this.#write();
    this.#tidy();
    for (const segment of this.#free) segment.remove();
    for (const segment of this.#segments) segment.close();
    const needed = this.#segments.some((segment) => this.#needs(segment));
    if (needed) this.#folder.release();
    else this.#folder.remove();
    return !needed;
  }

  get #current(): Segment {
    return this.#segments[this.#segments.length - 1] as Segment;
  }

  readonly #write = (): void => {
    const lines = this.#lines;
    this.#lines = '';
    this.#turn = undefined;
    if (lines !== '') {
      try {
        const current = this.#current;
        current.append(lines);
        this.#mirror?.append(current.number, lines);
        if (current.size >= this.#segmentBytes) this.#rotate();
      } catch (error) {
        this.#folder.lostLines();
        this.#tell(error);
      }
    }
    this.#endTurn();
  };

  /** Begins the next file. The lines of long calls are copied, so that no file is kept for a few of them. */
  #rotate(): void {
    this.#begin();
    const current = this.#current;
    let lines = '';
    for (const old of this.#segments.slice(0, -2)) {
      for (const flight of old.flights) {
        flight.segment = current;
        flight.lines = movedLines(flight.lines, current.number);
        current.flights.add(flight);
        lines += flight.lines;
      }
      old.flights.clear();
    }
    if (lines !== '') {
      current.append(lines);
      this.#mirror?.append(current.number, lines);
    }
    this.#tidy();
    this.#shrink();
  }

  /** Gives up the oldest entries that wait for the store when the files are more than they may be. */
  #shrink(): void {
    let { bytes } = this;
    for (const segment of this.#segments.slice(0, -2)) {
      if (bytes <= this.#mostBytes) return;
      if (segment.spilled === 0) continue;
      bytes -= segment.size;
      this.#lost += segment.spilled;
      this.#deps.onLost(segment.spilled);
      segment.spilled = 0;
    }
    this.#tidy();
  }

  /** Copies a call's lines to the present file, so that they are together. */
  #join(flight: Flight): void {
    const current = this.#current;
    flight.segment.flights.delete(flight);
    flight.segment = current;
    flight.lines = movedLines(flight.lines, current.number);
    current.flights.add(flight);
    this.#lines += flight.lines;
  }

  #begin(): void {
    const number = ++this.#number;
    this.#segments.push(new Segment(number, this.#folder.segmentPath(number), this.#free.pop()));
  }

  #tidy(): void {
    const current = this.#current;
    this.#segments = this.#segments.filter((segment) => {
      if (segment === current || this.#needs(segment)) return true;
      this.#mirror?.remove(segment.number);
      if (this.#free.length < MOST_FREE) this.#free.push(segment);
      else segment.remove();
      return false;
    });
  }

  #needs({ flights, lastPosition, spilled }: Segment): boolean {
    return flights.size > 0 || lastPosition > this.#passed || spilled > 0;
  }

  #tell(error: unknown): void {
    if (performance.now() < this.#quietUntil) return;
    this.#quietUntil = performance.now() + QUIET_MS;
    this.#deps.onTrouble(error, 'calls in flight cannot be written: a kill would lose them');
  }
}
