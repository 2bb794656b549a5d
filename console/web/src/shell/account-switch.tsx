import { Avatar, Group, Menu, Text, UnstyledButton } from '@mantine/core';
import { Check, ChevronsUpDown, Wrench } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { Letters } from '../parts/letters.tsx';
import { useSession } from '../session/session.tsx';
import classes from './account-switch.module.css';
import { homeOf } from './start.tsx';
import { useWhere } from './where.ts';

/** Between the accounts that the person belongs to; operators have their own area. */
export function AccountSwitch() {
  const { t } = useTranslation();
  const { memberships, is_operator } = useSession();
  const { area, membership } = useWhere();
  const isOperator = is_operator && (area === 'operator' || membership === undefined);
  if (!isOperator && membership === undefined) return null;
  const name = isOperator ? t('operator') : (membership?.name ?? '');
  return (
    <nav aria-label={t('accounts')} className={classes['frame']}>
      <Menu width="target" position="bottom-start" withinPortal={false}>
        <Menu.Target>
          <UnstyledButton className={classes['button'] ?? ''} aria-label={t('accountSwitch', { name })}>
            <Mark name={name} isOperator={isOperator} />
            <Text span size="sm" fw={600} truncate flex={1} title={name} className={classes['name'] ?? ''}>
              {name}
            </Text>
            <ChevronsUpDown size={15} aria-hidden className={classes['chevron']} />
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          {memberships.length > 0 && <Menu.Label>{t('accounts')}</Menu.Label>}
          {memberships.map((each) => (
            <Menu.Item
              key={each.account}
              component={Link}
              to={homeOf(each)}
              leftSection={<Mark name={each.name} isOperator={false} />}
              rightSection={!isOperator && each === membership ? <Check size={15} aria-hidden /> : null}
            >
              <Text span size="sm" title={each.name} className={classes['item'] ?? ''}>
                {each.name}
              </Text>
            </Menu.Item>
          ))}
          {is_operator && (
            <>
              {memberships.length > 0 && <Menu.Divider />}
              <Menu.Item component={Link} to="/operator/accounts" leftSection={<Mark name="" isOperator />}>
                {t('operator')}
              </Menu.Item>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
    </nav>
  );
}

function Mark({ name, isOperator }: { readonly name: string; readonly isOperator: boolean }) {
  return (
    <Group aria-hidden>
      <Avatar
        size={26}
        radius={7}
        variant={isOperator ? 'filled' : 'light'}
        color="ink"
        className={classes['mark'] ?? ''}
      >
        {isOperator ? <Wrench size={14} /> : <Letters text={[...name][0]?.toUpperCase() ?? ''} />}
      </Avatar>
    </Group>
  );
}
