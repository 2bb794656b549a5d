export const notFound = {
  back: 'Go to the start page',
  hint: 'The address may be wrong, or you may not belong to the account it names.',
  title: 'Page not found',
};
