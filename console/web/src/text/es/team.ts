import type { team as english } from '../en/team.ts';

export const team: typeof english = {
  title: 'Equipo',
  description: 'Quién puede gestionar esta cuenta y qué puede hacer cada persona.',
  operatorsTitle: 'Operadores',
  operatorsDescription: 'Personas que cuidan del servicio. No ven los tokens, capturas ni pagos de ninguna cuenta.',
  people: 'Personas',
  invitations: 'Invitaciones abiertas',
  columns: {
    person: 'Persona',
    role: 'Rol',
    seen: 'Última vez',
    joined: 'Se unió',
    actions: 'Acciones',
    email: 'Para',
    by: 'Invitó',
    expires: 'Termina',
  },
  you: 'Usted',
  signInHint: {
    locked:
      'Bloqueado hasta {{time}} tras demasiados intentos fallidos desde una red o un navegador. Las sesiones y las llaves de acceso siguen funcionando. Un nuevo acceso pone fin al bloqueo.',
    'password-blocked':
      'La contraseña era correcta y el segundo factor falló demasiadas veces. La contraseña ya no se acepta: cree un nuevo acceso. Las llaves de acceso siguen funcionando.',
    disabled: 'Deshabilitado: no inició sesión en 90 días. Un nuevo acceso vuelve a habilitar al usuario.',
    altered:
      'Los datos de acceso se alteraron en la base de datos y se rechaza todo inicio de sesión. Cree un nuevo acceso.',
  },
  noSession: 'Sin sesión',
  anybody: 'Quien tenga el enlace',
  newWayIn: 'Nuevo acceso',
  role: {
    owner: 'Propietario',
    developer: 'Desarrollador',
    analyst: 'Analista',
    auditor: 'Auditor',
    operator: 'Operador',
  },
  roleText: {
    owner: 'Todo, incluidos el equipo, los ajustes y el paso a producción',
    developer: 'Claves, tokens, capturas, pagos, proxy y auditoría; no el equipo ni los ajustes',
    analyst: 'Ve tokens, capturas y pagos; captura, devuelve y anula pagos',
    auditor: 'Lo ve todo, también la auditoría; no cambia nada',
    operator: 'Cuida de las cuentas, los procesadores y el estado del servicio',
  },
  invite: {
    button: 'Invitar',
    title: 'Invitar a una persona',
    email: 'Correo electrónico',
    emailForm: 'Escriba un correo electrónico',
    role: 'Rol',
    send: 'Crear el enlace',
    text: 'Recibirá un enlace para entregarlo usted. Vale 3 días y solo para esta dirección.',
  },
  link: {
    title: 'Entregue este enlace',
    inviteText: 'Envíe este enlace a {{email}} por una vía de confianza.',
    resetText:
      'Entregue usted este enlace a {{name}}, mejor en persona o por teléfono. Reemplaza su contraseña y su segundo factor.',
    label: 'Enlace',
    good_one: 'Sirve una sola vez, durante {{count}} hora, y solo se muestra ahora.',
    good_other: 'Sirve una sola vez, durante {{count}} horas, y solo se muestra ahora.',
    sent: 'Ya lo he enviado',
    expires: 'Vale hasta',
  },
  menu: 'Acciones para {{name}}',
  change: {
    button: 'Cambiar el rol',
    title: 'Cambiar el rol de {{name}}',
    save: 'Cambiar el rol',
    done: 'El rol ha cambiado. Vale desde ahora.',
  },
  remove: {
    button: 'Quitar',
    title: 'Quitar a {{name}}',
    text: '{{name}} pierde enseguida el acceso a esta cuenta. Las claves de API que creó se conservan. Quien no pertenece a ninguna otra cuenta pierde también su acceso.',
    operatorText:
      '{{name}} deja de ser operador enseguida. Quien no pertenece a ninguna cuenta pierde también su acceso.',
    confirm: 'Quitar',
    done: 'Se ha quitado a {{name}}.',
  },
  reset: {
    button: 'Nuevo acceso',
    title: 'Un nuevo acceso para {{name}}',
    text: 'Para quien perdió su contraseña o su segundo factor. Asegúrese de que es realmente {{name}} quien lo pide. El enlace reemplaza ambos y cierra todas sus sesiones.',
    confirm: 'Crear el enlace',
  },
  withdraw: {
    button: 'Retirar',
    label: 'Retirar la invitación para {{email}}',
    title: 'Retirar esta invitación',
    text: 'El enlace deja de funcionar enseguida.',
    confirm: 'Retirar',
    done: 'La invitación se ha retirado.',
  },
  alone: {
    title: 'Está solo aquí',
    text: 'Invite a un colega para que otra persona pueda actuar cuando usted no pueda.',
  },
  noInvitations: 'No hay invitaciones abiertas.',
};
