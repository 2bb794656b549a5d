import { Avatar, Group, Menu, Text, UnstyledButton } from '@mantine/core';
import { Check, ChevronsUpDown, Wrench } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { DecorativeText } from '../parts/decorative-text.tsx';
import { useSession } from '../session/session.tsx';
import type { Membership } from '../session/tenant.ts';
import classes from './account-switch.module.css';
import { useNavigation } from './navigation-context.ts';
import { getHomePath } from './start.tsx';

/** Switches between the user's accounts and the operator area. */
export function AccountSwitch() {
  const { t } = useTranslation();
  const { memberships, is_operator } = useSession();
  const { area, membership } = useNavigation();
  const isOperator = is_operator && (area === 'operator' || membership === undefined);
  if (!isOperator && membership === undefined) return null;
  const name = isOperator ? t('operator') : (membership?.name ?? '');
  return (
    <nav aria-label={t('accounts')} className={classes['frame']}>
      <Menu width="target" position="bottom-start" withinPortal={false}>
        <Menu.Target>
          <UnstyledButton className={classes['button'] ?? ''} aria-label={t('accountSwitch', { name })}>
            <AccountMark name={name} isOperator={isOperator} />
            <Text span size="sm" fw={600} truncate flex={1} title={name} className={classes['name'] ?? ''}>
              {name}
            </Text>
            <ChevronsUpDown size={15} aria-hidden className={classes['chevron']} />
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          {memberships.length > 0 && <Menu.Label>{t('accounts')}</Menu.Label>}
          {memberships.map((each) => (
            <AccountItem key={each.account} membership={each} isCurrent={!isOperator && each === membership} />
          ))}
          {is_operator && (
            <>
              {memberships.length > 0 && <Menu.Divider />}
              <Menu.Item component={Link} to="/operator/accounts" leftSection={<AccountMark name="" isOperator />}>
                {t('operator')}
              </Menu.Item>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
    </nav>
  );
}

interface AccountItemProps {
  readonly membership: Membership;
  readonly isCurrent: boolean;
}

const AccountItem = ({ membership, isCurrent }: AccountItemProps) => (
  <Menu.Item
    component={Link}
    to={getHomePath(membership)}
    leftSection={<AccountMark name={membership.name} isOperator={false} />}
    rightSection={isCurrent ? <Check size={15} aria-hidden /> : null}
  >
    <Text span size="sm" title={membership.name} className={classes['item'] ?? ''}>
      {membership.name}
    </Text>
  </Menu.Item>
);

function AccountMark({ name, isOperator }: { readonly name: string; readonly isOperator: boolean }) {
  return (
    <Group aria-hidden>
      <Avatar
        size={26}
        radius={7}
        variant={isOperator ? 'filled' : 'light'}
        color="ink"
        className={classes['mark'] ?? ''}
      >
        {isOperator ? <Wrench size={14} /> : <DecorativeText text={[...name][0]?.toUpperCase() ?? ''} />}
      </Avatar>
    </Group>
  );
}
