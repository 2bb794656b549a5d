import { Anchor, Table, Title, type TitleOrder } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { Block, Inline } from '../../../markdown.ts';
import { CodeBlock } from '../../parts/code-block.tsx';
import classes from './guide.module.css';

/** Renders the blocks of a document, in which the order never changes. */
export function Blocks({ blocks }: { readonly blocks: readonly Block[] }) {
  return blocks.map((block, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the document does not change
    <BlockView key={index} block={block} />
  ));
}

function BlockView({ block }: { readonly block: Block }) {
  switch (block.kind) {
    case 'heading':
      return (
        <Title order={block.level as TitleOrder} size={block.level === 2 ? 'h3' : 'h4'} id={block.id}>
          <Inlines parts={block.text} />
        </Title>
      );
    case 'paragraph':
      return (
        <p>
          <Inlines parts={block.text} />
        </p>
      );
    case 'code':
      return <Example code={block.code} />;
    case 'list':
      return <ListView block={block} />;
    case 'table':
      return <TableView block={block} />;
  }
}

function Example({ code }: { readonly code: string }) {
  const { t } = useTranslation('guide');
  return <CodeBlock label={t('example')} code={code} />;
}

function ListView({ block: { isOrdered, items } }: { readonly block: Extract<Block, { kind: 'list' }> }) {
  const List = isOrdered ? 'ol' : 'ul';
  return (
    <List>
      {items.map((item, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the document does not change
        <li key={index}>
          <Blocks blocks={item} />
        </li>
      ))}
    </List>
  );
}

function TableView({ block: { header, rows } }: { readonly block: Extract<Block, { kind: 'table' }> }) {
  return (
    // The element scrolls, so the keyboard has to reach it.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the region scrolls
    <div className={classes['table']} tabIndex={0}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            {header.map((cell, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the document does not change
              <Table.Th key={index} scope="col">
                <Inlines parts={cell} />
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row, number) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the document does not change
            <Table.Tr key={number}>
              {row.map((cell, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the document does not change
                <Table.Td key={index}>
                  <Inlines parts={cell} />
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}

function Inlines({ parts }: { readonly parts: readonly Inline[] }) {
  return parts.map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the document does not change
    <InlineView key={index} part={part} />
  ));
}

function InlineView({ part }: { readonly part: Inline }) {
  if (typeof part === 'string') return part;
  if (part.kind === 'code') return <code>{part.text}</code>;
  const text = <Inlines parts={part.text} />;
  if (part.kind === 'strong') return <strong>{text}</strong>;
  if (part.to.startsWith('/'))
    return (
      <Anchor component={Link} to={part.to} inherit underline="always">
        {text}
      </Anchor>
    );
  return (
    <Anchor href={part.to} target="_blank" rel="noreferrer" inherit underline="always">
      {text}
    </Anchor>
  );
}
