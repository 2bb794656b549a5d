import { Alert, Anchor, List, Text } from '@mantine/core';
import { ShieldAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { showOverview } from '../../../../wire/overview.ts';
import { Time } from '../../parts/time.tsx';
import { useCan, useTenant } from '../../session/tenant.ts';

type Changes = ValueOf<typeof showOverview.data>['operator_changes'];

/** Shows members what an operator changed in the settings that decide where card data goes. */
export function OperatorChanges({ changes }: { readonly changes: Changes }) {
  const { t } = useTranslation('overview');
  const { account } = useTenant();
  const mayReadLog = useCan()('audit:read');
  if (changes.length === 0) return null;
  return (
    <Alert color="blue" icon={<ShieldAlert size={18} aria-hidden />} title={t('operatorChanges.title')}>
      <Text size="sm">{t('operatorChanges.text')}</Text>
      <List size="sm" spacing={2} mt="xs">
        {changes.map(({ action, at }) => (
          <List.Item key={action}>
            {mayReadLog ? (
              <Anchor component={Link} to={`/a/${account}/audit?action=${action}`} inherit underline="always">
                {t(`operatorChanges.action.${action}`)}
              </Anchor>
            ) : (
              t(`operatorChanges.action.${action}`)
            )}
            {' · '}
            <Time value={at} />
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}
