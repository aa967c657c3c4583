// Guardrails on a session's texts and transcripts, checked when they are final.
import type { Call } from '../../call/call.ts';
import type { Guardrails } from '../../checks/hook.ts';
import type { AbortLike } from '../../lib/abort.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { BoundTarget } from '../plan/bind.ts';
import type { RawForm } from '../raw/forms.ts';
import { RawGuards } from '../raw/raw-guards.ts';

const FORM: RawForm = {
  name: 'realtime',
  view: 'chat',
  requestType: 'realtime',
  fits: () => true,
  says: true,
};

/** The guardrails of one session. */
export class SessionGuards {
  readonly #pipeline: Pipeline;
  readonly #call: Call;
  readonly #bound: BoundTarget;
  readonly #hooks: Guardrails | undefined;
  readonly #model: string;

  constructor(pipeline: Pipeline, call: Call, bound: BoundTarget, model: string) {
    this.#pipeline = pipeline;
    this.#call = call;
    this.#bound = bound;
    this.#hooks = bound.plan.guardrails as Guardrails | undefined;
    this.#model = model;
  }

  /** @throws GatewayError guardrail_denied (446) for what the caller says */
  async heard(text: string, signal: AbortLike): Promise<void> {
    if (text === '' || (this.#hooks?.input.length ?? 0) === 0) return;
    await this.#guards(text).input(request(text), signal);
  }

  /** @throws GatewayError guardrail_denied (446) for what the model says */
  async said(text: string, signal: AbortLike): Promise<void> {
    if (text === '' || (this.#hooks?.output.length ?? 0) === 0) return;
    const message = { role: 'assistant', content: text };
    await this.#guards('').output({ choices: [{ index: 0, message }] }, 200, signal);
  }

  #guards(text: string): RawGuards {
    return new RawGuards(this.#pipeline, this.#call, FORM, this.#bound, request(text), this.#model);
  }
}

function request(text: string): Readonly<Record<string, unknown>> {
  return { messages: [{ role: 'user', content: text }] };
}
