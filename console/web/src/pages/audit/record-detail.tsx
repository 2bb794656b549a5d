import { Anchor, Group, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link, useParams } from 'react-router';
import { explain } from '../../../../../src/kernel/reasons.ts';
import { CopyField } from '../../parts/copy.tsx';
import { Details } from '../../parts/details.tsx';
import { formatNumber } from '../../parts/number.ts';
import { useReasonText } from '../../parts/reason-text.ts';
import type { AuditRecord } from './action-text.ts';
import { type DetailText, useDetailText } from './detail-text.ts';
import { RawText } from './raw.tsx';
import { ReceiptButton } from './receipt-button.tsx';

/** Shows the remaining members of a record. */
export function RecordDetail({ record }: { readonly record: AuditRecord }) {
  const { t, i18n } = useTranslation('audit');
  const reasonText = useReasonText();
  const text = useDetailText();
  const { lane, sequence, environment, action, address, request_id, actor_id, actor_source, targets, detail, hash } =
    record;
  const copyItem = (label: string, value: string | null) =>
    value === null ? undefined : { label, value: <CopyField value={value} label={label} /> };
  return (
    <Details
      items={[
        ...detail.map(({ name, value }) => detailItem(text, name, value)),
        targets.length === 0
          ? undefined
          : {
              label: t('detail.targets'),
              value: (
                <Stack gap={2}>
                  {targets.map((target) => (
                    <Target key={target} target={target} environment={environment} action={action} />
                  ))}
                </Stack>
              ),
            },
        copyItem(t('detail.address'), address),
        copyItem(t('detail.actorId'), actor_id),
        isSource(actor_source)
          ? { label: t('detail.actorSource'), value: t(`actorSource.${actor_source}`) }
          : undefined,
        copyItem(t('detail.request'), request_id),
        {
          label: t('detail.place'),
          value: reasonText(explain('placeRecord', { lane, record: formatNumber(sequence, i18n.language) })),
        },
        copyItem(t('detail.hash'), hash),
      ]}
    />
  );
}

const PAYMENT = 'payment:';
/** Deletions of which there are receipts. */
const DELETIONS: readonly string[] = ['token.deleted', 'capture.deleted'];

interface TargetProps {
  readonly target: string;
  readonly environment: string;
  readonly action: string;
}

/** A record that the log names; a payment of the account leads to its page. Operators have no page of it. */
function Target({ target, environment, action }: TargetProps) {
  const { t } = useTranslation('audit');
  const { account } = useParams();
  const isInAccount = account !== undefined && environment !== '';
  return (
    <Group gap="xs">
      <CopyField value={target} label={t('detail.targets')} />
      {isInAccount && target.startsWith(PAYMENT) && (
        <Anchor component={Link} to={`/a/${account}/${environment}/payments/${target.slice(PAYMENT.length)}`} size="sm">
          {t('detail.showPayment')}
        </Anchor>
      )}
      {isInAccount && DELETIONS.includes(action) && (
        <ReceiptButton account={account} environment={environment} target={target} />
      )}
    </Group>
  );
}

const SOURCES = ['setting', 'os-user'] as const;

const isSource = (source: string | null): source is (typeof SOURCES)[number] =>
  (SOURCES as readonly (string | null)[]).includes(source);

const detailItem = (text: DetailText, name: string, value: string) => ({
  name,
  label: text.name(name) ?? <RawText>{name}</RawText>,
  value: text.value(name, value) ?? <RawText>{value}</RawText>,
});
