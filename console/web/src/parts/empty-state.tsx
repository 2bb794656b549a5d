import { Center, Stack, Text, Title } from '@mantine/core';
import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import classes from './empty-state.module.css';

interface EmptyStateProps {
  readonly icon: LucideIcon;
  readonly title: string;
  /** Description of the future content, and how to create it. */
  readonly children?: ReactNode;
  /** Next action. */
  readonly action?: ReactNode;
  /** Level of the heading. */
  readonly order?: 1 | 2 | 3;
}

export function EmptyState({ icon: Icon, title, children, action, order = 2 }: EmptyStateProps) {
  return (
    <Center className={classes['frame'] ?? ''}>
      <Stack align="center" gap="sm" maw={440}>
        <span className={classes['icon']}>
          <Icon size={22} strokeWidth={1.75} aria-hidden />
        </span>
        <Title order={order} size="h4" ta="center">
          {title}
        </Title>
        {children !== undefined && (
          <Text component="div" size="sm" c="dimmed" ta="center">
            {children}
          </Text>
        )}
        {action}
      </Stack>
    </Center>
  );
}
