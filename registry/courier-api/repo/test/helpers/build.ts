import type { TestService } from './service.ts';

export interface ScanInput {
  reference: string;
  status: string;
  scanned_at: string;
  key: string;
  note?: string;
}

let next = 0;

export function booking(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  next += 1;
  return {
    reference: `T-${String(next).padStart(5, '0')}`,
    depot: 'LIS',
    recipient: 'Rosa Lima',
    address: 'Rua do Sol 4',
    promised_on: '2026-03-29',
    ...overrides,
  };
}

export function scan(reference: string, status: string, overrides: Partial<ScanInput> = {}): ScanInput {
  next += 1;
  return { reference, status, scanned_at: '2026-03-28T09:00:00Z', key: `k-${next}`, ...overrides };
}

/** Books a delivery and scans it through `statuses`; its reference. */
export async function delivery(service: TestService, statuses: string[] = [], overrides = {}): Promise<string> {
  const reply = await service.post<{ reference: string }>('/deliveries', booking(overrides));
  if (reply.status !== 201) throw new Error(`booking failed: ${JSON.stringify(reply.body)}`);
  const { reference } = reply.body;
  for (const status of statuses) {
    const scanned = await service.post('/scans', scan(reference, status));
    if (scanned.status !== 201) throw new Error(`scan failed: ${JSON.stringify(scanned.body)}`);
  }
  return reference;
}
