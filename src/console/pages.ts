// Every page: its name, where it is, and who sees it. Pages load when they are opened.
import type { ComponentType } from 'preact';
import { may, session } from './api.ts';
import type { PageProps } from './page-props.ts';

export interface Page {
  readonly name: string;
  readonly path: string;
  readonly allowed: () => boolean;
  readonly load: () => Promise<{ readonly default: ComponentType<PageProps> }>;
}

const isOrganisation = (): boolean => session.value?.workspaceId === '';

export const PAGES: readonly Page[] = [
  { name: 'Logs', path: '/logs', allowed: () => may('logs.list'), load: () => import('./pages/logs.tsx') },
  {
    name: 'Analytics',
    path: '/analytics',
    allowed: () => may('analytics.view'),
    load: () => import('./pages/analytics.tsx'),
  },
  {
    name: 'Playground',
    path: '/playground',
    allowed: () => may('completions.write'),
    load: () => import('./pages/playground.tsx'),
  },
  {
    name: 'Configs',
    path: '/configs',
    allowed: () => may('configs.list'),
    load: () => import('./pages/configs.tsx'),
  },
  {
    name: 'Prompts',
    path: '/prompts',
    allowed: () => may('prompts.list'),
    load: () => import('./pages/prompts.tsx'),
  },
  {
    name: 'Providers',
    path: '/providers',
    allowed: () => may('providers.list', 'virtual_keys.list'),
    load: () => import('./pages/providers.tsx'),
  },
  {
    name: 'Guardrails',
    path: '/guardrails',
    allowed: () => may('guardrails.list'),
    load: () => import('./pages/guardrails.tsx'),
  },
  {
    name: 'Keys',
    path: '/keys',
    allowed: () =>
      may(
        'organisation_service_api_keys.list',
        'workspace_service_api_keys.list',
        'workspace_user_api_keys.list',
      ),
    load: () => import('./pages/keys.tsx'),
  },
  {
    name: 'Budgets',
    path: '/budgets',
    allowed: () => may('analytics.view', 'policies.list'),
    load: () => import('./pages/budgets.tsx'),
  },
  {
    name: 'Policies',
    path: '/policies',
    allowed: () => may('policies.list'),
    load: () => import('./pages/policies.tsx'),
  },
  {
    name: 'People',
    path: '/people',
    allowed: () => (isOrganisation() && may('organisation_users.list')) || may('workspace_users.list'),
    load: () => import('./pages/people.tsx'),
  },
  {
    name: 'Audit',
    path: '/audit',
    allowed: () => isOrganisation() && may('audit_logs.list'),
    load: () => import('./pages/audit.tsx'),
  },
  {
    name: 'Settings',
    path: '/settings',
    allowed: () => true,
    load: () => import('./pages/settings.tsx'),
  },
];
