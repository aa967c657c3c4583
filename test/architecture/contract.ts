// The contract as generated: every service of ours, found through gen/.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  createFileRegistry,
  type DescFile,
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
} from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { ROOT, run } from './tools.ts';

/** Descriptors of every file under gen/gateway, by name. */
export async function generatedFiles(): Promise<DescFile[]> {
  const folder = join(ROOT, 'gen', 'gateway');
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('_pb.ts'),
  );
  const modules = await Promise.all(
    names
      .sort()
      .map((name) => import(pathToFileURL(join(folder, name)).href) as Promise<Record<string, unknown>>),
  );
  return modules.flatMap((module) => Object.values(module).filter(isFile));
}

/** The same files with their comments, which gen/ does not carry: built from proto/. */
export async function commentedFiles(): Promise<DescFile[]> {
  const { code, stdout, output } = await run('buf', ['build', '--as-file-descriptor-set', '--output', '-']);
  if (code !== 0) throw new Error(output);
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, stdout));
  return [...registry.files].filter((file) => file.proto.package.startsWith('gateway.'));
}

/** All services of files. */
export function servicesOf(files: readonly DescFile[]): DescService[] {
  return files.flatMap((file) => file.services);
}

/** All methods of files. */
export function methodsOf(files: readonly DescFile[]): DescMethod[] {
  return servicesOf(files).flatMap((service) => service.methods);
}

/** All messages of files, nested ones included, without the entries of maps. */
export function messagesOf(files: readonly DescFile[]): DescMessage[] {
  const nested = (desc: DescMessage): DescMessage[] => [desc, ...desc.nestedMessages.flatMap(nested)];
  return files.flatMap((file) => file.messages.flatMap(nested));
}

/** The full name of a method. */
export function nameOf(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`;
}

function isFile(value: unknown): value is DescFile {
  return typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === 'file';
}
