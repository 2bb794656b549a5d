import { Anchor, Group } from '@mantine/core';
import { BookOpen, Braces } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useApiUrl } from '../session/api-access.ts';
import { useNavigation } from './navigation-context.ts';

/** Links to the guide of the page and, for members of an account, to the reference of the API. */
export function HelpLinks() {
  const { t } = useTranslation();
  const { item, area, lastEnvironment } = useNavigation();
  const reference = `${useApiUrl(lastEnvironment)}/docs`;
  if (item === undefined) return null;
  return (
    <Group component="nav" aria-label={t('help')} gap="md" mb={14} ml="auto">
      <Anchor component={Link} to={`/guides/${item.guide}`} size="xs">
        <BookOpen size={12} aria-hidden /> {t('guide')}
      </Anchor>
      {area === 'account' && (
        <Anchor href={reference} target="_blank" rel="noreferrer" size="xs">
          <Braces size={12} aria-hidden /> {t('reference')}
        </Anchor>
      )}
    </Group>
  );
}
