import { TextInput } from '@mantine/core';
import { Search } from 'lucide-react';
import { type ChangeEvent, type KeyboardEvent, useEffect, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import classes from './palette.module.css';
import { type Option, useLookupOptions, usePageOptions } from './palette-options.ts';

/** Returns the options for a text and the active one; opens it by `choose` or the keyboard. */
function useOptions(onLeave: () => void) {
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const { options: lookups, note, clear } = useLookupOptions(text.trim());
  const options = [...usePageOptions(text), ...lookups];
  const choose = async (option: Option | undefined): Promise<void> => {
    const to = await option?.choose();
    if (to === undefined) return;
    onLeave();
    await navigate(to);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: options.length - 1 };
    const move = moves[event.key];
    if (move !== undefined && options.length > 0) setActive((active + move) % options.length);
    else if (event.key === 'Enter') void choose(options[active]);
    else return;
    event.preventDefault();
  };
  const onChange = (event: ChangeEvent<HTMLInputElement>): void => {
    setText(event.currentTarget.value);
    setActive(0);
    clear();
  };
  return { text, options, note, active, setActive, choose, onKeyDown, onChange };
}

/** Combobox: a text field with a list; the focus stays in the field. */
export function PaletteSearch({ onLeave }: { readonly onLeave: () => void }) {
  const { t } = useTranslation();
  const { text, options, note, active, setActive, choose, onKeyDown, onChange } = useOptions(onLeave);
  const listId = useId();
  return (
    <>
      <TextInput
        variant="unstyled"
        size="lg"
        data-autofocus
        leftSection={<Search size={18} aria-hidden />}
        classNames={{ input: classes['input'] ?? '' }}
        placeholder={t('searchHint')}
        aria-label={t('searchHint')}
        role="combobox"
        aria-expanded
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={options.length > 0 ? `${listId}-${active}` : undefined}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={onChange}
        onKeyDown={onKeyDown}
      />
      <div id={listId} role="listbox" aria-label={t('goTo')} className={classes['options']}>
        {options.map((option, index) => (
          <Item
            key={option.key}
            id={`${listId}-${index}`}
            option={option}
            isActive={index === active}
            onHover={() => setActive(index)}
            onChoose={() => void choose(option)}
          />
        ))}
      </div>
      <div role="status" className={note === undefined && options.length > 0 ? undefined : classes['note']}>
        {note ?? (options.length === 0 && t('noMatch'))}
      </div>
    </>
  );
}

interface ItemProps {
  readonly id: string;
  readonly option: Option;
  readonly isActive: boolean;
  readonly onHover: () => void;
  readonly onChoose: () => void;
}

function Item({ id, option: { text, beside, icon: Icon }, isActive, onHover, onChoose }: ItemProps) {
  useEffect(() => {
    if (isActive) document.getElementById(id)?.scrollIntoView({ block: 'nearest' });
  }, [isActive, id]);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keyboard is the text field's
    // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the text field, which names the option
    <div
      id={id}
      role="option"
      aria-selected={isActive}
      className={classes['option']}
      onMouseMove={onHover}
      onClick={onChoose}
    >
      <Icon size={17} strokeWidth={1.75} aria-hidden />
      <span>{text}</span>
      {beside !== undefined && <span className={classes['beside']}>{beside}</span>}
    </div>
  );
}
