import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';

/** Shows what a setting is called, with its technical name; a setting of an added processor has only the latter. */
export function SettingName({ name }: { readonly name: string }) {
  const { t, i18n } = useTranslation('settingNames');
  const technical = (
    <Text span size="xs" c="dimmed" ff="monospace">
      {name}
    </Text>
  );
  if (!i18n.exists(`settingNames:${name}`)) return technical;
  return (
    <>
      {t(name as 'timeout-ms')} {technical}
    </>
  );
}
