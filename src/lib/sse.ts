/** One server-sent event. `event` is "message" when the stream names none. */
export interface SseEvent {
  readonly event: string;
  readonly data: string;
}
