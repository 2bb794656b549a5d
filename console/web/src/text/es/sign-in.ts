import type { signIn as english } from '../en/sign-in.ts';

export const signIn: typeof english = {
  ended: 'Su sesión ha terminado. Inicie sesión para continuar.',
  email: 'Correo electrónico',
  locks:
    'Tras 10 intentos fallidos seguidos, el acceso con contraseña se bloquea aquí durante 30 minutos, aunque la contraseña sea correcta. Una llave de acceso sigue funcionando.',
  byPasskey: 'Iniciar sesión con una llave de acceso',
  or: 'o',
  goOn: 'Continuar',
  otherPerson: 'Entrar como otra persona',
  password: 'Contraseña',
  passwordLost:
    '¿Ha olvidado su contraseña o ha perdido su segundo factor? Pida un enlace nuevo al propietario de su cuenta o al operador.',
  promise: 'Los números de tarjeta, donde deben estar.',
  promiseText:
    'cardvault funciona en sus propias máquinas. Guarda cifrados los números de tarjeta y entrega tokens en su lugar, para que el resto de sus sistemas nunca vea una tarjeta.',
  point1: 'Cada registro, sellado con su propia clave',
  point2: 'Cada acción, en un registro que se puede verificar',
  point3: 'Los datos de prueba y los reales, siempre separados',
  second: 'Su segundo factor',
  secondHint: 'Confirme que es usted.',
  signIn: 'Iniciar sesión',
  title: 'Iniciar sesión',
  hint: 'Nos alegra verle de nuevo.',
};
