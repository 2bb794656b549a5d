import { saveFile } from './save-file.ts';

/** Saves a key or certificate as a file without calling the service. */
export const savePem = (pem: string, fileName: string): void =>
  saveFile(new Blob([pem], { type: 'application/x-pem-file' }), fileName);
