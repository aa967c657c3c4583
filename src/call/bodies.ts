// What was sent and received in a call whose bodies are kept: references, read and written after the call.
import type { UnwrittenJson } from '../lib/json-in-slices.ts';

/** What a target was called with, as far as it may be secret. */
export interface SentCredentials {
  readonly apiKey: string | undefined;
  readonly options: Readonly<Record<string, string>>;
}

/** One message as it went over the wire, not read yet. */
export interface WireMessage {
  readonly method?: string;
  readonly url?: string;
  readonly status?: number;
  /** Flat pairs. */
  readonly headers?: readonly string[] | (() => readonly string[]);
  readonly body?: string | Uint8Array | undefined;
}

/** The bodies of a call, when they are kept: references, written after the call. */
export interface CallBodies {
  /** The caller's request and the gateway's answer, encoded when they are written. */
  request: (() => string | Uint8Array | UnwrittenJson | undefined) | undefined;
  response: (() => string | Uint8Array | UnwrittenJson | undefined) | undefined;
  /** Of the last attempt. */
  sent: WireMessage | undefined;
  received: WireMessage | undefined;
  /** Credentials of the targets that were called. */
  readonly targets: SentCredentials[];
  /** Secrets, masked wherever they appear. */
  readonly secrets: () => readonly string[];
  /** Results of input and output guardrails. */
  hooks: { before: object[]; after: object[] } | undefined;
  /** Bodies that are passed through, kept as they pass. */
  readonly passing: { request?: Passing; response?: Passing };
}

/** How much of a body is held, in bytes or UTF-16 units, and how much passed after that. */
export interface Passing {
  readonly held: number;
  readonly left: number;
}
