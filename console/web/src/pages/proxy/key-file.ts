import { LIMITS } from '../../../../../src/kernel/limits.ts';

export type KeyFileFault = 'notText' | 'tooLarge';

/** Reads a key file as PEM or JWK. Binary files return a fault. */
export async function readKeyFile(file: File): Promise<{ text: string } | { fault: KeyFileFault }> {
  if (file.size > LIMITS.keyFileBytes) return { fault: 'tooLarge' };
  const text = await file.text();
  return text.includes('-----BEGIN') || text.trimStart().startsWith('{') ? { text } : { fault: 'notText' };
}
