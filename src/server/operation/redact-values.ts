import { isEnumType, type GraphQLError, type GraphQLSchema } from 'graphql';

/** In characters: the path of a variable's member is never longer. */
const maxPath = 500;
/** How messages of GraphQL, and of a scalar of ours, say what is wrong with a value, up to where they repeat it. */
const safeBeginnings = [
  /^(?:Enum "\w+"|\w+) cannot represent [\w -]+/,
  /^Expected value of type "[^"]+"(?=, found )/,
  /^Expected type "\w+"(?: to be an object)?/,
  /^Expected non-nullable type "[^"]+" not to be null/,
  /^Argument "\w+" has invalid value/,
  /^Field "[\w.]+" (?:of required|is not defined by) type [^]+/,
  /^DateTime must be [^;.]+/,
] as const;

/**
 * The message of an error, cut where GraphQL repeats an invalid value: it repeats a whole one to say that a part of it
 * is wrong, and there may be a password in it.
 */
export function withoutValue({ message, originalError }: GraphQLError, schema: GraphQLSchema): string {
  const [, variable] = /^Variable "\$(\w+)" got invalid value /.exec(message) ?? [];
  if (variable === undefined) return safeBeginning(message) ?? message;
  const beginning = `Variable "$${variable}" got an invalid value`;
  if (!originalError) return `${beginning}.`;
  const { message: words } = originalError;
  const reason = notInEnum(words, schema) ?? safeBeginning(words);
  return `${beginning}${pathIn(variable, message, words)}${reason ? `; ${reason}` : '.'}`;
}

/**
 * The path within the variable, which GraphQL puts between the value and the reason. Where it does not, the value ends
 * there, which cannot pass for a path: it ends with a bracket, or is a string in which each quote is escaped.
 */
function pathIn(variable: string, message: string, reason: string): string {
  const end = `; ${reason}`;
  if (!message.endsWith(end)) return '';
  const said = message.slice(0, -end.length).slice(-maxPath);
  const [path = '', name] = / at "(\w+)(?:\.[_A-Za-z]\w*|\[\d+\])+"$/.exec(said) ?? [];
  return name === variable ? path : '';
}

/** The part of the message before the value, as a sentence; undefined if no pattern matches its beginning. */
function safeBeginning(words: string): string | undefined {
  for (const beginning of safeBeginnings) {
    const [found] = beginning.exec(words) ?? [];
    if (found) return /[.?]$/.test(found) ? found : `${found}.`;
  }
  return undefined;
}

/**
 * Here the value comes first, and may contain anything. GraphQL's suggestions at the end would reveal it as well; all
 * values of the enum do not. They are a suggestion, too, worded as one: it is not for everybody.
 */
function notInEnum(words: string, schema: GraphQLSchema): string | undefined {
  if (!words.startsWith('Value "')) return undefined;
  const rest = words.slice(words.lastIndexOf('" does not exist in "'));
  const [, name = ''] = /^" does not exist in "(\w+)" enum\./.exec(rest) ?? [];
  const type = schema.getType(name);
  if (!isEnumType(type)) return undefined;
  const values = type.getValues().map((value) => value.name);
  return `Value does not exist in "${name}" enum. Did you mean one of ${values.join(', ')}?`;
}
