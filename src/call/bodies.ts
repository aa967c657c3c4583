// What was sent and received in a call whose bodies are kept: references, read and written after the call.

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

/** What was said in a call whose bodies are kept: references, written out behind the call. */
export interface CallBodies {
  /** The bodies as the caller and the gateway said them, made when they are written out. */
  request: (() => string | Uint8Array | undefined) | undefined;
  response: (() => string | Uint8Array | undefined) | undefined;
  /** Of the last attempt. */
  sent: WireMessage | undefined;
  received: WireMessage | undefined;
  /** Credentials of the targets that were called. */
  readonly targets: SentCredentials[];
  /** Texts that must not be kept, wherever somebody repeats them. */
  readonly secrets: () => readonly string[];
  /** Results of guardrails before and behind the call. */
  hooks: { before: object[]; after: object[] } | undefined;
  /** Bodies that are kept as they pass. */
  readonly passing: { request?: Passing; response?: Passing };
}

/** How much of a body is held, in bytes or UTF-16 units, and how much passed behind that. */
export interface Passing {
  readonly held: number;
  readonly left: number;
}
