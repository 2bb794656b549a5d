import type { Command } from 'commander';
import { type AllowedNetwork, parseCidr } from '../accounts/allow-list.ts';
import { keyStateAt, type StoredKey } from '../accounts/api-key.ts';
import type { IssuedKey, KeyAttributes } from '../accounts/issue-key.ts';
import { isPermission, PERMISSIONS, type Permission } from '../accounts/permission.ts';
import { formatIso8601, formatIso8601OrNull, parseIso8601 } from '../kernel/clock.ts';
import type { Environment } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { asOperator, type CliContext, withCore } from './context.ts';
import { invalidOption, parseEnvironment, parseOverlap } from './options.ts';
import { formatDetails, formatTable, parseName, printResult, UsageError } from './output.ts';

interface TraitOptions {
  readonly json?: boolean;
  readonly name?: string;
  readonly description?: string;
  readonly ip?: AllowedNetwork[];
  readonly permission?: Permission[];
  readonly expires?: number | typeof NEVER;
}

/** Removes an expiry. */
const NEVER = 'never';
/** Empties the allow-list when given instead of a network. */
const NONE = 'none';

export function keyCommands(program: Command, tools: CliContext): void {
  const key = program.command('key').description('manage the API keys of an account');
  createCommand(key, tools);
  listCommand(key, tools);
  showCommand(key, tools);
  editCommand(key, tools);
  rotateCommand(key, tools);
  revokeCommand(key, tools);
}

function createCommand(key: Command, tools: CliContext): void {
  withTraitOptions(key.command('create').description('create a key; it is shown once'))
    .requiredOption('--account <id>', 'id of the account')
    .requiredOption('--environment <environment>', 'sandbox or production', parseEnvironment)
    .action((options: TraitOptions & { account: string; environment: Environment }) =>
      withCore(tools, async (core) => {
        const { account, environment, json } = options;
        if (options.name === undefined) throw new UsageError('--name: required');
        const traits: KeyAttributes = {
          name: options.name,
          description: options.description ?? '',
          permissions: options.permission ?? [],
          allowList: options.ip ?? [],
          expiresAt: toExpiry(options.expires),
        };
        const issued = await asOperator(tools, core, (transaction) =>
          core.accounts.createKey(transaction, account, environment, traits),
        );
        printIssued(tools, json, issued, core.clock());
      }),
    );
}

function showCommand(key: Command, tools: CliContext): void {
  key
    .command('show <id>')
    .description('show a key with its permissions')
    .option('--json', 'print JSON')
    .action((id: string, { json }: { json?: boolean }) =>
      withCore(tools, async ({ accounts, clock }) => printKey(tools, json, await accounts.getKey(id), clock())),
    );
}

function listCommand(key: Command, tools: CliContext): void {
  key
    .command('list')
    .description('list the keys of an account')
    .requiredOption('--account <id>', 'id of the account')
    .option('--json', 'print JSON')
    .action(({ account, json }: { account: string; json?: boolean }) =>
      withCore(tools, async ({ accounts, clock }) => {
        const all = (await accounts.listKeys(account)).map((each) => toView(each, clock()));
        const rows = all.map((each) => [
          each.id,
          each.environment,
          each.state,
          each.prefix,
          each.last_used_at ?? 'never',
          each.name,
        ]);
        printResult(tools, json, all, formatTable(['ID', 'ENVIRONMENT', 'STATE', 'PREFIX', 'LAST USED', 'NAME'], rows));
      }),
    );
}

function editCommand(key: Command, tools: CliContext): void {
  withTraitOptions(
    key.command('edit <id>').description('change a key; --ip and --permission replace their lists'),
  ).action((id: string, options: TraitOptions) =>
    withCore(tools, async (core) => {
      const { name, description, ip, permission, expires } = options;
      const changes = {
        ...(name !== undefined && { name }),
        ...(description !== undefined && { description }),
        ...(ip !== undefined && { allowList: ip }),
        ...(permission !== undefined && { permissions: permission }),
        ...(expires !== undefined && { expiresAt: toExpiry(expires) }),
      };
      if (Object.keys(changes).length === 0)
        throw new UsageError('nothing to change: give at least one option; see: cardvault key edit --help');
      const edited = await asOperator(tools, core, (transaction) => core.accounts.editKey(transaction, id, changes));
      printKey(tools, options.json, edited, core.clock());
    }),
  );
}

function rotateCommand(key: Command, tools: CliContext): void {
  key
    .command('rotate <id>')
    .description('create a successor with the same settings; the old key expires after the overlap')
    .option('--overlap <minutes>', 'minutes in which both keys are valid', parseOverlap, 60)
    .option('--json', 'print JSON')
    .action((id: string, { overlap, json }: { overlap: number; json?: boolean }) =>
      withCore(tools, async (core) => {
        const issued = await asOperator(tools, core, (transaction) =>
          core.accounts.rotateKey(transaction, id, overlap),
        );
        printIssued(tools, json, issued, core.clock());
      }),
    );
}

