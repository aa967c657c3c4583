// Functions and how they are called, in the chat form.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';
import type { Lost } from '../messages/lost.ts';
import { jsonSchema } from './schema.ts';

/** `tools` and `tool_choice`. */
export function toolMembers(body: JsonObject, lost: Lost): JsonObject {
  const config = objectOf(
    objectOf(body.toolConfig)?.functionCallingConfig ?? objectOf(body.toolConfig)?.function_calling_config,
  );
  const allowed = arrayOf(config?.allowedFunctionNames ?? config?.allowed_function_names);
  const mode = textOf(config?.mode)?.toUpperCase();
  const all = arrayOf(body.tools).flatMap((tool, i) => (isObject(tool) ? functionsOf(tool, i, lost) : []));
  // The model may call these alone.
  const tools =
    mode === 'ANY' && allowed.length > 0
      ? all.filter(({ function: one }) => allowed.includes((one as JsonObject).name!))
      : all;
  if (tools.length === 0) {
    if (mode === 'ANY') lost.add('toolConfig.functionCallingConfig.mode');
    return {};
  }
  const choice = choiceOf(mode, tools);
  return { tools, ...(choice === undefined ? {} : { tool_choice: choice }) };
}

function choiceOf(mode: string | undefined, tools: readonly JsonObject[]): JsonValue | undefined {
  switch (mode) {
    case 'NONE':
      return 'none';
    case 'AUTO':
    case 'VALIDATED':
      return 'auto';
    case 'ANY': {
      const [only, ...others] = tools;
      if (others.length > 0) return 'required';
      return { type: 'function', function: { name: objectOf(only!.function)?.name ?? '' } };
    }
    default:
      return undefined;
  }
}

function functionsOf(tool: JsonObject, at: number, lost: Lost): JsonObject[] {
  const { functionDeclarations, function_declarations: snake, ...others } = tool;
  for (const name of Object.keys(others)) lost.add(`tools[${at}].${name}`);
  return arrayOf(functionDeclarations ?? snake)
    .filter(isObject)
    .map((declared) => {
      const {
        name,
        description,
        parameters,
        parametersJsonSchema,
        parameters_json_schema: snakeSchema,
      } = declared;
      const schema = objectOf(parametersJsonSchema) ?? objectOf(snakeSchema);
      return {
        type: 'function',
        function: {
          name: name ?? '',
          ...(typeof description === 'string' ? { description } : {}),
          parameters:
            schema ?? (isObject(parameters) ? jsonSchema(parameters) : { type: 'object', properties: {} }),
        },
      };
    });
}
