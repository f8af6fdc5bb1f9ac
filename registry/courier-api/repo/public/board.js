// Keeps the dispatch board up to date: the board as it stands once, then its changes, page by page.
const PAUSE_MS = 1000;
const table = document.getElementById('board');
const state = document.getElementById('state');
const depot = table.dataset.depot;
const rows = new Map();

async function getJson(path) {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return await response.json();
}

function cell(row, text) {
  const td = row.insertCell();
  td.textContent = text;
  return td;
}

function show(delivery) {
  const row = table.tBodies[0].insertRow();
  row.id = `delivery-${delivery.reference}`;
  cell(row, delivery.reference);
  cell(row, delivery.recipient);
  cell(row, delivery.promised_on);
  rows.set(delivery.reference, cell(row, ''));
  mark(delivery.reference, delivery.status);
}

function mark(reference, status) {
  const td = rows.get(reference);
  td.textContent = status.replace('_', ' ');
  td.dataset.status = status;
}

async function apply(change) {
  if (rows.has(change.reference)) mark(change.reference, change.status);
  else if (change.depot === depot) show(await getJson(`/deliveries/${change.reference}`));
}

async function follow(cursor) {
  for (;;) {
    try {
      const page = await getJson(`/changes?${new URLSearchParams({ after: cursor })}`);
      for (const change of page.changes) await apply(change);
      cursor = page.cursor;
      state.textContent = `${rows.size} deliveries`;
      if (page.more) continue;
    } catch {
      state.textContent = 'no connection, trying again';
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

const board = await getJson(`/board?${new URLSearchParams({ depot })}`);
board.deliveries.forEach(show);
state.textContent = `${rows.size} deliveries`;
await follow(board.cursor);
