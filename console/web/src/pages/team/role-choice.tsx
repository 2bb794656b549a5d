import { Radio, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { ACCOUNT_ROLES } from '../../../../people/roles.ts';

export type AccountRole = (typeof ACCOUNT_ROLES)[number];

interface RoleChoiceProps {
  readonly value: AccountRole;
  readonly onChange: (role: AccountRole) => void;
}

/** Offers the roles with their permissions. */
export function RoleChoice({ value, onChange }: RoleChoiceProps) {
  const { t } = useTranslation('team');
  return (
    <Radio.Group label={t('invite.role')} value={value} onChange={(role) => onChange(role as AccountRole)}>
      <Stack gap="sm" mt="xs">
        {ACCOUNT_ROLES.map((role) => (
          <Radio key={role} value={role} label={t(`role.${role}`)} description={t(`roleText.${role}`)} />
        ))}
      </Stack>
    </Radio.Group>
  );
}
