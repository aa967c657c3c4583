// Commands for a running process, from users that may read its data folder: the request is one line of JSON, the
// answer is lines of JSON. For what only the process that holds the folder can do.
import { chmodSync, rmSync } from 'node:fs';
import { createConnection, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Resolves with whether all went well. `say` tells people how it goes; the signal is aborted when the caller leaves. */
export type ControlCommand = (
  say: (line: string) => void,
  signal: AbortSignal,
  /** The text after the command's name: JSON, or empty. */
  argument: string,
) => Promise<boolean>;

export interface ControlSocket {
  /** Breaks off what is under way. */
  close(): Promise<void>;
}

/** One line of an answer; an empty one says that the work goes on. */
interface Answer {
  readonly say?: string;
  readonly done?: boolean;
  readonly error?: string;
}

/** Where an embedded gateway takes commands that only it can do, for it alone has its data open. */
export function controlPath(dataDir: string): string {
  return join(dataDir, 'control.sock');
}

const ALIVE_MS = 1000;
const SILENT_MS = 15_000;
const LONGEST_REQUEST = 1024;
const CONNECTIONS = 4;

/** Listens on a socket file of mode 0600. @throws Error of the system when that cannot be, e.g. for a path too long */
export async function listenControl(
  path: string,
  commands: Readonly<Record<string, ControlCommand>>,
): Promise<ControlSocket> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    socket.on('error', () => undefined);
    socket.setTimeout(SILENT_MS, () => socket.destroy());
    serve(socket, commands);
  });
  server.maxConnections = CONNECTIONS;
  // A socket left by a killed process: it can be removed, because the process that listens here holds the folder.
  rmSync(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  chmodSync(path, 0o600);
  // A gateway ends when its port does.
  server.unref();
  return {
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function serve(socket: Socket, commands: Readonly<Record<string, ControlCommand>>): void {
  let asked = '';
  const answer = (line: Answer): void => void socket.write(`${JSON.stringify(line)}\n`);
  const onData = (chunk: Buffer): void => {
    asked += chunk.toString('latin1');
    const end = asked.indexOf('\n');
    if (end < 0 && asked.length <= LONGEST_REQUEST) return;
    socket.off('data', onData);
    socket.resume();
    const line = Buffer.from(asked.slice(0, Math.max(end, 0)), 'latin1').toString('utf8');
    const [name = '', argument = ''] = line.split(/ (.*)/s);
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (command === undefined) {
      socket.end(`${JSON.stringify({ error: 'there is no such command' })}\n`);
      return;
    }
    const left = new AbortController();
    socket.once('close', () => left.abort(new Error('the caller left')));
    const alive = setInterval(() => answer({}), ALIVE_MS);
    socket.setTimeout(0);
    command((said) => answer({ say: said }), left.signal, argument)
      .then(
        (done): Answer => ({ done }),
        (error: unknown): Answer => ({ error: error instanceof Error ? error.message : 'it failed' }),
      )
      .then((last) => {
        clearInterval(alive);
        socket.end(`${JSON.stringify(last)}\n`);
      });
  };
  socket.on('data', onData);
}

/**
 * Has the listening process run a command. Resolves with whether all went well, or with undefined when no process
 * listens. @throws Error with the command's message, or when the process falls silent
 */
export async function callControl(
  path: string,
  command: string,
  say: (line: string) => void,
  argument?: object,
): Promise<boolean | undefined> {
  const socket = await connected(path);
  if (socket === undefined) return undefined;
  socket.on('error', () => undefined);
  socket.setTimeout(SILENT_MS, () => socket.destroy());
  socket.write(`${command}${argument === undefined ? '' : ` ${JSON.stringify(argument)}`}\n`);
  try {
    for await (const line of createInterface({ input: socket })) {
      const { say: text, done, error } = JSON.parse(line) as Answer;
      if (text !== undefined) say(text);
      if (error !== undefined) throw new Error(error);
      if (done !== undefined) return done;
    }
  } finally {
    socket.destroy();
  }
  throw new Error('the gateway broke off: run the command again');
}

/** A command that goes on until its caller leaves. */
export interface HeldCommand {
  /** What it said first. */
  readonly said: string;
  /** Ends it. */
  readonly leave: () => void;
}

/** Whether a process listens. */
export async function reachesControl(path: string): Promise<boolean> {
  const socket = await connected(path);
  socket?.destroy();
  return socket !== undefined;
}

/**
 * Has the listening process run a command that lasts as long as this caller wants. Undefined when no process listens.
 * @throws Error with the command's message
 */
export async function holdControl(path: string, command: string): Promise<HeldCommand | undefined> {
  const socket = await connected(path);
  if (socket === undefined) return undefined;
  socket.on('error', () => undefined);
  socket.write(`${command}\n`);
  for await (const line of createInterface({ input: socket })) {
    const { say, error } = JSON.parse(line) as Answer;
    if (error !== undefined) throw new Error(error);
    if (say !== undefined) return { said: say, leave: () => socket.destroy() };
  }
  throw new Error('the gateway broke off: run the command again');
}

/** Undefined when no process listens. @throws Error for people when this user may not ask it */
async function connected(path: string): Promise<Socket | undefined> {
  const socket = createConnection(path);
  return new Promise((resolve, reject) => {
    socket.once('connect', () => resolve(socket));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      const { code } = error;
      if (code === 'ENOENT' || code === 'ECONNREFUSED') resolve(undefined);
      else if (code === 'EACCES' || code === 'EPERM') reject(new Error(notAllowed(path), { cause: error }));
      else reject(error);
    });
  });
}

function notAllowed(path: string): string {
  return `this user may not use ${path}: run the command as the owner of the folder, or name the gateway by --url and --key`;
}
