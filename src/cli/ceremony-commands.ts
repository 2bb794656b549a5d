import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { describeRecipientFault } from '../crypto/age-key-fault.ts';
import type { HeldCeremony, NewCustodian } from '../crypto/custody/ceremony.ts';
import type { CustodyOptions } from '../crypto/custody/choose.ts';
import type { ShareKey } from '../crypto/custody/share-file.ts';
import { CustodyError, generateRootKey } from '../crypto/custody.ts';
import { LIMITS } from '../kernel/limits.ts';
import { asOperator, type CliContext, type Core, CREATE_IF_MISSING, withCore } from './context.ts';
import { readSecretFile } from './options.ts';
import { formatTable, parseName, printResult, UsageError } from './output.ts';
import { openShare, type ShareOptions, withShareOptions } from './share-options.ts';

/** Commands by which custodians take, prove and use shares of the root key. */
export function ceremonyCommands(keyring: Command, tools: CliContext): void {
  ceremonyCommand(keyring, tools);
  acknowledgeCommand(keyring, tools);
  holdCommand(keyring, tools);
}

interface CeremonyOptions {
  readonly shares: number;
  readonly threshold: number;
  readonly out: string;
  readonly file?: string;
  readonly recipient?: readonly string[];
  readonly passphrase?: readonly string[];
  readonly json?: boolean;
}

const collect = (text: string, before: readonly string[] = []): string[] => [...before, text];

