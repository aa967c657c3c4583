// The export queue of spans: a bounded queue before the library's batches. Spans over the bound are dropped and
// counted; no call ever waits for the collector.
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace';
import type { TelemetrySettings } from './settings.ts';

/** ExportResultCode.SUCCESS of the library's core. */
const SUCCESS = 0;
/** How long a batch is waited for beyond its exporter's own time. */
const GRACE_MS = 1000;

export class SpanQueue {
  readonly #processor: BatchSpanProcessor;
  readonly #size: number;
  #waiting = 0;
  #underWay = 0;
  exported = 0;
  dropped = 0;

  /** @param onFailure called with each batch that is given up */
  constructor(
    exporter: SpanExporter,
    { queue, traces }: TelemetrySettings,
    onFailure: (error: Error | undefined) => void,
  ) {
    this.#size = queue.size;
    this.#processor = new BatchSpanProcessor({
      exporter: this.#counted(exporter, onFailure),
      maxQueueSize: queue.size,
      maxExportBatchSize: Math.min(queue.batch, queue.size),
      scheduledDelayMillis: queue.delayMs,
      exportTimeoutMillis: (traces?.timeoutMs ?? 0) + GRACE_MS,
    });
  }

  /** Takes the spans of a call, all of them or none. */
  add(spans: readonly ReadableSpan[]): void {
    if (this.#waiting + spans.length > this.#size) {
      this.dropped += spans.length;
      return;
    }
    this.#waiting += spans.length;
    for (const span of spans) this.#processor.onEnd(span);
  }

  /** Spans that wait or are on the way. */
  get waiting(): number {
    return this.#waiting + this.#underWay;
  }

  close(): Promise<void> {
    return this.#processor.shutdown();
  }

  /** The exporter, with what it takes counted. It never fails for the processor, which would only log it. */
  #counted(exporter: SpanExporter, onFailure: (error: Error | undefined) => void): SpanExporter {
    return {
      export: (spans, done) => {
        this.#waiting -= spans.length;
        this.#underWay += spans.length;
        exporter.export(spans, (result) => {
          this.#underWay -= spans.length;
          if (result.code === SUCCESS) this.exported += spans.length;
          else {
            this.dropped += spans.length;
            onFailure(result.error);
          }
          done({ code: SUCCESS });
        });
      },
      shutdown: () => exporter.shutdown(),
      forceFlush: async () => exporter.forceFlush?.(),
    };
  }
}
