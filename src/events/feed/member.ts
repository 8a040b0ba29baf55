import type { LogEntry } from '../log/log.js';
import type { LogPosition } from '../log/log-position.js';
import type { Payload } from './replay-cache.js';
import type { Selection } from './selection.js';

/** Which entries concern a group, and how it renders them for its members: the same for all of them. */
export interface Rendering {
  readonly family: string;
  /** The selections that an entry must match, the most selective first; empty for all of the family. */
  readonly selected: readonly Selection[];
  /** Undefined for an entry that is not shown. Retried after a failure, and finally given up. */
  readonly render: (entry: LogEntry, replayed: boolean) => Payload | Promise<Payload>;
}

/** A subscriber that gets the payloads of a group, and is dropped once it accepts no more. */
export interface Member {
  /** The number in the log after which to begin; undefined to begin at the log's end. */
  readonly after: number | undefined;
  /** Whose it is: past events are read for callers in turn. */
  readonly caller?: string | undefined;
  /**
   * To be asked before past entries are rendered for it: a promise if they have to wait for what it was given before.
   */
  untilRoom?(): Promise<void> | undefined;
  /**
   * Takes payloads of past entries, with the positions just after these; resolves once they are sent, with whether to
   * go on. Must not reject.
   */
  replay(payloads: readonly string[], positions: readonly LogPosition[]): Promise<boolean>;
  /**
   * Takes live payloads without making the other members wait; returns whether to go on. Members mostly get the same
   * array, one after another, so that they can share what is made of it.
   */
  deliver(payloads: readonly string[], positions: readonly LogPosition[]): boolean;
  /** Nothing more comes: the feed has ended, the member's position is no longer kept, or an event is `Unrenderable`. */
  end(error?: unknown): void;
}
