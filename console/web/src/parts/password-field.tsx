import { PasswordInput, type PasswordInputProps } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';

/** A field for what nobody beside the person shall read, with a button that shows it, by the keyboard too. */
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
