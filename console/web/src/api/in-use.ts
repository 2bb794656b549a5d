/** A page without input for this time is unattended. */
const UNATTENDED_MS = 5 * 60_000;
const INPUTS = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart'] as const;

/**
 * Reports whether the page is in use: it is visible, and had input in the last five minutes. All periodic reads stop
 * while it is not, and start again with the next input.
 */
export function watchUse(onChange: (isInUse: boolean) => void): () => void {
  let lastInputAt = Date.now();
  let isUnattended = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const report = (): void => onChange(!document.hidden && !isUnattended);
  const check = (): void => {
    const leftMs = lastInputAt + UNATTENDED_MS - Date.now();
    isUnattended = leftMs <= 0;
    if (isUnattended) report();
    else timer = setTimeout(check, leftMs);
  };
  const onInput = (): void => {
    lastInputAt = Date.now();
    if (!isUnattended) return;
    check();
    report();
  };
  // A user who returns to the page is there.
  const onVisibility = (): void => {
    if (!document.hidden) onInput();
    report();
  };
  for (const input of INPUTS) window.addEventListener(input, onInput, { capture: true, passive: true });
  document.addEventListener('visibilitychange', onVisibility);
  check();
  report();
  return () => {
    clearTimeout(timer);
    for (const input of INPUTS) window.removeEventListener(input, onInput, { capture: true });
    document.removeEventListener('visibilitychange', onVisibility);
  };
}
