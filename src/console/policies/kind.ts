// What the two kinds of policies have each for themselves.
import type { ComponentChildren } from 'preact';

export type Texts = Readonly<Record<string, string>>;

/** A policy as the list shows it. */
export interface Listed {
  readonly id: string;
  readonly name: string;
  readonly limit: string;
  readonly conditions: string;
  readonly groups: string;
  readonly status: string;
  /** Of declared state: it is changed in its file. */
  readonly managedBy: string | undefined;
}

/** Whom a policy is for, as the form says it. */
export interface ForWhom {
  readonly conditions: { key: string; value: { kind: { case: 'text'; value: string } } }[];
  readonly groupBy: { key: string }[];
  readonly workspaceId?: string;
  readonly name?: string;
}

export interface PolicyKind {
  readonly title: string;
  /** The table's name. */
  readonly label: string;
  /** The button of the form. */
  readonly add: string;
  readonly empty: string;
  readonly fields: () => ComponentChildren;
  readonly list: (signal: AbortSignal) => Promise<readonly Listed[]>;
  readonly create: (texts: Texts, whom: ForWhom) => Promise<unknown>;
  readonly remove: (policyId: string) => Promise<unknown>;
  /** The limit alone can be changed. */
  readonly change: (policyId: string, limit: number) => Promise<unknown>;
  /** What each group has spent; absent: it is not counted. */
  readonly Groups?: (props: { readonly policyId: string }) => ComponentChildren;
}
