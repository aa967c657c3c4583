// Imports of Node's own modules without the module that Node makes of each for imports: making it reads every member, and
// members such as `http.WebSocket` load hundreds of kilobytes of the engine's library when they are read.
import { builtinModules } from 'node:module';
import type { Plugin } from 'rolldown';

const PREFIX = '\0builtin:';
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const RESERVED = new Set(['default', 'delete', 'import', 'export', 'class', 'function', 'new', 'with']);
const NAMES = new Set(builtinModules);

/** A name that is imported from a builtin is read when the program starts, and no other one. */
export const builtins: Plugin = {
  name: 'builtins',
  resolveId(id, _, { kind }) {
    const name = id.replace(/^node:/, '');
    const isKnown = id.startsWith('node:') ? process.getBuiltinModule(id) !== undefined : NAMES.has(id);
    return kind === 'import-statement' && isKnown ? `${PREFIX}${name}` : null;
  },
  load(id) {
    if (!id.startsWith(PREFIX)) return null;
    const name = `node:${id.slice(PREFIX.length)}`;
    const found = process.getBuiltinModule(name) as object;
    const names = Object.getOwnPropertyNames(found).filter(
      (one) => IDENTIFIER.test(one) && !RESERVED.has(one),
    );
    const code = [
      `const own = process.getBuiltinModule(${JSON.stringify(name)});`,
      'const read = (name) => own[name];',
      'export default own;',
      ...names.map((one) => `const own_${one} = /* @__PURE__ */ read(${JSON.stringify(one)});`),
      `export { ${names.map((one) => `own_${one} as ${one}`).join(', ')} };`,
    ];
    return { code: code.join('\n'), moduleSideEffects: false };
  },
};
