import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { FormDialog, useDialog } from '../../parts/form-dialog.tsx';
import { useCan, useTenant } from '../../session/tenant.ts';
import { OperateForm, type OperationKind } from './operate-form.tsx';
import type { Payment } from './payment.ts';

const OPERATIONS = ['capture', 'refund', 'void'] as const satisfies readonly OperationKind[];

interface OperationsProps {
  readonly payment: Payment;
  readonly onConflict: (isChanged: boolean) => void;
}

/** Shows the operations that the payment's state and the user's role allow. */
export function Operations({ payment, onConflict }: OperationsProps) {
  const { t } = useTranslation('payments');
  const { environment } = useTenant();
  const may = useCan();
  const dialog = useDialog<OperationKind>();
  if (!may('payments:operate')) return null;
  const { subject: kind, close } = dialog;
  const start = (next: OperationKind): void => {
    onConflict(false);
    dialog.open(next);
  };
  return (
    <>
      {OPERATIONS.filter((each) => payment.can[each]).map((each) => (
        <Button key={each} variant={each === 'capture' ? 'filled' : 'default'} onClick={() => start(each)}>
          {t(`act.${each}`)}
        </Button>
      ))}
      <FormDialog
        opened={dialog.opened}
        onClose={close}
        title={kind === undefined ? '' : t(`act.${kind}Title`)}
        environment={environment}
        production={t('act.production')}
      >
        {kind !== undefined && (
          <OperateForm
            kind={kind}
            payment={payment}
            onDone={close}
            onConflict={() => {
              close();
              onConflict(true);
            }}
          />
        )}
      </FormDialog>
    </>
  );
}
