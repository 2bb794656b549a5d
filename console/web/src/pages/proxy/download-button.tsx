import { ActionIcon, Tooltip } from '@mantine/core';
import { Download } from 'lucide-react';
import { savePem } from '../../parts/save-pem.ts';

interface DownloadButtonProps {
  readonly text: string;
  readonly fileName: string;
  readonly label: string;
}

export function DownloadButton({ text, fileName, label }: DownloadButtonProps) {
  return (
    <Tooltip label={label} openDelay={300}>
      <ActionIcon variant="subtle" color="gray" size="sm" aria-label={label} onClick={() => savePem(text, fileName)}>
        <Download size={14} aria-hidden />
      </ActionIcon>
    </Tooltip>
  );
}
