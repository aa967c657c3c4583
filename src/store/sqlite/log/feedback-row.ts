// Feedback as it crosses to the writer.

/** A record as a row: `time` is what filters hold against it, `mark` is value x weight. */
export type FeedbackRow = [
  organisationId: string,
  workspaceId: string,
  id: string,
  traceId: string,
  time: number,
  createdAt: number,
  mark: number,
  record: string,
];

export interface FeedbackUpdate {
  readonly org: string;
  readonly workspace: string | null;
  readonly id: string;
  readonly mark: number;
  /** Members of the record that are replaced, as JSON. */
  readonly members: string;
}
