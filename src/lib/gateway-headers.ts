// The gateway's own headers under their canonical prefix or an alias of it
// (GATEWAY_HEADER_PREFIXES), over HTTP and, as metadata of the same names, over gRPC.

/** Headers as node:http gives them: lower-case names, repeated ones joined or listed. */
export type IncomingHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The accepted prefixes, with every full name made once. */
export class HeaderNames {
  /** The first is canonical. */
  readonly prefixes: readonly string[];
  readonly #full = new Map<string, readonly string[]>();
  readonly #sets = new WeakMap<readonly string[], ReadonlySet<string>>();

  constructor(prefixes: readonly string[]) {
    this.prefixes = prefixes;
  }

  get canonical(): string {
    return this.prefixes[0] ?? 'x-gateway-';
  }

  /** All accepted spellings of a header, e.g. "trace-id". */
  of(name: string): readonly string[] {
    let full = this.#full.get(name);
    if (full === undefined) {
      full = this.prefixes.map((prefix) => prefix + name);
      this.#full.set(name, full);
    }
    return full;
  }

  /** All accepted spellings of some headers, and their names without a prefix. Made once per list. */
  spellingsOf(names: readonly string[]): ReadonlySet<string> {
    let set = this.#sets.get(names);
    if (set === undefined) {
      set = new Set(names.flatMap((name) => [name, ...this.of(name)]));
      this.#sets.set(names, set);
    }
    return set;
  }

  /** Whether a lower-case header name is one of the gateway's own. */
  owns(lowerName: string): boolean {
    return this.prefixes.some((prefix) => lowerName.startsWith(prefix));
  }
}

/** One request's headers. */
export class GatewayHeaders {
  readonly names: HeaderNames;
  readonly raw: IncomingHeaders;

  constructor(names: HeaderNames, raw: IncomingHeaders) {
    this.names = names;
    this.raw = raw;
  }

  /** A header of the gateway by its bare name, e.g. "trace-id"; undefined when absent. */
  get(name: string): string | undefined {
    for (const full of this.names.of(name)) {
      const value = this.raw[full];
      if (value !== undefined) return typeof value === 'string' ? value : value.join(', ');
    }
    return undefined;
  }

  /**
   * Whether `get` or `plain` finds any of them. A call has few headers: one look at each costs less than one for each
   * spelling of names that are seldom there.
   */
  hasAny(names: readonly string[]): boolean {
    const spellings = this.names.spellingsOf(names);
    for (const name of Object.keys(this.raw)) if (spellings.has(name)) return true;
    return false;
  }

  /** Any other header by its lower-case name. */
  plain(name: string): string | undefined {
    const value = this.raw[name];
    if (value === undefined || typeof value === 'string') return value;
    // Callers name headers too, and every object has some members.
    return Array.isArray(value) ? value.join(', ') : undefined;
  }

  /** Whether the caller speaks under an alias, and so gets the shapes of that family's SDKs. */
  get aliased(): boolean {
    return this.callerPrefix !== this.names.canonical;
  }

  /** The prefix that the caller authenticated under, or used at all; answers repeat it. */
  get callerPrefix(): string {
    const { prefixes } = this.names;
    if (prefixes.length === 1) return this.names.canonical;
    const keys = this.names.of('api-key');
    for (let i = 0; i < keys.length; i++) if (this.raw[keys[i]!] !== undefined) return prefixes[i]!;
    const used = Object.keys(this.raw);
    return prefixes.find((prefix) => used.some((name) => name.startsWith(prefix))) ?? this.names.canonical;
  }
}
