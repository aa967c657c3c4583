// Heartbeats of the processes that share a store, as a port. Times are ages on the store's own clock, so that a process
// whose clock is wrong is neither lost nor kept for ever.

/** What a process tells of itself. */
export interface Heartbeat {
  /** Of this process alone, for as long as it runs. */
  readonly id: string;
  /** The processes of one instance have the same. */
  readonly instance: string;
  readonly pid: number;
  readonly version: string;
  readonly runtime: string;
  /** How long it has run, in milliseconds. */
  readonly upMs: number;
  readonly logBuffered: number;
  readonly logLagMs: number;
}

/** A process and how long ago its last heartbeat was, in milliseconds. */
export interface RecentProcess extends Heartbeat {
  readonly ageMs: number;
}

/** A process is listed for so long after its last heartbeat. */
export const RECENT_MS = 15_000;
/** Processes that are listed at the most. */
export const MOST_RECENT = 1000;

export interface Heartbeats {
  /** Records a heartbeat and removes expired ones. @throws GatewayError store_unavailable */
  beat(heartbeat: Heartbeat): Promise<void>;
  /** Records a heartbeat; answers all processes with a heartbeat within `RECENT_MS`. @throws GatewayError store_unavailable */
  recent(heartbeat: Heartbeat): Promise<readonly RecentProcess[]>;
  /** Removes a process. @throws GatewayError store_unavailable */
  leave(id: string): Promise<void>;
}
