// The events of one response while it is made: kept in order for all that read them, from any of them on.

/** Characters of one response's events at the most. */
export const MOST_LOGGED = 8 * 1024 * 1024;

/** Events as JSON texts. */
export class EventLog {
  readonly texts: string[] = [];
  #length = 0;
  #over = false;
  readonly #waiting = new Set<() => void>();

  /** False: it is too long, and the event is not in it. */
  push(text: string): boolean {
    if (this.#length + text.length > MOST_LOGGED) return false;
    this.#length += text.length;
    this.texts.push(text);
    this.#wake();
    return true;
  }

  /** No event follows. */
  end(): void {
    this.#over = true;
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  /** All events, those that come included. */
  async *read(): AsyncGenerator<string, void> {
    for (let at = 0; ; at++) {
      while (at >= this.texts.length) {
        if (this.#over) return;
        await new Promise<void>((resolve) => {
          this.#waiting.add(resolve);
        });
      }
      yield this.texts[at]!;
    }
  }
}

/** The number of an event; undefined: it has none. */
export function numberOf(text: string): number | undefined {
  const { sequence_number: number } = JSON.parse(text) as { readonly sequence_number?: unknown };
  return typeof number === 'number' ? number : undefined;
}
