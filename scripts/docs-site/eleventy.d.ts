/** The part of the generator that the build of the documentation uses. The generator ships no types. */
declare module '@11ty/eleventy' {
  export interface MarkdownToken {
    type: string;
    tag: string;
    info: string;
    content: string;
    children: MarkdownToken[] | null;
    attrGet(name: string): string | null;
    attrSet(name: string, value: string): void;
  }
  export interface MarkdownRenderer {
    renderToken(tokens: readonly MarkdownToken[], index: number, options: unknown): string;
  }
  export type RenderRule = (
    tokens: readonly MarkdownToken[],
    index: number,
    options: unknown,
    environment: { readonly page: { readonly inputPath: string } },
    renderer: MarkdownRenderer,
  ) => string;
  export interface MarkdownIt {
    set(options: { html?: boolean; linkify?: boolean; typographer?: boolean }): MarkdownIt;
    enable(rule: string): MarkdownIt;
    core: { ruler: { push(name: string, rule: (state: MarkdownState) => void): void } };
    parse(markdown: string, environment: object): MarkdownToken[];
    renderer: { rules: Record<string, RenderRule | undefined> };
    utils: { escapeHtml(text: string): string };
  }
  export interface MarkdownState {
    readonly tokens: MarkdownToken[];
    readonly env: { readonly page: { readonly inputPath: string } };
  }
  export interface EleventyConfig {
    addTemplate(path: string, content: string, data: object): void;
    amendLibrary(extension: 'md', amend: (library: MarkdownIt) => void): void;
    setIncludesDirectory(path: string): void;
    setTemplateFormats(formats: readonly string[]): void;
    setUseGitIgnore(isUsed: boolean): void;
  }
  export default class Eleventy {
    constructor(
      input: string,
      output: string,
      options: { quietMode: boolean; configPath: null; config(config: EleventyConfig): void },
    );
    init(): Promise<void>;
    write(): Promise<unknown>;
  }
}
