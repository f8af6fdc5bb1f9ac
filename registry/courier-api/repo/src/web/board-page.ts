import type { Depot } from '../store/depots.ts';
import { escapeHtml, page } from './html.ts';

/** The frame of the dispatch board; `public/board.js` fills it and keeps it up to date. */
export function boardPage(depots: Depot[], chosen: string): string {
  const links = depots.map((depot) => {
    const current = depot.code === chosen ? ' aria-current="page"' : '';
    return `<a href="/?depot=${escapeHtml(depot.code)}"${current}>${escapeHtml(depot.name)}</a>`;
  });
  return page(
    'Dispatch board',
    `<header><h1>Dispatch board</h1><nav>${links.join(' ')}</nav><p id="state">loading</p></header>
<table id="board" data-depot="${escapeHtml(chosen)}">
<thead><tr><th>Delivery</th><th>Recipient</th><th>Promised</th><th>Status</th></tr></thead>
<tbody></tbody>
</table>
<script type="module" src="/public/board.js"></script>`,
  );
}
