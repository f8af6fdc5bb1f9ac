import type { IncomingMessage } from 'node:http';

import { Refusal, notFound } from '../domain/errors.ts';

export interface Call {
  request: IncomingMessage;
  params: Record<string, string>;
  query: URLSearchParams;
}

export interface Answer {
  status: number;
  type: string;
  body: string | Buffer;
}

export type Action = (call: Call) => Promise<Answer>;

interface Route {
  method: string;
  parts: string[];
  action: Action;
}

export class Router {
  readonly #routes: Route[] = [];

  /** `path` may name parameters: `/deliveries/:reference`. */
  on(method: string, path: string, action: Action): void {
    this.#routes.push({ method, parts: path.split('/'), action });
  }

  async run(request: IncomingMessage): Promise<Answer> {
    const url = new URL(request.url ?? '/', 'http://courier.invalid');
    const parts = url.pathname.split('/').map(decode);
    const fitting = this.#routes.flatMap((route) => {
      const params = match(route.parts, parts);
      return params ? [{ route, params }] : [];
    });
    if (fitting.length === 0) throw notFound(`there is nothing at ${url.pathname}`);
    const chosen = fitting.find(({ route }) => route.method === request.method);
    if (!chosen) {
      const allow = [...new Set(fitting.map(({ route }) => route.method))].sort().join(', ');
      throw new Refusal(405, 'method_not_allowed', `${url.pathname} takes ${allow}`, { allow });
    }
    return await chosen.route.action({ request, params: chosen.params, query: url.searchParams });
  }
}

function match(pattern: string[], parts: string[]): Record<string, string> | null {
  if (pattern.length !== parts.length) return null;
  const params: Record<string, string> = {};
  for (const [index, wanted] of pattern.entries()) {
    const part = parts[index]!;
    if (wanted.startsWith(':')) params[wanted.slice(1)] = part;
    else if (wanted !== part) return null;
  }
  return params;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw notFound('there is nothing at that address');
  }
}

export function json(value: unknown, status = 200): Answer {
  return { status, type: 'application/json; charset=utf-8', body: JSON.stringify(value) };
}

export function html(text: string, status = 200): Answer {
  return { status, type: 'text/html; charset=utf-8', body: text };
}
