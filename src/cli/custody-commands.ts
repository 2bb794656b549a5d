import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import type { CustodyOptions } from '../crypto/custody/choose.ts';
import { type CustodyKind, keyCheckValue } from '../crypto/custody.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { asOperator, type CliContext, type Core, withCore } from './context.ts';
import { formatDetails, formatTable, printResult, UsageError } from './output.ts';

/** Commands that show and change where the root key is. */
export function custodyCommands(keyring: Command, tools: CliContext): void {
  const custody = keyring.command('custody').description('show and change the custody of the root key');
  statusCommand(custody, tools);
  moveCommand(custody, tools);
  discardCommand(custody, tools);
}

function statusCommand(custody: Command, tools: CliContext): void {
  custody
    .command('status')
    .description('show the custody of the root key; needs no key')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const { kind, file, group } = tools.paths().rootKey;
      const [{ groupIdOf }, { readKeyCheckValue }] = await Promise.all([
        import('../crypto/custody/choose.ts'),
        import('../crypto/custody/sealed-file.ts'),
      ]);
      if (!existsSync(file)) throw new UsageError(`there is no root key file ${file}`);
      const value = readKeyCheckValue(file, groupIdOf(group));
      const held = kind === 'custodians' ? await readCeremony(file, groupIdOf(group)) : undefined;
      const details = formatDetails([
        ['custody', kind],
        ['file', file],
        ['key check value', value],
        ...(held === undefined ? [] : [['threshold', `${held.threshold} of ${held.custodians.length}`] as const]),
      ]);
      const rows = held?.custodians.map(({ index, name, check_value: check, acknowledged }) => [
        String(index),
        name,
        check,
        acknowledged ? 'yes' : 'no',
      ]);
      const table = rows && formatTable(['SHARE', 'CUSTODIAN', 'CHECK VALUE', 'ACKNOWLEDGED'], rows);
      const document = { custody: kind, file, key_check_value: value, ...held };
      printResult(tools, json, document, table === undefined ? details : `${details}\n\n${table}`);
    });
}

async function readCeremony(file: string, group: number | undefined) {
  const { readCustodiansFile } = await import('../crypto/custody/custodians-file.ts');
  const { ceremony, acknowledged } = readCustodiansFile(file, group);
  return {
    ceremony: ceremony.id,
    threshold: ceremony.threshold,
    custodians: ceremony.custodians.map(({ index, name, check }) => ({
      index,
      name,
      check_value: check,
      acknowledged: acknowledged.includes(index),
    })),
  };
}

interface MoveOptions {
  readonly to: string;
  readonly file?: string;
  readonly secretFile?: string;
  readonly keepOld?: boolean;
  readonly json?: boolean;
}

function moveCommand(custody: Command, tools: CliContext): void {
  custody
    .command('move')
    .description('seal the same root key in another way; nothing is encrypted again')
    .requiredOption('--to <custody>', 'a value of CARDVAULT_ROOT_KEY: file, passphrase, pkcs11:… or awskms:…')
    .option('--file <path>', 'file of the sealed root key, for a custody that names none')
    .option('--secret-file <path>', 'file with the new passphrase or PIN; without it the setting or the terminal')
    .option('--keep-old', 'keep the old file; end with: keyring custody discard')
    .option('--json', 'print JSON')
    .action((options: MoveOptions) =>
      withCore(tools, async (core) => {
        const from = tools.paths().rootKey;
        const to = targetOf(tools, options);
        const isKept = options.keepOld === true;
        const { runWithRootKeyLock } = await import('../rotation/root-key-lock.ts');
        const value = await runWithRootKeyLock(from.file, () => moveCustody(tools, core, { from, to, isKept }));
        const setting = `CARDVAULT_ROOT_KEY=${options.to}${options.file === undefined ? '' : ` and CARDVAULT_ROOT_KEY_FILE=${options.file}`}`;
        const lines = [
          `the root key (check value ${value}) is in custody of the kind ${to.kind}: ${to.file}`,
          isKept ? `the old file is still there: ${from.file}` : `the old file was destroyed: ${from.file}`,
          `Set ${setting} for the service and its commands before the next start. Destroy the old backups of the key.`,
        ];
        printResult(tools, options.json, toMoveView(to, value, isKept), lines.join('\n'));
      }),
    );
}

/** Returns the check value of the root key. The caller has its lock, so that no rotation replaces the file that is destroyed. */
async function moveCustody(
  tools: CliContext,
  core: Core,
  { from, to, isKept }: { readonly from: CustodyOptions; readonly to: CustodyOptions; readonly isKept: boolean },
): Promise<string> {
  await assertCanMove(core, from, to);
  const value = await takeCustody(tools, core, to);
  await recordMove(tools, core, { from: from.kind, to: to.kind, value });
  if (!isKept) await destroyRootKeyFile(from.file);
  return value;
}

