export const STATUSES = [
  'booked',
  'collected',
  'at_depot',
  'on_van',
  'attempted',
  'delivered',
  'returned',
  'cancelled',
] as const;

export type Status = (typeof STATUSES)[number];

const NEXT: Record<Status, readonly Status[]> = {
  booked: ['collected', 'cancelled'],
  collected: ['at_depot'],
  at_depot: ['on_van', 'returned'],
  on_van: ['delivered', 'attempted', 'at_depot'],
  attempted: ['on_van', 'at_depot', 'returned'],
  delivered: [],
  returned: [],
  cancelled: [],
};

export function isStatus(value: unknown): value is Status {
  return STATUSES.some((status) => status === value);
}

export function mayFollow(from: Status, to: Status): boolean {
  return NEXT[from].includes(to);
}

/** True when nothing can follow: the delivery has left our hands. */
export function isFinal(status: Status): boolean {
  return NEXT[status].length === 0;
}
