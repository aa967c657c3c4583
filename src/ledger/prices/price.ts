// What a model's tokens cost.

/** Rates of a model, in 1e-12 USD per token. A rate that is not there is the plain one of its side. */
export interface Price {
  readonly input?: number;
  readonly output?: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
  /** Of audio: shown to who asks for prices; usage does not tell audio apart. */
  readonly inputAudio?: number;
  readonly outputAudio?: number;
}
