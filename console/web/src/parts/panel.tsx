import { Group, Paper, Stack, Text, Title } from '@mantine/core';
import { type ReactNode, useId } from 'react';

interface PanelProps {
  readonly title?: string;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
  /** Level of the heading; 3 below another heading. */
  readonly order?: 2 | 3;
  readonly children?: ReactNode;
}

/** Section of a page with a border and a heading. */
export function Panel({ title, description, actions, order = 2, children }: PanelProps) {
  const id = useId();
  return (
    <Paper
      component="section"
      withBorder
      p={{ base: 'md', sm: 'lg' }}
      {...(title !== undefined && { 'aria-labelledby': id })}
    >
      <Stack gap="md">
        {title !== undefined && (
          <Group justify="space-between" align="flex-start" gap="sm">
            <Stack gap={2} flex="1 1 16rem" miw={0}>
              <Title order={order} size="h4" id={id}>
                {title}
              </Title>
              {description !== undefined && (
                <Text component="div" size="sm" c="dimmed" maw={640}>
                  {description}
                </Text>
              )}
            </Stack>
            {actions !== undefined && <Group gap="xs">{actions}</Group>}
          </Group>
        )}
        {children}
      </Stack>
    </Paper>
  );
}
