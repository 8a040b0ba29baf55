import { OperationTypeNode } from 'graphql';
import { createCache } from '../../lib/cache/cache.js';
import { noDocument, requestedDocument, type RequestedDocument } from '../documents/requested-document.js';
import type { TrustedDocuments } from '../documents/trusted-documents.js';
import type { Admitted, CompiledDocuments } from '../operation/compiled-documents.js';
import type { Variables } from '../operation/cost/document-limits.js';
import type { Costs } from '../operation/cost/operation-cost.js';
import { parsePlain, type PlainRequest } from './plain-request.js';

/** How requests with the same body are answered, unless the document is forgotten. */
interface Plan {
  readonly requested: RequestedDocument;
  readonly source: string;
  readonly variables: Variables;
  /** In fields. */
  readonly cost: number | undefined;
}

const maxPlans = 300;

/** What is compiled, what an operation costs, and which documents may run. */
interface CompilableRequestsOptions {
  readonly compiled: CompiledDocuments;
  readonly costs: Costs;
  readonly documents: TrustedDocuments;
}

/** The requests that ask for a query that can be compiled. */
export class CompilableRequests {
  readonly #compiled: CompiledDocuments;
  readonly #costs: Costs;
  readonly #trusted: TrustedDocuments;
  /** By the body of the request: clients repeat a query in the same bytes. */
  readonly #plans = createCache<Plan>(maxPlans);

  constructor({ compiled, costs, documents }: CompilableRequestsOptions) {
    this.#compiled = compiled;
    this.#costs = costs;
    this.#trusted = documents;
  }

  /** The document that a request's body asks for, with its variables and cost; undefined for all that is not admitted. */
  find(body: string): { readonly plan: Plan; readonly document: Admitted } | undefined {
    const plan = this.#planFor(body);
    const document = plan && this.#compiled.find(plan.source);
    return document && { plan, document };
  }

  #planFor(body: string): Plan | undefined {
    const known = this.#plans.get(body);
    if (known && this.#sourceOf(known.requested) === known.source) return known;
    const plan = this.#plan(parsePlain(body));
    if (plan) this.#plans.set(body, plan);
    return plan;
  }

  #plan(request: PlainRequest | undefined): Plan | undefined {
    const requested = request ? requestedDocument(request) : noDocument;
    if (!request || typeof requested === 'string') return undefined;
    const source = this.#sourceOf(requested);
    const admitted = source === undefined ? undefined : this.#compiled.find(source);
    if (!admitted || source === undefined) return undefined;
    const { document, operation } = admitted;
    if (operation.operation !== OperationTypeNode.QUERY) return undefined;
    const variables = request.variables ?? {};
    const isNamed = !request.operationName || request.operationName === operation.name?.value;
    if (!isNamed) return undefined;
    const { fields: cost, refusal } = this.#costs.assess(document, operation, variables);
    const isAccepted = !refusal && this.#compiled.accepts(admitted, variables);
    return isAccepted ? { requested, source, variables, cost } : undefined;
  }

  /** The text to be run, if the document is trusted, or may run without a trace. */
  #sourceOf(requested: RequestedDocument): string | undefined {
    // Without a manifest, Apollo Server refuses its own form of ids.
    if (requested.hash !== undefined && !this.#trusted.knowsIds) return undefined;
    const { text, stranger } = this.#trusted.find(requested);
    return stranger === undefined ? text : undefined;
  }
}