function revokeCommand(key: Command, tools: CliContext): void {
  key
    .command('revoke <id>')
    .description('revoke a key permanently; it takes effect on every node within 5 seconds')
    .option('--json', 'print JSON')
    .action((id: string, { json }: { json?: boolean }) =>
      withCore(tools, async (core) => {
        const revoked = await asOperator(tools, core, (transaction) => core.accounts.revokeKey(transaction, id));
        printKey(tools, json, revoked, core.clock());
      }),
    );
}

function withTraitOptions(command: Command): Command {
  const append =
    <T>(read: (text: string) => T) =>
    (text: string, list: T[] | undefined): T[] => [...(list ?? []), read(text)];
  return command
    .option('--name <name>', 'name of the key', (text) => parseName(text, LIMITS.apiKeyNameCharacters, '--name'))
    .option('--description <text>', 'purpose of the key', (text) => parseDescription(text))
    .option(
      '--ip <cidr[=note]>',
      'address or network that may use the key; may be repeated; `--ip none` empties the list',
      (text, list: AllowedNetwork[] | undefined) => (text === NONE ? [] : [...(list ?? []), parseNetwork(text)]),
    )
    .option(
      '--permission <permission>',
      `permission of the key; may be repeated; a new key without any has all: ${PERMISSIONS.join(', ')}`,
      append(parsePermission),
    )
    .option('--expires <time>', 'expiry in ISO 8601, for example 2027-01-31T00:00:00Z, or never', parseExpiry)
    .option('--json', 'print JSON');
}

const parsePermission = (text: string): Permission =>
  isPermission(text) ? text : invalidOption(`expected one of ${PERMISSIONS.join(', ')}`);

const parseDescription = (text: string): string =>
  text === '' ? '' : parseName(text, LIMITS.apiKeyDescriptionCharacters, '--description');

function parseNetwork(text: string): AllowedNetwork {
  const [network = '', ...note] = text.split('=');
  const cidr =
    parseCidr(network) ?? invalidOption('expected an address or CIDR network, as 203.0.113.7 or 2001:db8::/32');
  const words = note.join('=');
  return { cidr, note: words === '' ? '' : parseName(words, LIMITS.allowListNoteCharacters, '--ip note') };
}

const toExpiry = (expires: number | typeof NEVER | undefined): number | undefined =>
  expires === NEVER ? undefined : expires;

function parseExpiry(text: string): number | typeof NEVER {
  if (text === NEVER) return NEVER;
  return parseIso8601(text) ?? invalidOption('expected ISO 8601 with a zone, as 2027-01-31T00:00:00Z, or never');
}

const toView = (key: StoredKey, now: number) => ({
  id: key.id,
  account: key.account,
  environment: key.environment,
  name: key.name,
  description: key.description,
  prefix: key.prefix,
  state: keyStateAt(key, now),
  altered: key.isTampered,
  permissions: key.permissions,
  allow_list: key.allowList,
  created_at: formatIso8601(key.createdAt),
  expires_at: formatIso8601OrNull(key.expiresAt),
  revoked_at: formatIso8601OrNull(key.revokedAt),
  last_used_at: formatIso8601OrNull(key.lastUsedAt),
  successor: key.successor ?? null,
});

const ALTERED =
  'altered: its row was changed in the database, so the key is refused; what is shown here may not be what was set; run: cardvault key revoke ID';

function toText(key: ReturnType<typeof toView>): string {
  const networks = key.allow_list.map(({ cidr, note }) => (note === '' ? cidr : `${cidr} (${note})`));
  return formatDetails([
    ['id', key.id],
    ['name', key.name],
    ['account', key.account],
    ['environment', key.environment],
    ['state', key.altered ? ALTERED : key.state],
    ['prefix', key.prefix],
    ['permissions', key.permissions.join(', ')],
    [
      'allow-list',
      networks.length === 0 ? 'empty: the key is refused everywhere until --ip is given' : networks.join(', '),
    ],
    ['expires', key.expires_at ?? 'never'],
  ]);
}

function printKey(tools: CliContext, json: boolean | undefined, key: StoredKey, now: number): void {
  const value = toView(key, now);
  printResult(tools, json, value, toText(value));
}

function printIssued(tools: CliContext, json: boolean | undefined, { key, secret }: IssuedKey, now: number): void {
  const value = toView(key, now);
  printResult(
    tools,
    json,
    { ...value, key: secret },
    `${toText(value)}\n\nkey  ${secret}\n\nThe key is not shown again.`,
  );
}
