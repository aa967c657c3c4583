// The steps of one call's way, for explanations.

/** One step. */
export type Step =
  | {
      readonly step: 'condition';
      readonly path: string;
      readonly query: object;
      readonly held: boolean;
      readonly target: string;
    }
  | { readonly step: 'default'; readonly path: string; readonly target: string }
  | { readonly step: 'choice'; readonly path: string; readonly algorithm: string; readonly target: string }
  | {
      readonly step: 'affinity';
      readonly path: string;
      /** What tells the conversation: "given" or "prompt"; "none" where its prompt is too short. */
      readonly key: 'given' | 'prompt' | 'none';
      /** The warm target; null: none is. */
      readonly warm: string | null;
      readonly ttl?: number;
      /** Of the prompt, about, and from which on its provider caches it. */
      readonly tokens?: number;
      readonly min_tokens?: number;
    }
  | { readonly step: 'circuit_open'; readonly path: string; readonly retry_after_ms: number }
  | {
      readonly step: 'attempt';
      readonly path: string;
      readonly try: number;
      readonly status: number;
      readonly ms: number;
      readonly error?: string;
    }
  | { readonly step: 'wait'; readonly path: string; readonly ms: number; readonly why: string }
  | { readonly step: 'move_on'; readonly path: string; readonly status: number }
  | { readonly step: 'hedge'; readonly path: string; readonly after_ms: number };

/** Takes steps in their order. */
export type Trace = (step: Step) => void;
