// What a check looks at: one call, its request and, once there is one, its answer, with every text that a person or
// a model wrote found beforehand. The same shape for every API, so that a check is written once.
import type { GuardrailView } from '../../providers/operations.ts';

import type { CallBudget } from '../sandbox/call-budget.ts';

/** A JSON object as it was parsed. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The APIs whose bodies are understood; any other body has no texts that can be found. */
export type Api = GuardrailView;

/** Where a value stands in a JSON body: member names and indices from the root. */
export type JsonPath = readonly (string | number)[];

/** One text of a body. */
export interface TextSlot {
  readonly path: JsonPath;
  /**
   * `content` is the text; a tool call's arguments and a model's reasoning are separate kinds. `told` is what a model is
   * told beside the conversation: tools, the form of the answer, names. Only checks that forbid something read it.
   */
  readonly kind: 'content' | 'tool_call' | 'reasoning' | 'told';
  /** system, developer, user, assistant or tool. */
  readonly role: string;
  /** The message of a request, or the choice of an answer, that it belongs to; counted from 0. -1: to none. */
  readonly unit: number;
  /** The text itself. Of a tool call: its arguments as JSON text. */
  readonly text: string;
  /** The tool that is called. */
  readonly name?: string;
  /** How it stands in the body: a text, a text that holds JSON, or JSON itself. */
  readonly form: 'text' | 'json_text' | 'json';
  /** The text stands in base64; this is what stands in front of it, e.g. the head of a data URL. */
  readonly base64After?: string;
}

/** A request or an answer. */
export interface Body {
  readonly json: JsonObject;
  readonly slots: readonly TextSlot[];
  /** Messages of a request, choices of an answer; one at least. */
  readonly units: number;
  /** The body holds token numbers in place of text, or text nested without end: its content cannot be read. */
  readonly opaque: boolean;
}

/** One call as the checks see it. */
export interface Traffic {
  /** As `allowedRequestTypes` names it, e.g. chatComplete, complete, embed, messages, createModelResponse. */
  readonly requestType: string;
  readonly api: Api;
  /** The model that the caller asked for. */
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  /** The caller's headers by lower-case name. They go nowhere unless a parameter says so. */
  readonly headers: Readonly<Record<string, string>>;
  readonly streaming: boolean;
  readonly traceId: string | undefined;
  /** Of the call, for the log. */
  readonly requestId?: string | undefined;
  /** Whose call it is: workers' time is shared by these. */
  readonly organisationId: string;
  readonly workspaceId?: string | undefined;
  /** Workers' time that is left to the call; absent: only each check's own bound. */
  readonly budget?: CallBudget | undefined;
  readonly request: Body;
  /** Whether hooks wrote to the request before the call. */
  readonly requestTransformed?: boolean;
  readonly response: (Body & { readonly status: number }) | undefined;
}

/** Which part of the call a hook examines. */
export type Event = 'input' | 'output';