const toMoveView = ({ kind, file }: CustodyOptions, value: string, isKept: boolean) => ({
  custody: kind,
  file,
  key_check_value: value,
  old_file_kept: isKept,
});

function targetOf(tools: CliContext, { to, file, secretFile }: MoveOptions): CustodyOptions {
  const target = tools.custodyFor(to, file);
  if (target.kind === 'custodians')
    throw new UsageError('--to: custodians need a ceremony: cardvault keyring ceremony');
  return secretFile === undefined ? target : { ...target, secretFile: resolve(secretFile) };
}

async function assertCanMove(core: Core, from: CustodyOptions, to: CustodyOptions): Promise<void> {
  const { isSameFile, previousPath } = await import('../crypto/custody/replacement.ts');
  // The former file is destroyed in the end, whatever name the new one has.
  if (to.file === from.file || isSameFile(to.file, from.file))
    throw new UsageError('--to: the file is that of the present custody; give another one, or --file');
  if (existsSync(previousPath(from.file)))
    throw new OperatorError(`${previousPath(from.file)} exists: end the replacement of the root key first`);
  assertPresent(core, keyCheckValue(core.root));
}

/** Throws unless the file of the present custody has the root key that the database needs. */
function assertPresent({ custody }: Core, value: string): void {
  if (custody.readKeyCheckValue() !== value)
    throw new OperatorError(
      `${custody.file} contains another root key than the one that the database needs; complete its rotation first: cardvault keyring rotate root`,
    );
}

/** Seals the root key, and opens it again before anything depends on it. Returns the check value. */
async function takeCustody(tools: CliContext, core: Core, to: CustodyOptions): Promise<string> {
  const { openCustody } = await import('../crypto/custody/choose.ts');
  const custody = openCustody(to, tools.askSecret);
  const value = keyCheckValue(core.root);
  const isOwn = !custody.exists();
  try {
    // A command that was interrupted may have written it already.
    if (isOwn) await custody.create(core.root);
    const { root } = await custody.open();
    if (keyCheckValue(root) !== value) throw new UsageError(`--to: ${to.file} contains another root key`);
    return value;
  } catch (error) {
    if (isOwn && custody.exists()) await destroyRootKeyFile(to.file);
    throw error;
  }
}

async function destroyRootKeyFile(file: string): Promise<void> {
  const { destroyFile } = await import('../crypto/custody/replacement.ts');
  destroyFile(file);
}

interface Move {
  readonly from: CustodyKind;
  readonly to: CustodyKind;
  /** Check value of the root key. */
  readonly value: string;
}

const recordMove = (tools: CliContext, core: Core, { from, to, value }: Move): Promise<void> =>
  asOperator(tools, core, async (transaction) =>
    transaction.record({
      action: 'keyring.custody-moved',
      outcome: 'success',
      account: '',
      environment: '',
      detail: { old_custody: from, new_custody: to, key_check_value: value },
    }),
  );

interface DiscardOptions {
  readonly file: string;
  readonly json?: boolean;
}

function discardCommand(custody: Command, tools: CliContext): void {
  custody
    .command('discard')
    .description('destroy the file of a former custody; the vault has to open without it')
    .requiredOption('--file <path>', 'file with the same root key')
    .option('--json', 'print JSON')
    .action(({ file, json }: DiscardOptions) =>
      withCore(tools, async (core) => {
        const path = resolve(file);
        const { file: present, group } = tools.paths().rootKey;
        if (!existsSync(path)) throw new UsageError(`--file: there is no file ${path}`);
        const { isSameFile } = await import('../crypto/custody/replacement.ts');
        if (isSameFile(path, present)) throw new UsageError('--file: this is the file of the present custody');
        const [{ groupIdOf }, { readKeyCheckValue }] = await Promise.all([
          import('../crypto/custody/choose.ts'),
          import('../crypto/custody/sealed-file.ts'),
        ]);
        const value = readKeyCheckValue(path, groupIdOf(group));
        if (value !== keyCheckValue(core.root))
          throw new UsageError('--file: it contains another root key than that of this vault; nothing was destroyed');
        const { runWithRootKeyLock } = await import('../rotation/root-key-lock.ts');
        await runWithRootKeyLock(present, () => discardFile(tools, core, path, value));
        printResult(tools, json, { file: path, key_check_value: value }, `destroyed ${path}`);
      }),
    );
}

/** `value`: the check value of the root key that the database needs, and that the file contains. The caller has its lock. */
async function discardFile(tools: CliContext, core: Core, path: string, value: string): Promise<void> {
  // While a rotation is not completed, `FILE.previous` alone may contain it.
  assertPresent(core, value);
  await asOperator(tools, core, async (transaction) =>
    transaction.record({
      action: 'keyring.custody-discarded',
      outcome: 'success',
      account: '',
      environment: '',
      detail: { what: basename(path), key_check_value: value },
    }),
  );
  await destroyRootKeyFile(path);
}
