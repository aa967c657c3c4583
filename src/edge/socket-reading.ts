// The bytes of messages that come over a WebSocket count as those of bodies do: what has come of a message that is not
// whole, and the messages that wait.
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { PIECE_OVERHEAD } from '../lib/incoming/pieces.ts';
import type { Reading } from '../lib/incoming/reading-budget.ts';

/** How long a client that is told to leave may take for it, in milliseconds. */
const LEAVE_MS = 1000;

/** Of one connection. It is closed with 1013 (try again later) when its bytes do not fit into the budget. */
export class SocketReading {
  readonly #ws: WebSocket;
  readonly #reading: Reading;
  #coming = 0;
  #waiting = 0;

  /** To be made before there are other listeners of messages. @param socket that `ws` reads */
  constructor(ws: WebSocket, socket: Duplex, reading: Reading) {
    this.#ws = ws;
    this.#reading = reading;
    const count = (piece: Uint8Array): void => {
      this.#coming += piece.length + PIECE_OVERHEAD;
      this.#hold();
    };
    socket.on('data', count);
    ws.on('message', () => {
      this.#coming = 0;
    });
    ws.once('close', () => {
      socket.off('data', count);
      reading.release();
    });
  }

  /** @param bytes of all whole messages that wait now */
  wait(bytes: number): void {
    this.#waiting = bytes;
    this.#hold();
  }

  #hold(): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return;
    try {
      this.#reading.hold(this.#coming + this.#waiting);
    } catch {
      this.#ws.close(1013, 'too many bytes of this key are being read');
      this.#ws.pause();
      setTimeout(() => this.#ws.terminate(), LEAVE_MS).unref();
    }
  }
}
