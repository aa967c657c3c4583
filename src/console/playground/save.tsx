// Keeps what was tried: as a prompt that callers run by name, or as a config that routes their calls.
import { ConfigsService } from '../../../gen/gateway/admin/v2/configs_pb.ts';
import { PromptsService } from '../../../gen/gateway/admin/v2/prompts_pb.ts';
import { client, may, session } from '../api.ts';
import { FormDialog } from '../dialog.tsx';
import { Field } from '../parts.tsx';
import { href } from '../router.ts';
import { type Asked, messagesOf, parametersOf, type Target } from './asked.ts';

interface SaveProps {
  readonly asked: Asked;
  readonly target: Target;
}

export function Save(props: SaveProps) {
  const { asked, target } = props;
  const of = session.value?.workspaceId === '' ? { workspaceId: asked.workspace } : {};
  const asPrompt = async (name: string) => {
    const { tools, ...parameters } = parametersOf(asked);
    const { slug } = await client(PromptsService).createPrompt({
      name,
      string: JSON.stringify(messagesOf(asked)),
      parameters: parameters as { [member: string]: never },
      ...(target.model && { model: target.model }),
      ...(target.provider.startsWith('@') && { virtualKey: target.provider.slice(1) }),
      ...(tools !== undefined && { tools: tools as { [member: string]: never }[] }),
      ...of,
    });
    return (
      <p role="status">
        Saved: <a href={href(`/prompts/${encodeURIComponent(slug)}`)}>open the prompt</a>
      </p>
    );
  };
  const asConfig = async (name: string) => {
    const overrides = { ...(target.model && { model: target.model }), ...parametersOf(asked) };
    const text = JSON.stringify({
      ...(target.provider && { provider: target.provider }),
      ...(target.baseUrl && { custom_host: target.baseUrl }),
      ...(Object.keys(overrides).length > 0 && { override_params: overrides }),
    });
    const config = { value: { case: 'text', value: text } } as const;
    const { slug } = await client(ConfigsService).createConfig({ name, config, ...of });
    return (
      <p role="status">
        Saved: <a href={href(`/configs/${encodeURIComponent(slug)}`)}>open the config</a>
      </p>
    );
  };
  return (
    <>
      {may('prompts.create') && (
        <FormDialog
          name="Save as prompt"
          submit="Save"
          disabled={asked.message.trim() === ''}
          onSubmit={({ name = '' }) => asPrompt(name)}
        >
          <Field label="Name" name="name" required maxLength={255} />
          <p class="hint">The messages become its template; {'{{name}}'} in them is a variable.</p>
        </FormDialog>
      )}
      {may('configs.create') && (
        <FormDialog name="Save as config" submit="Save" onSubmit={({ name = '' }) => asConfig(name)}>
          <Field label="Name" name="name" required maxLength={255} />
          <p class="hint">The provider, the model and the parameters are kept; the provider's key is not.</p>
        </FormDialog>
      )}
    </>
  );
}
