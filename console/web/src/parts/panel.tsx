import { Group, Paper, Stack, Text, Title } from '@mantine/core';
import { type ReactNode, useId } from 'react';

interface PanelProps {
  readonly title?: string;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
  /** Of the heading; 2 unless the panel stands below another heading. */
  readonly order?: 2 | 3;
  readonly children?: ReactNode;
}

/** One matter of a page, in a box with a heading. */
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
