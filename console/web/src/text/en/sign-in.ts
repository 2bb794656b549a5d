export const signIn = {
  ended: 'Your session has ended. Sign in to go on.',
  email: 'E-mail',
  locks:
    'After 10 wrong attempts in a row, signing in with a password is locked for 30 minutes here, also with the right password. A passkey still works.',
  byPasskey: 'Sign in with a passkey',
  or: 'or',
  goOn: 'Continue',
  otherPerson: 'Sign in as someone else',
  password: 'Password',
  passwordLost:
    'Forgot your password or lost your second factor? Ask the owner of your account, or the operator, for a new link.',
  promise: 'Card numbers, kept where they belong.',
  promiseText:
    'cardvault runs on your own machines. It keeps card numbers encrypted and hands out tokens in their place, so the rest of your systems never see a card.',
  point1: 'Each record sealed with its own key',
  point2: 'Every action in a log that can be verified',
  point3: 'Test and live data strictly apart',
  second: 'Your second factor',
  secondHint: 'Confirm that it’s you.',
  signIn: 'Sign in',
  title: 'Sign in',
  hint: 'Welcome back.',
};
