import { useTranslation } from 'react-i18next';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { listAudit } from '../../../../wire/audit.ts';
import { audit as texts } from '../../text/en/audit.ts';

export type AuditPage = ValueOf<typeof listAudit.data>;
export type AuditRecord = AuditPage['records'][number];

type StartedOperation = keyof typeof texts.started;

const isStartedOperation = (operation: string): operation is StartedOperation =>
  Object.hasOwn(texts.started, operation);

/** Returns true for the start of a payment operation; the log does not record its outcome here. */
export const isOperationStart = ({ action, outcome }: AuditRecord): boolean =>
  action === 'payment.requested' && outcome === 'success';

/** Returns the text of an action; an unknown action keeps its own name. */
export function useActionText(): (record: AuditRecord) => string {
  const { t, i18n } = useTranslation('audit');
  return ({ action, detail }) => {
    const operation = detail.find(({ name }) => name === 'operation')?.value ?? '';
    if (action === 'payment.requested' && isStartedOperation(operation)) return t(`started.${operation}`);
    const key = `actions.${action}`;
    return i18n.exists(`audit:${key}`) ? t(key as 'actions.key.created') : action;
  };
}
