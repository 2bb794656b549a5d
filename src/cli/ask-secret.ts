import { isatty } from 'node:tty';
import type { AskSecret } from '../crypto/custody/secret-source.ts';
import { OperatorError } from '../kernel/operator-error.ts';

const ENTER = /[\r\n]/;
const ERASE = /[\b\u007f]/;
const INTERRUPT = /[\u0003\u0004]/;

/** Returns the text after one more chunk of keys, and whether it is complete. Throws when the operator gave up. */
export function addKeys(text: string, keys: string): { readonly text: string; readonly isComplete: boolean } {
  let typed = text;
  for (const key of keys) {
    if (ENTER.test(key)) return { text: typed, isComplete: true };
    if (INTERRUPT.test(key)) throw new OperatorError('nothing was entered');
    if (ERASE.test(key)) typed = [...typed].slice(0, -1).join('');
    else typed += key;
  }
  return { text: typed, isComplete: false };
}

/** Returns a function that asks on the terminal and shows nothing of what is typed; undefined without a terminal. */
export function askOnTerminal(write: (text: string) => void): AskSecret | undefined {
  if (!isatty(0)) return undefined;
  return async (question) => {
    const { stdin } = process;
    // Before the question, so that nothing that is typed is ever shown.
    stdin.setRawMode(true);
    write(question);
    stdin.setEncoding('utf8');
    try {
      return await new Promise<string>((resolve, reject) => {
        let typed = '';
        const onKeys = (keys: string): void => {
          try {
            const { text, isComplete } = addKeys(typed, keys);
            typed = text;
            if (isComplete) finish(() => resolve(text));
          } catch (error) {
            finish(() => reject(error));
          }
        };
        const finish = (settle: () => void): void => {
          stdin.off('data', onKeys);
          settle();
        };
        stdin.on('data', onKeys);
        stdin.resume();
      });
    } finally {
      stdin.setRawMode(false);
      stdin.pause();
      write('\n');
    }
  };
}
