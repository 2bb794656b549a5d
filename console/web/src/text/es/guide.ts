import type { guide as english } from '../en/guide.ts';

export const guide: typeof english = {
  example: 'Ejemplo',
  englishOnly: 'Este documento está disponible solo en inglés.',
};
