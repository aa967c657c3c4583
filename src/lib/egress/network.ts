// A way out of one's own: what a single integration's calls use in the place of the gateway's common connections.

/** With which certificate, trusting whom and by which proxy calls go out. */
export interface Network {
  /** Of the document that says so: connections are shared by calls of one id and version, and by nobody else. */
  readonly id: string;
  readonly version: number;
  /** In PEM, the chain after it; shown to targets that ask for one, never to a proxy. */
  readonly clientCertificate?: string | undefined;
  /** In PEM. */
  readonly clientKey?: string | undefined;
  /** In PEM, trusted beside those that the gateway trusts. */
  readonly caCertificates?: string | undefined;
  /** URL of the proxy for all targets; its address is judged as any other. Absent: the gateway's own, if it has one. */
  readonly proxyUrl?: string | undefined;
}
