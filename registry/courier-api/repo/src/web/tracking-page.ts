import { clockIn } from '../domain/calendar.ts';
import type { Status } from '../domain/status.ts';
import type { Delivery } from '../store/deliveries.ts';
import type { Depot } from '../store/depots.ts';
import type { HistoryLine } from '../store/scans.ts';
import { escapeHtml, page } from './html.ts';

const WORDS: Record<Status, string> = {
  booked: 'We expect your parcel',
  collected: 'Collected from the sender',
  at_depot: 'At the depot',
  on_van: 'On its way to you',
  attempted: 'We missed you',
  delivered: 'Delivered',
  returned: 'Returned to the sender',
  cancelled: 'Cancelled',
};

/** What a recipient sees: newest first, times by the depot's clock, no scan that came too late to count. */
export function trackingPage(delivery: Delivery, depot: Depot, scans: HistoryLine[]): string {
  const lines = scans
    .filter((scan) => scan.applied)
    .reverse()
    .map((scan) => {
      const note = scan.note === '' ? '' : ` <q>${escapeHtml(scan.note)}</q>`;
      return `<li><time>${clockIn(depot.time_zone, scan.scanned_at)}</time> ${WORDS[scan.status]}${note}</li>`;
    });
  return page(
    `Delivery ${delivery.reference}`,
    `<main><h1>${escapeHtml(delivery.reference)}</h1>
<p class="status" data-status="${delivery.status}">${WORDS[delivery.status]}</p>
<p>For ${escapeHtml(delivery.recipient)}, promised for ${delivery.promised_on}</p>
<ol>${lines.join('')}</ol></main>`,
  );
}
