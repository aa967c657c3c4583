// Files of declared state on their way to the gateway: their variables' values, and the lines of what is wrong.
import { readYamlFiles, type YamlFiles } from './yaml-files.ts';

/** As the gateway takes them. */
export interface DeclaredRequest {
  readonly source: string;
  readonly files: readonly { readonly name: string; readonly document: Record<string, unknown> }[];
  readonly secrets: Readonly<Record<string, string>>;
}

/** A fault with its place. */
export interface PlacedFault {
  readonly file: string;
  readonly line: number;
  /** The member; empty for a file as a whole. */
  readonly member: string;
  readonly message: string;
}

/** Faults of files: the message has one line for each. */
export class DeclaredFaults extends Error {
  override readonly name = 'DeclaredFaults';
  readonly faults: readonly PlacedFault[];

  constructor(faults: readonly PlacedFault[]) {
    super(faults.map(faultLine).join('\n'));
    this.faults = faults;
  }
}

/** `file.yaml:12: member: what is wrong`. */
export function faultLine({ file, line, member, message }: PlacedFault): string {
  return `${file}:${line}: ${member === '' ? '' : `${member}: `}${message}`;
}

/** Files that were read, ready to be sent. */
export interface ReadDeclared {
  readonly request: DeclaredRequest;
  /** A violation that the gateway tells, with its line. */
  placed(violation: { readonly field: string; readonly message: string }): PlacedFault;
}

/**
 * @param env where variables have their values
 * @throws DeclaredFaults for what is no YAML; Error when there is no file
 */
export function readDeclared(
  path: string,
  env: Readonly<Record<string, string | undefined>>,
  source?: string,
): ReadDeclared {
  const read: YamlFiles = readYamlFiles(path);
  const faults = read.files.flatMap(({ name, faults: own }) =>
    own.map(({ line, message }) => ({ file: name, line, member: '', message })),
  );
  if (faults.length > 0) throw new DeclaredFaults(faults);
  const secrets: Record<string, string> = {};
  for (const { document } of read.files)
    for (const name of variablesOf(document)) {
      const value = Object.hasOwn(env, name) ? env[name] : undefined;
      if (value !== undefined) secrets[name] = value;
    }
  const files = read.files.map(({ name, document }) => ({
    name,
    document: JSON.parse(JSON.stringify(document)) as Record<string, unknown>,
  }));
  return {
    request: { source: source ?? read.source, files, secrets },
    placed({ field, message }) {
      const [, index = '0', member = ''] = /^files\[(\d+)\]\.document\.?(.*)$/s.exec(field) ?? [];
      const file = read.files[Number(index)] ?? read.files[0];
      return { file: file?.name ?? path, line: file?.lineOf(member) ?? 1, member, message };
    },
  };
}

/** Names of variables: `{ env: NAME }`, wherever it stands. */
function* variablesOf(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  const members = Object.entries(value);
  const [[name, variable] = []] = members;
  if (members.length === 1 && name === 'env' && typeof variable === 'string') yield variable;
  else for (const [, item] of members) yield* variablesOf(item);
}
