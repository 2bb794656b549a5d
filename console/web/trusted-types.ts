/**
 * The page enforces Trusted Types: this policy alone turns text into markup. It accepts text without tags, such as the
 * style sheets of the component library, and no scripts.
 */
interface Policies {
  createPolicy(name: 'default', rules: { createHTML(text: string): string | null }): unknown;
}

/** Beginning of markup in the HTML standard. */
const MARKUP = /<[a-z/!?]/i;

const { trustedTypes } = window as { trustedTypes?: Policies };
trustedTypes?.createPolicy('default', { createHTML: (text) => (MARKUP.test(text) ? null : text) });

// Makes the file a module for the type checker.
export {};
