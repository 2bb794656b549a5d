import type { notFound as english } from '../en/not-found.ts';

export const notFound: typeof english = {
  back: 'Ir a la página de inicio',
  hint: 'Puede que la dirección no sea correcta o que usted no pertenezca a la cuenta que indica.',
  title: 'Página no encontrada',
};
