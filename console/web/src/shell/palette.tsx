import { ActionIcon, Kbd, Modal, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { Search } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useCloseOnEscape } from '../parts/dialogs.tsx';
import classes from './palette.module.css';
import { PaletteSearch } from './palette-search.tsx';

const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** Opens any page, token or payment by keyboard. */
export function Palette() {
  const { t } = useTranslation();
  const [isOpen, { open, close, toggle }] = useDisclosure();
  // After navigation the focus moves to the page, not back to the button.
  const [hasLeft, setLeft] = useState(false);
  const leave = (): void => {
    setLeft(true);
    close();
  };
  useEffect(() => {
    if (isOpen) setLeft(false);
  }, [isOpen]);
  useHotkeys([['mod+K', toggle]], []);
  useCloseOnEscape(isOpen, close);
  return (
    <>
      <OpenButtons onClick={open} />
      <Modal.Root
        opened={isOpen}
        onClose={close}
        closeOnEscape={false}
        returnFocus={!hasLeft}
        yOffset="12vh"
        centered={false}
        size={560}
      >
        <Modal.Overlay backgroundOpacity={0.45} />
        <Modal.Content aria-label={t('searchShort')} className={classes['content'] ?? ''}>
          <PaletteSearch onLeave={leave} />
        </Modal.Content>
      </Modal.Root>
    </>
  );
}

/** A button with its keys, and an icon on a telephone. */
function OpenButtons({ onClick }: { readonly onClick: () => void }) {
  const { t } = useTranslation();
  return (
    <>
      <UnstyledButton className={classes['button'] ?? ''} visibleFrom="sm" onClick={onClick} aria-haspopup="dialog">
        <Search size={15} aria-hidden />
        <Text span size="sm">
          {t('search')}
        </Text>
        <Kbd size="xs" aria-hidden>
          {isApple ? '⌘ K' : 'Ctrl K'}
        </Kbd>
      </UnstyledButton>
      <ActionIcon
        hiddenFrom="sm"
        variant="subtle"
        color="gray"
        size={34}
        onClick={onClick}
        aria-haspopup="dialog"
        aria-label={t('searchShort')}
      >
        <Search size={18} aria-hidden />
      </ActionIcon>
    </>
  );
}
