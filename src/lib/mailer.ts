// Mail, through the operator's server (nodemailer, loaded with the first mail).
import type { Transporter } from 'nodemailer';

/** A message to one person, as plain text. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** The message's id, the same for every retry: mail servers and readers recognise duplicates by it. */
  readonly id?: string;
}

/** Sends mail. */
export interface Mailer {
  /** Resolves when the server took it, within 20 seconds. @throws Error when it did not. */
  send(mail: Mail): Promise<void>;
}

const TIMEOUT_MS = 10_000;

/**
 * @param server smtp:// or smtps:// with host, port, user and password
 * @param from the sender, e.g. `Sluice <gateway@example.com>`
 */
export function createMailer(server: string, from: string): Mailer {
  const url = new URL(server);
  const options = {
    host: url.hostname,
    port: url.port === '' ? (url.protocol === 'smtps:' ? 465 : 587) : Number(url.port),
    secure: url.protocol === 'smtps:',
    ...(url.username === ''
      ? {}
      : { auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } }),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    // Content comes from this process alone: no file and no address is read into a message.
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  let transport: Promise<Transporter> | undefined;
  const open = async (): Promise<Transporter> => (await import('nodemailer')).createTransport(options);
  return {
    async send({ to, subject, text, id }) {
      const named = id === undefined ? {} : { messageId: `<${id}@sluice>` };
      transport ??= open();
      await (await transport).sendMail({ from, to: { name: '', address: to }, subject, text, ...named });
    },
  };
}
