import { LIMITS } from '../../../../../src/kernel/limits.ts';

export type KeyFileFault = 'notText' | 'tooLarge';

/** The text of a key file: PEM, or a JWK. What is in binary form says what to do instead. */
export async function readKeyFile(file: File): Promise<{ text: string } | { fault: KeyFileFault }> {
  if (file.size > LIMITS.keyFileBytes) return { fault: 'tooLarge' };
  const text = await file.text();
  return text.includes('-----BEGIN') || text.trimStart().startsWith('{') ? { text } : { fault: 'notText' };
}
