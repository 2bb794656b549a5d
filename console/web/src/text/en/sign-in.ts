export const signIn = {
  ended: 'Your session has ended. Sign in to continue.',
  email: 'Email',
  locks:
    'After 10 failed attempts in a row, password sign-in is locked for 30 minutes from this network or browser, even with the correct password. Passkeys still work.',
  byPasskey: 'Sign in with a passkey',
  or: 'or',
  goOn: 'Continue',
  otherPerson: 'Sign in as another user',
  password: 'Password',
  passwordLost:
    'Forgot your password or lost your second factor? Ask the owner of your account, or the operator, to reset your sign-in.',
  promise: 'Card numbers stay in your vault.',
  promiseText:
    'cardvault runs on your own servers. It stores card numbers encrypted and issues tokens in their place, so your other systems never handle card data.',
  point1: 'Separate encryption keys for each account',
  point2: 'Every read of a card number in a verifiable audit log',
  point3: 'Test and live data strictly separated',
  second: 'Your second factor',
  secondHint: 'Confirm that it’s you.',
  signIn: 'Sign in',
  title: 'Sign in',
  hint: 'Welcome back.',
};
