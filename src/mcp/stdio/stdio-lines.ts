// The programs that run: a bounded number of them altogether and for one caller, none that fails again and again.
import { fail } from '../../lib/errors.ts';
import { commandNameOf, type StdioCommands } from '../../lib/stdio-commands.ts';
import { Lines } from '../lines/lines.ts';
import { StdioLine } from './stdio-line.ts';

export interface StdioLinesDeps {
  readonly commands: StdioCommands;
  /** Programs at once. */
  readonly most: number;
  readonly messageBytes: number;
  readonly log: { info(about: object, message: string): void; warn(about: object, message: string): void };
}

/** Programs of one caller, of all servers. */
const MOST_OF_OWNER = 16;
/** How long a command that exited without output is not restarted. */
const PAUSE_MS = 1000;

export function stdioLines({ commands, most, messageBytes, log }: StdioLinesDeps): Lines {
  const failedAt = new Map<string, number>();
  return new Lines({
    most,
    mostOfOwner: Math.min(MOST_OF_OWNER, most),
    hasModern: true,
    make(target, over) {
      const name = commandNameOf(target.origin) ?? '';
      const command = commands.get(name);
      if (command === undefined)
        throw fail('upstream_unreachable', 'the MCP server is a program that the settings do not name');
      if (performance.now() - (failedAt.get(name) ?? -PAUSE_MS) < PAUSE_MS)
        throw fail(
          'upstream_unreachable',
          'the MCP server is a program, and it ends as soon as it is started',
        );
      const deps = {
        command,
        messageBytes,
        said: (text: string, dropped: number) =>
          log.info({ mcp: name, text, ...(dropped > 0 ? { dropped } : {}) }, 'an MCP server says'),
        failed: (hasSpoken: boolean) => {
          if (!hasSpoken) failedAt.set(name, performance.now());
          log.warn({ mcp: name }, 'the program of an MCP server has ended by itself');
        },
      };
      return new StdioLine(deps, target, over);
    },
  });
}
