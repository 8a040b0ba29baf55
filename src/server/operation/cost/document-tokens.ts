import { Lexer, TokenKind, type Source, type Token } from 'graphql';

/**
 * The tokens of a document, its end included, as far as the parser would read: it stops at an invalid token or one too
 * many, and reports that itself. The end of the text does not count as a token.
 */
export function* tokensOf(source: Source, maxTokens: number): Generator<Token, void> {
  const lexer = new Lexer(source);
  for (let tokens = 0; tokens <= maxTokens; tokens++) {
    const token = advance(lexer);
    if (!token) return;
    yield token;
    if (token.kind === TokenKind.EOF) return;
  }
}

function advance(lexer: Lexer): Token | undefined {
  try {
    return lexer.advance();
  } catch {
    return undefined;
  }
}
