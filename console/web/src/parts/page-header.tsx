import { ActionIcon, Group, Stack, Text, Title } from '@mantine/core';
import { ArrowLeft } from 'lucide-react';
import { type ReactNode, useEffect } from 'react';
import { Link } from 'react-router';
import classes from './page-header.module.css';
import { TimeZone } from './time-zone.tsx';

interface PageHeaderProps {
  /** The only h1 of the page, and the title of the tab. */
  readonly title: string;
  readonly description?: ReactNode;
  /** The page shows times, so the description names their zone. */
  readonly hasTimes?: boolean;
  /** Content beside the title, such as a badge. */
  readonly beside?: ReactNode;
  readonly actions?: ReactNode;
  /** Link to the list of the record. */
  readonly back?: { readonly to: string; readonly label: string };
}

export function PageHeader({ title, description, hasTimes = false, beside, actions, back }: PageHeaderProps) {
  useEffect(() => {
    document.title = `${title} · cardvault`;
  }, [title]);
  return (
    <Group justify="space-between" align="flex-start" gap="md" mb="lg">
      <Stack gap={4} className={classes['words'] ?? ''}>
        <Group gap="sm">
          {back !== undefined && <Back {...back} />}
          <Title order={1} className={classes['title'] ?? ''}>
            {title}
          </Title>
          {beside}
        </Group>
        {description !== undefined && (
          <Text component="div" c="dimmed" size="sm" maw={680}>
            {description} {hasTimes && <TimeZone />}
          </Text>
        )}
      </Stack>
      {actions !== undefined && <Group gap="xs">{actions}</Group>}
    </Group>
  );
}

const Back = ({ to, label }: NonNullable<PageHeaderProps['back']>) => (
  <ActionIcon component={Link} to={to} variant="default" size={30} aria-label={label} title={label}>
    <ArrowLeft size={16} aria-hidden />
  </ActionIcon>
);
