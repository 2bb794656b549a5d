import { Input } from '@mantine/core';
import { type KeyboardEvent, useId, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import classes from './payload-editor.module.css';

interface PayloadEditorProps {
  readonly value: string;
  readonly onChange: (text: string) => void;
  /** Called for Ctrl or Cmd with Enter. */
  readonly onRun: () => void;
  /** Line of the fault, from 1. */
  readonly faultLine: number | undefined;
  readonly error: string | undefined;
}

/** Editor with line numbers. Tab leaves the field, for keyboard users. */
export function PayloadEditor({ value, onChange, onRun, faultLine, error }: PayloadEditorProps) {
  const { t } = useTranslation('workbench');
  const id = useId();
  const gutter = useRef<HTMLDivElement>(null);
  const runByKeys = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    onRun();
  };
  return (
    <Input.Wrapper id={id} label={t('payload')} description={t('payloadHint')} error={error}>
      <div className={classes['frame']}>
        <div className={classes['gutter']} ref={gutter} aria-hidden>
          {value.split('\n').map((_, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line is nothing but its number
            <span key={index} {...(index + 1 === faultLine && { 'data-fault': true })}>
              {index + 1}
            </span>
          ))}
        </div>
        <textarea
          id={id}
          className={classes['text']}
          value={value}
          onChange={(event) => onChange(event.currentTarget.value)}
          onKeyDown={runByKeys}
          onScroll={({ currentTarget }) => {
            if (gutter.current !== null) gutter.current.scrollTop = currentTarget.scrollTop;
          }}
          aria-describedby={`${id}-description${error === undefined ? '' : ` ${id}-error`}`}
          aria-invalid={error !== undefined}
          spellCheck={false}
          autoComplete="off"
          autoCapitalize="none"
        />
      </div>
    </Input.Wrapper>
  );
}
