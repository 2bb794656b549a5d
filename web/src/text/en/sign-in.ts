export const signIn = {
  ended: 'Your session has ended. Sign in to go on.',
  email: 'E-mail',
  locks: 'After ten wrong attempts in a row, signing in is locked for half an hour, also with the right password.',
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
