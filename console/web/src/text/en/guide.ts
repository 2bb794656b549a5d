/** Documents of the repository, as pages. */
export const guide = {
  example: 'Example',
  englishOnly: 'This document is available in English only.',
};
