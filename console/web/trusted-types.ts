/**
 * The page asks for trusted types: a text becomes markup only where this policy says so, wherever it comes from. It lets
 * through what holds no tag, such as the style sheets that the component library writes, and nothing that is a script.
 */
interface Policies {
  createPolicy(name: 'default', rules: { createHTML(text: string): string | null }): unknown;
}

/** What the HTML standard takes for the beginning of markup. */
const MARKUP = /<[a-z/!?]/i;

const { trustedTypes } = window as { trustedTypes?: Policies };
trustedTypes?.createPolicy('default', { createHTML: (text) => (MARKUP.test(text) ? null : text) });

// A file without it would be a script to the type checker.
export {};
