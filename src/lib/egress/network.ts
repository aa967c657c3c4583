// A way out of one's own: what a single integration's calls use in the place of the gateway's common connections.

/** The client certificate, the trusted authorities and the proxy of outgoing calls. */
export interface Network {
  /** The document's id: only calls of one id and version share connections. */
  readonly id: string;
  readonly version: number;
  /** In PEM, the chain after it; shown to targets that ask for one, never to a proxy. */
  readonly clientCertificate?: string | undefined;
  /** In PEM. */
  readonly clientKey?: string | undefined;
  /** In PEM, trusted in addition to the gateway's own. */
  readonly caCertificates?: string | undefined;
  /** URL of the proxy for all targets; its address is judged as any other. Absent: the gateway's own, if it has one. */
  readonly proxyUrl?: string | undefined;
}
