import { Button, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useCan, useMembership } from '../../session/tenant.ts';
import { LiveActions } from './going-live.tsx';
import { environmentToRequest, type Onboarding, type RequestPayments, type Step } from './onboarding-state.ts';

interface NextActionProps {
  readonly step: Step['step'];
  readonly onboarding: Onboarding;
  readonly onRequest: RequestPayments;
}

/** Shows the button of the next step, or the roles that may use it. */
export function NextAction({ step, onboarding, onRequest }: NextActionProps) {
  const { t } = useTranslation('onboarding');
  const { account } = useMembership();
  const can = useCan();
  const renderLink = (to: string, label: string) => (
    <Button component={Link} to={to} mt={4}>
      {label}
    </Button>
  );
  switch (step) {
    case 'account_configured':
      return null;
    case 'sandbox_key':
    case 'production_key': {
      const environment = step === 'sandbox_key' ? 'sandbox' : 'production';
      if (!can('keys:write')) return <NotPermitted text={t('notYours')} />;
      return renderLink(`/a/${account}/${environment}/keys?create=checklist`, t(`steps.${step}.action`));
    }
    case 'activation_requested':
      if (!can('activation:request')) return <NotPermitted text={t('ownerOnly')} />;
      return (
        <Button onClick={() => onRequest(environmentToRequest(onboarding))} mt={4}>
          {t('steps.activation_requested.action')}
        </Button>
      );
    case 'sandbox_tested':
      return (
        <Button component="a" href="#commands" mt={4}>
          {t('steps.sandbox_tested.action')}
        </Button>
      );
    case 'live':
      return <LiveActions onboarding={onboarding} onRequest={onRequest} />;
  }
}

const NotPermitted = ({ text }: { readonly text: string }) => (
  <Text size="sm" fw={500}>
    {text}
  </Text>
);
