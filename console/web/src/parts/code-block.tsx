import type { ReactNode } from 'react';
import classes from './code-block.module.css';
import { CopyButton } from './copy.tsx';

interface CodeBlockProps {
  /** Label, such as "Request". */
  readonly label: string;
  readonly code: string;
  /** Content beside the label. */
  readonly beside?: ReactNode;
  /** Height in pixels above which the block scrolls. */
  readonly maxHeight?: number;
  /** True for a text of long lines, which wrap. */
  readonly isWrapped?: boolean;
}

export function CodeBlock({ label, code, beside, maxHeight, isWrapped = false }: CodeBlockProps) {
  return (
    <figure className={classes['block']}>
      <figcaption>
        <span>{label}</span>
        {beside}
        <CopyButton value={code} label={label} />
      </figcaption>
      {/* The keyboard has to scroll it. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls has to be reachable */}
      {/* biome-ignore lint/a11y/useSemanticElements: no fields stand in it */}
      <div role="group" tabIndex={0} aria-label={label} className={classes['scroll']} style={{ maxHeight }}>
        <pre data-wrapped={isWrapped || undefined}>
          <code>{code}</code>
        </pre>
      </div>
    </figure>
  );
}
