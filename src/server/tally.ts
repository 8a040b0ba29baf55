import type { FieldNode, GraphQLResolveInfo } from 'graphql';
import { costOfRow, greatestCost, usualRows } from './cost.js';

/** Counts what one run of an operation asks for beyond its weight, since lists are longer than was reckoned. */
export class Tally {
  private fields = 0;
  private readonly known = new Map<FieldNode, number>();

  /** Whether that is too much, now that the list of the field that is being resolved has so many rows. */
  exceeds(rows: number, info: GraphQLResolveInfo): boolean {
    if (rows > usualRows) this.fields += (rows - usualRows) * this.ofRow(info);
    return this.fields > greatestCost;
  }

  /** Worked out once for each place of the document. */
  private ofRow(info: GraphQLResolveInfo): number {
    const place = info.fieldNodes[0]!;
    const cost = this.known.get(place) ?? costOfRow(info);
    this.known.set(place, cost);
    return cost;
  }
}
