import { ActionIcon, Tooltip } from '@mantine/core';
import { Download } from 'lucide-react';

interface DownloadButtonProps {
  readonly text: string;
  readonly fileName: string;
  readonly label: string;
}

/** Saves a text as a file, without asking the service again. */
export function DownloadButton({ text, fileName, label }: DownloadButtonProps) {
  const save = (): void => {
    const address = URL.createObjectURL(new Blob([text], { type: 'application/x-pem-file' }));
    const link = document.createElement('a');
    link.href = address;
    link.download = fileName;
    link.click();
    URL.revokeObjectURL(address);
  };
  return (
    <Tooltip label={label} openDelay={300}>
      <ActionIcon variant="subtle" color="gray" size="sm" aria-label={label} onClick={save}>
        <Download size={14} aria-hidden />
      </ActionIcon>
    </Tooltip>
  );
}
