import { readFileSync } from 'node:fs';
import { LIMITS } from '../kernel/limits.ts';
import { UsageError } from './output.ts';

/** `--setting NAME=VALUE` and options that name files. */

export function collectSetting(text: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, name, value] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
  // The error does not repeat the argument, which may be a password.
  if (name === undefined || value === undefined) throw new UsageError('--setting: expected NAME=VALUE');
  return { ...before, [name]: value };
}

/** Replaces values of the form `@FILE` with the content of the files. */
export const resolveSettings = (settings: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [
      name,
      value.startsWith('@') ? readSecretFile(value.slice(1)) : value,
    ]),
  );

/** Reads a file with a secret, without the line end that editors add. */
export const readSecretFile = (file: string): string =>
  (readFileOption(file) ?? Buffer.alloc(0)).toString('utf8').replace(/\r?\n$/, '');

export function readFileOption(file: string | undefined): Buffer | undefined {
  if (file === undefined) return undefined;
  const bytes = readBytes(file);
  if (bytes.length > LIMITS.keyFileBytes)
    throw new UsageError(`${file}: a file has at most ${LIMITS.keyFileBytes} bytes`);
  return bytes;
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(code === 'ENOENT' ? `${file}: there is no such file` : `${file}: cannot be read (${code})`);
  }
}
