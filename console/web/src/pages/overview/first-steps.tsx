import { Button, Group } from '@mantine/core';
import { Sparkles } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { EmptyState } from '../../parts/empty-state.tsx';
import { useCan, useTenant } from '../../session/tenant.ts';

/** Shows the next action in an unused account. */
export function FirstSteps() {
  const { t } = useTranslation('overview');
  const { account, environment } = useTenant();
  const mayCreateKeys = useCan()('keys:write');
  return (
    <EmptyState
      icon={Sparkles}
      title={t('first.title')}
      action={
        <Group gap="xs" justify="center">
          <Button component={Link} to={`/a/${account}/onboarding`}>
            {t('first.action')}
          </Button>
          {mayCreateKeys && (
            <Button component={Link} to={`/a/${account}/${environment}/keys`} variant="default">
              {t('first.keys')}
            </Button>
          )}
        </Group>
      }
    >
      {mayCreateKeys ? t('first.text') : t('first.textReader')}
    </EmptyState>
  );
}
