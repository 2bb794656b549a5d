import { PasswordInput, type PasswordInputProps } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';

/** Password field with a button that shows its text, also by keyboard. */
export function PasswordField(props: PasswordInputProps) {
  const { t } = useTranslation('parts');
  const [isVisible, setVisible] = useState(false);
  return (
    <PasswordInput
      {...props}
      visible={isVisible}
      onVisibilityChange={setVisible}
      visibilityToggleFocusable
      visibilityToggleButtonProps={{ 'aria-label': isVisible ? t('hideTyped') : t('showTyped') }}
    />
  );
}
