// Reads one entry apart from the page: a body of 20 MB is parsed and written out here, and no frame waits for it.

interface Message {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly truncated?: number;
}

/** An entry as the page shows it. */
export interface ReadLog {
  readonly status: number;
  readonly fault?: string;
  readonly reason?: string;
  readonly entry?: Readonly<Record<string, unknown>>;
  readonly request?: {
    readonly url: string;
    readonly method: string;
    readonly body: string;
    readonly truncated: number;
    readonly headers: Readonly<Record<string, string>>;
  };
  readonly response?: { readonly status: number; readonly body: string; readonly truncated: number };
  readonly providerRequest?: string;
  readonly providerResponse?: string;
  readonly hooks?: string;
  /** Of the target that answered, in the config. */
  readonly targetPath?: string;
}

async function read(id: string): Promise<ReadLog> {
  const answer = await fetch(`/v1/logs/${encodeURIComponent(id)}`, { credentials: 'same-origin' });
  const json = (await answer.json()) as Record<string, unknown>;
  if (!answer.ok) {
    const { message, code } = (json.error ?? {}) as { message?: string; code?: string };
    return {
      status: answer.status,
      fault: message ?? 'the entry could not be read',
      ...(code && { reason: code }),
    };
  }
  const request = json.request as Message & { readonly url?: string; readonly method?: string };
  const response = json.response as Message & {
    readonly status?: number;
    readonly lastUsedOptionJsonPath?: string;
  };
  return {
    status: 200,
    entry: json.entry as Record<string, unknown>,
    request: {
      url: request.url ?? '',
      method: request.method ?? '',
      body: written(request.body),
      truncated: request.truncated ?? 0,
      headers: request.headers ?? {},
    },
    response: {
      status: response.status ?? 0,
      body: written(response.body),
      truncated: response.truncated ?? 0,
    },
    providerRequest: written((json.transformedRequest as Message | undefined)?.body),
    providerResponse: written((json.originalResponse as Message | undefined)?.body),
    hooks: written(json.hook_results),
    targetPath: response.lastUsedOptionJsonPath ?? '',
  };
}

const DIRECTIONS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function written(body: unknown): string {
  if (body === undefined || body === null) return '';
  const text = typeof body === 'string' ? body : JSON.stringify(body, null, 2);
  // Marks that turn the direction of text are written out, as JSON has them: what is read is what was said.
  return text.replace(DIRECTIONS, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

addEventListener('message', ({ data }: MessageEvent<string>) => {
  read(data).then(
    (log) => postMessage(log),
    () => postMessage({ status: 0, fault: 'the gateway does not answer' } satisfies ReadLog),
  );
});
