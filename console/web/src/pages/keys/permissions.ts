import { PERMISSIONS, type Permission } from '../../../../../src/accounts/permission.ts';

export const GROUPS = ['tokens', 'captures', 'payments', 'proxy', 'account', 'webhooks'] as const;

type Group = (typeof GROUPS)[number];

export const listPermissions = (group: Group): readonly Permission[] =>
  PERMISSIONS.filter((permission) => permission.startsWith(`${group}:`));

/** Permissions that give access to full card numbers. */
const POWERFUL: readonly Permission[] = ['tokens:detokenize', 'captures:retrieve'];

export const isPowerful = (permission: Permission): boolean => POWERFUL.includes(permission);

export const PRESETS = {
  all: PERMISSIONS,
  store: [
    'tokens:create',
    'tokens:inspect',
    'captures:create',
    'captures:inspect',
    'captures:tokenize',
    'account:read',
  ],
  payments: ['tokens:create', 'tokens:detokenize', 'payments:write', 'payments:read', 'account:read'],
  read: ['tokens:inspect', 'captures:inspect', 'payments:read', 'account:read'],
  none: [],
} as const satisfies Record<string, readonly Permission[]>;

type Preset = keyof typeof PRESETS;

export const PRESET_NAMES = Object.keys(PRESETS) as readonly Preset[];

export const isPresetChosen = (preset: Preset, chosen: readonly string[]): boolean =>
  chosen.length === PRESETS[preset].length && PRESETS[preset].every((permission) => chosen.includes(permission));

/** Replaces `:`, which is special in text keys. */
export const toTextKey = (permission: Permission) => permission.replace(':', '_') as TextKey<Permission>;

type TextKey<P> = P extends `${infer Head}:${infer Tail}` ? `${Head}_${Tail}` : never;
