/**
 * Signs that have no picture, or change the order or the lines of others; as they stand between the brackets of a pattern.
 * What Unicode has not given out or leaves to fonts looks different, or like nothing, wherever it is shown. The last five are
 * pictures of a blank, and a place holder that browsers leave out.
 */
export const UNSEEN_SIGNS = String.raw`\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u{13441}\u{13442}\u{1d159}\ufffc`;
