/** Limits of the reference of the calls. */
export const limits = {
  /** Maximum length of the document, in characters; the relay's has some 100,000. */
  documentCharacters: 1 << 20,
  /** Maximum depth to which members of members are listed, and examples are made. A schema may
   * refer to itself. */
  schemaDepth: 6,
  /** Maximum length of the words of a search. */
  searchCharacters: 200,
  /** Maximum number of values that are listed in the place of their type. */
  listedValues: 12,
};
