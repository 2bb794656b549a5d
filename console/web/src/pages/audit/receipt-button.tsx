import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import { issueReceipt } from '../../../../wire/receipts.ts';
import { call } from '../../api/call.ts';
import { useOnce } from '../../api/hooks.ts';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { saveFile } from '../../parts/save-file.ts';

interface ReceiptButtonProps {
  readonly account: string;
  readonly environment: string;
  /** The deleted record, as the log names it. */
  readonly target: string;
}

/** Saves the signed receipt of a deletion as a file. */
export function ReceiptButton({ account, environment, target }: ReceiptButtonProps) {
  const { t } = useTranslation('audit');
  const issue = useOnce<ValueOf<typeof issueReceipt.data>>({
    mutationFn: () => call(issueReceipt, { params: { account, environment }, body: { target } }),
    onSuccess: ({ receipt }) => saveFile(new Blob([receipt], { type: 'application/json' }), 'receipt.json'),
  });
  return (
    <>
      <Button variant="default" size="compact-sm" loading={issue.isPending} onClick={() => issue.mutate()}>
        {t('receipt')}
      </Button>
      {issue.error !== null && <ErrorAlert error={issue.error} isFocused />}
    </>
  );
}
