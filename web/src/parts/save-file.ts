/** Saves a text as a file, without asking the service again. */
export function saveFile(text: string, fileName: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: 'application/x-pem-file' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = fileName;
  link.click();
  URL.revokeObjectURL(address);
}
