import { rmSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import type { Command } from 'commander';
import { replaceAtomically } from '../crypto/secret-file.ts';
import { formatIso8601 } from '../kernel/clock.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import type { DatabaseOptions } from '../storage/open.ts';
import { describeAddress } from '../storage/postgres/address.ts';
import type { CliContext, Core, RunningService } from './context.ts';
import { printResult } from './output.ts';

const DEMO_NETWORKS = [
  { cidr: '127.0.0.1', note: 'this machine' },
  { cidr: '::1', note: 'this machine' },
];

export function serveCommand(program: Command, tools: CliContext): void {
  program
    .command('serve')
    .description('run the service, as npm start does')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const stopped = tools.untilStopped();
      const running = await tools.start();
      // Under systemd the journal would store the key, which is shown once: there is no demo account then.
      const hasDemo = tools.paths().isEmbedded && tools.standardOutput !== 'journal';
      const demoKey = hasDemo ? await createDemoKey(running.core) : undefined;
      const firstStart = { demoKey, first: await inviteFirstOperator(tools, running) };
      printResult(tools, json, toView(tools, running, firstStart), startBanner(tools, running, firstStart));
      await stopped;
      await running.stop();
    });
}

/**
 * Creates an account for first requests on the very first start. Its key is the only one that is ever printed unasked.
 */
export async function createDemoKey({ accounts, transactions }: Core): Promise<string | undefined> {
  if ((await accounts.list()).length > 0) return undefined;
  const traits = {
    name: 'demo',
    description: 'Made on the first start',
    permissions: [],
    allowList: DEMO_NETWORKS,
    expiresAt: undefined,
  };
  const issued = await transactions.run({ origin: { actor: { type: 'service' } } }, (transaction) =>
    accounts.createFirst(transaction, 'Demo', 'sandbox', traits),
  );
  return issued?.secret;
}

/** The results of a first start, which are shown once. */
interface FirstStart {
  readonly demoKey: string | undefined;
  readonly first: OperatorInvitation;
}

/**
 * The link of the first operator, or the file that contains it; `invited` when there is neither, and no operator
 * either.
 */
type OperatorInvitation =
  | { readonly url: string }
  | { readonly file: string }
  | 'invited'
  | 'there'
  | 'without-console';

async function inviteFirstOperator(tools: CliContext, running: RunningService): Promise<OperatorInvitation> {
  const { firstOperator } = running;
  if (firstOperator === undefined) return 'without-console';
  const file = join(tools.paths().dataDirectory, INVITATION_FILE);
  const url = await firstOperator.invite(consoleUrlOf(tools, running), { actor: { type: 'service' } });
  if (url !== undefined) return deliverInvitation(tools, url, file);
  if (!(await firstOperator.exists())) return 'invited';
  rmSync(file, { force: true });
  return 'there';
}

const INVITATION_FILE = 'operator-invitation';

/**
 * Shows the link on a terminal. Any other output may be a log that others read: the link then goes to a file that only
 * the user can read.
 */
function deliverInvitation(tools: CliContext, url: string, file: string): OperatorInvitation {
  if (tools.standardOutput === 'terminal') return { url };
  try {
    replaceAtomically(file, `${url}\n`);
    return { file };
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    // The service runs, and the named command creates another link.
    return 'invited';
  }
}

const consoleUrlOf = (tools: CliContext, running: RunningService): string =>
  tools.paths().consoleUrl ?? urlOf(running, running.ports.console);

const urlOf = (running: RunningService, port: number): string =>
  `https://${running.addresses.includes('127.0.0.1') ? 'localhost' : hostOf(running)}:${port}`;

const toView = (tools: CliContext, running: RunningService, { demoKey, first }: FirstStart) => ({
  production: urlOf(running, running.ports.production),
  sandbox: urlOf(running, running.ports.sandbox),
  console: urlOf(running, running.ports.console),
  card_form: running.ports.cards === 0 ? null : urlOf(running, running.ports.cards),
  data_directory: tools.paths().dataDirectory,
  authority_file: running.caFile ?? null,
  demo_key: demoKey ?? null,
  operator_invitation: typeof first === 'object' && 'url' in first ? first.url : null,
  operator_invitation_file: typeof first === 'object' && 'file' in first ? first.file : null,
});

function startBanner(tools: CliContext, running: RunningService, { demoKey, first }: FirstStart): string {
  const { ports, caFile: authorityFile } = running;
  const url = (port: number): string => urlOf(running, port);
  const authority = authorityFile === undefined ? undefined : quoteForShell(toRelativePath(authorityFile));
  const trust = authority === undefined ? '' : `--cacert ${authority} `;
  const lines = [
    `cardvault is running, ${formatIso8601(tools.clock())}`,
    '',
    `  production  ${url(ports.production)}`,
    `  sandbox     ${url(ports.sandbox)}`,
    ...(running.firstOperator === undefined ? [] : [`  console     ${consoleUrlOf(tools, running)}`]),
    ...(ports.cards === 0 ? [] : [`  card form   ${url(ports.cards)}`]),
    `  reference   ${url(ports.sandbox)}/docs`,
    `  data        ${toRelativePath(tools.paths().dataDirectory)}  (back up ${basename(tools.paths().rootKey.file)} apart from the database)`,
    ...databaseLine(tools.paths().database),
    ...(authority === undefined ? [] : [`  CA to trust ${authority}`]),
    '',
    ...operatorLines(tools, first),
    ...(demoKey === undefined ? keyInstructions(tools) : demoInstructions(url(ports.sandbox), trust, demoKey)),
    '',
    'Stop with Ctrl-C. Guides: README.md and docs/',
  ];
  return lines.join('\n');
}

const databaseLine = (database: DatabaseOptions): string[] =>
  database.kind === 'postgres' ? [`  database    ${describeAddress(database.address)}`] : [];

const operatorLines = ({ command }: CliContext, first: OperatorInvitation): string[] => {
  if (first === 'there' || first === 'without-console') return [];
  if (first === 'invited') return [`Console: there is no operator yet. Create a link: ${command} operator invite`, ''];
  if ('file' in first)
    return [
      `Console: the invitation link of the first operator is in ${quoteForShell(toRelativePath(first.file))}, valid once within 24 hours. Create another: ${command} operator invite`,
      '',
    ];
  return ['Console: create the first operator with this link, valid once within 24 hours:', '', `  ${first.url}`, ''];
};

const demoInstructions = (sandbox: string, trust: string, key: string): string[] => [
  'A demo account was created, with a sandbox key for this machine. The key is shown once:',
  '',
  `  ${key}`,
  '',
  'Tokenize a card:',
  '',
  `curl ${trust}${sandbox}/v1/tokenization/simple -H 'x-api-key: ${key}' -H 'content-type: application/json' -d '{"chd":[{"card":"4111111111111111","name":"Ana Lopez","exp":"12/29"}],"tags":[],"scheme":1}'`,
];

const keyInstructions = ({ command }: CliContext): string[] => [
  'Create a key for an account:',
  '',
  `  ${command} account list`,
  `  ${command} key create --account ID --environment sandbox --name NAME --ip 127.0.0.1 --ip ::1`,
];

const hostOf = ({ addresses }: RunningService): string => {
  const address = addresses[0] ?? 'localhost';
  if (address === '0.0.0.0' || address === '::') return 'localhost';
  return address.includes(':') ? `[${address}]` : address;
};

function toRelativePath(path: string): string {
  const near = relative('.', path);
  return near.startsWith('..') ? path : `./${near}`;
}

const quoteForShell = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
