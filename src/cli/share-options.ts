import type { Command } from 'commander';
import type { Share, ShareOpener } from '../crypto/custody/share-file.ts';
import type { CliContext } from './context.ts';
import { readFileOption, readSecretFile } from './options.ts';
import { UsageError } from './output.ts';

/** Options of commands by which a custodian uses a share. */
export interface ShareOptions {
  readonly share?: string;
  readonly identity?: string;
  readonly passphraseFile?: string;
}

export const withShareOptions = (command: Command): Command =>
  command
    .option('--share <file>', 'share file of the custodian')
    .option('--identity <file>', 'age identity that opens it (AGE-SECRET-KEY-…)')
    .option('--passphrase-file <file>', 'file with the passphrase that opens it; without it the terminal');

/** Opens the share file of the options. The caller clears the share. */
export async function openShare(tools: CliContext, options: ShareOptions & { readonly share: string }): Promise<Share> {
  const { share: path, identity, passphraseFile } = options;
  const content = (readFileOption(path) ?? Buffer.alloc(0)).toString('utf8');
  const { openShareFile } = await import('../crypto/custody/share-file.ts');
  return openShareFile(content, await openerOf(tools, content, { path, identity, passphraseFile }), path);
}

interface OpenerOptions {
  readonly path: string;
  readonly identity: string | undefined;
  readonly passphraseFile: string | undefined;
}

async function openerOf(tools: CliContext, content: string, options: OpenerOptions): Promise<ShareOpener> {
  const { path, identity, passphraseFile } = options;
  const { needsPassphrase } = await import('../crypto/custody/share-file.ts');
  if (!(await needsPassphrase(content, path))) {
    if (identity === undefined)
      throw new UsageError('--identity: the share is for an age recipient; give the file with its identity');
    return { identities: readIdentities(identity) };
  }
  if (passphraseFile !== undefined) return { passphrase: readSecretFile(passphraseFile) };
  const { askSecret } = tools;
  if (askSecret === undefined)
    throw new UsageError('--passphrase-file: the share is for a passphrase, and there is no terminal to ask on');
  return { passphrase: await askSecret(`passphrase of ${path}: `) };
}

/** The message never repeats a line, which may be a private key. */
function readIdentities(file: string): string[] {
  const lines = (readFileOption(file) ?? Buffer.alloc(0)).toString('utf8').split('\n');
  const identities = lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'));
  if (identities.length === 0 || !identities.every((line) => line.startsWith('AGE-SECRET-KEY-')))
    throw new UsageError(`--identity: ${file} has to contain age identities (AGE-SECRET-KEY-…), one a line`);
  return identities;
}
