import type { signIn as english } from '../en/sign-in.ts';

export const signIn: typeof english = {
  ended: 'Su sesión terminó. Inicie sesión para continuar.',
  email: 'Correo electrónico',
  locks:
    'Tras 10 intentos fallidos seguidos, el acceso con contraseña se bloquea durante 30 minutos desde esta red o este navegador, aunque la contraseña sea correcta. Las llaves de acceso siguen funcionando.',
  byPasskey: 'Iniciar sesión con una llave de acceso',
  or: 'o',
  goOn: 'Continuar',
  otherPerson: 'Iniciar sesión como otro usuario',
  password: 'Contraseña',
  passwordLost:
    '¿Olvidó su contraseña o perdió su segundo factor? Pida al propietario de su cuenta o al operador que restablezca su acceso.',
  promise: 'Los números de tarjeta se quedan en su bóveda.',
  promiseText:
    'cardvault funciona en sus propios servidores. Guarda cifrados los números de tarjeta y emite tokens en su lugar, para que sus demás sistemas nunca manejen datos de tarjeta.',
  point1: 'Claves de cifrado separadas para cada cuenta',
  point2: 'Cada lectura de un número de tarjeta, en un registro de auditoría verificable',
  point3: 'Los datos de prueba y los reales, siempre separados',
  second: 'Su segundo factor',
  secondHint: 'Confirme que es usted.',
  signIn: 'Iniciar sesión',
  title: 'Iniciar sesión',
  hint: 'Hola de nuevo.',
};
