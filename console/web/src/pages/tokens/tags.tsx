import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import classes from './tokens.module.css';

interface TagsProps {
  readonly tags: readonly string[];
  /** Maximum number of tags shown, on one line; all of them in full when absent. */
  readonly max?: number;
}

/** Shows the tags of a token. */
export function Tags({ tags, max }: TagsProps) {
  const { t } = useTranslation('tokens');
  if (tags.length === 0) {
    return (
      <Text span size="sm" c="dimmed">
        {t('list.none')}
      </Text>
    );
  }
  const hidden = tags.slice(max ?? tags.length);
  return (
    <ul className={classes['tags']}>
      {tags.slice(0, max).map((tag) => (
        <li key={tag} className={classes['tag']} title={tag} data-whole={max === undefined || undefined}>
          {tag}
        </li>
      ))}
      {hidden.length > 0 && (
        <li title={hidden.join(', ')}>
          <Text span size="xs" c="dimmed">
            {t('list.more', { count: hidden.length })}
          </Text>
        </li>
      )}
    </ul>
  );
}