function parseShares(text: string): number {
  const { min, max } = LIMITS.custodyShares;
  const number = /^[0-9]{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new InvalidArgumentError(`expected a whole number of ${min} to ${max}`);
}

function ceremonyCommand(keyring: Command, tools: CliContext): void {
  keyring
    .command('ceremony')
    .description('split custody of the root key among custodians')
    .requiredOption('--shares <number>', 'number of custodians', parseShares)
    .requiredOption('--threshold <number>', 'number of shares that open the root key', parseShares)
    .requiredOption('--out <folder>', 'folder for the sealed shares, one file for each custodian')
    .option('--recipient <NAME=age1…>', 'custodian with an age recipient; repeat for each', collect)
    .option('--passphrase <NAME[=FILE]>', 'custodian with a passphrase, typed or in a file; repeat for each', collect)
    .option('--file <path>', 'root key file of the custodians, when another custody is set')
    .option('--json', 'print JSON')
    .action(async (options: CeremonyOptions) => {
      const custodians = await readCustodians(tools, options);
      const { assertShares } = await import('../crypto/custody/ceremony.ts');
      assertShares(options.shares, options.threshold);
      if (custodians.length !== options.shares)
        throw new UsageError(
          `--shares: ${options.shares} custodians are expected, and ${custodians.length} are named by --recipient and --passphrase`,
        );
      const target = targetOf(tools, options);
      const present = tools.paths().rootKey;
      const isFirst = present.kind === 'custodians' && !existsSync(present.file);
      const held = isFirst
        ? await holdFirstCeremony(tools, options, custodians, target)
        : await holdNextCeremony(tools, options, custodians, target);
      printCeremony(tools, options, target, held);
    });
}

const targetOf = (tools: CliContext, { file }: Pick<CeremonyOptions, 'file'>): CustodyOptions => {
  const present = tools.paths().rootKey;
  if (present.kind === 'custodians' && file === undefined) return present;
  const target = tools.custodyFor(file === undefined ? 'custodians' : `custodians:${resolve(file)}`);
  if (present.kind !== 'custodians' && target.file === present.file)
    throw new UsageError('--file: the file is that of the present custody; give another one');
  return target;
};

/** The files are written before the vault exists, so that no vault can lack its root key. */
async function holdFirstCeremony(
  tools: CliContext,
  options: CeremonyOptions,
  custodians: readonly NewCustodian[],
  target: CustodyOptions,
): Promise<HeldCeremony> {
  await assertNoVault(tools);
  const { holdCeremony } = await import('../crypto/custody/ceremony.ts');
  const root = generateRootKey();
  const held = await holdCeremony(root, custodians, options.threshold);
  await writeCeremony(options, target, held);
  await withCore(tools, (core) => recordCeremony(tools, core, held), {
    ...CREATE_IF_MISSING,
    roots: { root, previous: undefined },
  });
  return held;
}

async function holdNextCeremony(
  tools: CliContext,
  options: CeremonyOptions,
  custodians: readonly NewCustodian[],
  target: CustodyOptions,
): Promise<HeldCeremony> {
  let held: HeldCeremony | undefined;
  await withCore(tools, async (core) => {
    const { holdCeremony } = await import('../crypto/custody/ceremony.ts');
    held = await holdCeremony(core.root, custodians, options.threshold);
    await writeCeremony(options, target, held);
    await recordCeremony(tools, core, held);
  });
  return held as HeldCeremony;
}

/** A vault whose root key is elsewhere keeps its setting until the ceremony was held. */
async function assertNoVault(tools: CliContext): Promise<void> {
  try {
    await (await tools.open({})).close();
  } catch (error) {
    if (error instanceof UsageError) return;
    if (!(error instanceof CustodyError)) throw error;
  }
  throw new UsageError(
    'the vault exists, with another custody: hold the ceremony with its present CARDVAULT_ROOT_KEY and --file',
  );
}

async function readCustodians(tools: CliContext, options: CeremonyOptions): Promise<NewCustodian[]> {
  const { recipient = [], passphrase = [] } = options;
  const custodians: NewCustodian[] = [];
  const names = new Set<string>();
  const add = (name: string, option: string, key: ShareKey): void => {
    const parsed = parseName(name, LIMITS.custodianNameCharacters, option);
    if (names.has(parsed)) throw new UsageError(`${option}: two custodians have the same name`);
    names.add(parsed);
    custodians.push({ name: parsed, key });
  };
  const { isRecipient } = await import('../crypto/custody/share-file.ts');
  for (const [index, text] of recipient.entries()) {
    const [isNamed, name = '', key = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
    // The argument may be a private key, so the message does not repeat it.
    if (isNamed === undefined) throw new UsageError(`--recipient: number ${index + 1}: expected NAME=age1…`);
    if (!(await isRecipient(key)))
      throw new UsageError(`--recipient: number ${index + 1}, NAME=age1…: ${describeRecipientFault(key)}`);
    add(name, '--recipient', { kind: 'recipient', recipient: key });
  }
  for (const text of passphrase) {
    const [, name = '', file] = /^([^=]*)(?:=(.*))?$/s.exec(text) ?? [];
    add(name, '--passphrase', { kind: 'passphrase', passphrase: await readPassphrase(tools, name, file) });
  }
  return custodians;
}

async function readPassphrase(tools: CliContext, name: string, file: string | undefined): Promise<string> {
  const passphrase = file === undefined ? await askTwice(tools, name) : readSecretFile(file);
  if ([...passphrase].length < LIMITS.custodyPassphraseCharactersAtLeast)
    throw new UsageError(
      `--passphrase: a passphrase of a custodian has at least ${LIMITS.custodyPassphraseCharactersAtLeast} characters`,
    );
  return passphrase;
}

async function askTwice({ askSecret }: CliContext, name: string): Promise<string> {
  if (askSecret === undefined)
    throw new UsageError('--passphrase: expected NAME=FILE, because there is no terminal to ask on');
  const first = await askSecret(`passphrase of ${name}: `);
  if ((await askSecret(`passphrase of ${name} again: `)) !== first)
    throw new UsageError('--passphrase: the two passphrases differ; nothing was written');
  return first;
}

/** The name of the file of a custodian: without characters that a shell or a file system treats specially. */
const shareFileName = (index: number, name: string): string => {
  const plain = name
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .toLowerCase();
  return `share-${index}${plain === '' ? '' : `-${plain}`}.age`;
};

const sharePaths = ({ out }: CeremonyOptions, { shareFiles }: HeldCeremony): string[] =>
  shareFiles.map(({ custodian }) => join(resolve(out), shareFileName(custodian.index, custodian.name)));

/** The root key file comes last: until then nothing depends on the shares. */
async function writeCeremony(options: CeremonyOptions, target: CustodyOptions, held: HeldCeremony): Promise<void> {
  const [{ assertNoFiles }, { groupIdOf }, { writeNewFile }] = await Promise.all([
    import('../crypto/custody/ceremony.ts'),
    import('../crypto/custody/choose.ts'),
    import('../crypto/custody/replacement.ts'),
  ]);
  const paths = sharePaths(options, held);
  assertNoFiles(paths);
  const writeShares = (): void => {
    for (const [at, path] of paths.entries()) writeNewFile(path, held.shareFiles[at]?.content ?? '', undefined);
  };
  if (existsSync(target.file)) return replaceCeremony(target, held, writeShares);
  writeShares();
  writeNewFile(target.file, held.rootKeyFile, groupIdOf(target.group));
}

async function replaceCeremony(
  { file, group }: CustodyOptions,
  held: HeldCeremony,
  writeShares: () => void,
): Promise<void> {
  const [{ groupIdOf }, { replaceFile }, { readKeyCheckValue }, { runWithRootKeyLock }] = await Promise.all([
    import('../crypto/custody/choose.ts'),
    import('../crypto/custody/replacement.ts'),
    import('../crypto/custody/sealed-file.ts'),
    import('../rotation/root-key-lock.ts'),
  ]);
  await runWithRootKeyLock(file, async () => {
    if (readKeyCheckValue(file, groupIdOf(group)) !== held.keyCheckValue)
      throw new CustodyError(
        `${file} contains another root key than that of this vault; repeat the ceremony once no rotation of the root key is unfinished`,
      );
    writeShares();
    replaceFile(file, held.rootKeyFile, groupIdOf(group));
  });
}

const describeCustodians = ({ ceremony }: HeldCeremony): string[] =>
  ceremony.custodians.map(({ index, name, check }) => `${index} ${name} ${check}`);

const recordCeremony = (tools: CliContext, core: Core, held: HeldCeremony): Promise<void> =>
  asOperator(tools, core, async (transaction) =>
    transaction.record({
      action: 'keyring.ceremony-held',
      outcome: 'success',
      account: '',
      environment: '',
      detail: {
        ceremony: held.ceremony.id,
        threshold: held.ceremony.threshold,
        custodians: describeCustodians(held),
        key_check_value: held.keyCheckValue,
      },
    }),
  );

function printCeremony(
  tools: CliContext,
  options: CeremonyOptions,
  { file }: CustodyOptions,
  held: HeldCeremony,
): void {
  const { ceremony, keyCheckValue: value } = held;
  const paths = sharePaths(options, held);
  const rows = ceremony.custodians.map(({ index, name, check }) => [
    String(index),
    name,
    check,
    paths[index - 1] ?? '',
  ]);
  const lines = [
    `ceremony ${ceremony.id}: ${ceremony.threshold} of ${ceremony.custodians.length} shares open the root key (check value ${value})`,
    '',
    formatTable(['SHARE', 'CUSTODIAN', 'CHECK VALUE', 'FILE'], rows),
    '',
    `The root key file of the custodians is ${file}. Next:`,
    '  1. Give each custodian the file, and delete it here.',
    `  2. Set CARDVAULT_ROOT_KEY=custodians:${file} and restart the service. It is sealed.`,
    '  3. Custodians unseal it, each with: cardvault unseal --share FILE',
    '  4. Every custodian proves the share: cardvault keyring acknowledge --share FILE',
    '  5. Destroy the file of a former custody: cardvault keyring custody discard --file FILE',
  ];
  const view = {
    ceremony: ceremony.id,
    threshold: ceremony.threshold,
    key_check_value: value,
    root_key_file: file,
    custodians: ceremony.custodians.map(({ index, name, check }) => ({
      index,
      name,
      check_value: check,
      share_file: paths[index - 1],
    })),
  };
  printResult(tools, options.json, view, lines.join('\n'));
}

interface AcknowledgeOptions extends ShareOptions {
  readonly share: string;
  readonly file?: string;
  readonly json?: boolean;
}

function acknowledgeCommand(keyring: Command, tools: CliContext): void {
  withShareOptions(keyring.command('acknowledge'))
    .description('prove that a share opens, and record it in the audit log')
    .option('--file <path>', 'root key file of the custodians, when another custody is set')
    .option('--json', 'print JSON')
    .action(async (options: AcknowledgeOptions) => {
      if (options.share === undefined) throw new UsageError('--share: expected the share file of the custodian');
      const target = targetOf(tools, options);
      const [{ groupIdOf }, { noteAcknowledgement }, { runWithRootKeyLock }] = await Promise.all([
        import('../crypto/custody/choose.ts'),
        import('../crypto/custody/custodians-file.ts'),
        import('../rotation/root-key-lock.ts'),
      ]);
      const { index, custodian, ceremony, check } = await proveShare(tools, options, target);
      await withCore(tools, (core) =>
        runWithRootKeyLock(target.file, async () => {
          await asOperator(tools, core, async (transaction) =>
            transaction.record({
              action: 'keyring.share-acknowledged',
              outcome: 'success',
              account: '',
              environment: '',
              detail: { ceremony, custodian: `${index} ${custodian}`, check_value: check },
            }),
          );
          noteAcknowledgement(target.file, index, groupIdOf(target.group));
        }),
      );
      const text = `share ${index} of ${custodian} opens and belongs to ceremony ${ceremony} (check value ${check})`;
      printResult(tools, options.json, { ceremony, index, custodian, check_value: check }, text);
    });
}

/** Opens the share and compares it with the root key file. */
async function proveShare(tools: CliContext, options: AcknowledgeOptions, { file, group }: CustodyOptions) {
  const [{ groupIdOf }, { readCustodiansFile, shareCheckValue }] = await Promise.all([
    import('../crypto/custody/choose.ts'),
    import('../crypto/custody/custodians-file.ts'),
  ]);
  const { ceremony } = readCustodiansFile(file, groupIdOf(group));
  const { share, ...opened } = await openShare(tools, options);
  const check = shareCheckValue(opened.ceremony, opened.index, share);
  share.fill(0);
  const custodian = ceremony.custodians[opened.index - 1];
  if (opened.ceremony !== ceremony.id)
    throw new UsageError(`--share: the share is of ceremony ${opened.ceremony}, and the root key of ${ceremony.id}`);
  if (custodian?.check !== check) throw new UsageError('--share: the share is damaged: its check value does not match');
  return { index: custodian.index, custodian: custodian.name, ceremony: ceremony.id, check };
}

function holdCommand(keyring: Command, tools: CliContext): void {
  keyring
    .command('hold')
    .description('take shares and give the root key to commands until Ctrl-C, while the service is stopped')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const stopped = tools.untilStopped();
      const held = await tools.holdRootKey((recipient) => tools.err(`the root key was given to ${recipient}\n`));
      const { threshold, socket } = held;
      const text = `waiting for ${threshold} shares at ${socket}: cardvault unseal --share FILE\nStop with Ctrl-C before you start the service.`;
      printResult(tools, json, { threshold, socket }, text);
      await stopped;
      await held.close();
    });
}
