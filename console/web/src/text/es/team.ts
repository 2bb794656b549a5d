import type { team as english } from '../en/team.ts';

export const team: typeof english = {
  title: 'Equipo',
  description: 'Quién tiene acceso a esta cuenta y qué permite cada rol.',
  operatorsTitle: 'Operadores',
  operatorsDescription:
    'Usuarios que administran el servicio. No pueden ver tokens, capturas ni pagos de ninguna cuenta.',
  people: 'Usuarios',
  invitations: 'Invitaciones pendientes',
  columns: {
    person: 'Usuario',
    role: 'Rol',
    seen: 'Última actividad',
    joined: 'Se unió',
    actions: 'Acciones',
    email: 'Para',
    by: 'Invitado por',
    expires: 'Vence',
  },
  you: 'Usted',
  signInHint: {
    locked:
      'Bloqueado hasta {{time}} por demasiados intentos fallidos desde una red o un navegador. Las sesiones y las llaves de acceso siguen funcionando. Restablecer el acceso lo desbloquea.',
    'password-blocked':
      'La contraseña era correcta, pero el segundo factor falló demasiadas veces. La contraseña ya no se acepta; restablezca el acceso. Las llaves de acceso siguen funcionando.',
    disabled: 'Deshabilitado: no inició sesión en 90 días. Restablecer el acceso vuelve a habilitar al usuario.',
    altered:
      'Los datos de acceso se alteraron en la base de datos y se rechaza todo inicio de sesión. Restablezca el acceso.',
  },
  noSession: 'Sin sesión',
  anyone: 'Quien tenga el enlace',
  signInReset: 'Restablecimiento de acceso',
  role: {
    owner: 'Propietario',
    developer: 'Desarrollador',
    analyst: 'Analista',
    auditor: 'Auditor',
    operator: 'Operador',
  },
  roleText: {
    owner: 'Acceso completo, incluidos el equipo, la configuración y la activación de pagos',
    developer: 'Claves, tokens, capturas, pagos, proxy y registro de auditoría; no el equipo ni la configuración',
    analyst: 'Consulta tokens, capturas y pagos; captura, devuelve y anula pagos',
    auditor: 'Consulta todo, incluido el registro de auditoría; no cambia nada',
    operator: 'Administra las cuentas, los procesadores y el estado del servicio',
  },
  invite: {
    button: 'Invitar usuario',
    title: 'Crear enlace de invitación',
    email: 'Correo electrónico',
    emailForm: 'Escriba un correo electrónico',
    role: 'Rol',
    send: 'Crear enlace',
    text: 'Recibirá un enlace para enviarlo al usuario. Vence a los 3 días y sirve solo para esta dirección.',
  },
  link: {
    title: 'Envíe este enlace',
    inviteText: 'Envíe este enlace a {{email}} por un canal de confianza.',
    resetText:
      'Entregue este enlace directamente a {{name}}, si es posible en persona o por teléfono. Reemplaza su contraseña y su segundo factor.',
    label: 'Enlace',
    good_one: 'Sirve una sola vez, vence en {{count}} hora y solo se muestra ahora.',
    good_other: 'Sirve una sola vez, vence en {{count}} horas y solo se muestra ahora.',
    sent: 'Ya lo envié',
    expires: 'Vence el',
  },
  menu: 'Acciones para {{name}}',
  change: {
    button: 'Cambiar rol',
    title: 'Cambiar el rol de {{name}}',
    save: 'Cambiar rol',
    done: 'Se cambió el rol. Se aplica de inmediato.',
  },
  remove: {
    button: 'Quitar usuario',
    title: '¿Quitar a {{name}}?',
    text: '{{name}} pierde de inmediato el acceso a esta cuenta. Las claves de API que creó siguen funcionando. Los usuarios sin otra cuenta se eliminan.',
    operatorText: '{{name}} deja de ser operador de inmediato. Los usuarios sin cuenta se eliminan.',
    confirm: 'Quitar usuario',
    done: 'Se quitó a {{name}}.',
  },
  reset: {
    button: 'Restablecer acceso',
    title: '¿Restablecer el acceso de {{name}}?',
    text: 'Para un usuario que perdió la contraseña o el segundo factor. Verifique que la solicitud venga realmente de {{name}}. El enlace reemplaza ambos y revoca todas sus sesiones.',
    confirm: 'Restablecer acceso',
  },
  withdraw: {
    button: 'Revocar',
    label: 'Revocar la invitación para {{email}}',
    title: '¿Revocar esta invitación?',
    text: 'El enlace deja de funcionar de inmediato.',
    confirm: 'Revocar invitación',
    done: 'Se revocó la invitación.',
  },
  alone: {
    title: 'Esta cuenta tiene un solo usuario',
    text: 'Invite a un colega que pueda actuar cuando usted no esté disponible.',
  },
  noInvitations: 'No hay invitaciones pendientes.',
};
