import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { delivery, scan } from '../helpers/build.ts';
import { startTestService, type TestService } from '../helpers/service.ts';

describe('pages', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  test('the board opens on the first depot', async () => {
    const { status, body, headers } = await service.page('/');
    assert.equal(status, 200);
    assert.equal(headers.get('content-type'), 'text/html; charset=utf-8');
    assert.match(body, /<table id="board" data-depot="AKL">/);
  });

  test('the board opens on the depot asked for', async () => {
    const { body } = await service.page('/?depot=LIS');
    assert.match(body, /data-depot="LIS"/);
    assert.match(body, /<a href="\/\?depot=LIS" aria-current="page">Lisboa<\/a>/);
  });

  test('script and style are served, nothing else is', async () => {
    const script = await service.page('/public/board.js');
    assert.equal(script.headers.get('content-type'), 'text/javascript; charset=utf-8');
    assert.match(script.body, /\/changes/);
    assert.equal((await service.page('/public/board.css')).status, 200);
    assert.equal((await service.page('/public/package.json')).status, 404);
    assert.equal((await service.page('/public/..%2Fpackage.json')).status, 404);
  });

  test('a recipient sees the way of the parcel, newest first, by the clock of the depot', async () => {
    const reference = await delivery(service, ['collected'], { depot: 'HEL' });
    await service.post('/scans', scan(reference, 'at_depot', { scanned_at: '2026-03-29T01:00:00Z' }));
    await service.post('/scans', scan(reference, 'on_van', { scanned_at: '2026-03-01T00:00:00Z' }));
    const { body } = await service.page(`/track/${reference}`);
    assert.match(body, /data-status="at_depot"/);
    assert.match(
      body,
      /<ol><li><time>2026-03-29 04:00<\/time> At the depot<\/li><li><time>2026-03-28 11:00<\/time> Collected from the sender<\/li><\/ol>/,
    );
  });

  test('what people typed is text, never markup', async () => {
    const reference = await delivery(service, [], { recipient: `<b>"Rosa" & 'Lima'</b>` });
    await service.post('/scans', scan(reference, 'collected', { note: '<script>alert(1)</script>' }));
    const { body } = await service.page(`/track/${reference}`);
    assert.match(body, /&lt;b&gt;&quot;Rosa&quot; &amp; &#39;Lima&#39;&lt;\/b&gt;/);
    assert.match(body, /<q>&lt;script&gt;alert\(1\)&lt;\/script&gt;<\/q>/);
  });

  test('an unknown parcel is not found', async () => {
    assert.equal((await service.page('/track/NONE-1')).status, 404);
  });
});
