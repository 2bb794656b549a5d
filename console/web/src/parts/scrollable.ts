import { type RefObject, useEffect, useRef, useState } from 'react';

/** Returns whether the content of the element is wider than the element. */
export function useScrollable(): { ref: RefObject<HTMLDivElement | null>; isScrollable: boolean } {
  const ref = useRef<HTMLDivElement>(null);
  const [isScrollable, setScrollable] = useState(false);
  useEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const measure = (): void => setScrollable(element.scrollWidth > element.clientWidth);
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    for (const child of element.children) observer.observe(child);
    return () => observer.disconnect();
  }, []);
  return { ref, isScrollable };
}
