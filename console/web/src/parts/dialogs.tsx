import { Drawer as BaseDrawer, Modal as BaseModal, type DrawerProps, type ModalProps } from '@mantine/core';
import { useWindowEvent } from '@mantine/hooks';
import { useEffect, useRef } from 'react';

/** The open dialogs and drawers, the one on top last. */
const openDialogs: object[] = [];
/** Keys that closed a dialog: the one below it must not see them, although it is on top by then. */
const handledKeys = new WeakSet<KeyboardEvent>();

/** Closes a dialog with Escape, unless another one is open on top of it. */
export function useCloseOnEscape(opened: boolean, onClose: () => void): void {
  const dialog = useRef({});
  useEffect(() => {
    if (!opened) return;
    const { current } = dialog;
    openDialogs.push(current);
    return () => void openDialogs.splice(openDialogs.indexOf(current), 1);
  }, [opened]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || event.isComposing || handledKeys.has(event)) return;
    // An open list of choices closes instead.
    const isOfField = (event.target as Element | null)?.getAttribute?.('data-mantine-stop-propagation') === 'true';
    if (isOfField || openDialogs.at(-1) !== dialog.current) return;
    handledKeys.add(event);
    onClose();
  };
  useWindowEvent('keydown', onKeyDown, { capture: true });
}

/** Dialog of which Escape closes the one on top only. The library's own closes every open one. */
export function Modal({ closeOnEscape = true, ...props }: ModalProps) {
  useCloseOnEscape(props.opened, closeOnEscape ? props.onClose : ignore);
  return <BaseModal {...props} closeOnEscape={false} />;
}

export function Drawer({ closeOnEscape = true, ...props }: DrawerProps) {
  useCloseOnEscape(props.opened, closeOnEscape ? props.onClose : ignore);
  return <BaseDrawer {...props} closeOnEscape={false} />;
}

const ignore = (): void => undefined;
