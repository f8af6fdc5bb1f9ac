/** An answer other than success: `code` is for programs, the message for people. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Record<string, string>;

  constructor(status: number, code: string, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

export const badRequest = (code: string, message: string): Refusal => new Refusal(400, code, message);
export const notFound = (message: string): Refusal => new Refusal(404, 'not_found', message);
export const conflict = (code: string, message: string): Refusal => new Refusal(409, code, message);
