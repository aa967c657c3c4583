const QUOTE = 34;
const BACKSLASH = 92;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
/** The highest of the signs that JSON takes for white space. */
const SPACE = 32;

/**
 * Finds the end of a JSON object that comes in pieces. Each sign is looked at once: reading the text so far with every
 * piece takes time that grows with the square of its length.
 */
export class ObjectEnd {
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  #state: 'before' | 'within' | 'over' | 'spoilt' = 'before';

  /** Whether the object has ended, and nothing stands behind it. */
  get reached(): boolean {
    return this.#state === 'over';
  }

  /** Takes the next piece of the text. */
  add(piece: string): void {
    for (let i = 0; i < piece.length && this.#state !== 'spoilt'; i++) {
      const sign = piece.charCodeAt(i);
      if (this.#state === 'within') this.#within(sign);
      else if (sign > SPACE) this.#outside(sign);
    }
  }

  #outside(sign: number): void {
    const begins = this.#state === 'before' && sign === OPEN_BRACE;
    this.#state = begins ? 'within' : 'spoilt';
    this.#depth = 1;
  }

  #within(sign: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (sign === QUOTE) this.#inString = !this.#inString;
    else if (this.#inString) this.#isEscaped = sign === BACKSLASH;
    else if (sign === OPEN_BRACE) this.#depth++;
    else if (sign === CLOSE_BRACE && --this.#depth === 0) this.#state = 'over';
  }
}
